//! The far end of the loads that take a peer, and what both ends share.

pub(crate) mod bulk;
pub(crate) mod datagrams;
pub(crate) mod files;
pub(crate) mod hello;

use std::io::{self, ErrorKind};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use bulk::{receive_bulk, send_bulk};
use hello::{Service, answer};

use crate::headroom::check_disk;

/// How often a waiting thread of the far end looks whether it should stop.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// Loads served at a time; each costs up to two threads.
const MAX_CONNECTIONS: usize = 16;

/// Serves the far end of the loads `network`, `download`, `udp` and `file-server`
/// with `peer=HOST:PORT` until `stop` is set.
///
/// Whoever connects is sent bulk data for as long as it stays, and what it sends
/// is dropped: listen only on networks that are meant to be loaded. UDP goes to
/// the port of the same number. Files are served where `files` names a directory
/// for them; a client takes up to 4 MiB of it. Returns within about a fifth of a
/// second of `stop`. `ready` is called as soon as clients can connect.
///
/// # Errors
/// If the address cannot be listened on, or the listener fails.
pub fn serve_peer(
    listen: SocketAddr,
    files: Option<&Path>,
    stop: &AtomicBool,
    ready: impl FnOnce(),
) -> io::Result<()> {
    let listener = TcpListener::bind(listen)?;
    listener.set_nonblocking(true)?;
    let socket = UdpSocket::bind(listener.local_addr()?)?;
    let far_end = FarEnd {
        datagrams: datagrams::Counter::new(socket, LOOK_EVERY)?,
        files,
        stop,
        numbers: AtomicU64::new(seed()),
    };
    let connections = AtomicUsize::new(0);
    ready();
    thread::scope(|scope| {
        scope.spawn(|| far_end.datagrams.run(stop));
        while !stop.load(Ordering::Relaxed) {
            match listener.accept() {
                Ok((stream, _)) if connections.load(Ordering::Relaxed) < MAX_CONNECTIONS => {
                    connections.fetch_add(1, Ordering::Relaxed);
                    let (connections, far_end) = (&connections, &far_end);
                    scope.spawn(move || {
                        // A load that goes away is the normal end of a connection.
                        let _ = far_end.serve(&stream);
                        let _ = stream.shutdown(Shutdown::Both);
                        connections.fetch_sub(1, Ordering::Relaxed);
                    });
                }
                // One too many: closed at once, which the load reports.
                Ok(_) => {}
                Err(e) => match e.kind() {
                    ErrorKind::WouldBlock => thread::sleep(LOOK_EVERY),
                    ErrorKind::Interrupted | ErrorKind::ConnectionAborted => {}
                    _ => {
                        stop.store(true, Ordering::Relaxed);
                        return Err(e);
                    }
                },
            }
        }
        Ok(())
    })
}

struct FarEnd<'a> {
    datagrams: datagrams::Counter,
    files: Option<&'a Path>,
    stop: &'a AtomicBool,
    /// The next number that no connection has had.
    numbers: AtomicU64,
}

impl FarEnd<'_> {
    fn serve(&self, stream: &TcpStream) -> io::Result<()> {
        stream.set_nonblocking(false)?;
        stream.set_read_timeout(Some(LOOK_EVERY))?;
        stream.set_write_timeout(Some(LOOK_EVERY))?;
        let go_on = || !self.stop.load(Ordering::Relaxed);
        match hello::requested(stream, self.stop)? {
            Service::Bulk => thread::scope(|scope| {
                scope.spawn(|| {
                    let _ = send_bulk(stream, |_| go_on());
                    let _ = stream.shutdown(Shutdown::Both);
                });
                let result = receive_bulk(stream, |_| go_on());
                // Wakes the sender, whose load is gone.
                let _ = stream.shutdown(Shutdown::Both);
                result
            }),
            Service::Download => send_bulk(stream, |_| go_on()),
            Service::Datagrams => {
                // Steps that are odd reach every number before one comes again.
                let step = 0x9e37_79b9_7f4a_7c15;
                let token = self.numbers.fetch_add(step, Ordering::Relaxed);
                self.datagrams.serve(stream, token, self.stop)
            }
            Service::Files => {
                let refusal = match self.files {
                    None => Some("it serves no files; start it with --dir DIR".to_owned()),
                    Some(directory) => {
                        check_disk(directory, files::MOST_FILE_BYTES * u64::from(files::FILES))
                            .err()
                            .map(|why| why.to_string())
                    }
                };
                let Some(directory) = self.files.filter(|_| refusal.is_none()) else {
                    return answer(stream, &format!("refused {}", refusal.unwrap_or_default()));
                };
                answer(stream, "files")?;
                let number = self.numbers.fetch_add(1, Ordering::Relaxed);
                let name = format!(".tompion-peer-{}-{number:x}", std::process::id());
                files::serve(stream, directory, &name, go_on).map(|_| ())
            }
        }
    }
}

/// Differs from one far end to the next, so that nobody's stray datagrams count.
fn seed() -> u64 {
    use std::hash::{BuildHasher, RandomState};
    RandomState::new().hash_one(std::process::id())
}

#[cfg(test)]
mod tests;
