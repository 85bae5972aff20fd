//! TCP echo (RFC 862): what comes goes back, so that whoever connects has TCP's own figures of the path.

use std::cmp::Reverse;
use std::io::{self, Read, Write};
use std::net::{IpAddr, Ipv6Addr, SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::time::Duration;

use tompion_net::{MOST_FILES, NetError, Stop, listen_tcp, monotonic_ns, wait};
use tompion_time::os;

use crate::error::PacketError;

/// Connections at a time. Of whoever has most of them one that never said anything makes room for another, else the one that
/// has been silent for longest.
const MOST: usize = MOST_FILES - 1;
/// Bytes of a connection at once, and in a second.
const AT_ONCE: usize = 4096;
const A_SECOND: usize = 64 << 10;
/// What is read at once counts as so many at least: each time this end wakes up.
const LEAST: usize = 64;
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
    from: IpAddr,
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
        let listener = listen_tcp(address)?;
        listener
            .set_nonblocking(true)
            .map_err(|source| NetError::Bind { address, source })?;
        Ok(Self(listener))
    }

    /// Where.
    pub fn local(&self) -> Option<SocketAddr> {
        self.0.local_addr().ok()
    }

    /// Sends back what comes until `stop` is set. Who sends more than 64 KiB in a second, each message counted as 64 bytes at
    /// least, or does not take what comes back, is cut off.
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
            let (stream, from) = match self.0.accept() {
                Ok((stream, from)) => (stream, from.ip()),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => continue,
                Err(_) => {
                    os::sleep(PAUSE);
                    return;
                }
            };
            if stream.set_nonblocking(true).is_err() || stream.set_nodelay(true).is_err() {
                continue;
            }
            if all.len() >= MOST {
                let places = all
                    .iter()
                    .map(|one| (one.from, one.has_spoken, one.heard_ns));
                let places: Vec<_> = places.collect();
                goes(&places, from).map(|at| all.swap_remove(at));
            }
            all.push(Connection {
                stream,
                from,
                has_spoken: false,
                heard_ns: now_ns,
                since_ns: now_ns,
                bytes: 0,
            });
        }
    }
}

/// Whose it is: of IPv6 one machine may have a whole network.
fn network(of: IpAddr) -> IpAddr {
    match of.to_canonical() {
        IpAddr::V6(v6) => Ipv6Addr::from_bits(v6.to_bits() & (!0 << 64)).into(),
        v4 => v4,
    }
}

/// Which of these makes room for one from that address: whose each is, whether it ever said anything, and when it did last.
/// One of whoever has most of them, the new one counted.
fn goes(all: &[(IpAddr, bool, u64)], from: IpAddr) -> Option<usize> {
    let has = |of: IpAddr| {
        let of = network(of);
        let others = all.iter().filter(|one| network(one.0) == of).count();
        others + usize::from(network(from) == of)
    };
    (0..all.len()).min_by_key(|&at| {
        let (from, has_spoken, heard_ns) = all[at];
        (Reverse(has(from)), has_spoken, heard_ns)
    })
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
        self.bytes += length.max(LEAST);
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
    fn who_has_most_connections_makes_room_for_others() {
        let at = |text: &str| -> IpAddr { text.parse().unwrap() };
        let (client, other) = (at("192.0.2.1"), at("203.0.113.9"));
        // All but one are of one machine, and speak more often.
        let mut all = vec![(client, true, 5)];
        all.extend((0..14).map(|n| (other, true, 100 + n)));
        assert_eq!(goes(&all, other), Some(1));
        assert_eq!(goes(&all, at("198.51.100.1")), Some(1));
        // Of its own the one that never said anything, else the one that was silent longest.
        all[7].1 = false;
        assert_eq!(goes(&all, other), Some(7));
        // One machine has all addresses of a network of IPv6.
        let of = |n: u64| at(&format!("2001:db8:1:1::{n:x}"));
        let crowd: Vec<_> = (1..15)
            .map(|n| (of(n), true, 100 + n))
            .chain([(client, true, 5)])
            .collect();
        assert_eq!(goes(&crowd, of(99)), Some(0));
        // Where each has one it is the one that has been silent for longest.
        assert_eq!(
            goes(&[(client, true, 5), (other, true, 4)], at("198.51.100.1")),
            Some(1)
        );
        assert_eq!(goes(&[], client), None);
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
