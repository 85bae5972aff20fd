//! Who is let in: connections that have not asked for a service yet, or not proved the key. There
//! may be thousands that never will, so each has a moment and a line, and no thread.

use std::collections::{HashMap, VecDeque};
use std::io::{self, ErrorKind, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::socket::{Backlog, listen, setsockopt, sockopt};

use super::bulk::is_pause;
use super::hello::{Answer, LINE_BYTES, Service, Talk};
use super::key::Key;

/// How long one may take from connecting to the end of the talk.
const PATIENCE: Duration = Duration::from_secs(2);
/// How many may be at the door, of those that have said nothing of use yet and of those that
/// were challenged. Where there are more, the oldest of those goes that have most of them, network by
/// network: a proof takes as long as the way to a client and back, and meanwhile one machine can send
/// thousands of requests, by thousands of addresses.
const MOST: usize = 256;
/// Connections that the kernel keeps until they are taken.
const BACKLOG: i32 = 4096;
/// How many are taken before those at the door are heard.
const AT_A_TIME: usize = 64;

/// Someone at the door.
struct Waiting {
    since: Instant,
    from: IpAddr,
    hearing: Hearing<TcpStream>,
}

/// What someone has said so far.
pub struct Hearing<S> {
    stream: S,
    heard: Vec<u8>,
    talk: Talk,
}

/// What came of hearing someone.
enum Heard {
    Wait,
    Gone,
    Admit(Service),
}

/// A door.
pub struct Door {
    listener: TcpListener,
    silent: VecDeque<Waiting>,
    challenged: VecDeque<Waiting>,
    /// When the kernel had no descriptor left for another one.
    is_full: bool,
}

impl Door {
    /// # Errors
    /// What the system refuses.
    pub fn new(listener: TcpListener) -> io::Result<Self> {
        listener.set_nonblocking(true)?;
        // More than usual: a flood must not keep a client out of the queue.
        listen(&listener, Backlog::new(BACKLOG).map_err(io::Error::from)?)?;
        Ok(Self {
            listener,
            silent: VecDeque::new(),
            challenged: VecDeque::new(),
            is_full: false,
        })
    }

    /// Waits a while for something to happen, and returns those that are let in.
    ///
    /// # Errors
    /// If the listener fails.
    pub fn wait(
        &mut self,
        key: Option<&Key>,
        longest: Duration,
    ) -> io::Result<Vec<(TcpStream, Service)>> {
        self.sleep(longest);
        self.take()?;
        let mut admitted = Vec::new();
        let now = Instant::now();
        // Those that were challenged before stay before those that are now.
        let everyone = self.challenged.drain(..).chain(self.silent.drain(..));
        let mut silent = VecDeque::new();
        let mut challenged = VecDeque::new();
        for mut waiting in everyone {
            match waiting.hearing.hear(key) {
                Heard::Admit(service) => admitted.push((waiting.hearing.stream, service)),
                Heard::Wait if now.duration_since(waiting.since) < PATIENCE => {
                    match waiting.hearing.talk.has_asked() {
                        true => challenged.push_back(waiting),
                        false => silent.push_back(waiting),
                    }
                }
                Heard::Wait | Heard::Gone => {}
            }
        }
        (self.silent, self.challenged) = (silent, challenged);
        for queue in [&mut self.silent, &mut self.challenged] {
            make_room(queue, MOST);
        }
        Ok(admitted)
    }

    fn sleep(&self, longest: Duration) {
        let listener = PollFd::new(self.listener.as_fd(), PollFlags::POLLIN);
        let everyone = self.silent.iter().chain(&self.challenged);
        let streams = everyone.map(|w| PollFd::new(w.hearing.stream.as_fd(), PollFlags::POLLIN));
        // A listener that nothing can be taken from is always ready.
        let all = (!self.is_full).then_some(listener);
        let mut all: Vec<PollFd<'_>> = all.into_iter().chain(streams).collect();
        let limit = PollTimeout::try_from(longest).unwrap_or(PollTimeout::ZERO);
        // Interrupted or not, everyone is heard next.
        let _ = poll(&mut all, limit);
    }

    /// Takes those that have connected.
    fn take(&mut self) -> io::Result<()> {
        self.is_full = false;
        for _ in 0..AT_A_TIME {
            match self.listener.accept() {
                Ok((stream, from)) => {
                    if stream.set_nonblocking(true).is_ok() {
                        self.silent.push_back(Waiting {
                            since: Instant::now(),
                            from: from.ip().to_canonical(),
                            hearing: Hearing::new(stream),
                        });
                    }
                }
                Err(e) => match e.kind() {
                    ErrorKind::WouldBlock => break,
                    ErrorKind::Interrupted | ErrorKind::ConnectionAborted => {}
                    _ if is_shortage(&e) => {
                        // One of those that crowd makes room for the next one.
                        if !self.drop_one() {
                            self.is_full = true;
                            break;
                        }
                    }
                    _ if is_ours(&e) => return Err(e),
                    // Something on its way, or a rule of a firewall: it is asked again in a while.
                    _ => {
                        self.is_full = true;
                        break;
                    }
                },
            }
        }
        Ok(())
    }

    /// Forgets one of all that wait; false where nobody does.
    fn drop_one(&mut self) -> bool {
        let everyone = self.silent.iter().chain(&self.challenged);
        let all: Vec<IpAddr> = everyone.map(|waiting| waiting.from).collect();
        let at = crowding(&all);
        let challenged = at.checked_sub(self.silent.len());
        match challenged {
            None => self.silent.remove(at),
            Some(at) => self.challenged.remove(at),
        }
        .is_some()
    }
}

/// Whether the listener is none: all else that `accept(2)` may say is of whoever came.
fn is_ours(error: &io::Error) -> bool {
    use nix::libc::{EBADF, EFAULT, EINVAL, ENOTSOCK};
    let ours = [EBADF, EFAULT, EINVAL, ENOTSOCK].map(Some);
    ours.contains(&error.raw_os_error())
}

/// Leaves as many of a queue as `most`.
fn make_room(queue: &mut VecDeque<Waiting>, most: usize) {
    while queue.len() > most {
        let all: Vec<IpAddr> = queue.iter().map(|waiting| waiting.from).collect();
        queue.remove(crowding(&all));
    }
}

/// Lengths of the networks, in bits, that an address is in, from the largest to what one machine has for
/// itself: who has a network has all its addresses.
fn networks(of: IpAddr) -> &'static [u32] {
    match of {
        IpAddr::V4(_) => &[8, 16, 24, 32],
        IpAddr::V6(_) => &[32, 48, 64, 128],
    }
}

/// Which of these goes, from the oldest on: that network which has most of them, in it that smaller one which has
/// most, and so on; of the last one the oldest.
fn crowding(all: &[IpAddr]) -> usize {
    let mut left: Vec<usize> = (0..all.len()).collect();
    let deepest = all.iter().map(|from| networks(*from).len()).max();
    for depth in 0..deepest.unwrap_or(0) {
        let mut counts = HashMap::<(IpAddr, u32), usize>::new();
        let of = |at: usize| {
            let lengths = networks(all[at]);
            network(all[at], lengths[depth.min(lengths.len() - 1)])
        };
        for &at in &left {
            *counts.entry(of(at)).or_default() += 1;
        }
        let most = counts.values().copied().max();
        if let Some(&first) = left
            .iter()
            .find(|at| counts.get(&of(**at)).copied() == most)
        {
            let chosen = of(first);
            left.retain(|at| of(*at) == chosen);
        }
    }
    left.first().copied().unwrap_or(0)
}

/// The first `bits` of an address.
fn network(of: IpAddr, bits: u32) -> (IpAddr, u32) {
    let first = match of {
        IpAddr::V4(ip) => Ipv4Addr::from_bits(ip.to_bits() & (!0 << (32 - bits))).into(),
        IpAddr::V6(ip) => Ipv6Addr::from_bits(ip.to_bits() & (!0 << (128 - bits))).into(),
    };
    (first, bits)
}

/// Whether the system has too few descriptors or too little memory just now.
fn is_shortage(error: &io::Error) -> bool {
    use nix::libc::{EMFILE, ENFILE, ENOBUFS, ENOMEM, EPERM, EPROTO};
    matches!(
        error.raw_os_error(),
        Some(EMFILE | ENFILE | ENOBUFS | ENOMEM | EPERM | EPROTO)
    )
}

impl<S: Read + Write> Hearing<S> {
    pub fn new(stream: S) -> Self {
        Self {
            stream,
            heard: Vec::new(),
            talk: Talk::new(),
        }
    }

    /// Whether it is let in by what it has said by now.
    pub fn is_admitted(&mut self, key: Option<&Key>) -> bool {
        matches!(self.hear(key), Heard::Admit(_))
    }

    fn hear(&mut self, key: Option<&Key>) -> Heard {
        let mut piece = [0; LINE_BYTES];
        loop {
            let room = LINE_BYTES - self.heard.len();
            match self.stream.read(&mut piece[..room]) {
                Ok(0) => return Heard::Gone,
                Ok(read) => self.heard.extend(&piece[..read]),
                Err(e) if is_pause(&e) => return Heard::Wait,
                Err(_) => return Heard::Gone,
            }
            let Some(end) = self.heard.iter().position(|byte| *byte == b'\n') else {
                match self.heard.len() == LINE_BYTES {
                    true => return Heard::Gone,
                    false => continue,
                }
            };
            let line: Vec<u8> = self.heard.drain(..=end).collect();
            let line = String::from_utf8_lossy(&line[..end]).into_owned();
            // What comes after a line is asked for by its answer: nobody sends it before.
            let (answer, next) = match self.talk.hear(&line, key) {
                Answer::Say(line) => (line, Heard::Wait),
                Answer::Serve(line, service) => (line, Heard::Admit(service)),
                Answer::Refuse(line) => (line, Heard::Gone),
            };
            // Less than any socket's buffer.
            let sent = self.stream.write_all(format!("{answer}\n").as_bytes());
            match (sent, next) {
                (Ok(()), Heard::Wait) => {}
                (Ok(()), next) => return next,
                (Err(_), _) => return Heard::Gone,
            }
        }
    }
}

/// Has the kernel notice within two minutes when a client's machine is gone.
pub fn keep_alive(stream: &TcpStream) {
    // Where that cannot be had, such a client keeps its place.
    let _ = setsockopt(stream, sockopt::KeepAlive, &true);
    let _ = setsockopt(stream, sockopt::TcpKeepIdle, &60);
    let _ = setsockopt(stream, sockopt::TcpKeepInterval, &10);
    let _ = setsockopt(stream, sockopt::TcpKeepCount, &6);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The address of one of a crowd.
    type Address = fn(u32) -> IpAddr;

    fn addresses(texts: &[&str]) -> Vec<IpAddr> {
        texts.iter().map(|text| text.parse().unwrap()).collect()
    }

    #[test]
    fn whatever_comes_of_a_newcomer_ends_nothing() {
        // accept(2): errors of the network that are waiting on the new connection, and rules of firewalls.
        use nix::libc;
        let theirs = [
            libc::ENETDOWN,
            libc::EPROTO,
            libc::ENOPROTOOPT,
            libc::EHOSTDOWN,
            libc::ENONET,
            libc::EHOSTUNREACH,
            libc::EOPNOTSUPP,
            libc::ENETUNREACH,
            libc::EPERM,
            libc::ETIMEDOUT,
        ];
        assert!(
            !theirs
                .iter()
                .any(|code| is_ours(&io::Error::from_raw_os_error(*code)))
        );
        assert!(is_ours(&io::Error::from_raw_os_error(libc::EBADF)));
    }

    #[test]
    fn the_oldest_of_those_that_crowd_goes() {
        let goes = |all: &[&str]| crowding(&addresses(all));
        assert_eq!(goes(&["192.0.2.1", "192.0.2.2", "192.0.2.2"]), 1);
        // Of machines that have as many the oldest.
        assert_eq!(goes(&["192.0.2.1", "198.51.100.1"]), 0);
        // A network of machines with one each, beside one machine elsewhere.
        assert_eq!(goes(&["203.0.113.9", "198.51.100.1", "198.51.100.2"]), 1);
        assert_eq!(
            goes(&["2001:db8:1::1", "2001:db8:2:1::1", "2001:db8:2:2::1"]),
            1
        );
        // One machine beside a client's in its own network.
        assert_eq!(goes(&["2001:db8::c", "2001:db8::a", "2001:db8::a"]), 1);
        // IPv4 and IPv6.
        assert_eq!(goes(&["192.0.2.1", "2001:db8::1", "2001:db8::2"]), 1);
    }

    #[test]
    fn a_crowd_of_addresses_keeps_nobody_out() {
        // As many as there is room for, each from an address of its own, of 127/8 or of a /48 of IPv6, come after
        // one from elsewhere, or from the same /8: it stays.
        let crowds: [(&str, Address); 3] = [
            ("10.99.1.2", |n| {
                Ipv4Addr::from_bits(0x7f00_0000 | n.wrapping_mul(2_654_435_761) >> 8).into()
            }),
            ("10.99.1.2", |n| {
                Ipv4Addr::from_bits(0x0a01_0000 | n.wrapping_mul(2_654_435_761) >> 16).into()
            }),
            ("2001:db8:7::1", |n| {
                let network = 0x2001_0db8_0008_0000_u128 << 64;
                Ipv6Addr::from_bits(network | u128::from(n) << 64 | 1).into()
            }),
        ];
        for (client, of_crowd) in crowds {
            let client: IpAddr = client.parse().unwrap();
            let mut queue = VecDeque::from([client]);
            for n in 0..4 * MOST as u32 {
                queue.push_back(of_crowd(n));
                if queue.len() > MOST {
                    let goes = crowding(queue.make_contiguous());
                    queue.remove(goes);
                }
            }
            assert_eq!(queue[0], client);
        }
    }
}
