//! What a load asks of the far end, in one line after connecting.
//!
//! A load that sends no such line gets bulk data both ways, as `network` always
//! did; a far end that knows no such lines takes them for bulk data and answers
//! with its own, which the load notices.

use std::io::{self, ErrorKind};
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tompion_model::Unavailable;

use super::bulk::{drain, fill, is_pause};

/// Begins every request; the number is that of the protocol.
const PREFIX: &str = "tompion 1 ";
/// Longest line of either side, with its end.
const LINE_BYTES: usize = 128;
/// How long the far end waits for a request before it takes the silence for
/// `network`, which is stopped once it is connected.
const PATIENCE: Duration = Duration::from_millis(500);
/// How long a peer may take to answer.
const ANSWER_LIMIT: Duration = Duration::from_secs(5);

/// What a load may ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Service {
    /// Bulk data both ways, which needs no request.
    Bulk,
    /// Bulk data from the far end.
    Download,
    /// Datagrams to the far end, which counts them.
    Datagrams,
    /// A file server.
    Files,
}

impl Service {
    const NAMED: [(Self, &'static str); 3] = [
        (Self::Download, "download"),
        (Self::Datagrams, "udp"),
        (Self::Files, "files"),
    ];
}

/// Reads the request of a load that has just connected (the far end's side).
///
/// # Errors
/// If the connection fails, or the request is none that this version knows.
pub fn requested(stream: &TcpStream, stop: &AtomicBool) -> io::Result<Service> {
    let deadline = Instant::now() + PATIENCE;
    let mut start = [0; PREFIX.len()];
    loop {
        let seen = match stream.peek(&mut start) {
            Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
            Ok(seen) => seen,
            Err(e) if is_pause(&e) => 0,
            Err(e) => return Err(e),
        };
        if start[..seen] != PREFIX.as_bytes()[..seen] {
            return Ok(Service::Bulk);
        }
        if seen == start.len() {
            break;
        }
        if Instant::now() > deadline || stop.load(Ordering::Relaxed) {
            return Ok(Service::Bulk);
        }
    }
    let line = read_line(stream, || !stop.load(Ordering::Relaxed))?;
    let asked = line.strip_prefix(PREFIX).unwrap_or_default();
    let known = Service::NAMED.iter().find(|(_, name)| *name == asked);
    known.map(|(service, _)| *service).ok_or_else(|| {
        let _ = answer(
            stream,
            &format!("refused this version knows no service '{asked}'"),
        );
        ErrorKind::InvalidData.into()
    })
}

/// Sends a line to the load.
pub fn answer(stream: &TcpStream, line: &str) -> io::Result<()> {
    drain(stream, format!("{line}\n").as_bytes(), || false).map(|_| ())
}

/// Connects to a far end and asks for a service; returns its answer (the load's
/// side). A download has none.
pub fn connect(peer: &str, service: Service) -> Result<(TcpStream, String), Unavailable> {
    let addresses: Vec<SocketAddr> = peer
        .to_socket_addrs()
        .map_err(|e| Unavailable::refused(format!("could not look up the peer {peer}"))(e))?
        .collect();
    let mut problem = "the name has no address".to_owned();
    for address in addresses {
        match TcpStream::connect_timeout(&address, ANSWER_LIMIT) {
            Ok(stream) => return ask(&stream, peer, service).map(|answer| (stream, answer)),
            Err(e) => problem = format!("{address}: {e}"),
        }
    }
    Err(format!(
        "could not connect to the peer {peer} ({problem}); its far end must be running there"
    )
    .into())
}

fn ask(stream: &TcpStream, peer: &str, service: Service) -> Result<String, Unavailable> {
    let Some((_, name)) = Service::NAMED.iter().find(|(known, _)| *known == service) else {
        return Ok(String::new());
    };
    let failed = |e: io::Error| format!("the peer {peer} gave no answer: {e}");
    drain(stream, format!("{PREFIX}{name}\n").as_bytes(), || false).map_err(failed)?;
    if service == Service::Download {
        // Its answer is the data.
        return Ok(String::new());
    }
    stream
        .set_read_timeout(Some(ANSWER_LIMIT))
        .map_err(failed)?;
    let line = read_line(stream, || false).map_err(|e| match e.kind() {
        ErrorKind::InvalidData => {
            format!("the peer {peer} is no `tompion peer` of this version: start that there")
        }
        _ => failed(e),
    })?;
    stream.set_read_timeout(None).map_err(failed)?;
    match line.strip_prefix("refused ") {
        Some(why) => Err(format!("the peer {peer} refuses: {why}").into()),
        None => Ok(line),
    }
}

/// One line, byte by byte: what follows it is not to be read.
pub fn read_line(stream: &TcpStream, go_on: impl Fn() -> bool) -> io::Result<String> {
    let mut line = Vec::new();
    let mut byte = [0];
    while line.len() < LINE_BYTES {
        if !fill(stream, &mut byte, &go_on)? {
            return Err(ErrorKind::UnexpectedEof.into());
        }
        match byte[0] {
            b'\n' => return String::from_utf8(line).map_err(|_| ErrorKind::InvalidData.into()),
            byte => line.push(byte),
        }
    }
    Err(ErrorKind::InvalidData.into())
}
