//! What the kernel grants a socket, and what it refuses.

/// Whose stamps a packet gets that is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransmitStamps {
    /// The kernel's, read back from the error queue.
    Kernel,
    /// None but the caller's own, read before the packet is handed over.
    User {
        /// What the kernel answered when it was asked (gVisor: `ENOPROTOOPT`); 0 where it was
        /// not asked.
        errno: i32,
    },
}

/// Whose stamps a packet gets that comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReceiveStamps {
    /// The kernel's, in nanoseconds.
    Nanoseconds,
    /// The kernel's, in microseconds (`SO_TIMESTAMP`).
    Microseconds,
    /// None but the caller's own, read once the packet is there.
    User {
        /// As in [`TransmitStamps::User`].
        errno: i32,
    },
}

/// How transmit stamps are matched with packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ids {
    /// Each packet brings its number along (`SCM_TS_OPT_ID`, since Linux 6.13).
    ByPacket,
    /// The kernel counts packets. One that could not be sent makes its count uncertain: stamps
    /// go to nobody until it was begun anew.
    Counted,
}

/// A buffer as asked for, and as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BufferSize {
    /// Bytes asked for.
    pub asked: usize,
    /// Bytes granted.
    pub granted: usize,
    /// Whether the system's limit was overridden, which takes CAP_NET_ADMIN
    /// (`SO_RCVBUFFORCE`). Where it was not, `granted` may be far below `asked`, and stamps are
    /// lost at high rates.
    pub is_forced: bool,
}

/// What a socket was granted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capability {
    /// Stamps of what is sent.
    pub transmit: TransmitStamps,
    /// Stamps of what comes.
    pub receive: ReceiveStamps,
    /// The buffer that holds both packets and transmit stamps until they are read.
    pub receive_buffer: BufferSize,
    /// Whether TTL or hop limit of what comes is told.
    pub ttl: bool,
    /// Whether TOS or traffic class of what comes is told.
    pub tos: bool,
    /// Whether the address is told that a packet was sent to.
    pub destination: bool,
    /// Whether dropped packets are counted (`SO_RXQ_OVFL`).
    pub drops: bool,
    /// Whether ICMP errors are told (`IP_RECVERR`).
    pub icmp_errors: bool,
    /// Whether receiving polls the device for a while (`SO_BUSY_POLL`); false where that was not
    /// asked for.
    pub busy_poll: bool,
}
