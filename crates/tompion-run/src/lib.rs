//! Carries out a plan of trials: in random order within blocks, loads switched
//! on and off around each trial, everything saved as it comes.
#![forbid(unsafe_code)]

mod attention;
mod bench;
mod budget;
mod clock_watch;
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
pub mod session;
mod space;
mod switch;
mod totals;

pub use attention::{Attention, Guides};
pub use bench::{Bench, Trial};
pub use clocks::Clocks;
pub use execute::{Progress, execute, execute_guided};
pub use live::Live;
pub use machine::{Machine, MachineSettings};
pub use observe::Observe;
pub use plan::{Plan, PlanOptions, PlannedCell, PlannedSearch, TimeSetting};
pub use program::watch_program;
pub use session::{Destination, Session, SessionSettings};
pub use space::{Purpose, Shortage};
pub use switch::Switch;

/// Why a run could not begin or go on.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The plan cannot be carried out as asked.
    #[error("{0}")]
    Plan(String),
    /// A value that cannot be taken.
    #[error(transparent)]
    Value(#[from] tompion_model::InvalidValue),
    /// CPUs that this machine does not have.
    #[error("{why}")]
    Cpus {
        /// Which do not exist, and which do.
        why: tompion_model::Unavailable,
        /// Whether they are those of busy loops, and not the one of every measurement.
        several: bool,
    },
    /// A CPU that this process may not use.
    #[error("this process may use only these CPUs: {usable}: {source}")]
    ForbiddenCpu {
        /// Those that it may use.
        usable: String,
        /// The system's answer.
        source: tompion_probe::Error,
    },
    /// The measuring thread could not be had, or not as it is asked for.
    #[error(transparent)]
    Thread(tompion_probe::Error),
    /// A disk has too little room.
    #[error(transparent)]
    Space(#[from] space::Shortage),
    /// A process that cannot be watched.
    #[error("{pid}: no such process can be watched ({why})")]
    Process {
        /// Its number.
        pid: i32,
        /// Why.
        why: String,
    },
    /// This program's own file, which loads need.
    #[error("finding this program's own file: {0}")]
    OwnFile(std::io::Error),
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
    /// What is outside could not be set to one of its levels.
    #[error("{0}")]
    Switch(String),
    /// A load did not start, died, or did nothing.
    #[error(transparent)]
    Load(#[from] tompion_load::LoadError),
}
