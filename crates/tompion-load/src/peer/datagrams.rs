//! Datagrams: how they are made up, and counted where they arrive.

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

/// Those that a load may send: what tells whose they are has room, and so have they in a packet of most networks.
pub const SIZES: std::ops::RangeInclusive<usize> = 16..=9000;

/// A datagram of so many bytes that carries the token of its sender.
///
/// # Panics
/// Where that has no room.
pub fn datagram(token: u64, bytes: usize) -> Vec<u8> {
    let mut datagram = vec![0x5a; bytes];
    datagram[..8].copy_from_slice(&MAGIC);
    datagram[8..16].copy_from_slice(&token.to_le_bytes());
    datagram
}

/// The token of a datagram of ours.
pub fn token_of(datagram: &[u8]) -> Option<u64> {
    let token = datagram.strip_prefix(&MAGIC)?.first_chunk()?;
    Some(u64::from_le_bytes(*token))
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
        let mut buffer = [0; *SIZES.end()];
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
        assert_eq!(token_of(&datagram(42, 16)), Some(42));
        assert_eq!(datagram(7, DATAGRAM_BYTES).len(), DATAGRAM_BYTES);
        assert_eq!(token_of(b"tompion1short"), None);
        assert_eq!(token_of(b"something else entirely"), None);
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
