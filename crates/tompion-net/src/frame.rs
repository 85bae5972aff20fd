//! What a captured frame is: pure, bounded, and never more than what is there.
//!
//! Ethernet with up to two VLAN tags, IPv4, IPv6 with its extension headers, UDP and ICMP echo.
//! Lengths are those of the headers, so that Ethernet's padding is not payload, cut down to what
//! was captured.

#[cfg(test)]
pub(crate) mod tests;

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// How a frame begins, by the numbers of pcap (`LINKTYPE_`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LinkType {
    /// Ethernet, 1. Linux's loopback device has its form.
    Ethernet,
    /// An IP packet, 101, or 228 and 229 by version.
    Raw,
    /// Linux's cooked capture, 113.
    LinuxCooked,
    /// Linux's cooked capture, version 2, 276.
    LinuxCooked2,
    /// Any other, by its number; its frames are not read.
    Other(u32),
}

impl LinkType {
    /// By pcap's number.
    pub fn from_number(number: u32) -> Self {
        match number {
            1 => Self::Ethernet,
            101 | 228 | 229 => Self::Raw,
            113 => Self::LinuxCooked,
            276 => Self::LinuxCooked2,
            other => Self::Other(other),
        }
    }

    /// Pcap's number.
    pub fn number(self) -> u32 {
        match self {
            Self::Ethernet => 1,
            Self::Raw => 101,
            Self::LinuxCooked => 113,
            Self::LinuxCooked2 => 276,
            Self::Other(number) => number,
        }
    }
}

/// An IP packet in a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame<'a> {
    /// VLAN identifiers (12 bits), the outer first.
    pub vlans: [Option<u16>; 2],
    /// Who sent it.
    pub source: IpAddr,
    /// Who it is for.
    pub destination: IpAddr,
    /// TTL or hop limit.
    pub ttl: u8,
    /// TOS or traffic class.
    pub tos: u8,
    /// IPv4's identification; over IPv6 that of the fragment header, if there is one, else 0.
    pub identification: u32,
    /// What it carries.
    pub content: Content<'a>,
}

/// What an IP packet carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content<'a> {
    /// A UDP datagram, or the first fragment of one.
    Udp {
        /// Port of the sender.
        source: u16,
        /// Port of the destination.
        destination: u16,
        /// Its payload, as far as it was captured.
        payload: &'a [u8],
        /// Length of its payload as sent, in bytes.
        length: usize,
    },
    /// An ICMP or ICMPv6 message, from its header on.
    Icmp {
        /// Its type.
        kind: u8,
        /// Its code.
        code: u8,
        /// Type, code, checksum and the rest, as far as it was captured.
        message: &'a [u8],
        /// Length of all that as sent, in bytes.
        length: usize,
    },
    /// A fragment that is not the first: which datagram it is of nobody can say.
    Fragment {
        /// Where it belongs, in bytes from the beginning.
        offset: u16,
    },
    /// Any other protocol, by its number.
    Other {
        /// As IANA numbers them.
        protocol: u8,
    },
}

/// Why a frame is not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FrameError {
    /// It, or what was captured of it, ends within its headers.
    #[error("the frame ends within its headers")]
    CutOff,
    /// Not an IP packet.
    #[error("no IP packet, but EtherType {0:#06x}")]
    NotIp(u16),
    /// A header that contradicts itself.
    #[error("a header contradicts itself")]
    Malformed,
    /// A link type that is not known here.
    #[error("frames of link type {0} are not read here")]
    LinkType(u32),
}

const IPV4: u16 = 0x0800;
const IPV6: u16 = 0x86dd;
/// 802.1Q and 802.1ad.
const TAGS: [u16; 2] = [0x8100, 0x88a8];
const UDP: u8 = 17;
const ICMP: u8 = 1;
const ICMPV6: u8 = 58;
/// More extension headers than these have nothing to do in a packet.
const MOST_EXTENSIONS: usize = 8;

fn half(bytes: &[u8], at: usize) -> Result<u16, FrameError> {
    let two = bytes.get(at..at + 2).ok_or(FrameError::CutOff)?;
    Ok(u16::from_be_bytes([two[0], two[1]]))
}

fn byte(bytes: &[u8], at: usize) -> Result<u8, FrameError> {
    bytes.get(at).copied().ok_or(FrameError::CutOff)
}

fn array<const N: usize>(bytes: &[u8], at: usize) -> Result<[u8; N], FrameError> {
    let found = bytes
        .get(at..at + N)
        .and_then(|found| found.try_into().ok());
    found.ok_or(FrameError::CutOff)
}

fn from(bytes: &[u8], at: usize) -> Result<&[u8], FrameError> {
    bytes.get(at..).ok_or(FrameError::CutOff)
}

impl<'a> Frame<'a> {
    /// Reads the first bytes of a frame, as many as were captured.
    ///
    /// # Errors
    /// Where it is no IP packet, contradicts itself, or too little of it was captured.
    pub fn read(link: LinkType, bytes: &'a [u8]) -> Result<Self, FrameError> {
        let mut vlans = [None; 2];
        let (ether_type, packet) = match link {
            LinkType::Ethernet => {
                let (mut ether_type, mut at) = (half(bytes, 12)?, 14);
                for vlan in &mut vlans {
                    if TAGS.contains(&ether_type) {
                        *vlan = Some(half(bytes, at)? & 0xfff);
                        ether_type = half(bytes, at + 2)?;
                        at += 4;
                    }
                }
                (ether_type, from(bytes, at)?)
            }
            LinkType::Raw => {
                let ether_type = match byte(bytes, 0)? >> 4 {
                    6 => IPV6,
                    _ => IPV4,
                };
                (ether_type, bytes)
            }
            LinkType::LinuxCooked => (half(bytes, 14)?, from(bytes, 16)?),
            LinkType::LinuxCooked2 => (half(bytes, 0)?, from(bytes, 20)?),
            LinkType::Other(number) => return Err(FrameError::LinkType(number)),
        };
        let frame = match ether_type {
            IPV4 => ipv4(packet)?,
            IPV6 => ipv6(packet)?,
            other => return Err(FrameError::NotIp(other)),
        };
        Ok(Self { vlans, ..frame })
    }
}

fn ipv4(packet: &[u8]) -> Result<Frame<'_>, FrameError> {
    let first = byte(packet, 0)?;
    let header = usize::from(first & 15) * 4;
    let total = usize::from(half(packet, 2)?);
    if first >> 4 != 4 || header < 20 {
        return Err(FrameError::Malformed);
    }
    let fragment = half(packet, 6)?;
    let (source, destination) = (array::<4>(packet, 12)?, array::<4>(packet, 16)?);
    // Segments that the device is to cut have 0 there when they are captured.
    let length = match total {
        0 => packet.len().saturating_sub(header),
        total => total.checked_sub(header).ok_or(FrameError::Malformed)?,
    };
    let carried = from(packet, header)?;
    let carried = &carried[..carried.len().min(length)];
    let offset = (fragment & 0x1fff) * 8;
    Ok(Frame {
        vlans: [None; 2],
        source: Ipv4Addr::from(source).into(),
        destination: Ipv4Addr::from(destination).into(),
        ttl: byte(packet, 8)?,
        tos: byte(packet, 1)?,
        identification: half(packet, 4)?.into(),
        content: content(byte(packet, 9)?, offset, carried, length, ICMP)?,
    })
}

fn ipv6(packet: &[u8]) -> Result<Frame<'_>, FrameError> {
    let first = half(packet, 0)?;
    if first >> 12 != 6 {
        return Err(FrameError::Malformed);
    }
    let mut length = usize::from(half(packet, 4)?);
    let mut next = byte(packet, 6)?;
    let (source, destination) = (array::<16>(packet, 8)?, array::<16>(packet, 24)?);
    let mut carried = from(packet, 40)?;
    if length == 0 {
        // A jumbogram, or segments that the device is to cut.
        length = carried.len();
    }
    carried = &carried[..carried.len().min(length)];
    let (mut offset, mut identification) = (0, 0);
    for _ in 0..MOST_EXTENSIONS {
        let size = match next {
            // Hop-by-hop options, routing, destination options.
            0 | 43 | 60 => 8 + 8 * usize::from(byte(carried, 1)?),
            // Authentication, in words of four bytes.
            51 => 8 + 4 * usize::from(byte(carried, 1)?),
            44 => {
                offset = half(carried, 2)? & 0xfff8;
                identification = u32::from_be_bytes(array(carried, 4)?);
                8
            }
            _ => break,
        };
        let is_fragment = next == 44;
        length = length.checked_sub(size).ok_or(FrameError::Malformed)?;
        next = byte(carried, 0)?;
        carried = from(carried, size)?;
        if is_fragment && offset > 0 {
            // What follows is no header.
            break;
        }
    }
    Ok(Frame {
        vlans: [None; 2],
        source: Ipv6Addr::from(source).into(),
        destination: Ipv6Addr::from(destination).into(),
        ttl: byte(packet, 7)?,
        tos: (first >> 4) as u8,
        identification,
        content: content(next, offset, carried, length, ICMPV6)?,
    })
}

/// What `carried` is, of `length` bytes as sent.
fn content(
    protocol: u8,
    offset: u16,
    carried: &[u8],
    length: usize,
    icmp: u8,
) -> Result<Content<'_>, FrameError> {
    if offset > 0 {
        return Ok(Content::Fragment { offset });
    }
    match protocol {
        UDP => {
            let stated = usize::from(half(carried, 4)?);
            // Longer than its packet where it goes on in other fragments; 0 in a jumbogram.
            let stated = match stated {
                0 => length,
                1..8 => return Err(FrameError::Malformed),
                stated => stated,
            };
            let payload = from(carried, 8)?;
            let length = stated.checked_sub(8).ok_or(FrameError::Malformed)?;
            Ok(Content::Udp {
                source: half(carried, 0)?,
                destination: half(carried, 2)?,
                payload: &payload[..payload.len().min(length)],
                length,
            })
        }
        number if number == icmp => Ok(Content::Icmp {
            kind: byte(carried, 0)?,
            code: byte(carried, 1)?,
            message: carried,
            length,
        }),
        protocol => Ok(Content::Other { protocol }),
    }
}
