//! Datagrams: how they are made up, sent at a rate, and counted where they arrive.

use std::collections::HashMap;
use std::io;
use std::net::{TcpStream, UdpSocket};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::bulk::is_pause;
use super::hello::answer;

/// Payload of a datagram: fits the usual 1500 bytes of a packet, also with IPv6.
pub const DATAGRAM_BYTES: usize = 1400;
/// Begins every datagram, before the token.
const MAGIC: [u8; 8] = *b"tompion1";

/// A datagram that carries the token of its sender.
pub fn datagram(token: u64) -> Vec<u8> {
    let mut datagram = vec![0x5a; DATAGRAM_BYTES];
    datagram[..8].copy_from_slice(&MAGIC);
    datagram[8..16].copy_from_slice(&token.to_le_bytes());
    datagram
}

/// The token of a datagram of ours.
pub fn token_of(datagram: &[u8]) -> Option<u64> {
    let token = datagram.strip_prefix(&MAGIC)?.first_chunk()?;
    Some(u64::from_le_bytes(*token))
}

/// Which datagrams are due at a rate. What could not be sent in time is sent
/// later, but no more than a twentieth of a second's worth: a pause earns no
/// burst.
pub struct Schedule {
    bits_per_second: u64,
    begun: Option<Duration>,
    sent: u64,
}

impl Schedule {
    const LATE: Duration = Duration::from_millis(50);

    pub fn new(bits_per_second: u64) -> Self {
        Self {
            bits_per_second,
            begun: None,
            sent: 0,
        }
    }

    /// How long to wait for the next datagram, which then counts as sent; zero
    /// when it is due. `now` is the time since some fixed moment.
    pub fn next(&mut self, now: Duration) -> Duration {
        let mut begun = self.begun.unwrap_or(now);
        if now > begun + self.length(self.sent) + Self::LATE {
            begun = now - Self::LATE;
            self.sent = 0;
        }
        self.begun = Some(begun);
        let due_at = begun + self.length(self.sent);
        self.sent += 1;
        due_at.saturating_sub(now)
    }

    /// How long so many datagrams take.
    fn length(&self, datagrams: u64) -> Duration {
        let bits = u128::from(datagrams) * DATAGRAM_BYTES as u128 * 8;
        let ns = bits * 1_000_000_000 / u128::from(self.bits_per_second);
        Duration::from_nanos(u64::try_from(ns).unwrap_or(u64::MAX))
    }
}

/// What has arrived from one load.
#[derive(Default)]
struct Arrived {
    datagrams: AtomicU64,
    bytes: AtomicU64,
}

/// Counts datagrams by the tokens of the loads that send them.
pub struct Counter {
    socket: UdpSocket,
    loads: Mutex<HashMap<u64, Arc<Arrived>>>,
}

impl Counter {
    pub fn new(socket: UdpSocket, look_every: Duration) -> io::Result<Self> {
        socket.set_read_timeout(Some(look_every))?;
        Ok(Self {
            socket,
            loads: Mutex::default(),
        })
    }

    /// Counts until `stop` is set.
    pub fn run(&self, stop: &AtomicBool) {
        let mut buffer = [0; 2048];
        // Most datagrams come from the load that sent the last one.
        let mut last: Option<(u64, Arc<Arrived>)> = None;
        while !stop.load(Ordering::Relaxed) {
            // Errors are those of somebody's earlier answer: nothing is sent here.
            let Ok(length) = self.socket.recv(&mut buffer) else {
                continue;
            };
            let Some(token) = token_of(&buffer[..length]) else {
                continue;
            };
            if last.as_ref().is_none_or(|(known, _)| *known != token) {
                let found = self.lock().get(&token).cloned();
                last = found.map(|arrived| (token, arrived));
            }
            if let Some((_, arrived)) = &last {
                arrived.datagrams.fetch_add(1, Ordering::Relaxed);
                arrived.bytes.fetch_add(length as u64, Ordering::Relaxed);
            }
        }
    }

    /// Tells a load its token, and then how much has arrived whenever more has,
    /// until it goes away. The stream has a timeout.
    pub fn serve(&self, stream: &TcpStream, token: u64, stop: &AtomicBool) -> io::Result<()> {
        let arrived = Arc::new(Arrived::default());
        self.lock().insert(token, Arc::clone(&arrived));
        let result = self.report(stream, token, &arrived, stop);
        self.lock().remove(&token);
        result
    }

    fn report(
        &self,
        stream: &TcpStream,
        token: u64,
        arrived: &Arrived,
        stop: &AtomicBool,
    ) -> io::Result<()> {
        answer(stream, &format!("token {token:016x}"))?;
        let mut told = 0;
        while !stop.load(Ordering::Relaxed) {
            // The load says nothing: this waits for the timeout, or for its end.
            match stream.peek(&mut [0]) {
                Ok(0) => break,
                Ok(_) => return Err(io::ErrorKind::InvalidData.into()),
                Err(e) if is_pause(&e) => {}
                Err(e) => return Err(e),
            }
            let bytes = arrived.bytes.load(Ordering::Relaxed);
            if bytes != told {
                let datagrams = arrived.datagrams.load(Ordering::Relaxed);
                answer(stream, &format!("{datagrams} {bytes}"))?;
                told = bytes;
            }
        }
        Ok(())
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<u64, Arc<Arrived>>> {
        self.loads.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The token that [`Counter::serve`] tells first.
///
/// # Errors
/// What it is instead, to follow a name.
pub fn told_token(answer: &str) -> Result<u64, String> {
    let token = answer.strip_prefix("token ");
    token
        .and_then(|token| u64::from_str_radix(token, 16).ok())
        .ok_or_else(|| format!("answers '{}' in place of a token", answer.escape_debug()))
}

/// The bytes of a report of `Counter::serve`.
///
/// # Errors
/// What it is instead, to follow a name.
pub fn arrived_bytes(report: &str) -> Result<u64, String> {
    let bytes = report
        .split_once(' ')
        .and_then(|(_, bytes)| bytes.parse().ok());
    bytes.ok_or_else(|| {
        format!(
            "reports '{}' in place of two numbers",
            report.escape_debug()
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn datagrams_carry_their_token() {
        assert_eq!(token_of(&datagram(42)), Some(42));
        assert_eq!(datagram(7).len(), DATAGRAM_BYTES);
        assert_eq!(token_of(b"tompion1short"), None);
        assert_eq!(token_of(b"something else entirely"), None);
    }

    #[test]
    fn a_rate_is_kept_and_a_pause_earns_little() {
        // 1000 datagrams a second.
        let mut schedule = Schedule::new(1000 * 8 * DATAGRAM_BYTES as u64);
        let second = Duration::from_secs(1);
        let mut now = second;
        let mut sent = 0;
        while now < 2 * second {
            now += schedule.next(now);
            sent += 1;
        }
        assert!((1000..=1001).contains(&sent), "{sent}");
        // An hour later: a burst of 50 at most, then the rate again.
        now += 3600 * second;
        let burst = (0..200)
            .take_while(|_| schedule.next(now).is_zero())
            .count();
        assert!((50..=52).contains(&burst), "{burst}");
    }

    #[test]
    fn reports_are_read() {
        assert_eq!(told_token("token 002a"), Ok(42));
        assert_eq!(arrived_bytes("3 4200"), Ok(4200));
        // Whoever answers there chose the words: no terminal acts on them.
        let words = ["\u{1b}[2J", "token \u{202e}", "3"];
        for told in words.map(|w| [told_token(w), arrived_bytes(w)]).concat() {
            let why = told.unwrap_err();
            assert!(why.is_ascii() && !why.contains('\u{1b}'), "{why:?}");
        }
    }
}
