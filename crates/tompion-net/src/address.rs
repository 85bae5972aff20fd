//! Socket addresses as the kernel has them in memory, read and written without pointers.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6};

/// The longest form written here, of IPv6.
pub const MOST_BYTES: usize = 28;

/// `N` bytes at `at`, if there are so many.
pub fn bytes_at<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..at.checked_add(N)?)?.try_into().ok()
}

/// Reads a `sockaddr_in` or `sockaddr_in6`.
pub fn read(bytes: &[u8]) -> Option<SocketAddr> {
    let family = i32::from(u16::from_ne_bytes(bytes_at(bytes, 0)?));
    let port = u16::from_be_bytes(bytes_at(bytes, 2)?);
    match family {
        libc::AF_INET => {
            let address = Ipv4Addr::from(bytes_at::<4>(bytes, 4)?);
            Some(SocketAddr::V4(SocketAddrV4::new(address, port)))
        }
        libc::AF_INET6 => {
            let flow = u32::from_be_bytes(bytes_at(bytes, 4)?);
            let address = Ipv6Addr::from(bytes_at::<16>(bytes, 8)?);
            let scope = u32::from_ne_bytes(bytes_at(bytes, 24)?);
            let address = SocketAddrV6::new(address, port, flow, scope);
            Some(SocketAddr::V6(address))
        }
        _ => None,
    }
}

/// Writes an address; how many bytes of `to` it takes.
pub fn write(address: &SocketAddr, to: &mut [u8; MOST_BYTES]) -> usize {
    to.fill(0);
    match address {
        SocketAddr::V4(address) => {
            to[..2].copy_from_slice(&(libc::AF_INET as u16).to_ne_bytes());
            to[2..4].copy_from_slice(&address.port().to_be_bytes());
            to[4..8].copy_from_slice(&address.ip().octets());
            16
        }
        SocketAddr::V6(address) => {
            to[..2].copy_from_slice(&(libc::AF_INET6 as u16).to_ne_bytes());
            to[2..4].copy_from_slice(&address.port().to_be_bytes());
            to[4..8].copy_from_slice(&address.flowinfo().to_be_bytes());
            to[8..24].copy_from_slice(&address.ip().octets());
            to[24..28].copy_from_slice(&address.scope_id().to_ne_bytes());
            28
        }
    }
}

/// Who sent a frame, as an AF_PACKET socket has it (`sockaddr_ll`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkAddress {
    /// Index of the device.
    pub interface: u32,
    /// One of `PACKET_HOST`, `PACKET_OUTGOING` and the like.
    pub packet_type: u8,
}

/// Reads a `sockaddr_ll`.
pub fn read_link(bytes: &[u8]) -> Option<LinkAddress> {
    let family = i32::from(u16::from_ne_bytes(bytes_at(bytes, 0)?));
    (family == libc::AF_PACKET).then_some(LinkAddress {
        interface: u32::from_ne_bytes(bytes_at(bytes, 4)?),
        packet_type: *bytes.get(10)?,
    })
}

/// A `sockaddr_ll` to bind to: all protocols of one device.
pub fn link(interface: u32) -> [u8; 20] {
    let mut bytes = [0; 20];
    bytes[..2].copy_from_slice(&(libc::AF_PACKET as u16).to_ne_bytes());
    bytes[2..4].copy_from_slice(&(libc::ETH_P_ALL as u16).to_be_bytes());
    bytes[4..8].copy_from_slice(&interface.to_ne_bytes());
    bytes
}

/// The wildcard of the same family.
pub fn unspecified_like(address: &IpAddr) -> IpAddr {
    match address {
        IpAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        IpAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    }
}
