//! What can go wrong with a measurement, one line each.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use tompion_model::format_ns;
use tompion_net::NetError;
use tompion_path::stamps::PacketsError;
use tompion_stamp::{ReflectorError, SenderError};

/// Why round trips cannot be measured, or packets not answered.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PacketError {
    /// The name has no address.
    #[error("{host}: {source}")]
    NoSuchHost {
        /// As it was given.
        host: String,
        /// The resolver's answer.
        source: io::Error,
    },
    /// The name has no address of the family that was asked for.
    #[error("{host} has no {family} address")]
    NoAddress {
        /// As it was given.
        host: String,
        /// `IPv4`, `IPv6` or `IP`.
        family: &'static str,
    },
    /// A probe is longer or shorter than it can be.
    #[error("a probe has {least} to {most} bytes as an IP packet, not {wanted}")]
    Size {
        /// As it was given.
        wanted: usize,
        /// The shortest.
        least: usize,
        /// The longest.
        most: usize,
    },
    /// More probes than are kept.
    #[error("{wanted} probes: at most {most} are kept, so send fewer or at a longer interval")]
    TooMany {
        /// As they were asked for.
        wanted: u64,
        /// The most.
        most: u64,
    },
    /// Nothing came back.
    #[error("no reply from {} to {sent} probes{}", end(.to), .why.as_deref().map(|w| format!(": {w}")).unwrap_or_default())]
    NoReply {
        /// Who was asked.
        to: SocketAddr,
        /// How many were sent.
        sent: u64,
        /// What is known of the reason.
        why: Option<String>,
    },
    /// No probe was sent.
    #[error("no probe could be sent to {}: {why}", end(.to))]
    NothingSent {
        /// To whom.
        to: SocketAddr,
        /// The system's answer to the first of them.
        why: String,
    },
    /// The interval is shorter than this machine sends at.
    #[error(
        "an interval of {} cannot be held here: probes left {} apart, the last {} late",
        in_words(.wanted), in_words(.least), in_words(.late)
    )]
    Interval {
        /// As it was given.
        wanted: Duration,
        /// What was held.
        least: Duration,
        /// How late the last probe was.
        late: Duration,
    },
    /// What tells this measurement from others cannot be had.
    #[error("the kernel gives no random numbers")]
    NoRandomNumbers,
    /// A key that is not to be had.
    #[error("{why}")]
    Key {
        /// Why.
        why: String,
    },
    /// No connection to a TCP echo.
    #[error("no TCP echo at {to}: {source} (it is there where `tompion reflect --tcp` runs)")]
    Tcp {
        /// Where it was looked for.
        to: SocketAddr,
        /// The system's answer.
        source: io::Error,
    },
    /// A socket.
    #[error(transparent)]
    Net(#[from] NetError),
    /// A sender's settings.
    #[error(transparent)]
    Sender(#[from] SenderError),
    /// A reflector's settings.
    #[error(transparent)]
    Reflector(#[from] ReflectorError),
    /// The table of probes.
    #[error(transparent)]
    Packets(#[from] PacketsError),
}

impl PacketError {
    /// Of a key that cannot be read.
    pub fn key(why: impl std::fmt::Display) -> Self {
        Self::Key {
            why: why.to_string(),
        }
    }
}

/// The other end, without a port where it has none, as with ICMP.
fn end(to: &SocketAddr) -> String {
    match to.port() {
        0 => to.ip().to_string(),
        _ => to.to_string(),
    }
}

/// A time with its unit.
fn in_words(time: &Duration) -> String {
    format_ns(time.as_nanos() as f64)
}
