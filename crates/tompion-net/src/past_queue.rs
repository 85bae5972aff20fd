//! Sending past the queue of the own device (`PACKET_QDISC_BYPASS`): frames that the driver is handed at once, as it
//! would be by a module in the kernel.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicU16, Ordering::Relaxed};

use rustix::net::{AddressFamily, SocketFlags, SocketType};

use crate::device::{Hop, hop};
use crate::error::NetError;
use crate::icmp::checksum;
use crate::stamping::set_flags;
use crate::{address, sys};

/// Ethernet's header.
const LINK: usize = 14;
const V4: usize = 20;
const V6: usize = 40;
const UDP: usize = 8;
/// The longest head.
const MOST_HEAD: usize = LINK + V6 + UDP;
const TTL: u8 = 64;
const PROTOCOL: u8 = 17;

/// Where a datagram goes, and by which hardware.
#[derive(Clone, Copy, Debug)]
pub struct Ends {
    pub local: SocketAddr,
    pub remote: SocketAddr,
    pub ttl: Option<u8>,
    pub tos: Option<u8>,
}

/// A socket by which UDP datagrams of another socket leave.
#[derive(Debug)]
pub struct PastQueue {
    file: OwnedFd,
    head: Head,
    /// Of IPv4's datagrams.
    identifier: AtomicU16,
}

/// What stands before each datagram, all but its lengths and checksums.
#[derive(Clone, Copy, Debug)]
struct Head {
    bytes: [u8; MOST_HEAD],
    length: usize,
}

impl PastQueue {
    /// Opens it. `flags` is what is asked of `SO_TIMESTAMPING`, where stamps are wanted.
    ///
    /// # Errors
    /// Missing rights, a kernel without it, no way to the other end.
    pub fn open(ends: &Ends, flags: Option<u32>) -> Result<Self, NetError> {
        let hop = hop(ends.remote.ip())?;
        let file = rustix::net::socket_with(
            AddressFamily::PACKET,
            SocketType::RAW,
            SocketFlags::CLOEXEC,
            // It hears nothing.
            None,
        );
        let file = file.map_err(|error| NetError::Open {
            what: "a socket that sends past the queue",
            needs: "CAP_NET_RAW",
            source: error.into(),
        })?;
        let failed = |option| move |source| NetError::Option { option, source };
        let one = 1_i32.to_ne_bytes();
        let bypass = libc::PACKET_QDISC_BYPASS;
        sys::set_option(file.as_fd(), libc::SOL_PACKET, bypass, &one)
            .map_err(failed("PACKET_QDISC_BYPASS"))?;
        if let Some(flags) = flags {
            set_flags(file.as_fd(), flags).map_err(failed("SO_TIMESTAMPING"))?;
        }
        let mut name = address::link(hop.device);
        // Of no protocol: whatever comes is not for it.
        name[2..4].fill(0);
        sys::bind(file.as_fd(), &name).map_err(failed("its device"))?;
        Ok(Self {
            file,
            head: Head::new(ends, &hop),
            identifier: AtomicU16::new(0),
        })
    }

    /// Sends one datagram without waiting.
    pub fn send(&self, packet: &[u8], control: &[u8]) -> io::Result<usize> {
        let identifier = self.identifier.fetch_add(1, Relaxed);
        let head = self.head.of(packet, identifier)?;
        sys::send_frame(self.as_fd(), &head.bytes[..head.length], packet, control)
    }
}

impl AsFd for PastQueue {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

impl Head {
    fn new(ends: &Ends, hop: &Hop) -> Self {
        let mut bytes = [0; MOST_HEAD];
        bytes[..6].copy_from_slice(&hop.to);
        bytes[6..12].copy_from_slice(&hop.from);
        let (ttl, tos) = (ends.ttl.unwrap_or(TTL), ends.tos.unwrap_or(0));
        let ip = match (ends.local.ip(), ends.remote.ip()) {
            (IpAddr::V4(from), IpAddr::V4(to)) => {
                bytes[12..14].copy_from_slice(&(libc::ETH_P_IP as u16).to_be_bytes());
                let ip = &mut bytes[LINK..LINK + V4];
                ip[0] = 0x45;
                ip[1] = tos;
                // In one piece.
                ip[6] = 0x40;
                ip[8] = ttl;
                ip[9] = PROTOCOL;
                ip[12..16].copy_from_slice(&from.octets());
                ip[16..20].copy_from_slice(&to.octets());
                V4
            }
            (from, to) => {
                bytes[12..14].copy_from_slice(&(libc::ETH_P_IPV6 as u16).to_be_bytes());
                let octets = |address| match address {
                    IpAddr::V4(v4) => v4.to_ipv6_mapped().octets(),
                    IpAddr::V6(v6) => v6.octets(),
                };
                let ip = &mut bytes[LINK..LINK + V6];
                let first = 0x6000_0000 | u32::from(tos) << 20;
                ip[..4].copy_from_slice(&first.to_be_bytes());
                ip[6] = PROTOCOL;
                ip[7] = ttl;
                ip[8..24].copy_from_slice(&octets(from));
                ip[24..40].copy_from_slice(&octets(to));
                V6
            }
        };
        let udp = &mut bytes[LINK + ip..];
        udp[..2].copy_from_slice(&ends.local.port().to_be_bytes());
        udp[2..4].copy_from_slice(&ends.remote.port().to_be_bytes());
        Self {
            bytes,
            length: LINK + ip + UDP,
        }
    }

    /// The head of one datagram.
    fn of(&self, packet: &[u8], identifier: u16) -> io::Result<Self> {
        let mut head = *self;
        let too_long = |_| io::Error::from_raw_os_error(libc::EMSGSIZE);
        let udp_bytes = u16::try_from(UDP + packet.len()).map_err(too_long)?;
        let ip_bytes = self.length - LINK - UDP;
        let (ip, udp) = head.bytes[LINK..self.length].split_at_mut(ip_bytes);
        udp[4..6].copy_from_slice(&udp_bytes.to_be_bytes());
        let addresses = match ip_bytes {
            V4 => {
                let all = usize::from(udp_bytes) + V4;
                let all = u16::try_from(all).map_err(too_long)?;
                ip[2..4].copy_from_slice(&all.to_be_bytes());
                ip[4..6].copy_from_slice(&identifier.to_be_bytes());
                let sum = checksum(ip);
                ip[10..12].copy_from_slice(&sum.to_be_bytes());
                &ip[12..20]
            }
            _ => {
                ip[4..6].copy_from_slice(&udp_bytes.to_be_bytes());
                &ip[8..40]
            }
        };
        // Both ends' addresses, the protocol and the length stand before the datagram in its sum (RFC 768).
        let parts = [
            !checksum(addresses),
            u16::from(PROTOCOL),
            udp_bytes,
            !checksum(udp),
            !checksum(packet),
        ];
        let mut sum: u32 = parts.into_iter().map(u32::from).sum();
        while sum > 0xffff {
            sum = (sum & 0xffff) + (sum >> 16);
        }
        // Zero would say that there is none.
        let sum = match !(sum as u16) {
            0 => 0xffff,
            sum => sum,
        };
        udp[6..8].copy_from_slice(&sum.to_be_bytes());
        Ok(head)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOP: Hop = Hop {
        device: 1,
        from: [2, 0, 0, 0, 0, 1],
        to: [2, 0, 0, 0, 0, 2],
    };

    /// The sum over the pseudo header and the datagram, which is 0 where it is right.
    fn sum_of(frame: &[u8], ip: usize, addresses: std::ops::Range<usize>) -> u16 {
        let datagram = &frame[LINK + ip..];
        let mut all = frame[LINK..][addresses].to_vec();
        all.extend([0, PROTOCOL]);
        all.extend((datagram.len() as u16).to_be_bytes());
        all.extend(datagram);
        checksum(&all)
    }

    #[test]
    fn a_frame_has_the_lengths_and_sums_of_its_datagram() {
        for (local, remote, ip, addresses) in [
            ("198.18.0.1:4000", "198.18.0.17:862", V4, 12..20),
            ("[fd00::1]:4000", "[fd00::2]:862", V6, 8..40),
        ] {
            let ends = Ends {
                local: local.parse().unwrap(),
                remote: remote.parse().unwrap(),
                ttl: Some(9),
                tos: Some(0xb8),
            };
            let head = Head::new(&ends, &HOP);
            for packet in [&[][..], &[1, 2, 3], &[0xff; 100], &[0xfe; 1457]] {
                let made = head.of(packet, 7).unwrap();
                let mut frame = made.bytes[..made.length].to_vec();
                frame.extend(packet);
                assert_eq!(frame[..12], [2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1]);
                assert_eq!(sum_of(&frame, ip, addresses.clone()), 0, "{remote}");
                let read = crate::frame::Frame::read(crate::frame::LinkType::Ethernet, &frame);
                let read = read.unwrap();
                assert_eq!(
                    (read.source, read.destination),
                    (ends.local.ip(), ends.remote.ip())
                );
                if ip == V4 {
                    assert_eq!(checksum(&frame[LINK..LINK + V4]), 0);
                    assert_eq!(frame[LINK + 8], 9);
                } else {
                    assert_eq!(frame[LINK..LINK + 2], [0x6b, 0x80]);
                }
            }
            let why = head.of(&[0; 65_530], 0).unwrap_err();
            assert_eq!(why.raw_os_error(), Some(libc::EMSGSIZE));
        }
    }
}
