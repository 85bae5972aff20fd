//! What init is told beside the command: one word a line, in a file of the initramfs.

use std::fmt;
use std::net::Ipv4Addr;

use super::network::Interface;

/// Where that file is.
pub const SETUP_FILE: &str = "/tompion/setup";

/// Where a seed for the guest's random numbers is: processors without RDRAND leave its
/// kernel with none, and programs that ask for some waiting for it.
pub const SEED_FILE: &str = "/tompion/seed";

/// How the guest is set up and ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Setup {
    /// Has a network interface, to be configured with this address and mask.
    pub network: Option<(Ipv4Addr, Ipv4Addr)>,
    /// Has a disk beside the result's, to be mounted.
    pub scratch: bool,
    /// Ends by a reset and not by power-off, which Firecracker's machine does not have.
    pub reset: bool,
}

impl Setup {
    /// As it was written; what it does not know is refused, since an init that is older
    /// than its orders would leave half of them undone.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut setup = Self::default();
        for line in text.lines() {
            match line {
                "network" => setup.network = Some(USUAL),
                "scratch" => setup.scratch = true,
                "reset" => setup.reset = true,
                other => match other.strip_prefix("network ").and_then(network) {
                    Some(network) => setup.network = Some(network),
                    None => return Err(format!("{SETUP_FILE}: `{other}` is unknown: make guest")),
                },
            }
        }
        Ok(setup)
    }
}

/// What is not written, so that an older init knows it.
const USUAL: (Ipv4Addr, Ipv4Addr) = (Interface::USUAL.address, Interface::USUAL.mask);

fn network(text: &str) -> Option<(Ipv4Addr, Ipv4Addr)> {
    let (address, mask) = text.split_once('/')?;
    Some((address.parse().ok()?, mask.parse().ok()?))
}

impl fmt::Display for Setup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.network {
            Some(USUAL) => writeln!(f, "network")?,
            Some((address, mask)) => writeln!(f, "network {address}/{mask}")?,
            None => {}
        }
        let all = [(self.scratch, "scratch"), (self.reset, "reset")];
        for (_, line) in all.iter().filter(|(given, _)| *given) {
            writeln!(f, "{line}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comes_back_as_written() {
        for bits in 0..8 {
            let setup = Setup {
                network: (bits & 1 != 0).then_some(USUAL),
                scratch: bits & 2 != 0,
                reset: bits & 4 != 0,
            };
            assert_eq!(Setup::parse(&setup.to_string()), Ok(setup));
        }
        let elsewhere = Setup {
            network: Some(([198, 18, 0, 3].into(), [255, 255, 255, 0].into())),
            ..Setup::default()
        };
        assert_eq!(elsewhere.to_string(), "network 198.18.0.3/255.255.255.0\n");
        assert_eq!(Setup::parse(&elsewhere.to_string()), Ok(elsewhere));
        for wrong in ["network\nnew\n", "network 1.2.3/4\n", "network 1.2.3.4\n"] {
            assert!(Setup::parse(wrong).is_err());
        }
    }
}
