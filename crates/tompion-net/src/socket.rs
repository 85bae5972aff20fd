//! Sockets whose packets get stamps.

pub(crate) mod open;
mod reading;
mod sending;
pub(crate) mod settling;

use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use crate::capability::{Capability, Ids};
use crate::error::NetError;
use crate::ledger::{Ledger, Losses};
use crate::past_queue::PastQueue;
use crate::stamping::set_flags;
use crate::sys;

/// What a socket speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Transport {
    /// UDP.
    Udp,
    /// ICMP echo by a raw socket, which takes CAP_NET_RAW. Packets begin with the ICMP header;
    /// every echo reply of this machine comes. Over IPv4 the caller makes the checksum.
    IcmpRaw,
    /// ICMP echo by a ping socket, which takes a group within `net.ipv4.ping_group_range`. The
    /// kernel sets the identifier (the local port) and the checksum; only answers to it come.
    IcmpPing,
}

/// How a socket is to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// What it speaks.
    pub transport: Transport,
    /// Its own address, which decides between IPv4 and IPv6 as well.
    pub local: SocketAddr,
    /// The only other end, if there is one.
    pub remote: Option<SocketAddr>,
    /// TTL or hop limit of what is sent.
    pub ttl: Option<u8>,
    /// TOS or traffic class of what is sent.
    pub tos: Option<u8>,
    /// Whether a packet that is longer than the path's MTU is refused
    /// ([`SendError::TooLong`](crate::SendError::TooLong), the MTU on the error queue), not sent in
    /// pieces, of which each would have stamps of its own.
    pub in_one_piece: bool,
    /// Bytes for packets and transmit stamps until they are read. The system's default lost
    /// nine of ten stamps of 1000 packets in a row; 16 MiB held 50 000 packets a second.
    pub receive_buffer: usize,
    /// Bytes for packets on their way out; none leaves the system's default.
    pub send_buffer: Option<usize>,
    /// Whether the kernel is asked for stamps at all.
    pub kernel_stamps: bool,
    /// Whether each packet that is sent should get a hardware stamp, so that one that does not
    /// come is missing. The device has to be told first
    /// ([`device::HardwareStamps`](crate::device::HardwareStamps)).
    pub hardware: bool,
    /// How stamps are to be matched; by packet, where the kernel can, if there is none.
    pub ids: Option<Ids>,
    /// How many packets wait for their stamps at most before the oldest are given up.
    pub outstanding: usize,
    /// Whether datagrams leave past the queue of the own device, by frames that have no stamp of it (CAP_NET_RAW). Of a
    /// connected UDP socket, for [`send`](StampingSocket::send) alone.
    pub past_queue: bool,
    /// Polls the device for so long when nothing is there (`SO_BUSY_POLL`).
    pub busy_poll: Option<Duration>,
    #[doc(hidden)]
    pub first_ticket: u64,
}

impl Options {
    /// A socket at `local` that talks to anybody.
    pub fn new(transport: Transport, local: SocketAddr) -> Self {
        Self {
            transport,
            local,
            remote: None,
            ttl: None,
            tos: None,
            in_one_piece: false,
            receive_buffer: 16 << 20,
            send_buffer: None,
            kernel_stamps: true,
            hardware: false,
            ids: None,
            outstanding: 1 << 16,
            past_queue: false,
            busy_poll: None,
            first_ticket: 0,
        }
    }

    /// A socket at any port that talks to `remote` alone.
    pub fn to(transport: Transport, remote: SocketAddr) -> Self {
        let local = crate::address::unspecified_like(&remote.ip());
        Self {
            remote: Some(remote),
            ..Self::new(transport, SocketAddr::new(local, 0))
        }
    }
}

/// A socket whose packets get stamps.
///
/// It never waits by itself: what is not there yet is not there. Waiting is
/// [`wait()`](crate::wait()). All its methods take `&self`, so that one thread sends while another
/// receives; two threads must not send by one socket.
#[derive(Debug)]
pub struct StampingSocket {
    file: OwnedFd,
    transport: Transport,
    local: SocketAddr,
    remote: Option<SocketAddr>,
    capability: Capability,
    /// What was asked of `SO_TIMESTAMPING`.
    flags: u32,
    ledger: Ledger,
    past_queue: Option<PastQueue>,
    prefers_by_packet: bool,
    is_by_packet: AtomicBool,
    /// A packet was sent: the kernel takes numbers, or is known not to.
    is_proven: AtomicBool,
    /// Where the kernel counts, and a packet that was not sent made its count uncertain.
    is_uncertain: AtomicBool,
    pending_errors: AtomicU64,
}

impl AsFd for StampingSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

impl StampingSocket {
    /// What it speaks.
    pub fn transport(&self) -> Transport {
        self.transport
    }

    /// Its own address. Of a ping socket the port is the identifier of its echo requests.
    pub fn local(&self) -> SocketAddr {
        self.local
    }

    /// The other end, where it is connected.
    pub fn remote(&self) -> Option<SocketAddr> {
        self.remote
    }

    /// What the kernel granted.
    pub fn capability(&self) -> &Capability {
        &self.capability
    }

    /// How stamps are matched with packets; settled once the first packet was sent.
    pub fn ids(&self) -> Ids {
        match self.is_by_packet.load(Relaxed) {
            true => Ids::ByPacket,
            false => Ids::Counted,
        }
    }

    /// Where transmit stamps come: whoever waits for them waits for this file's errors.
    pub fn stamps_file(&self) -> BorrowedFd<'_> {
        self.past_queue.as_ref().map_or(self.as_fd(), AsFd::as_fd)
    }

    fn is_v6(&self) -> bool {
        self.local.is_ipv6()
    }

    /// Transmit stamps that were lost so far.
    pub fn losses(&self) -> Losses {
        self.ledger.losses()
    }

    /// How many packets still wait for a transmit stamp.
    pub fn waiting(&self) -> usize {
        self.ledger.waiting()
    }

    /// Whether the packet that was sent last waits for a transmit stamp.
    pub fn is_last_waiting(&self) -> bool {
        self.ledger.is_last_waiting()
    }

    /// Counts all stamps that have not come as missing. For the end, when nothing is sent any
    /// more and a moment has passed.
    pub fn give_up(&self) {
        self.ledger.give_up();
    }

    /// Errors of earlier packets that the kernel returned from calls that had nothing to do with
    /// them. The packets in hand were sent, or read, all the same; what the errors say comes from
    /// the error queue.
    pub fn pending_errors(&self) -> u64 {
        self.pending_errors.load(Relaxed)
    }

    /// Packets that the socket dropped for want of room (`SO_MEMINFO`); none where the kernel
    /// does not say. Lost transmit stamps are not in it: see [`losses`](Self::losses).
    pub fn drops(&self) -> Option<u32> {
        /// `SK_MEMINFO_DROPS` of linux/sock_diag.h.
        const DROPS: usize = 8;
        let mut all = [0; 4 * (DROPS + 1)];
        let length = sys::option(self.as_fd(), libc::SOL_SOCKET, libc::SO_MEMINFO, &mut all);
        match length {
            Ok(length) if length == all.len() => {
                crate::address::bytes_at(&all, 4 * DROPS).map(u32::from_ne_bytes)
            }
            _ => None,
        }
    }

    /// Begins the kernel's count of packets anew, where it counts and became uncertain. Read what
    /// the error queue holds first: what comes later of earlier packets is lost, and counted.
    ///
    /// # Errors
    /// Where the kernel refuses the option that it took before.
    pub fn resynchronize(&self) -> Result<(), NetError> {
        if self.ids() == Ids::Counted && self.is_uncertain.load(Relaxed) {
            self.set_flags(self.flags & !libc::SOF_TIMESTAMPING_OPT_ID)?;
            self.set_flags(self.flags)?;
            self.ledger.count_again();
            self.is_uncertain.store(false, Relaxed);
        }
        Ok(())
    }

    fn set_flags(&self, flags: u32) -> Result<(), NetError> {
        set_flags(self.stamps_file(), flags).map_err(|source| NetError::Option {
            option: "SO_TIMESTAMPING",
            source,
        })
    }

    /// Whether a raw socket's packets begin with an IP header.
    fn has_ip_header(&self) -> bool {
        self.transport == Transport::IcmpRaw && !self.is_v6()
    }
}
