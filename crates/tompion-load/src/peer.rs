//! The far end of the loads that take a peer, and what both ends share.

pub(crate) mod bulk;
pub(crate) mod datagrams;
mod door;
pub(crate) mod files;
pub(crate) mod fuzz;
pub(crate) mod hello;
mod key;

use std::io;
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use bulk::{receive_bulk, send_bulk};
use door::{Door, keep_alive};
use hello::{Service, answer, refusal};

pub use key::{Key, read_key};

use crate::headroom::check_disk;

/// How often a waiting thread of the far end looks whether it should stop.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// Loads served at a time; each costs up to two threads.
const MAX_CONNECTIONS: usize = 16;

/// A far end.
#[derive(Clone, Copy, Debug)]
pub struct PeerSettings<'a> {
    /// Where it listens, by TCP and UDP.
    pub listen: SocketAddr,
    /// The key that a load must prove; without one it serves whoever connects.
    pub key: Option<&'a Key>,
    /// Where files are served; a client takes up to 4 MiB of it.
    pub files: Option<&'a Path>,
}

/// Serves the far end of the loads `network`, `download`, `udp` and `file-server`
/// with `peer=HOST:PORT` until `stop` is set.
///
/// Whoever has the key is sent bulk data for as long as it stays, and what it sends is
/// dropped. Who says nothing of use is forgotten after two seconds, or sooner where many
/// come; it takes no thread. UDP is only counted, and only that of loads served over TCP.
/// Returns within about a fifth of a second of `stop`. `ready` is called as soon as clients
/// can connect.
///
/// # Errors
/// If the address cannot be listened on, or the listener fails.
pub fn serve_peer(
    settings: &PeerSettings<'_>,
    stop: &AtomicBool,
    ready: impl FnOnce(),
) -> io::Result<()> {
    let listener = TcpListener::bind(settings.listen)?;
    let socket = UdpSocket::bind(listener.local_addr()?)?;
    let far_end = FarEnd {
        datagrams: datagrams::Counter::new(socket, LOOK_EVERY)?,
        files: settings.files,
        stop,
        numbers: AtomicU64::new(seed()),
    };
    let mut door = Door::new(listener)?;
    let connections = AtomicUsize::new(0);
    ready();
    thread::scope(|scope| {
        thread::Builder::new().spawn_scoped(scope, || far_end.datagrams.run(stop))?;
        while !stop.load(Ordering::Relaxed) {
            let admitted = door.wait(settings.key, LOOK_EVERY).inspect_err(|_| {
                stop.store(true, Ordering::Relaxed);
            })?;
            for (stream, service) in admitted {
                if connections.load(Ordering::Relaxed) >= MAX_CONNECTIONS {
                    let why = format!("it serves {MAX_CONNECTIONS} loads already");
                    let _ = answer(&stream, &refusal(&why));
                    continue;
                }
                let place = Place::take(&connections);
                let far_end = &far_end;
                // Where the system has no thread left, the load is told by the end of its
                // connection, and the next one may be luckier.
                let _ = thread::Builder::new().spawn_scoped(scope, move || {
                    let _place = place;
                    keep_alive(&stream);
                    // A load that goes away is the normal end of a connection.
                    let _ = far_end.serve(&stream, service);
                    let _ = stream.shutdown(Shutdown::Both);
                });
            }
        }
        Ok(())
    })
}

/// One of the places for loads, given back however its thread ends.
struct Place<'a>(&'a AtomicUsize);

impl<'a> Place<'a> {
    fn take(all: &'a AtomicUsize) -> Self {
        all.fetch_add(1, Ordering::Relaxed);
        Self(all)
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

struct FarEnd<'a> {
    datagrams: datagrams::Counter,
    files: Option<&'a Path>,
    stop: &'a AtomicBool,
    /// The next number that no connection has had.
    numbers: AtomicU64,
}

impl FarEnd<'_> {
    fn serve(&self, stream: &TcpStream, service: Service) -> io::Result<()> {
        stream.set_nonblocking(false)?;
        stream.set_read_timeout(Some(LOOK_EVERY))?;
        stream.set_write_timeout(Some(LOOK_EVERY))?;
        let go_on = || !self.stop.load(Ordering::Relaxed);
        match service {
            Service::Bulk => thread::scope(|scope| {
                thread::Builder::new().spawn_scoped(scope, || {
                    let _ = send_bulk(stream, |_| go_on());
                    let _ = stream.shutdown(Shutdown::Both);
                })?;
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
                    return answer(stream, &hello::refusal(&refusal.unwrap_or_default()));
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
