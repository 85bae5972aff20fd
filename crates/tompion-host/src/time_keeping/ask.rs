//! Daemons of this machine asked by a datagram.

use std::cell::Cell;
use std::net::{Ipv4Addr, UdpSocket};
use std::time::{Duration, Instant};

/// Who answers for the daemons: they themselves, or a test.
pub trait Ask {
    /// The answer to one datagram that is sent to a port of this machine.
    fn ask(&self, port: u16, request: &[u8]) -> Option<Vec<u8>>;
}

/// The daemons on the loopback interface. Where none listens, the kernel says so at once.
#[derive(Default)]
pub struct Loopback {
    /// How long all of them have been waited for.
    waited: Cell<Duration>,
}

/// How long a daemon is waited for that is there and says nothing.
const PATIENCE: Duration = Duration::from_millis(300);
/// How long all answers together may take: one that is slow each time is asked no more then.
const PATIENCE_IN_ALL: Duration = Duration::from_secs(1);
/// More than any answer is long.
const LONGEST: usize = 2048;

impl Ask for Loopback {
    fn ask(&self, port: u16, request: &[u8]) -> Option<Vec<u8>> {
        let patience = PATIENCE_IN_ALL.saturating_sub(self.waited.get());
        let patience = patience.min(PATIENCE);
        if patience.is_zero() {
            return None;
        }
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).ok()?;
        socket.set_read_timeout(Some(patience)).ok()?;
        // From now on nobody else's datagrams arrive.
        socket.connect((Ipv4Addr::LOCALHOST, port)).ok()?;
        socket.send(request).ok()?;
        let mut answer = vec![0; LONGEST];
        let began = Instant::now();
        let received = socket.recv(&mut answer);
        self.waited.set(self.waited.get() + began.elapsed());
        answer.truncate(received.ok()?);
        Some(answer)
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    #[test]
    fn one_that_is_slow_each_time_is_not_waited_for_without_end() {
        let daemon = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = daemon.local_addr().unwrap().port();
        thread::spawn(move || {
            let mut request = [0; 16];
            while let Ok((_, from)) = daemon.recv_from(&mut request) {
                thread::sleep(Duration::from_millis(200));
                let _ = daemon.send_to(b"slow", from);
            }
        });
        let (loopback, began) = (Loopback::default(), Instant::now());
        let answers = (0..100).filter_map(|_| loopback.ask(port, b"?")).count();
        // In all twenty seconds; the first comes even where others have the CPU.
        assert!((1..10).contains(&answers), "{answers}");
        assert!(began.elapsed() < Duration::from_secs(10));
    }
}
