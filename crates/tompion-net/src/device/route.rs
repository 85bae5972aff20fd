//! Which device a packet leaves by, and whose hardware it goes to next, as rtnetlink(7) tells it.

use std::io;
use std::net::{IpAddr, UdpSocket};
use std::time::Duration;

use tompion_time::os;

use super::Device;
use super::netlink::{Question, in_bytes};
use crate::address::{bytes_at, unspecified_like};
use crate::error::NetError;

/// Of linux/rtnetlink.h, linux/neighbour.h and linux/if_link.h.
const NEW_LINK: u16 = 16;
const GET_LINK: u16 = 18;
const NEW_ROUTE: u16 = 24;
const GET_ROUTE: u16 = 26;
const NEW_NEIGHBOUR: u16 = 28;
const GET_NEIGHBOUR: u16 = 30;
const DESTINATION: u16 = 1;
const OUTPUT_DEVICE: u16 = 4;
const GATEWAY: u16 = 5;
const HARDWARE_OF_LINK: u16 = 1;
const HARDWARE_OF_NEIGHBOUR: u16 = 2;
/// `struct rtmsg`, `struct ndmsg` and `struct ifinfomsg`.
const ROUTE: usize = 12;
const NEIGHBOUR: usize = 12;
const LINK: usize = 16;
/// How often, and how long apart, it is looked whether a neighbour has answered.
const LOOKS: u32 = 50;
const LOOK: Duration = Duration::from_millis(20);
/// A port where nobody minds a datagram (RFC 863).
const DISCARD: u16 = 9;

/// How a packet gets on its way: by which device, and between which hardware addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hop {
    /// Index of the device.
    pub device: u32,
    /// The hardware address of the device.
    pub from: [u8; 6],
    /// That of the neighbour which takes the packet.
    pub to: [u8; 6],
}

/// The device by which packets leave for an address, in the calling thread's network namespace:
/// the loopback device for the machine's own. Rules that go by more than the address (marks,
/// users, ports) are not asked.
///
/// # Errors
/// Where there is no route, or the system does not tell.
pub fn towards(to: IpAddr) -> Result<Device, NetError> {
    let (index, _) = route(to).map_err(|source| NetError::NoRoute { to, source })?;
    Ok(Device::Index(index))
}

/// How packets to an address get on their way. A neighbour that is not known yet is asked for its hardware address, by
/// an empty datagram to the discard port.
///
/// # Errors
/// Where there is no route, a device without hardware addresses, or nobody who answers.
pub(crate) fn hop(to: IpAddr) -> Result<Hop, NetError> {
    let no_route = |source| NetError::NoRoute { to, source };
    let (device, gateway) = route(to).map_err(no_route)?;
    let from = hardware(device).map_err(no_route)?;
    let from = from.ok_or(NetError::NoHardware { to })?;
    let next = gateway.unwrap_or(to);
    for look in 0..LOOKS {
        if let Some(to) = neighbour(device, next).map_err(no_route)? {
            return Ok(Hop { device, from, to });
        }
        if look == 0 {
            // The kernel asks before it sends; that nobody answers is told below.
            let socket = UdpSocket::bind((unspecified_like(&to), 0));
            let _ = socket.and_then(|socket| socket.send_to(&[], (to, DISCARD)));
        }
        os::sleep(LOOK);
    }
    Err(NetError::NoNeighbour { next })
}

/// The device and, where there is one, the gateway.
fn route(to: IpAddr) -> io::Result<(u32, Option<IpAddr>)> {
    let (family, octets) = in_bytes(to);
    // All bits of the destination; the rest of `struct rtmsg` is no part of the question.
    let mut fixed = [0; ROUTE];
    fixed[..2].copy_from_slice(&[family, octets.len() as u8 * 8]);
    let question = Question {
        kind: GET_ROUTE,
        fixed: &fixed,
        attribute: Some((DESTINATION, &octets)),
    };
    let answer = question.ask(NEW_ROUTE)?;
    // Unreachable, prohibited or a black hole.
    let none = || io::Error::from_raw_os_error(libc::ENETUNREACH);
    let device = answer.number(OUTPUT_DEVICE).ok_or_else(none)?;
    Ok((device, answer.address(GATEWAY)))
}

/// The hardware address of a device; none where it needs none.
fn hardware(device: u32) -> io::Result<Option<[u8; 6]>> {
    let mut fixed = [0; LINK];
    fixed[4..8].copy_from_slice(&device.to_ne_bytes());
    let question = Question {
        kind: GET_LINK,
        fixed: &fixed,
        attribute: None,
    };
    let answer = question.ask(NEW_LINK)?;
    let flags = answer.fixed(8).map_or(0, u32::from_ne_bytes);
    let needs_none = (libc::IFF_LOOPBACK | libc::IFF_NOARP) as u32;
    if flags & needs_none != 0 {
        return Ok(None);
    }
    let address = answer.attribute(HARDWARE_OF_LINK).filter(|a| a.len() == 6);
    // Of another kind than Ethernet, whose frames would be others.
    let other = || io::Error::from(io::ErrorKind::Unsupported);
    let address = address.and_then(|address| bytes_at(address, 0));
    Ok(Some(address.ok_or_else(other)?))
}

/// The hardware address of a neighbour, where the kernel knows it.
fn neighbour(device: u32, next: IpAddr) -> io::Result<Option<[u8; 6]>> {
    let (family, octets) = in_bytes(next);
    let mut fixed = [0; NEIGHBOUR];
    fixed[0] = family;
    fixed[4..8].copy_from_slice(&device.to_ne_bytes());
    let question = Question {
        kind: GET_NEIGHBOUR,
        fixed: &fixed,
        attribute: Some((DESTINATION, &octets)),
    };
    match question.ask(NEW_NEIGHBOUR) {
        Ok(answer) => {
            let address = answer.attribute(HARDWARE_OF_NEIGHBOUR);
            Ok(address.and_then(|address| bytes_at(address, 0)))
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, Ipv6Addr};

    use super::*;

    #[test]
    fn packets_to_this_machine_leave_by_loopback() {
        for to in [
            IpAddr::from(Ipv4Addr::LOCALHOST),
            Ipv6Addr::LOCALHOST.into(),
        ] {
            if let Ok(device) = towards(to) {
                assert_eq!(device.find().unwrap().1, "lo", "{to}");
                let why = hop(to).unwrap_err();
                assert!(matches!(why, NetError::NoHardware { .. }), "{why}");
            } else {
                // IPv6 may be switched off.
                assert!(to.is_ipv6());
            }
        }
    }
}
