//! Carries out a plan of trials: in random order within blocks, loads switched
//! on and off around each trial, everything saved as it comes.
#![forbid(unsafe_code)]

mod bench;
mod budget;
mod clocks;
mod evidence;
mod execute;
mod fit;
mod live;
mod machine;
mod observe;
mod plan;
pub mod probes;
mod program;
mod search;
mod space;
mod totals;

pub use bench::{Bench, Trial};
pub use clocks::Clocks;
pub use execute::{Progress, execute};
pub use live::Live;
pub use machine::{Machine, MachineSettings};
pub use observe::Observe;
pub use plan::{Plan, PlanOptions, PlannedCell, PlannedSearch, TimeSetting};
pub use program::watch_program;
pub use space::{require_space, require_space_for_loads};

/// Why a run could not begin or go on.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The plan cannot be carried out as asked.
    #[error("{0}")]
    Plan(String),
    /// Saving failed; what was saved before stays readable.
    #[error(transparent)]
    Record(#[from] tompion_store::Error),
    /// A probe could not run.
    #[error("{cell}: {source}")]
    Probe {
        /// The cell under way.
        cell: String,
        /// What went wrong.
        source: tompion_probe::Error,
    },
    /// A load did not start, died, or did nothing.
    #[error(transparent)]
    Load(#[from] tompion_load::LoadError),
}
