//! Ranks of pooled groups, and the tests that need nothing else.

mod adjust;
mod differences;
mod effect;
mod exact;
mod kruskal_wallis;
mod mann_whitney;
mod pairwise;
mod pooled;
#[cfg(test)]
mod properties;
mod shift;
mod studentized_range;

use std::fmt;

pub use adjust::Adjustment;
pub use effect::{Superiority, SuperiorityMethod, superiority};
pub use kruskal_wallis::{KruskalWallis, epsilon_squared_interval, kruskal_wallis};
pub use mann_whitney::{MannWhitney, NullMethod, Tail, mann_whitney};
pub use pairwise::{PairComparison, dunn, tukey_on_ranks};
pub use pooled::PooledRanks;
pub use shift::{Shift, shift};
pub use studentized_range::StudentizedRange;

/// Why groups cannot be compared by ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RankError {
    /// Fewer than two groups.
    TooFewGroups(usize),
    /// The group at this place (from 0) has no values.
    EmptyGroup(usize),
    /// An exact p was asked for but values are tied.
    TiesForbidExact,
    /// An exact p was asked for but the groups of these sizes are too large.
    TooLargeForExact(u64, u64),
    /// As many groups as values, so nothing shows how values scatter.
    NoScatter,
    /// A confidence level outside 0 to 1, or no resamples.
    BadLevel,
}

impl fmt::Display for RankError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooFewGroups(n) => write!(f, "{n} groups: ranks compare at least two"),
            Self::EmptyGroup(i) => write!(f, "group {i} (counted from 0) has no values"),
            Self::TiesForbidExact => {
                write!(
                    f,
                    "values are tied: an exact p needs distinct values, use the normal one"
                )
            }
            Self::TooLargeForExact(n, m) => write!(
                f,
                "groups of {n} and {m} values are too large for an exact p, use the normal one"
            ),
            Self::NoScatter => write!(
                f,
                "every group has one value: at least one group must have two to show scatter"
            ),
            Self::BadLevel => write!(
                f,
                "a confidence level must lie between 0 and 1, and resamples must be at least 1"
            ),
        }
    }
}

impl std::error::Error for RankError {}

/// Whether `level` can be a confidence level.
fn check_level(level: f64) -> Result<(), RankError> {
    if level > 0.0 && level < 1.0 {
        Ok(())
    } else {
        Err(RankError::BadLevel)
    }
}
