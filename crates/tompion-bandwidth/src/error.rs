//! What can go wrong, one line each.

use std::net::SocketAddr;
use std::time::Duration;

use tompion_model::format_ns;
use tompion_net::NetError;
use tompion_packets::PacketError;
use tompion_stamp::SenderError;

/// Why there is no estimate.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BandwidthError {
    /// Packets of that length do not get there.
    #[error("packets of {bytes} bytes do not get to {to}: {why}; those of {fits} do")]
    TooLong {
        /// The far end.
        to: SocketAddr,
        /// As it was asked for.
        bytes: u32,
        /// What is known of the reason.
        why: String,
        /// A length that does.
        fits: u32,
    },
    /// It tells nobody when packets arrived.
    #[error("{to} answers without receive stamps, so that nothing says when packets arrived there")]
    NoStamps {
        /// The far end.
        to: SocketAddr,
    },
    /// It says that it is Tompion, and is silent about trains.
    #[error("{to} does not answer a question for the arrivals of a train, of {bytes} bytes{}", .why.as_deref().map(|w| format!(": {w}")).unwrap_or_default())]
    Silent {
        /// The far end.
        to: SocketAddr,
        /// How long the question is, as UDP has it.
        bytes: usize,
        /// Why this machine did not send it, where it did not.
        why: Option<String>,
    },
    /// It answered before, and does not now.
    #[error("{to} does not say when a train of {packets} packets arrived: {why}")]
    NoArrivals {
        /// The far end.
        to: SocketAddr,
        /// How many were sent.
        packets: usize,
        /// What may be the reason.
        why: &'static str,
    },
    /// Nothing of a train left this machine.
    #[error("no packet of a train could be sent to {to}: {why}")]
    NothingSent {
        /// The far end.
        to: SocketAddr,
        /// The system's answer to the first.
        why: String,
    },
    /// The time was up, or too short for the next train.
    #[error(
        "no answer within {}, in which {trains} trains with {bytes} bytes were sent{}",
        format_ns(.time.as_nanos() as f64),
        .next.map_or_else(String::new, |next| {
            let next = format_ns(next.as_nanos() as f64);
            format!("; the next one takes {next}, which is more than was left")
        })
    )]
    OutOfTime {
        /// What it could take.
        time: Duration,
        /// What the next train would take, with the silence before it, where that is more than was left.
        next: Option<Duration>,
        /// Trains that were sent.
        trains: usize,
        /// Their bytes.
        bytes: u64,
    },
    /// The far end, asked before anything else.
    #[error(transparent)]
    Packets(#[from] PacketError),
    /// A socket.
    #[error(transparent)]
    Net(#[from] NetError),
    /// A setting.
    #[error(transparent)]
    Sender(#[from] SenderError),
}
