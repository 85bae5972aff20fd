//! Recorded runs side by side. Nothing is measured here; runs are read by
//! `tompion-store`, and what is told of them is a pure function of that.
//!
//! A [`Side`] is a run, or the part of a run that has one level of a factor. Its
//! replicates are trials, or several runs, never samples: samples of one trial share its
//! disturbances. [`compare`] holds sides against each other, [`Gate`] judges the
//! intervals for continuous integration, [`differences`] lists what differs in the
//! environments, [`beside`] sets a run beside published figures, [`platform_summary`] tells of
//! a lab's platforms what Perneel 2015 tells of hypervisors.

mod comparison;
mod drift;
mod environment;
mod figure;
mod found;
mod gate;
mod mismatch;
mod pair;
mod parameters;
mod platforms;
mod published;
mod replicates;
mod side;

pub use comparison::{Comparison, Row, Settings, compare};
pub use drift::{Allowing, Drift};
pub use environment::{Difference, differences};
pub use figure::Figure;
pub use found::{Basis, Found, Instead, Values, Verdict};
pub use gate::{Estimate, Estimator, Gate, Judged, Judgement, Required, Undecided};
pub use mismatch::{Mismatch, leave_out, mismatches};
pub(crate) use pair::median;
pub use platforms::{
    Added, PairRatio, PlatformGroup, PlatformMaxima, PlatformSummary, Ranks, RatioWish,
    platform_medians, platform_summary,
};
pub use published::{Beside, BesideRow, PublishedFigure, beside};
pub use replicates::{Replicate, Replicates};
pub use side::{Side, believed};
pub(crate) use side::{level_of, varied, without_levels};

/// Why runs cannot be compared.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A run could not be read.
    #[error(transparent)]
    Record(#[from] tompion_store::Error),
    /// Nothing to compare, or a wish that no run meets; what is wrong and what
    /// would be right.
    #[error("{0}")]
    Wish(String),
}

/// A result with this crate's error.
pub type Result<T> = std::result::Result<T, Error>;
