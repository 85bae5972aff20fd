//! Who is asked, and how.

use std::net::{IpAddr, ToSocketAddrs};

use crate::error::PacketError;

/// Which IP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// IPv4.
    V4,
    /// IPv6.
    V6,
}

impl Family {
    /// The one that an address is of.
    pub fn of(address: &IpAddr) -> Self {
        match address.is_ipv4() {
            true => Self::V4,
            false => Self::V6,
        }
    }

    /// Bytes of its header, without options.
    pub fn header_bytes(self) -> usize {
        match self {
            Self::V4 => 20,
            Self::V6 => 40,
        }
    }
}

/// What probes are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// STAMP test packets (RFC 8762), over UDP.
    Stamp,
    /// ICMP echo requests, which any host may answer.
    Icmp,
}

/// Bytes of UDP's header, and of ICMP echo's.
pub const TRANSPORT_BYTES: usize = 8;

/// The first address of a name, or the address that it is, of the family asked for.
///
/// # Errors
/// There is none.
pub fn resolve(host: &str, family: Option<Family>) -> Result<IpAddr, PacketError> {
    let bare = host.strip_prefix('[').and_then(|h| h.strip_suffix(']'));
    let found = (bare.unwrap_or(host), 0).to_socket_addrs();
    let mut found = found.map_err(|source| PacketError::NoSuchHost {
        host: host.to_owned(),
        source,
    })?;
    let fits = |address: &IpAddr| family.is_none_or(|f| Family::of(address) == f);
    let address = found.find(|a| fits(&a.ip())).map(|a| a.ip());
    address.ok_or_else(|| PacketError::NoAddress {
        host: host.to_owned(),
        family: match family {
            Some(Family::V4) => "IPv4",
            Some(Family::V6) => "IPv6",
            None => "IP",
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_its_own_name() {
        let address = |host, family| resolve(host, family).map(|a| a.to_string()).ok();
        assert_eq!(address("192.0.2.7", None).unwrap(), "192.0.2.7");
        assert_eq!(address("[2001:db8::1]", None).unwrap(), "2001:db8::1");
        assert_eq!(address("192.0.2.7", Some(Family::V6)), None);
        let told = resolve("192.0.2.7", Some(Family::V6)).unwrap_err();
        assert_eq!(told.to_string(), "192.0.2.7 has no IPv6 address");
        assert!(resolve("no such host", None).is_err());
    }
}
