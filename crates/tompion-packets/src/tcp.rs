//! What TCP makes of the same path, beside the probes: the figure by which it waits for what was lost.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use serde::Serialize;
use tompion_net::{TcpTimes, monotonic_ns, tcp_times};
use tompion_path::stamps::Values;

use crate::error::PacketError;
use crate::summary::Quantiles;

/// How long a connection may take.
const CONNECT: Duration = Duration::from_secs(3);

/// A connection on which a byte goes there and back now and then.
#[derive(Debug)]
pub struct TcpBeside {
    to: SocketAddr,
    stream: TcpStream,
    interval_ns: u64,
    next_ns: u64,
    /// Whether a byte came back since it was looked last: only then there is a new figure.
    came_back: bool,
    smoothed_ns: Vec<i64>,
    last: Option<TcpTimes>,
    ended: Option<io::Error>,
}

/// What TCP made of the path.
#[derive(Clone, Debug, Serialize)]
pub struct TcpSeen {
    /// The smoothed round trip (`tcpi_rtt`) as it was each time, in whole microseconds.
    pub smoothed: Option<Quantiles>,
    /// The least round trip (`tcpi_min_rtt`), in nanoseconds.
    pub least_ns: Option<u64>,
    /// Segments that were sent again.
    pub sent_again: u32,
    /// Why the connection ended before the probes did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended: Option<String>,
}

impl TcpBeside {
    /// Connects to a far end that echoes. There is room for `most` looks, one an interval at most.
    ///
    /// # Errors
    /// Nobody is there, or has no TCP echo.
    pub fn connect(to: SocketAddr, interval: Duration, most: usize) -> Result<Self, PacketError> {
        let refused = |source| PacketError::Tcp { to, source };
        let stream = TcpStream::connect_timeout(&to, CONNECT).map_err(refused)?;
        stream.set_nodelay(true).map_err(refused)?;
        stream.set_nonblocking(true).map_err(refused)?;
        Ok(Self {
            to,
            stream,
            interval_ns: u64::try_from(interval.as_nanos()).unwrap_or(u64::MAX),
            next_ns: 0,
            came_back: false,
            smoothed_ns: Vec::with_capacity(most),
            last: None,
            ended: None,
        })
    }

    /// Looks at what the kernel has where a byte came back, and sends the next one. Call it when no probe is under way.
    pub fn turn(&mut self) {
        let now_ns = monotonic_ns();
        if now_ns < self.next_ns || self.ended.is_some() {
            return;
        }
        self.next_ns = now_ns.saturating_add(self.interval_ns);
        if let Err(error) = self.look().and_then(|()| self.send()) {
            self.ended = Some(error);
        }
    }

    fn look(&mut self) -> io::Result<()> {
        match self.stream.read(&mut [0; 64]) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(_) => self.came_back = true,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
        // Before the first one there is the handshake alone.
        if !std::mem::take(&mut self.came_back) {
            return Ok(());
        }
        let times = tcp_times(&self.stream)?;
        self.last = Some(times);
        if self.smoothed_ns.len() < self.smoothed_ns.capacity() {
            let ns = i64::try_from(times.smoothed_ns).unwrap_or(i64::MAX);
            self.smoothed_ns.push(ns);
        }
        Ok(())
    }

    fn send(&mut self) -> io::Result<()> {
        match self.stream.write(&[0]) {
            Ok(_) => Ok(()),
            // What was lost is sent again first.
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// What it came to.
    ///
    /// # Errors
    /// The far end ended the connection at once: what listens there is no echo.
    pub fn finish(mut self) -> Result<TcpSeen, PacketError> {
        // Of the last byte.
        if self.ended.is_none()
            && let Err(error) = self.look()
        {
            self.ended = Some(error);
        }
        if self.last.is_none()
            && let Some(source) = self.ended
        {
            return Err(PacketError::Tcp {
                to: self.to,
                source,
            });
        }
        Ok(TcpSeen {
            smoothed: Quantiles::of(&Values::from(self.smoothed_ns)),
            least_ns: self.last.and_then(|times| times.least_ns),
            sent_again: self.last.map_or(0, |times| times.sent_again),
            ended: self.ended.map(|error| error.to_string()),
        })
    }
}
