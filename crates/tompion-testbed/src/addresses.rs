//! Which addresses the places of a testbed have.
//!
//! IPv4 is of the block for benchmarks of network devices (RFC 2544, RFC 6890), IPv6 of the
//! unique local ones (RFC 4193). Nothing outside the testbed ever sees them; that none of this
//! machine's is among them keeps a command from mistaking one for the other, in a testbed within
//! a testbed, too.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use nix::ifaddrs::getifaddrs;

use crate::TestbedError;

/// Where a place is, on both protocols.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pair {
    /// Its IPv4 address.
    pub v4: Ipv4Addr,
    /// Its IPv6 address.
    pub v6: Ipv6Addr,
}

impl Pair {
    /// Both of them.
    pub fn both(self) -> [IpAddr; 2] {
        [self.v4.into(), self.v6.into()]
    }
}

/// Lengths of prefixes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Prefixes {
    pub v4: u8,
    pub v6: u8,
}

impl Prefixes {
    /// Of the whole block: sender and far end are on one link.
    pub const ONE_LINK: Self = Self { v4: 24, v6: 64 };
    /// Of the links beside a router.
    pub const ROUTED: Self = Self { v4: 28, v6: 112 };

    pub fn of(self, address: IpAddr) -> u8 {
        match address {
            IpAddr::V4(_) => self.v4,
            IpAddr::V6(_) => self.v6,
        }
    }
}

/// A link of the block: sixteen IPv4 addresses, 2^16 IPv6 ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Link {
    Sender,
    FarEnd,
    Cross,
}

/// One block of addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Block(u8);

impl Block {
    /// The first of which this machine has none, in the calling thread's namespace.
    pub fn free() -> Result<Self, TestbedError> {
        let what = "list this machine's addresses";
        let own = getifaddrs().map_err(|e| TestbedError::system(what)(e.into()))?;
        let own: Vec<IpAddr> = own
            .filter_map(|interface| interface.address)
            .filter_map(|address| {
                let v4 = address.as_sockaddr_in().map(|a| a.ip().into());
                v4.or_else(|| address.as_sockaddr_in6().map(|a| a.ip().into()))
            })
            .collect();
        Ok(Self::beside(&own))
    }

    fn beside(own: &[IpAddr]) -> Self {
        let free = (0..=u8::MAX).map(Self).find(|block| {
            !own.iter().any(|address| match address {
                IpAddr::V4(v4) => v4.octets()[..3] == [198, 18, block.0],
                IpAddr::V6(v6) => v6.segments()[..4] == block.v6_network(),
            })
        });
        // 256 testbeds within one another: any is as good.
        free.unwrap_or(Self(0))
    }

    fn v6_network(self) -> [u16; 4] {
        // "tompi" in hexadecimal digits of ASCII stands for the 40 random bits of RFC 4193.
        [0xfd74, 0x6f6d, 0x7069, u16::from(self.0)]
    }

    /// The `host`-th of a link, from 1 to 14.
    pub fn at(self, link: Link, host: u8) -> Pair {
        let number = link as u8;
        let [a, b, c, d] = self.v6_network();
        let link = u16::from(number) + 1;
        Pair {
            v4: Ipv4Addr::new(198, 18, self.0, 16 * number + host),
            v6: Ipv6Addr::new(a, b, c, d, 0, 0, link, host.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_is_free_of_this_machines_addresses() {
        let own = ["198.18.0.9", "10.1.1.1", "fd74:6f6d:7069:1::5"];
        let own: Vec<IpAddr> = own.iter().map(|a| a.parse().unwrap()).collect();
        let block = Block::beside(&own);
        assert_eq!(block, Block(2));
        let far = block.at(Link::FarEnd, 1);
        assert_eq!(far.v4, Ipv4Addr::new(198, 18, 2, 17));
        assert_eq!(far.v6.to_string(), "fd74:6f6d:7069:2::2:1");
    }
}
