//! Daemons of this machine asked by a datagram.

use std::net::{Ipv4Addr, UdpSocket};
use std::time::Duration;

/// Who answers for the daemons: they themselves, or a test.
pub trait Ask {
    /// The answer to one datagram that is sent to a port of this machine.
    fn ask(&self, port: u16, request: &[u8]) -> Option<Vec<u8>>;
}

/// The daemons on the loopback interface. Where none listens, the kernel says so at once.
pub struct Loopback;

/// How long a daemon is waited for that is there and says nothing.
const PATIENCE: Duration = Duration::from_millis(300);
/// More than any answer is long.
const LONGEST: usize = 2048;

impl Ask for Loopback {
    fn ask(&self, port: u16, request: &[u8]) -> Option<Vec<u8>> {
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).ok()?;
        socket.set_read_timeout(Some(PATIENCE)).ok()?;
        // From now on nobody else's datagrams arrive.
        socket.connect((Ipv4Addr::LOCALHOST, port)).ok()?;
        socket.send(request).ok()?;
        let mut answer = vec![0; LONGEST];
        let length = socket.recv(&mut answer).ok()?;
        answer.truncate(length);
        Some(answer)
    }
}
