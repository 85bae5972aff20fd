//! What init is told beside the command: one word a line, in a file of the initramfs.

use std::fmt;

/// Where that file is.
pub const SETUP_FILE: &str = "/tompion/setup";

/// Where a seed for the guest's random numbers is: processors without RDRAND leave its
/// kernel with none, and programs that ask for some waiting for it.
pub const SEED_FILE: &str = "/tompion/seed";

/// How the guest is set up and ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Setup {
    /// Has a network interface, to be configured.
    pub network: bool,
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
                "network" => setup.network = true,
                "scratch" => setup.scratch = true,
                "reset" => setup.reset = true,
                other => return Err(format!("{SETUP_FILE}: `{other}` is unknown: make guest")),
            }
        }
        Ok(setup)
    }
}

impl fmt::Display for Setup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all = [
            (self.network, "network"),
            (self.scratch, "scratch"),
            (self.reset, "reset"),
        ];
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
                network: bits & 1 != 0,
                scratch: bits & 2 != 0,
                reset: bits & 4 != 0,
            };
            assert_eq!(Setup::parse(&setup.to_string()), Ok(setup));
        }
        assert!(Setup::parse("network\nnew\n").is_err());
    }
}
