//! What a trial shows of the probes.

use std::fmt;

use tompion_path::stamps::{Vantage, recorded};

/// What the samples of a trial are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Seen {
    /// Round trips as that place sees them.
    From(Vantage),
    /// The path alone: from kernel to kernel less the far end's stay, of probes that nothing held up at either end.
    Path,
}

impl Seen {
    /// The place whose stamps they are between.
    pub fn vantage(self) -> Vantage {
        match self {
            Self::From(vantage) => vantage,
            Self::Path => Vantage::Kernel,
        }
    }
}

impl fmt::Display for Seen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::From(vantage) => vantage.fmt(f),
            Self::Path => f.write_str(recorded::PATH),
        }
    }
}
