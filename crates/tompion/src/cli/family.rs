//! Which IP another machine is reached by.

use clap::Args;
use tompion_packets::Family;

/// Which IP.
#[derive(Args, Clone, Copy, Debug)]
pub struct FamilyOptions {
    /// Use IPv4 alone
    #[arg(short = '4', long, conflicts_with = "ipv6")]
    ipv4: bool,

    /// Use IPv6 alone
    #[arg(short = '6', long)]
    ipv6: bool,
}

impl FamilyOptions {
    /// The one that is asked for.
    pub fn family(self) -> Option<Family> {
        match (self.ipv4, self.ipv6) {
            (true, _) => Some(Family::V4),
            (_, true) => Some(Family::V6),
            _ => None,
        }
    }
}
