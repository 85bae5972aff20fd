//! Opening: the socket, its options, and which of them the kernel refuses.

use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, AtomicU64};

use rustix::net::{AddressFamily, Protocol, SocketFlags, SocketType, ipproto, sockopt};

use super::{Options, StampingSocket, Transport};
use crate::capability::{BufferSize, Capability, Ids, ReceiveStamps, TransmitStamps};
use crate::error::NetError;
use crate::ledger::Ledger;
use crate::past_queue::{Ends, PastQueue};
use crate::stamping::set_flags;
use crate::stamps::TxKind;
use crate::sys;

/// All stamps there are, in both directions. Where the device stamps too, both come
/// (`OPT_TX_SWHW`). Packets do not come back with their stamps (`OPT_TSONLY`).
const ALL: u32 = libc::SOF_TIMESTAMPING_TX_SCHED
    | libc::SOF_TIMESTAMPING_TX_SOFTWARE
    | libc::SOF_TIMESTAMPING_TX_HARDWARE
    | libc::SOF_TIMESTAMPING_RX_SOFTWARE
    | libc::SOF_TIMESTAMPING_RX_HARDWARE
    | libc::SOF_TIMESTAMPING_SOFTWARE
    | libc::SOF_TIMESTAMPING_RAW_HARDWARE
    | libc::SOF_TIMESTAMPING_OPT_ID
    | libc::SOF_TIMESTAMPING_OPT_CMSG
    | libc::SOF_TIMESTAMPING_OPT_TSONLY
    | libc::SOF_TIMESTAMPING_OPT_TX_SWHW;

fn set_int(file: BorrowedFd<'_>, level: i32, name: i32, value: i32) -> io::Result<()> {
    sys::set_option(file, level, name, &value.to_ne_bytes())
}

fn errno(error: &io::Error) -> i32 {
    error.raw_os_error().unwrap_or(0)
}

/// Who stamps in each direction.
fn stamps(file: BorrowedFd<'_>, is_wanted: bool) -> (TransmitStamps, ReceiveStamps) {
    let none = TransmitStamps::User { errno: 0 };
    if !is_wanted {
        return (none, ReceiveStamps::User { errno: 0 });
    }
    let refused = match set_flags(file, ALL) {
        Ok(()) => return (TransmitStamps::Kernel, ReceiveStamps::Nanoseconds),
        Err(error) => errno(&error),
    };
    let transmit = TransmitStamps::User { errno: refused };
    let try_one = |name| set_int(file, libc::SOL_SOCKET, name, 1);
    let receive = match try_one(libc::SO_TIMESTAMPNS) {
        Ok(()) => ReceiveStamps::Nanoseconds,
        Err(_) => match try_one(libc::SO_TIMESTAMP) {
            Ok(()) => ReceiveStamps::Microseconds,
            Err(error) => ReceiveStamps::User {
                errno: errno(&error),
            },
        },
    };
    (transmit, receive)
}

/// Asks for a buffer, beyond the system's limit where that is allowed.
pub fn receive_buffer(file: BorrowedFd<'_>, asked: usize) -> BufferSize {
    let is_forced = sockopt::set_socket_recv_buffer_size_force(file, asked).is_ok();
    if !is_forced {
        // What is granted says the rest.
        let _ = sockopt::set_socket_recv_buffer_size(file, asked);
    }
    BufferSize {
        asked,
        // The kernel doubles what is asked for, for its own overhead.
        granted: sockopt::socket_recv_buffer_size(file).map_or(0, |bytes| bytes / 2),
        is_forced,
    }
}

fn socket(options: &Options) -> Result<OwnedFd, NetError> {
    let is_v6 = options.local.is_ipv6();
    let family = match is_v6 {
        true => AddressFamily::INET6,
        false => AddressFamily::INET,
    };
    let icmp: Protocol = match is_v6 {
        true => ipproto::ICMPV6,
        false => ipproto::ICMP,
    };
    let (kind, protocol, what, needs) = match options.transport {
        Transport::Udp => (SocketType::DGRAM, ipproto::UDP, "a UDP socket", "sockets"),
        Transport::IcmpRaw => (SocketType::RAW, icmp, "a raw ICMP socket", "CAP_NET_RAW"),
        Transport::IcmpPing => (
            SocketType::DGRAM,
            icmp,
            "a ping socket",
            "a group within net.ipv4.ping_group_range",
        ),
    };
    rustix::net::socket_with(family, kind, SocketFlags::CLOEXEC, Some(protocol)).map_err(|error| {
        NetError::Open {
            what,
            needs,
            source: error.into(),
        }
    })
}

/// Lets echo replies pass and nothing else: a raw socket would have all of this machine's ICMP.
fn only_echo_replies(file: BorrowedFd<'_>, is_v6: bool) -> io::Result<()> {
    /// `ICMP_FILTER` of linux/icmp.h, and its reply's type.
    const ICMP_FILTER: i32 = 1;
    const ECHO_REPLY: u32 = 0;
    /// `ICMPV6_FILTER` of linux/icmpv6.h.
    const ICMPV6_FILTER: i32 = 1;
    const ECHO_REPLY_V6: usize = 129;
    // A bit that is set is a type that is dropped.
    if is_v6 {
        let mut types = [0xff; 32];
        let word = ECHO_REPLY_V6 / 32 * 4;
        let kept = !(1u32 << (ECHO_REPLY_V6 % 32));
        types[word..word + 4].copy_from_slice(&kept.to_ne_bytes());
        sys::set_option(file, libc::SOL_ICMPV6, ICMPV6_FILTER, &types)
    } else {
        let types = !(1u32 << ECHO_REPLY);
        sys::set_option(file, libc::SOL_RAW, ICMP_FILTER, &types.to_ne_bytes())
    }
}

impl StampingSocket {
    /// Opens a socket. Stamps and all that is told beside packets are asked for, and what was
    /// refused stands in [`capability`](Self::capability). Returns once the kernel stamps what
    /// comes, within a fifth of a second; on a machine that is busier than that, the first
    /// packets have no receive stamp.
    ///
    /// # Errors
    /// Where there is no such socket, its address is not free, the other end is of another
    /// family, or there is no route to it.
    pub fn open(options: &Options) -> Result<Self, NetError> {
        let is_v6 = options.local.is_ipv6();
        if let Some(remote) = options.remote
            && remote.is_ipv6() != is_v6
        {
            return Err(NetError::Families {
                local: options.local,
                remote,
            });
        }
        let owned = socket(options)?;
        let file = owned.as_fd();
        let receive_buffer = receive_buffer(file, options.receive_buffer);
        if let Some(bytes) = options.send_buffer
            && sockopt::set_socket_send_buffer_size_force(file, bytes).is_err()
        {
            let _ = sockopt::set_socket_send_buffer_size(file, bytes);
        }
        if options.transport == Transport::IcmpRaw {
            // Before the first packet can come.
            only_echo_replies(file, is_v6).map_err(|source| NetError::Option {
                option: "the ICMP filter",
                source,
            })?;
        }
        let (transmit, receive) = stamps(file, options.kernel_stamps);
        let told = |v4, v6| match is_v6 {
            false => set_int(file, libc::SOL_IP, v4, 1).is_ok(),
            true => set_int(file, libc::SOL_IPV6, v6, 1).is_ok(),
        };
        let capability = Capability {
            transmit,
            receive,
            receive_buffer,
            ttl: told(libc::IP_RECVTTL, libc::IPV6_RECVHOPLIMIT),
            tos: told(libc::IP_RECVTOS, libc::IPV6_RECVTCLASS),
            destination: told(libc::IP_PKTINFO, libc::IPV6_RECVPKTINFO),
            icmp_errors: told(libc::IP_RECVERR, libc::IPV6_RECVERR),
            drops: set_int(file, libc::SOL_SOCKET, libc::SO_RXQ_OVFL, 1).is_ok(),
            busy_poll: options.busy_poll.is_some_and(|length| {
                let us = i32::try_from(length.as_micros()).unwrap_or(i32::MAX);
                set_int(file, libc::SOL_SOCKET, libc::SO_BUSY_POLL, us).is_ok()
            }),
        };
        if transmit == TransmitStamps::Kernel {
            super::settling::settle();
        }
        set_up(file, options)?;
        let local = match rustix::net::getsockname(file).map(SocketAddr::try_from) {
            Ok(Ok(local)) => local,
            _ => options.local,
        };
        let past_queue = past_queue(options, local, transmit)?;
        let mut kinds = vec![];
        if transmit == TransmitStamps::Kernel {
            // What does not enter the queue has no stamp of that.
            kinds.extend(past_queue.is_none().then_some(TxKind::Sched));
            kinds.push(TxKind::Software);
            kinds.extend(options.hardware.then_some(TxKind::Hardware));
        }
        let ledger = Ledger::new(options.first_ticket, options.outstanding, &kinds);
        Ok(Self {
            file: owned,
            transport: options.transport,
            local,
            remote: options.remote,
            capability,
            flags: ALL,
            ledger,
            past_queue,
            prefers_by_packet: options.ids != Some(Ids::Counted),
            is_by_packet: AtomicBool::new(options.ids != Some(Ids::Counted)),
            is_proven: AtomicBool::new(false),
            is_uncertain: AtomicBool::new(false),
            pending_errors: AtomicU64::new(0),
        })
    }
}

/// By what datagrams leave that go past the queue.
fn past_queue(
    options: &Options,
    local: SocketAddr,
    transmit: TransmitStamps,
) -> Result<Option<PastQueue>, NetError> {
    let (true, Some(remote)) = (options.past_queue, options.remote) else {
        return Ok(None);
    };
    let ends = Ends {
        local,
        remote,
        ttl: options.ttl,
        tos: options.tos,
    };
    let flags = (transmit == TransmitStamps::Kernel).then_some(ALL);
    PastQueue::open(&ends, flags).map(Some)
}

/// TTL, TOS, address, other end.
fn set_up(file: BorrowedFd<'_>, options: &Options) -> Result<(), NetError> {
    let failed = |option| move |source| NetError::Option { option, source };
    let is_v6 = options.local.is_ipv6();
    if is_v6 {
        let only = set_int(file, libc::SOL_IPV6, libc::IPV6_V6ONLY, 1);
        // Raw and ping sockets of IPv6 have nothing else, and some refuse to be told.
        if options.transport == Transport::Udp {
            only.map_err(failed("IPV6_V6ONLY"))?;
        }
    }
    if options.in_one_piece {
        let (level, name, value) = match is_v6 {
            false => (libc::SOL_IP, libc::IP_MTU_DISCOVER, libc::IP_PMTUDISC_DO),
            true => (
                libc::SOL_IPV6,
                libc::IPV6_MTU_DISCOVER,
                libc::IPV6_PMTUDISC_DO,
            ),
        };
        set_int(file, level, name, value).map_err(failed("MTU discovery"))?;
    }
    if let Some(ttl) = options.ttl {
        let (level, name) = match is_v6 {
            false => (libc::SOL_IP, libc::IP_TTL),
            true => (libc::SOL_IPV6, libc::IPV6_UNICAST_HOPS),
        };
        set_int(file, level, name, ttl.into()).map_err(failed("the TTL"))?;
    }
    if let Some(tos) = options.tos {
        let (level, name) = match is_v6 {
            false => (libc::SOL_IP, libc::IP_TOS),
            true => (libc::SOL_IPV6, libc::IPV6_TCLASS),
        };
        set_int(file, level, name, tos.into()).map_err(failed("the traffic class"))?;
    }
    rustix::net::bind(file, &options.local).map_err(|error| NetError::Bind {
        address: options.local,
        source: error.into(),
    })?;
    if let Some(remote) = options.remote {
        rustix::net::connect(file, &remote).map_err(|error| NetError::Connect {
            address: remote,
            source: error.into(),
        })?;
    }
    Ok(())
}
