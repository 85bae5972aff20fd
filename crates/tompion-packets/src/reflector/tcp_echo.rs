//! TCP echo (RFC 862): what comes goes back, so that whoever connects has TCP's own figures of the path.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::time::Duration;

use tompion_net::{MOST_FILES, NetError, Stop, monotonic_ns, wait};
use tompion_time::os;

use crate::error::PacketError;

/// Connections at a time. One that never said anything makes room for another, else the one that has been silent for
/// longest.
const MOST: usize = MOST_FILES - 1;
/// Bytes of a connection at once, and in a second.
const AT_ONCE: usize = 4096;
const A_SECOND: usize = 64 << 10;
/// Who says nothing for so long is forgotten, in nanoseconds.
const SILENCE_NS: u64 = 30_000_000_000;
const SECOND_NS: u64 = 1_000_000_000;
/// How long it is waited where the system has no more files.
const PAUSE: Duration = Duration::from_millis(100);

/// A listening socket.
#[derive(Debug)]
pub struct TcpEcho(TcpListener);

struct Connection {
    stream: TcpStream,
    /// Whether it ever said anything, and when it did last or came.
    has_spoken: bool,
    heard_ns: u64,
    /// Since when bytes are counted, and how many there were.
    since_ns: u64,
    bytes: usize,
}

impl TcpEcho {
    /// Listens at an address.
    ///
    /// # Errors
    /// It is not free.
    pub fn listen(address: SocketAddr) -> Result<Self, PacketError> {
        let refused = |source| NetError::Bind { address, source };
        let listener = TcpListener::bind(address).map_err(refused)?;
        listener.set_nonblocking(true).map_err(refused)?;
        Ok(Self(listener))
    }

    /// Where.
    pub fn local(&self) -> Option<SocketAddr> {
        self.0.local_addr().ok()
    }

    /// Sends back what comes until `stop` is set. Who sends more than 64 KiB in a second, or does not take what comes
    /// back, is cut off.
    ///
    /// # Errors
    /// Where it cannot be waited.
    pub fn serve(&self, stop: &Stop) -> Result<(), PacketError> {
        let mut all: Vec<Connection> = Vec::with_capacity(MOST);
        while !stop.is_set() {
            let streams = all.iter().map(|c| c.stream.as_fd());
            let files: Vec<_> = std::iter::once(self.0.as_fd()).chain(streams).collect();
            wait(&files, stop, SECOND_NS)?;
            let now_ns = monotonic_ns();
            all.retain_mut(|connection| connection.answer(now_ns));
            self.admit(&mut all, now_ns);
        }
        Ok(())
    }

    fn admit(&self, all: &mut Vec<Connection>, now_ns: u64) {
        // However many come: those who are there have their turn.
        for _ in 0..MOST {
            let stream = match self.0.accept() {
                Ok((stream, _)) => stream,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(_) => {
                    os::sleep(PAUSE);
                    return;
                }
            };
            if stream.set_nonblocking(true).is_err() || stream.set_nodelay(true).is_err() {
                continue;
            }
            if all.len() >= MOST {
                let silent =
                    (0..all.len()).min_by_key(|at| (all[*at].has_spoken, all[*at].heard_ns));
                silent.map(|at| all.swap_remove(at));
            }
            all.push(Connection {
                stream,
                has_spoken: false,
                heard_ns: now_ns,
                since_ns: now_ns,
                bytes: 0,
            });
        }
    }
}

impl Connection {
    /// Sends back what is there; whether it goes on.
    fn answer(&mut self, now_ns: u64) -> bool {
        let mut room = [0; AT_ONCE];
        let length = match self.stream.read(&mut room) {
            Ok(0) => return false,
            Ok(length) => length,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                return now_ns.saturating_sub(self.heard_ns) < SILENCE_NS;
            }
            Err(error) => return error.kind() == io::ErrorKind::Interrupted,
        };
        if now_ns.saturating_sub(self.since_ns) >= SECOND_NS {
            (self.since_ns, self.bytes) = (now_ns, 0);
        }
        (self.has_spoken, self.heard_ns) = (true, now_ns);
        self.bytes += length;
        self.bytes <= A_SECOND && matches!(self.stream.write(&room[..length]), Ok(n) if n == length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;

    fn echoing(work: impl FnOnce(SocketAddr)) {
        let echo = TcpEcho::listen("127.0.0.1:0".parse().unwrap()).unwrap();
        let stop = Stop::new().unwrap();
        thread::scope(|scope| {
            let serving = scope.spawn(|| echo.serve(&stop));
            // However it ends.
            let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                work(echo.local().unwrap());
            }));
            stop.set();
            serving.join().unwrap().unwrap();
            done.unwrap();
        });
    }

    fn comes_back(mut stream: &TcpStream) -> bool {
        let mut room = [0; 5];
        let limit = Some(Duration::from_secs(5));
        stream.set_read_timeout(limit).unwrap();
        stream.write_all(b"hello").is_ok()
            && stream.read_exact(&mut room).is_ok()
            && room == *b"hello"
    }

    #[test]
    fn what_comes_goes_back() {
        echoing(|at| {
            let stream = TcpStream::connect(at).unwrap();
            assert!((0..20).all(|_| comes_back(&stream)));
        });
    }

    #[test]
    fn a_hundred_silent_ones_keep_nobody_out() {
        echoing(|at| {
            let connect = |_| TcpStream::connect(at).unwrap();
            let before: Vec<TcpStream> = (0..100).map(connect).collect();
            let served = TcpStream::connect(at).unwrap();
            assert!(comes_back(&served));
            // Nor do those that come later throw out who is served.
            let after: Vec<TcpStream> = (0..100).map(connect).collect();
            assert!(comes_back(&served));
            drop((before, after));
        });
    }

    #[test]
    fn who_sends_without_end_or_takes_nothing_back_is_cut_off() {
        echoing(|at| {
            let other = TcpStream::connect(at).unwrap();
            let mut flood = TcpStream::connect(at).unwrap();
            let block = [7; 4096];
            // Both ends of it hold some megabytes at most.
            let cut_off = (0..10_000).any(|_| flood.write_all(&block).is_err());
            assert!(cut_off);
            assert!(comes_back(&other));
        });
    }
}
