//! Why there is no fit of a tail.

use std::fmt;

/// Why no tail was fitted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum NoTail {
    /// Too few samples: a tenth of them are taken for the tail.
    TooFew {
        /// Samples.
        have: usize,
        /// Samples that it takes.
        need: usize,
    },
    /// Too many samples share one value: excesses of distinct sizes are needed.
    Coarse,
    /// Excesses come in clusters: they are not as many as they seem.
    Clustered {
        /// Ferro and Segers' estimate.
        extremal_index: f64,
    },
    /// The excesses are not generalised Pareto.
    NoFit {
        /// p of the Anderson-Darling test.
        p: f64,
    },
    /// The quantile lies below the threshold, where samples tell it.
    Inside,
    /// The interval has no upper end: the likelihood does not fall.
    Unbounded,
    /// The quantile or the level is not between 0 and 1.
    NotAShare,
}

impl fmt::Display for NoTail {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooFew { have, need } => {
                write!(f, "a tail takes {need} samples, not {have}")
            }
            Self::Coarse => write!(f, "too many samples share one value for a fit of the tail"),
            Self::Clustered { extremal_index } => write!(
                f,
                "the largest samples come in clusters of {:.1}: a fit of the tail takes independent ones",
                1.0 / extremal_index
            ),
            Self::NoFit { p } => write!(
                f,
                "the largest samples are not generalised Pareto (p {p:.3}): no tail to go on with"
            ),
            Self::Inside => write!(f, "the samples tell this quantile: nothing to extrapolate"),
            Self::Unbounded => write!(f, "the fitted tail bounds the quantile from below only"),
            Self::NotAShare => write!(f, "a quantile and a level lie between 0 and 1"),
        }
    }
}

impl std::error::Error for NoTail {}
