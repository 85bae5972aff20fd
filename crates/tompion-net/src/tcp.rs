//! Sockets of TCP: one that listens, and what the kernel makes of the round trips of a connection.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::os::fd::AsFd;

use rustix::net::sockopt::{set_ipv6_v6only, set_socket_reuseaddr};
use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, listen, socket_with};

use crate::NetError;
use crate::address::bytes_at;
use crate::sys;

/// Connections that wait to be taken.
const WAITING: i32 = 128;

/// A socket that listens at an address, which one of IPv6 does not take for IPv4, too, as those of UDP here do not.
///
/// # Errors
/// It is not free.
pub fn listen_tcp(address: SocketAddr) -> Result<TcpListener, NetError> {
    let family = match address.is_ipv6() {
        true => AddressFamily::INET6,
        false => AddressFamily::INET,
    };
    let open = || {
        let socket = socket_with(family, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
        set_socket_reuseaddr(&socket, true)?;
        if address.is_ipv6() {
            set_ipv6_v6only(&socket, true)?;
        }
        bind(&socket, &address)?;
        listen(&socket, WAITING)?;
        Ok(TcpListener::from(socket))
    };
    open().map_err(|error: rustix::io::Errno| NetError::Bind {
        address,
        source: error.into(),
    })
}

/// `struct tcp_info` of linux/tcp.h: where it has which figure, in bytes.
const SMOOTHED: usize = 68;
const SENT_AGAIN: usize = 100;
const LEAST: usize = 148;
const LENGTH: usize = LEAST + 4;
/// The least, where none is known.
const NONE: u32 = u32::MAX;

/// TCP's own figures of a connection, which it has in whole microseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TcpTimes {
    /// The smoothed round trip, by which it waits for what is lost (RFC 6298), in nanoseconds.
    pub smoothed_ns: u64,
    /// The least of the last minutes, in nanoseconds; none where the kernel has no such.
    pub least_ns: Option<u64>,
    /// Segments that were sent again.
    pub sent_again: u32,
}

/// Those of a connection.
///
/// # Errors
/// Of anything else.
pub fn tcp_times(stream: impl AsFd) -> io::Result<TcpTimes> {
    let mut all = [0; LENGTH];
    let length = sys::option(stream.as_fd(), libc::IPPROTO_TCP, libc::TCP_INFO, &mut all)?;
    let word = |at: usize| {
        let is_there = at + 4 <= length;
        let bytes = is_there.then(|| bytes_at(&all, at)).flatten();
        bytes.map(u32::from_ne_bytes)
    };
    let ns = |us: u32| u64::from(us) * 1000;
    let missing = || io::Error::from(io::ErrorKind::Unsupported);
    Ok(TcpTimes {
        smoothed_ns: ns(word(SMOOTHED).ok_or_else(missing)?),
        least_ns: word(LEAST).filter(|least| *least != NONE).map(ns),
        sent_again: word(SENT_AGAIN).ok_or_else(missing)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::net::{TcpStream, UdpSocket};

    #[test]
    fn both_families_listen_at_one_port() {
        let v4 = listen_tcp("0.0.0.0:0".parse().unwrap()).unwrap();
        let port = v4.local_addr().unwrap().port();
        let v6 = listen_tcp(SocketAddr::new([0_u16; 8].into(), port));
        // Where there is no IPv6 nothing listens there.
        if let Ok(v6) = v6 {
            assert_eq!(v6.local_addr().unwrap().port(), port);
        }
        assert!(matches!(
            listen_tcp(v4.local_addr().unwrap()),
            Err(NetError::Bind { .. })
        ));
    }

    #[test]
    fn a_connection_over_loopback_has_short_round_trips_and_no_other_socket_has_any() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut here = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (mut there, _) = listener.accept().unwrap();
        for _ in 0..5 {
            here.write_all(b"x").unwrap();
            there.read_exact(&mut [0]).unwrap();
            there.write_all(b"x").unwrap();
            here.read_exact(&mut [0]).unwrap();
        }
        let times = tcp_times(&here).unwrap();
        let least = times.least_ns.expect("Linux has it since 4.6");
        assert!(0 < least && least <= times.smoothed_ns, "{times:?}");
        assert!(
            times.smoothed_ns < 1_000_000_000 && times.sent_again < 5,
            "{times:?}"
        );
        assert!(tcp_times(UdpSocket::bind("127.0.0.1:0").unwrap()).is_err());
    }
}
