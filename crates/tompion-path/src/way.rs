//! The two ways of a round trip.

use std::fmt;

use serde::{Deserialize, Serialize};

/// One of the two ways of a round trip.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Way {
    /// From the sender to the far end.
    Outward,
    /// From the far end back to the sender.
    Homeward,
}

impl Way {
    /// Both of them.
    pub const BOTH: [Self; 2] = [Self::Outward, Self::Homeward];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Outward => "outward",
            Self::Homeward => "homeward",
        }
    }
}

impl fmt::Display for Way {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
