//! What can go wrong with a socket, a device or a tap: one line each.

#[cfg(test)]
mod tests;

use std::io;
use std::net::{IpAddr, SocketAddr};

/// Why a socket, a device or a tap cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NetError {
    /// No socket of that kind.
    #[error("cannot open {what}: {source}{}", hint(.source, .needs))]
    Open {
        /// What was to be opened.
        what: &'static str,
        /// The right that it takes.
        needs: &'static str,
        /// The system's answer.
        source: io::Error,
    },
    /// The address is not of this machine, or somebody has it.
    #[error("cannot listen on {address}: {source}{}", hint(.source, LOW_PORT))]
    Bind {
        /// The address asked for.
        address: SocketAddr,
        /// The system's answer.
        source: io::Error,
    },
    /// No route there.
    #[error("cannot reach {address}: {source}")]
    Connect {
        /// The address asked for.
        address: SocketAddr,
        /// The system's answer.
        source: io::Error,
    },
    /// The two ends are of different families, or a connected socket lacks its end.
    #[error("{local} and {remote} are not of one family")]
    Families {
        /// This end.
        local: SocketAddr,
        /// The other.
        remote: SocketAddr,
    },
    /// An option that nothing works without.
    #[error("cannot set {option}: {source}")]
    Option {
        /// Its name.
        option: &'static str,
        /// The system's answer.
        source: io::Error,
    },
    /// No such device.
    #[error("no network device {device:?}")]
    NoDevice {
        /// Its name or index.
        device: String,
    },
    /// It is not known by which device packets leave for an address.
    #[error("no device for packets to {to}: {source}")]
    NoRoute {
        /// The address asked for.
        to: IpAddr,
        /// The system's answer.
        source: io::Error,
    },
    /// A device whose packets have no frames of Ethernet.
    #[error(
        "packets to {to} leave by a device without hardware addresses, such as loopback or a tunnel: \
         nothing is sent past its queue"
    )]
    NoHardware {
        /// The address asked for.
        to: IpAddr,
    },
    /// Nobody on the link answers for an address.
    #[error(
        "nobody answers for {next} on its link, so that there is no hardware address to send to"
    )]
    NoNeighbour {
        /// The address of the other machine, or of the gateway to it.
        next: IpAddr,
    },
    /// A device refuses what was asked of it.
    #[error("{device}: cannot {what}: {source}{}", hint(.source, "CAP_NET_ADMIN"))]
    Device {
        /// Its name.
        device: String,
        /// What was asked.
        what: &'static str,
        /// The system's answer.
        source: io::Error,
    },
    /// A device that cannot stamp all packets, or not in hardware.
    #[error("{device}: it cannot stamp every packet in hardware, both ways")]
    NoHardwareStamps {
        /// Its name.
        device: String,
    },
    /// Receiving, waiting or starting a thread failed.
    #[error("cannot {what}: {source}")]
    Io {
        /// What was tried.
        what: &'static str,
        /// The system's answer.
        source: io::Error,
    },
}

const LOW_PORT: &str = "CAP_NET_BIND_SERVICE below net.ipv4.ip_unprivileged_port_start";

/// What would be right, where rights are missing.
fn hint(source: &io::Error, needs: &str) -> String {
    match source.kind() {
        io::ErrorKind::PermissionDenied => format!(" (it takes {needs})"),
        _ => String::new(),
    }
}

impl NetError {
    pub(crate) fn io(what: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io { what, source }
    }
}

/// Why a packet was not sent.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SendError {
    /// The socket's send buffer or the device's queue is full: the packet was dropped here.
    #[error("the queue of this machine is full, so that its kernel dropped the packet ({0})")]
    QueueFull(io::Error),
    /// Longer than what the path takes in one piece.
    #[error("the packet is longer than the path's MTU: {0}")]
    TooLong(io::Error),
    /// No way there.
    #[error("the destination cannot be reached: {0}")]
    Unreachable(io::Error),
    /// Anything else.
    #[error("the packet was not sent: {0}")]
    Other(io::Error),
}

impl SendError {
    pub(crate) fn new(source: io::Error) -> Self {
        match source.raw_os_error() {
            Some(libc::EAGAIN | libc::ENOBUFS | libc::ENOMEM) => Self::QueueFull(source),
            Some(libc::EMSGSIZE) => Self::TooLong(source),
            Some(code) if is_pending(code) => Self::Unreachable(source),
            _ => Self::Other(source),
        }
    }
}

/// Whether an error may be one that an earlier packet left behind (an ICMP message that came
/// meanwhile): the kernel returns it once, from whatever call comes next.
pub(crate) fn is_pending(code: i32) -> bool {
    matches!(
        code,
        libc::ECONNREFUSED
            | libc::EHOSTUNREACH
            | libc::ENETUNREACH
            | libc::EHOSTDOWN
            | libc::ENOPROTOOPT
            | libc::EPROTO
            | libc::EOPNOTSUPP
            | libc::EACCES
            | libc::EMSGSIZE
            | libc::ENONET
    )
}
