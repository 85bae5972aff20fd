//! The measurements: clock read cost and wake-up latency.
//!
//! Each probe is a loop over a small trait ([`read_cost::ReadSource`],
//! [`wake_up::Waiter`]), so that the loop that measures the machine is the very
//! loop that tests drive with a planted clock. Between two time stamps there is
//! nothing but the operation under test: no allocation, lock, system call or
//! page fault of ours.

mod listed;
pub mod method;
pub mod read_cost;
pub mod stalls;
mod sys;
mod thread;
pub mod timer_events;
pub mod wake_up;

pub use thread::{Controller, LONG_SLEEP, MeasuringThread, Policy, ThreadSettings};

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tompion_model::{Measurement, Storage, TrialData};

/// What one trial brought.
#[derive(Debug)]
pub struct Outcome {
    /// The samples.
    pub data: TrialData,
    /// Whether `data` holds all of them.
    pub storage: Storage,
    /// How they came about.
    pub measurement: Measurement,
    /// Periods missed; absent without a grid.
    pub missed_periods: Option<u64>,
    /// The moment from which samples count their `at_ns`, in nanoseconds of
    /// `CLOCK_MONOTONIC`.
    pub began_ns: u64,
}

/// Bounds of one trial.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Samples to take, warm-up aside.
    pub samples: u64,
    /// Time after which the trial ends with what it has, in nanoseconds.
    pub time_ns: u64,
    /// Wake-up samples, warm-up aside, for which the end is put off: beside a
    /// heavy load the warm-up alone may outlast a short trial.
    pub least_samples: u64,
    /// How long it is put off at most, in nanoseconds.
    pub patience_ns: u64,
    /// Rows kept in memory at a time; longer trials keep bins and the tail.
    pub rows: usize,
    /// Whether to look for the clock's steps too, which takes up to 10 ms.
    pub granularity: bool,
    /// Set from outside to end the trial early.
    pub stop: Arc<AtomicBool>,
}

impl Limits {
    fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Whether a trial that has taken `samples` that count ends rather than
    /// begin a wait that lasts until `until_ns` after its beginning.
    fn ended(&self, samples: u64, until_ns: u64) -> bool {
        let patience = if samples < self.least_samples {
            self.patience_ns
        } else {
            0
        };
        until_ns > self.time_ns.saturating_add(patience) || self.stopped()
    }
}

/// The clock read that every value contains: median of back-to-back reads.
fn floor(mut now_ns: impl FnMut() -> u64) -> f64 {
    const READS: usize = 255;
    let mut costs = [0u64; READS];
    for cost in &mut costs {
        let before = now_ns();
        *cost = now_ns().saturating_sub(before);
    }
    costs.sort_unstable();
    costs[READS / 2] as f64
}

/// Why a trial could not be carried out.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The system refused a setting or call.
    #[error("{what}: {source}")]
    System {
        /// What was tried, and what would be right.
        what: String,
        /// What the system said.
        source: std::io::Error,
    },
    /// `Limits::stop` was set while a long sleep went on; the trial is lost.
    #[error("stopped during a sleep")]
    Stopped,
    /// What a library below says that measures.
    #[error(transparent)]
    Measuring(Box<dyn std::error::Error + Send + Sync>),
    /// The measuring thread panicked.
    #[error("the measuring thread panicked; this is a bug in tompion")]
    Panicked,
}

impl Error {
    fn system(what: impl Into<String>) -> impl FnOnce(std::io::Error) -> Self {
        let what = what.into();
        move |source| Self::System { what, source }
    }
}
