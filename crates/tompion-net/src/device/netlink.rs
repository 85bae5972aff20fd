//! One question to rtnetlink(7), and the attributes of its answer.

use std::io;
use std::net::IpAddr;
use std::os::fd::OwnedFd;

use rustix::net::netlink::SocketAddrNetlink;
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, sockopt};

use crate::address::bytes_at;

/// Of linux/netlink.h.
const ERROR: u16 = 2;
const REQUEST: u16 = 1;
/// Of `struct nlmsghdr`, and of an attribute's head.
const HEADER: usize = 16;
const ATTRIBUTE: usize = 4;
/// An answer is about one thing.
const MOST_BYTES: usize = 4096;
/// The kernel answers within the call that asks.
const PATIENCE: std::time::Duration = std::time::Duration::from_secs(1);

/// A question: its type, the fixed part, which is a multiple of four bytes, and one attribute.
pub struct Question<'a> {
    pub kind: u16,
    pub fixed: &'a [u8],
    pub attribute: Option<(u16, &'a [u8])>,
}

/// An address as the kernel has it: its family, and its bytes.
pub fn in_bytes(address: IpAddr) -> (u8, Vec<u8>) {
    match address {
        IpAddr::V4(v4) => (AddressFamily::INET.as_raw() as u8, v4.octets().to_vec()),
        IpAddr::V6(v6) => (AddressFamily::INET6.as_raw() as u8, v6.octets().to_vec()),
    }
}

impl Question<'_> {
    fn bytes(&self) -> Vec<u8> {
        let attribute = self
            .attribute
            .map_or(0, |(_, value)| ATTRIBUTE + value.len());
        let length = HEADER + self.fixed.len() + attribute;
        let mut bytes = Vec::with_capacity(length);
        bytes.extend((length as u32).to_ne_bytes());
        bytes.extend(self.kind.to_ne_bytes());
        bytes.extend(REQUEST.to_ne_bytes());
        // Sequence number and sender, of which there is one.
        bytes.extend([0; 8]);
        bytes.extend(self.fixed);
        if let Some((kind, value)) = self.attribute {
            bytes.extend((attribute as u16).to_ne_bytes());
            bytes.extend(kind.to_ne_bytes());
            bytes.extend(value);
        }
        bytes
    }

    /// Asks the kernel; the answer, which is of type `kind`.
    pub fn ask(&self, kind: u16) -> io::Result<Answer> {
        let socket = socket()?;
        let kernel = SocketAddrNetlink::new(0, 0);
        rustix::net::sendto(&socket, &self.bytes(), SendFlags::empty(), &kernel)?;
        let mut answer = vec![0; MOST_BYTES];
        let (length, _) = rustix::net::recv(&socket, &mut answer[..], RecvFlags::empty())?;
        answer.truncate(length);
        Answer::read(answer, kind, self.fixed.len())
    }
}

fn socket() -> io::Result<OwnedFd> {
    let kind = SocketType::DGRAM;
    let socket =
        rustix::net::socket_with(AddressFamily::NETLINK, kind, SocketFlags::CLOEXEC, None)?;
    sockopt::set_socket_timeout(&socket, sockopt::Timeout::Recv, Some(PATIENCE))?;
    Ok(socket)
}

/// What the kernel said.
#[derive(Debug)]
pub struct Answer {
    bytes: Vec<u8>,
    fixed: usize,
}

impl Answer {
    /// An answer of this type, whose fixed part is so long.
    pub fn read(bytes: Vec<u8>, kind: u16, fixed: usize) -> io::Result<Self> {
        let damaged = || io::Error::from(io::ErrorKind::InvalidData);
        let found = bytes_at(&bytes, 4).map(u16::from_ne_bytes);
        if found == Some(ERROR) {
            let code = bytes_at(&bytes, HEADER).map(i32::from_ne_bytes);
            let code = code.ok_or_else(damaged)?;
            return Err(io::Error::from_raw_os_error(code.saturating_neg()));
        }
        match found == Some(kind) {
            true => Ok(Self { bytes, fixed }),
            false => Err(damaged()),
        }
    }

    /// Bytes of the fixed part.
    pub fn fixed<const N: usize>(&self, at: usize) -> Option<[u8; N]> {
        bytes_at(&self.bytes, HEADER + at).filter(|_| at + N <= self.fixed)
    }

    /// The value of the first attribute of a kind.
    pub fn attribute(&self, wanted: u16) -> Option<&[u8]> {
        let half = |at| bytes_at(&self.bytes, at).map(u16::from_ne_bytes);
        let mut at = HEADER + self.fixed;
        while let (Some(length), Some(kind)) = (half(at), half(at + 2)) {
            let length = usize::from(length);
            if kind == wanted {
                return self.bytes.get(at + ATTRIBUTE..at + length);
            }
            // Attributes begin at multiples of four bytes; none is shorter than its head.
            at += length.max(ATTRIBUTE).next_multiple_of(4);
        }
        None
    }

    /// The same as a number.
    pub fn number(&self, wanted: u16) -> Option<u32> {
        bytes_at(self.attribute(wanted)?, 0).map(u32::from_ne_bytes)
    }

    /// The same as an address.
    pub fn address(&self, wanted: u16) -> Option<IpAddr> {
        let value = self.attribute(wanted)?;
        match value.len() {
            4 => bytes_at::<4>(value, 0).map(IpAddr::from),
            16 => bytes_at::<16>(value, 0).map(IpAddr::from),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KIND: u16 = 24;
    const FIXED: usize = 12;
    const DEVICE: u16 = 4;

    #[test]
    fn answers_that_are_none_are_errors() {
        let read = |bytes: &[u8]| Answer::read(bytes.to_vec(), KIND, FIXED);
        let errno = |bytes: &[u8]| read(bytes).unwrap_err().raw_os_error();
        let mut refused = vec![0; 20];
        refused[4] = 2;
        refused[16..20].copy_from_slice(&(-libc::ENETUNREACH).to_ne_bytes());
        assert_eq!(errno(&refused), Some(libc::ENETUNREACH));
        let mut answer = vec![0; HEADER + FIXED];
        answer[4..6].copy_from_slice(&KIND.to_ne_bytes());
        assert_eq!(read(&answer).unwrap().number(DEVICE), None);
        let mut with = |kind: u16, value: &[u8]| {
            answer.extend((4 + value.len() as u16).to_ne_bytes());
            answer.extend(kind.to_ne_bytes());
            answer.extend(value);
            answer.clone()
        };
        with(15, &[0; 4]);
        let whole = with(DEVICE, &7u32.to_ne_bytes());
        assert_eq!(read(&whole).unwrap().number(DEVICE), Some(7));
        assert_eq!(read(&whole).unwrap().address(15), Some([0, 0, 0, 0].into()));
        for end in 0..whole.len() {
            let cut = read(&whole[..end]);
            assert!(
                cut.is_err() || cut.unwrap().number(DEVICE).is_none(),
                "{end}"
            );
        }
        // An attribute of no length is passed over, head by head.
        let mut none = whole;
        none[HEADER + FIXED..HEADER + FIXED + 2].fill(0);
        assert_eq!(read(&none).unwrap().number(DEVICE), Some(7));
    }
}
