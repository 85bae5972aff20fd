//! Which device a packet leaves by, as rtnetlink(7) tells it.

use std::io;
use std::net::IpAddr;
use std::os::fd::OwnedFd;

use rustix::net::netlink::SocketAddrNetlink;
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, sockopt};

use super::Device;
use crate::address::bytes_at;
use crate::error::NetError;

/// Of linux/rtnetlink.h and linux/netlink.h.
const NEW_ROUTE: u16 = 24;
const GET_ROUTE: u16 = 26;
const ERROR: u16 = 2;
const REQUEST: u16 = 1;
const DESTINATION: u16 = 1;
const OUTPUT_DEVICE: u16 = 4;
/// Of `struct nlmsghdr`, of `struct rtmsg` behind it, and of an attribute's head.
const HEADER: usize = 16;
const ROUTE: usize = 12;
const ATTRIBUTE: usize = 4;
/// An answer is about one route.
const MOST_BYTES: usize = 4096;
/// The kernel answers within the call that asks.
const PATIENCE: std::time::Duration = std::time::Duration::from_secs(1);

/// The device by which packets leave for an address, in the calling thread's network namespace:
/// the loopback device for the machine's own. Rules that go by more than the address (marks,
/// users, ports) are not asked.
///
/// # Errors
/// Where there is no route, or the system does not tell.
pub fn towards(to: IpAddr) -> Result<Device, NetError> {
    let index = ask(to).map_err(|source| NetError::NoRoute { to, source })?;
    Ok(Device::Index(index))
}

fn ask(to: IpAddr) -> io::Result<u32> {
    let socket = socket()?;
    let request = request(to);
    let kernel = SocketAddrNetlink::new(0, 0);
    rustix::net::sendto(&socket, &request, SendFlags::empty(), &kernel)?;
    let mut answer = [0; MOST_BYTES];
    let (length, _) = rustix::net::recv(&socket, &mut answer[..], RecvFlags::empty())?;
    device_of(&answer[..length.min(MOST_BYTES)])
}

fn socket() -> io::Result<OwnedFd> {
    let kind = SocketType::DGRAM;
    let socket =
        rustix::net::socket_with(AddressFamily::NETLINK, kind, SocketFlags::CLOEXEC, None)?;
    sockopt::set_socket_timeout(&socket, sockopt::Timeout::Recv, Some(PATIENCE))?;
    Ok(socket)
}

fn request(to: IpAddr) -> Vec<u8> {
    let (family, octets) = match to {
        IpAddr::V4(v4) => (AddressFamily::INET, v4.octets().to_vec()),
        IpAddr::V6(v6) => (AddressFamily::INET6, v6.octets().to_vec()),
    };
    let attribute = ATTRIBUTE + octets.len();
    let length = HEADER + ROUTE + attribute;
    let mut request = Vec::with_capacity(length);
    request.extend((length as u32).to_ne_bytes());
    request.extend(GET_ROUTE.to_ne_bytes());
    request.extend(REQUEST.to_ne_bytes());
    // Sequence number and sender, of which there is one.
    request.extend([0; 8]);
    // All bits of the destination; the rest of `struct rtmsg` is no part of the question.
    request.extend([family.as_raw() as u8, octets.len() as u8 * 8]);
    request.extend([0; ROUTE - 2]);
    request.extend((attribute as u16).to_ne_bytes());
    request.extend(DESTINATION.to_ne_bytes());
    request.extend(octets);
    request
}

/// The output device in an answer.
fn device_of(answer: &[u8]) -> io::Result<u32> {
    let damaged = || io::Error::from(io::ErrorKind::InvalidData);
    let half = |at| bytes_at(answer, at).map(u16::from_ne_bytes);
    let word = |at| bytes_at(answer, at).map(u32::from_ne_bytes);
    match half(4).ok_or_else(damaged)? {
        ERROR => {
            let code = word(HEADER).ok_or_else(damaged)?.cast_signed();
            return Err(io::Error::from_raw_os_error(code.saturating_neg()));
        }
        NEW_ROUTE => {}
        _ => return Err(damaged()),
    }
    let mut at = HEADER + ROUTE;
    while let (Some(length), Some(kind)) = (half(at), half(at + 2)) {
        if kind == OUTPUT_DEVICE {
            return word(at + ATTRIBUTE).ok_or_else(damaged);
        }
        // Attributes begin at multiples of four bytes; none is shorter than its head.
        at += usize::from(length).max(ATTRIBUTE).next_multiple_of(4);
    }
    // Unreachable, prohibited or a black hole.
    Err(io::Error::from_raw_os_error(libc::ENETUNREACH))
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
            } else {
                // IPv6 may be switched off.
                assert!(to.is_ipv6());
            }
        }
    }

    #[test]
    fn answers_that_are_none_are_errors() {
        let told = |answer: &[u8]| device_of(answer).map_err(|e| e.raw_os_error());
        let mut refused = vec![0; 20];
        refused[4] = 2;
        refused[16..20].copy_from_slice(&(-libc::ENETUNREACH).to_ne_bytes());
        assert_eq!(told(&refused), Err(Some(libc::ENETUNREACH)));
        let mut route = vec![0; HEADER + ROUTE];
        route[4..6].copy_from_slice(&NEW_ROUTE.to_ne_bytes());
        assert_eq!(told(&route), Err(Some(libc::ENETUNREACH)));
        let mut with = |kind: u16, value: &[u8]| {
            route.extend((4 + value.len() as u16).to_ne_bytes());
            route.extend(kind.to_ne_bytes());
            route.extend(value);
            route.clone()
        };
        with(15, &[0; 4]);
        let whole = with(OUTPUT_DEVICE, &7u32.to_ne_bytes());
        assert_eq!(told(&whole), Ok(7));
        for end in 0..whole.len() {
            assert!(device_of(&whole[..end]).is_err(), "{end}");
        }
        // An attribute of no length is passed over, head by head.
        let mut none = whole;
        none[HEADER + ROUTE..HEADER + ROUTE + 2].fill(0);
        assert_eq!(told(&none), Ok(7));
    }
}
