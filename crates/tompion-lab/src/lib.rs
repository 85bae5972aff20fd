//! The lab: the same measurement on every kind of platform, by one plan.
//!
//! A [`LabPlan`] crosses platforms, loads, probes and replicates. Each of its cells is
//! measured in a fresh instance of its platform: the static program, run there with a
//! [`CellJob`], measures as it does anywhere and writes its run directory to standard
//! output as an archive. [`engine::Lab::run`] takes the cells in random order within
//! replicates, the same one on several other machines at once, and collects their trials
//! into one ordinary run directory, in which the platform is a factor and the replicate is
//! the block.
//!
//! The platforms themselves are in `tompion-platforms`.
#![forbid(unsafe_code)]

mod archive;
mod cell;
mod collect;
pub mod engine;
mod estimate;
#[doc(hidden)]
pub mod fuzz;
mod ledger;
mod limits;
mod neighbour;
mod order;
mod placing;
mod plan;
mod warnings;
mod worker;
mod worker_error;

pub use archive::ArchiveError;
pub use cell::CellJob;
pub use estimate::{Estimate, estimate};
pub use ledger::LEDGER;
pub use neighbour::NeighbourJob;
pub use order::order;
pub use placing::Refusal;
pub use plan::{GuestPlan, LabCell, LabPlan, Pinning, PlacementPlan, PlanError, ProbePlan, Role};
pub use warnings::{Room, warnings};
pub use worker::worker_main;
pub use worker_error::WorkerError;

/// Why a lab could not begin or go on.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// What is asked cannot be done.
    #[error("{0}")]
    Request(String),
    /// A platform, or what is kept of it on this machine, cannot be used.
    #[error(transparent)]
    Platform(#[from] tompion_platforms::Error),
    /// Saving failed; what was saved before stays readable.
    #[error(transparent)]
    Record(#[from] tompion_store::Error),
    /// The system refused something.
    #[error("{what}: {source}")]
    Io {
        /// What was tried, with the file if there is one.
        what: String,
        /// The system's answer.
        source: std::io::Error,
    },
}

impl Error {
    pub(crate) fn io(what: impl Into<String>) -> impl FnOnce(std::io::Error) -> Self {
        let what = what.into();
        move |source| Self::Io { what, source }
    }
}
