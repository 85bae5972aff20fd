//! What is known of the moments at which a packet passed.
//!
//! Every `_ns` is nanoseconds since 1970 by `CLOCK_REALTIME`, as the kernel stamps, but for
//! hardware stamps, which are by the device's own clock, and what is named `mono_ns`, which is
//! by `CLOCK_MONOTONIC`.

use std::net::{IpAddr, SocketAddr};

use tompion_time::os::{ClockId, now_ns};

/// Which stamp of a packet that is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TxKind {
    /// The packet enters the device's queueing discipline (`SCM_TSTAMP_SCHED`).
    Sched,
    /// The driver has it, the last moment that software sees (`SCM_TSTAMP_SND`).
    Software,
    /// The device itself says that it went; by its own clock.
    Hardware,
}

impl TxKind {
    /// All of them, in the order in which a packet passes.
    pub const ALL: [Self; 3] = [Self::Sched, Self::Software, Self::Hardware];

    /// Where it stands in [`ALL`](Self::ALL).
    pub const fn index(self) -> usize {
        match self {
            Self::Sched => 0,
            Self::Software => 1,
            Self::Hardware => 2,
        }
    }

    pub(crate) const fn bit(self) -> u64 {
        1 << self.index()
    }
}

/// A stamp of a packet that was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TxStamp {
    /// The number that the caller gave the packet.
    pub number: u64,
    /// Which stamp.
    pub kind: TxKind,
    /// When, in nanoseconds.
    pub ns: i64,
}

/// The stamps of a packet that came.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RxStamps {
    /// When the call that read it, or that batch, returned.
    pub user_ns: i64,
    /// When the kernel took it from the driver; rounded down to microseconds where
    /// [`ReceiveStamps::Microseconds`](crate::ReceiveStamps) is all that there is.
    pub software_ns: Option<i64>,
    /// When the device had it; by its own clock.
    pub hardware_ns: Option<i64>,
}

/// A packet that came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Received {
    /// Its stamps.
    pub stamps: RxStamps,
    /// Who sent it.
    pub from: Option<SocketAddr>,
    /// The address that it was sent to.
    pub to: Option<IpAddr>,
    /// Index of the device that it came by.
    pub interface: Option<u32>,
    /// TTL or hop limit as it arrived.
    pub ttl: Option<u8>,
    /// TOS or traffic class as it arrived.
    pub tos: Option<u8>,
    /// Its length in bytes, also where the buffer was shorter; without the IP header.
    pub length: usize,
    /// Packets that the socket has dropped since it was opened, as far as this packet tells.
    pub drops: Option<u32>,
}

/// An ICMP message about a packet that was sent, or this machine's own refusal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IcmpError<'a> {
    /// Who says so.
    pub origin: ErrorOrigin,
    /// The error that the kernel makes of it, as in errno.h.
    pub errno: u32,
    /// Type of the ICMP message; 0 where this machine itself refused.
    pub kind: u8,
    /// Its code.
    pub code: u8,
    /// The next link's MTU, where the packet was too long.
    pub mtu: Option<u32>,
    /// Who sent the message.
    pub offender: Option<IpAddr>,
    /// Where the packet had been sent to.
    pub destination: Option<SocketAddr>,
    /// What the message quotes of the packet, from its payload (UDP) or its ICMP header on.
    pub quoted: &'a [u8],
}

/// Who says that a packet did not arrive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorOrigin {
    /// This machine.
    Local,
    /// An ICMP message.
    Icmp,
    /// An ICMPv6 message.
    Icmpv6,
    /// Another origin, by the kernel's number.
    Other(u8),
}

/// What the error queue holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event<'a> {
    /// A transmit stamp.
    Stamp(TxStamp),
    /// An ICMP error.
    Error(IcmpError<'a>),
}

/// `CLOCK_REALTIME`, as the kernel stamps, in nanoseconds since 1970.
pub fn realtime_ns() -> i64 {
    // Until the year 2262.
    now_ns(ClockId::Realtime).cast_signed()
}

/// `CLOCK_MONOTONIC`, by which packets are due, in nanoseconds.
pub fn monotonic_ns() -> u64 {
    now_ns(ClockId::Monotonic)
}
