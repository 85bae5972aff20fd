//! What a load and the far end say before data flows, a line each:
//!
//! | who | says |
//! |---|---|
//! | the load | `tompion 2 SERVICE NONCE` |
//! | the far end | `open`; with a key `challenge NONCE` |
//! | the load, after a challenge | `proof HMAC` |
//! | the far end, after a proof | `go` |
//!
//! In place of each of its lines the far end may say `refused WHY`. Until then nothing that a
//! stranger sends costs it more than a line of memory.

use std::io::{self, ErrorKind};
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::path::PathBuf;
use std::time::Duration;
use tompion_model::Unavailable;

use super::bulk::{drain, fill};
use super::key::{Key, nonce};

/// Begins every request; the number is that of the protocol.
const PREFIX: &str = "tompion 2 ";
/// Longest line of either side, with its end.
pub const LINE_BYTES: usize = 128;
/// How long a peer may take to answer.
const ANSWER_LIMIT: Duration = Duration::from_secs(5);

const OPEN: &str = "open";
const CHALLENGE: &str = "challenge ";
const PROOF: &str = "proof ";
const GO: &str = "go";
const REFUSED: &str = "refused ";

/// What a load may ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Service {
    /// Bulk data both ways.
    Bulk,
    /// Bulk data from the far end.
    Download,
    /// Datagrams to the far end, which counts them.
    Datagrams,
    /// A file server.
    Files,
}

impl Service {
    const NAMED: [(Self, &'static str); 4] = [
        (Self::Bulk, "network"),
        (Self::Download, "download"),
        (Self::Datagrams, "udp"),
        (Self::Files, "files"),
    ];

    fn name(self) -> &'static str {
        let known = Self::NAMED.iter().find(|(known, _)| *known == self);
        known.map_or("", |(_, name)| name)
    }
}

/// Where the far end of a load is, and by which key it is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Peer {
    /// `HOST:PORT`.
    pub address: String,
    /// The file with the key that both ends have.
    pub key: Option<PathBuf>,
}

/// One load's side of the talk, as the far end hears it.
#[derive(Debug)]
pub struct Talk {
    asked: Option<(Service, String)>,
}

/// What the far end makes of a line.
#[derive(Debug, PartialEq, Eq)]
pub enum Answer {
    /// This line goes back, and another one is awaited.
    Say(String),
    /// This line goes back, and the service begins.
    Serve(String, Service),
    /// This line goes back, and that is all.
    Refuse(String),
}

impl Talk {
    pub fn new() -> Self {
        Self { asked: None }
    }

    /// Whether it has asked for something.
    pub fn has_asked(&self) -> bool {
        self.asked.is_some()
    }

    /// Hears a line.
    pub fn hear(&mut self, line: &str, key: Option<&Key>) -> Answer {
        let refuse = |why: &str| Answer::Refuse(format!("{REFUSED}{why}"));
        match (&self.asked, key) {
            (None, _) => {
                let Some((name, theirs)) = line
                    .strip_prefix(PREFIX)
                    .and_then(|rest| rest.split_once(' '))
                else {
                    return refuse("this far end speaks protocol 2 of tompion");
                };
                let known = Service::NAMED.iter().find(|(_, known)| *known == name);
                let Some((service, _)) = known else {
                    return refuse("this version knows no such service");
                };
                if key.is_none() {
                    return Answer::Serve(OPEN.to_owned(), *service);
                }
                let Ok(ours) = nonce() else {
                    return refuse("it has no random numbers");
                };
                self.asked = Some((*service, subject(*service, theirs, &ours)));
                Answer::Say(format!("{CHALLENGE}{ours}"))
            }
            (Some((service, subject)), Some(key)) => {
                let proof = line.strip_prefix(PROOF).unwrap_or_default();
                match key.is_proved(subject, proof) {
                    true => Answer::Serve(GO.to_owned(), *service),
                    false => refuse("the key is another one"),
                }
            }
            (Some(_), None) => refuse("nothing more is to be said"),
        }
    }
}

/// What a proof is of: so that none is of use for another service or a second time.
fn subject(service: Service, theirs: &str, ours: &str) -> String {
    format!("{PREFIX}{} {theirs} {ours}", service.name())
}

/// A refusal in words.
pub fn refusal(why: &str) -> String {
    format!("{REFUSED}{why}")
}

/// Sends a line.
pub fn answer(stream: &TcpStream, line: &str) -> io::Result<()> {
    drain(stream, format!("{line}\n").as_bytes(), || false).map(|_| ())
}

/// Connects to a far end and asks for a service; returns its first answer, if that service has
/// one (the load's side).
pub fn connect(peer: &Peer, service: Service) -> Result<(TcpStream, String), Unavailable> {
    let at = &peer.address;
    let addresses: Vec<SocketAddr> = at
        .to_socket_addrs()
        .map_err(|e| Unavailable::refused(format!("could not look up the peer {at}"))(e))?
        .collect();
    let mut problem = "the name has no address".to_owned();
    for address in addresses {
        match TcpStream::connect_timeout(&address, ANSWER_LIMIT) {
            Ok(stream) => return ask(&stream, peer, service).map(|answer| (stream, answer)),
            Err(e) => problem = format!("{address}: {e}"),
        }
    }
    Err(format!(
        "could not connect to the peer {at} ({problem}); its far end must be running there"
    )
    .into())
}

/// The load's side of the talk.
pub fn ask(stream: &TcpStream, peer: &Peer, service: Service) -> Result<String, Unavailable> {
    let at = &peer.address;
    let failed = |e: io::Error| Unavailable::from(format!("the peer {at} gave no answer: {e}"));
    let key = peer.key.as_deref().map(Key::read).transpose()?;
    stream
        .set_read_timeout(Some(ANSWER_LIMIT))
        .map_err(failed)?;
    let hear = || -> Result<String, Unavailable> {
        let line = read_line(stream, || false).map_err(|e| match e.kind() {
            ErrorKind::InvalidData => {
                format!("the peer {at} is no `tompion peer` of this version: start that there")
                    .into()
            }
            _ => failed(e),
        })?;
        match line.strip_prefix(REFUSED) {
            // Whoever answers there chose the words.
            Some(why) => Err(format!("the peer {at} refuses: {}", why.escape_debug()).into()),
            None => Ok(line),
        }
    };
    let ours = nonce()?;
    answer(stream, &format!("{PREFIX}{} {ours}", service.name())).map_err(failed)?;
    let first = hear()?;
    match (first.strip_prefix(CHALLENGE), &key) {
        (Some(theirs), Some(key)) => {
            let proof = key.proof(&subject(service, &ours, theirs));
            answer(stream, &format!("{PROOF}{proof}")).map_err(failed)?;
            if hear()? != GO {
                return Err(format!("the peer {at} speaks another protocol").into());
            }
        }
        (Some(_), None) => {
            return Err(format!("the peer {at} wants a key: name its file with key=FILE").into());
        }
        (None, Some(_)) => {
            let why = "asks for no key, as it was expected to: start it with the same --key";
            return Err(format!("the peer {at} {why}").into());
        }
        (None, None) if first == OPEN => {}
        (None, None) => {
            return Err(format!("the peer {at} speaks another protocol").into());
        }
    }
    let line = match service {
        // Their answer is the data.
        Service::Bulk | Service::Download => String::new(),
        Service::Datagrams | Service::Files => hear()?,
    };
    stream.set_read_timeout(None).map_err(failed)?;
    Ok(line)
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
