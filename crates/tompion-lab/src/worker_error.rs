//! Why what runs in an instance gives no result.

use std::io;

use tompion_model::{InvalidValue, Unavailable};

use crate::archive::LAYOUT;

/// Why a worker has no result, in one line.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WorkerError {
    /// It was not called by a lab.
    #[error("this is how the lab calls itself; try `tompion lab --help`")]
    NotCalled,
    /// What it was given is no job.
    #[error("this is no job: {0}")]
    NoJob(String),
    /// Another version of the program gave it its job.
    #[error(
        "the job has layout {found}, this program takes {LAYOUT}: use the same version in all \
         places"
    )]
    Layout {
        /// The job's layout.
        found: u64,
    },
    /// The job names something that cannot be taken.
    #[error(transparent)]
    Value(#[from] InvalidValue),
    /// The measurement failed.
    #[error(transparent)]
    Run(#[from] tompion_run::Error),
    /// The load failed.
    #[error(transparent)]
    Load(#[from] tompion_load::LoadError),
    /// The load was on, and nothing was seen of it.
    #[error("its load {0} does nothing")]
    Idle(String),
    /// The guard of a cell on another machine failed.
    #[error(transparent)]
    Guard(#[from] Unavailable),
    /// The system refused something.
    #[error("{what}: {source}")]
    Io {
        /// What was tried.
        what: String,
        /// Its answer.
        source: io::Error,
    },
}

impl WorkerError {
    pub(crate) fn io(what: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let what = what.into();
        move |source| Self::Io { what, source }
    }
}
