//! Control messages: what the kernel says beside a packet, and what it is told with one.
//!
//! Their layout is that of cmsg(3) on machines of 64 bits, where a header has 16 bytes and every
//! message begins at a multiple of 8.

#[cfg(test)]
mod tests;

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use crate::address::{self, bytes_at};

/// Room for all that comes with a packet, with some left.
pub const RECEIVE_BYTES: usize = 320;
/// Room for all that goes with one.
pub const SEND_BYTES: usize = 128;

/// Gives a packet's transmit stamps their number, since Linux 6.13 (asm-generic/socket.h).
const SCM_TS_OPT_ID: i32 = 81;

const HEADER: usize = 16;
const ALIGN: usize = 8;

const _: () = assert!(size_of::<libc::cmsghdr>() == HEADER && size_of::<usize>() == ALIGN);

/// An entry of the error queue (`struct sock_extended_err`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExtendedError {
    /// As in errno.h.
    pub errno: u32,
    /// One of `SO_EE_ORIGIN_`.
    pub origin: u8,
    /// The ICMP type.
    pub kind: u8,
    /// The ICMP code.
    pub code: u8,
    /// The path's MTU; of a stamp, which one it is.
    pub info: u32,
    /// Of a stamp, the packet's number.
    pub data: u32,
    /// Who sent the ICMP message.
    pub offender: Option<IpAddr>,
}

/// What the kernel said of one frame (`PACKET_AUXDATA`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Auxiliary {
    /// Length on the wire, in bytes.
    pub length: u32,
    /// The tag that was taken out, and its EtherType.
    pub vlan: Option<(u16, u16)>,
}

/// All that was beside one packet. Stamps are in nanoseconds since 1970; hardware stamps by the
/// device's own clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Control {
    /// `SCM_TIMESTAMPING`'s first, else `SCM_TIMESTAMPNS`, else `SCM_TIMESTAMP`.
    pub software_ns: Option<i64>,
    /// `SCM_TIMESTAMPING`'s third.
    pub hardware_ns: Option<i64>,
    /// TTL or hop limit.
    pub ttl: Option<u8>,
    /// TOS or traffic class.
    pub tos: Option<u8>,
    /// Where the packet was sent to.
    pub destination: Option<IpAddr>,
    /// Index of the device that it came by.
    pub interface: Option<u32>,
    /// `SO_RXQ_OVFL`: packets that the socket dropped so far.
    pub drops: Option<u32>,
    /// Of the error queue.
    pub error: Option<ExtendedError>,
    /// Of a tap.
    pub auxiliary: Option<Auxiliary>,
}

impl Control {
    /// Reads control messages; unknown ones, and what is cut off, are passed over.
    pub fn read(bytes: &[u8]) -> Self {
        let mut found = Self::default();
        let mut at = 0;
        while let Some((level, kind, length)) = header(bytes, at) {
            let Some(data) = bytes.get(at + HEADER..at + length) else {
                break;
            };
            found.take(level, kind, data);
            at += length.next_multiple_of(ALIGN);
        }
        found
    }

    fn take(&mut self, level: i32, kind: i32, data: &[u8]) {
        match (level, kind) {
            (libc::SOL_SOCKET, libc::SCM_TIMESTAMPING) => {
                self.software_ns = timespec(data, 0);
                self.hardware_ns = timespec(data, 32);
            }
            (libc::SOL_SOCKET, libc::SCM_TIMESTAMPNS) => {
                self.software_ns = self.software_ns.or(timespec(data, 0));
            }
            (libc::SOL_SOCKET, libc::SO_TIMESTAMP) => {
                self.software_ns = self.software_ns.or(timeval(data));
            }
            (libc::SOL_SOCKET, libc::SO_RXQ_OVFL) => self.drops = word(data, 0),
            (libc::SOL_IP, libc::IP_TTL) | (libc::SOL_IPV6, libc::IPV6_HOPLIMIT) => {
                self.ttl = small(data);
            }
            (libc::SOL_IP, libc::IP_TOS) | (libc::SOL_IPV6, libc::IPV6_TCLASS) => {
                self.tos = small(data);
            }
            (libc::SOL_IP, libc::IP_PKTINFO) => {
                self.interface = word(data, 0);
                // The address in the packet's header, not that of the route.
                self.destination = bytes_at::<4>(data, 8).map(|a| Ipv4Addr::from(a).into());
            }
            (libc::SOL_IPV6, libc::IPV6_PKTINFO) => {
                self.destination = bytes_at::<16>(data, 0).map(|a| Ipv6Addr::from(a).into());
                self.interface = word(data, 16);
            }
            (libc::SOL_IP, libc::IP_RECVERR)
            | (libc::SOL_IPV6, libc::IPV6_RECVERR)
            // What taps are told of transmit stamps by.
            | (libc::SOL_PACKET, libc::PACKET_TX_TIMESTAMP) => self.error = extended_error(data),
            (libc::SOL_PACKET, libc::PACKET_AUXDATA) => self.auxiliary = auxiliary(data),
            _ => {}
        }
    }
}

/// Level, type and length with the header of the message at `at`.
fn header(bytes: &[u8], at: usize) -> Option<(i32, i32, usize)> {
    let length = usize::from_ne_bytes(bytes_at(bytes, at)?);
    let level = i32::from_ne_bytes(bytes_at(bytes, at + 8)?);
    let kind = i32::from_ne_bytes(bytes_at(bytes, at + 12)?);
    // No more than is there, so that no sum overflows.
    (HEADER..=bytes.len())
        .contains(&length)
        .then_some((level, kind, length))
}

fn word(data: &[u8], at: usize) -> Option<u32> {
    bytes_at(data, at).map(u32::from_ne_bytes)
}

/// A number that comes as an int or as a byte.
fn small(data: &[u8]) -> Option<u8> {
    match word(data, 0) {
        Some(number) => u8::try_from(number).ok(),
        None => data.first().copied(),
    }
}

/// Two numbers as nanoseconds: seconds, and parts of which each has `unit_ns`.
fn time(data: &[u8], at: usize, unit_ns: i64) -> Option<i64> {
    let seconds = i64::from_ne_bytes(bytes_at(data, at)?);
    let parts = i64::from_ne_bytes(bytes_at(data, at + 8)?);
    // Where there is no stamp both are zero.
    if seconds < 0 || parts < 0 || (seconds == 0 && parts == 0) {
        return None;
    }
    let ns = parts.checked_mul(unit_ns)?;
    seconds.checked_mul(1_000_000_000)?.checked_add(ns)
}

fn timespec(data: &[u8], at: usize) -> Option<i64> {
    time(data, at, 1)
}

fn timeval(data: &[u8]) -> Option<i64> {
    time(data, 0, 1000)
}

fn extended_error(data: &[u8]) -> Option<ExtendedError> {
    let [origin, kind, code, _] = bytes_at(data, 4)?;
    Some(ExtendedError {
        errno: word(data, 0)?,
        origin,
        kind,
        code,
        info: word(data, 8)?,
        data: word(data, 12)?,
        offender: data
            .get(16..)
            .and_then(address::read)
            .map(|address| address.ip()),
    })
}

/// `struct tpacket_auxdata` of linux/if_packet.h.
fn auxiliary(data: &[u8]) -> Option<Auxiliary> {
    let half = |at| bytes_at(data, at).map(u16::from_ne_bytes);
    let status = word(data, 0)?;
    let tag = half(16)?;
    let ether_type = match status & libc::TP_STATUS_VLAN_TPID_VALID {
        0 => libc::ETH_P_8021Q as u16,
        _ => half(18)?,
    };
    let is_tagged = status & libc::TP_STATUS_VLAN_VALID != 0;
    Some(Auxiliary {
        length: word(data, 4)?,
        vlan: is_tagged.then_some((tag, ether_type)),
    })
}

/// Where a packet goes and how, beyond what its socket is set to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Route {
    /// The destination; none where the socket is connected.
    pub to: Option<SocketAddr>,
    /// The source address: that at which a request came, where the socket has several.
    pub from: Option<IpAddr>,
    /// Index of the device that it leaves by; 0 leaves it to the kernel's routes.
    pub interface: u32,
    /// TOS or traffic class.
    pub tos: Option<u8>,
    /// TTL or hop limit.
    pub ttl: Option<u8>,
}

/// Control messages that are being written.
#[derive(Clone, Copy, Debug)]
pub struct Written {
    bytes: [u8; SEND_BYTES],
    length: usize,
}

impl Written {
    /// For one packet: its route, and the number of its stamps where the kernel takes one.
    /// `is_v6` says which family the socket has.
    pub fn new(route: &Route, id: Option<u32>, is_v6: bool) -> Self {
        let mut written = Self {
            bytes: [0; SEND_BYTES],
            length: 0,
        };
        if let Some(id) = id {
            written.put(libc::SOL_SOCKET, SCM_TS_OPT_ID, &id.to_ne_bytes());
        }
        let int = |number: u8| i32::from(number).to_ne_bytes();
        let (level, ttl, tos) = match is_v6 {
            false => (libc::SOL_IP, libc::IP_TTL, libc::IP_TOS),
            true => (libc::SOL_IPV6, libc::IPV6_HOPLIMIT, libc::IPV6_TCLASS),
        };
        match (is_v6, route.from) {
            (false, Some(IpAddr::V4(from))) => {
                let mut info = [0; 12];
                info[..4].copy_from_slice(&route.interface.to_ne_bytes());
                info[4..8].copy_from_slice(&from.octets());
                written.put(level, libc::IP_PKTINFO, &info);
            }
            (true, Some(IpAddr::V6(from))) => {
                let mut info = [0; 20];
                info[..16].copy_from_slice(&from.octets());
                info[16..].copy_from_slice(&route.interface.to_ne_bytes());
                written.put(level, libc::IPV6_PKTINFO, &info);
            }
            _ => {}
        }
        if let Some(value) = route.tos {
            written.put(level, tos, &int(value));
        }
        if let Some(value) = route.ttl {
            written.put(level, ttl, &int(value));
        }
        written
    }

    fn put(&mut self, level: i32, kind: i32, data: &[u8]) {
        let length = HEADER + data.len();
        let to = &mut self.bytes[self.length..][..length.next_multiple_of(ALIGN)];
        to[..8].copy_from_slice(&length.to_ne_bytes());
        to[8..12].copy_from_slice(&level.to_ne_bytes());
        to[12..16].copy_from_slice(&kind.to_ne_bytes());
        to[16..length].copy_from_slice(data);
        self.length += to.len();
    }

    /// What is there.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..self.length]
    }
}
