//! What a cell measures: how long it takes at least, what it writes and how it runs.

use std::any::Any;
use std::fmt;
use std::time::Duration;

use tompion_model::{Factors, Findings, Observation};
use tompion_probe::wake_up::Sleeper;
use tompion_probe::{Error, Limits, Outcome};
use tompion_time::Rate;

use crate::Observe;

/// What a cell measures, with its parameters.
pub trait Probing: Any + fmt::Debug + Send + Sync {
    /// How it is carried out.
    fn way(&self) -> Way<'_>;

    /// What is watched beside it where it may choose and turns are not to be had: the
    /// counters beside what switches often, since a record of each sleep's two switches
    /// costs it a microsecond or two.
    fn watched(&self) -> Observe {
        Observe::Counters
    }

    /// Whether a trial lasts as long as it is given; else it takes what it needs.
    fn is_timed(&self) -> bool {
        true
    }

    /// The least time that a trial of so many samples is worth making for.
    fn least_time(&self, samples: u64) -> Duration;

    /// What a trial takes beside the time that it is given; what is seen in the run soon
    /// outweighs it.
    fn overhead(&self) -> Duration {
        Duration::from_millis(10)
    }

    /// How many trials it gives in each block.
    fn trials(&self) -> usize {
        1
    }

    /// How long it waits before it looks whether it should stop, in nanoseconds; zero where
    /// it never waits.
    fn wait_ns(&self) -> u64 {
        0
    }

    /// What the rows of all its trials may take, in bytes, generously.
    fn bytes(&self, room: &Room) -> u64;
}

/// How a cell is carried out.
pub enum Way<'a> {
    /// By this, on the thread that measures beside its load.
    OnThread(OnThread),
    /// By busy loops, each on a thread of its own.
    Loops(&'a Stalls),
    /// By sleepers at once, each on a thread of its own.
    Sleepers(&'a AtOnce),
    /// By one measurement, on the thread that measures beside its load, that is told as several
    /// trials.
    Split(Split),
}

/// Stalls of busy loops.
#[derive(Clone, Debug)]
pub struct Stalls {
    /// Iterations longer than this are stalls, in nanoseconds.
    pub threshold_ns: u64,
    /// One loop on each of these CPUs at once, each a trial of its own; empty
    /// for one loop where the thread's settings put it.
    pub cpus: Vec<u32>,
}

/// Wake-up latency of several functions or targets at once.
#[derive(Clone, Debug)]
pub struct AtOnce {
    /// Each of them, a trial of its own.
    pub members: Vec<Member>,
}

/// One of several cells that are measured at once.
#[derive(Clone, Debug)]
pub struct Member {
    /// The cell's own factors.
    pub factors: Factors,
    /// What sleeps.
    pub sleeper: Sleeper,
}

/// What runs on a measuring thread; the rate is that of the CPU's counter.
pub type OnThread = Box<dyn FnOnce(Option<Rate>, &Limits) -> Result<Outcome, Error> + Send>;

/// One measurement that is told as several trials of one moment, such as a round trip that is seen
/// from several places.
pub struct Split {
    /// The own factors of each trial: they are known before anything is measured, so that a run
    /// knows how many trials it has.
    pub parts: Vec<Factors>,
    /// Measures, and gives each part in its order.
    pub measure: MeasureParts,
    /// Ends it soon, with what it has; called from another thread, as often as that looks.
    pub interrupt: Box<dyn Fn()>,
}

/// What measures all parts on one thread.
pub type MeasureParts = Box<dyn FnOnce(&Limits) -> Result<Vec<Part>, Error> + Send>;

/// What one of several trials brought.
#[derive(Debug)]
pub struct Part {
    /// Its samples, and how they came about.
    pub outcome: Outcome,
    /// What was found beside them.
    pub findings: Findings,
    /// What went on meanwhile, where that was observed.
    pub observation: Option<Observation>,
}

/// How many samples there can be.
#[derive(Clone, Copy, Debug)]
pub struct Room {
    /// Of one trial.
    pub samples: u64,
    /// Trials.
    pub blocks: u64,
    /// Time of the run.
    pub duration: Duration,
}

impl Room {
    /// Rows of so many bytes for each sample that is wanted.
    pub(super) fn of_samples(&self, row: u64) -> u64 {
        (self.samples * row).saturating_mul(self.blocks)
    }
}

/// Samples after the warm-up that every trial of sleeps should have.
pub const FEW: u64 = 5;

/// The least time for so many samples that each wait for `each_ns`: the warm-up and a few,
/// however long they sleep.
pub(super) fn waiting(each_ns: u64, samples: u64) -> Duration {
    /// What a sleep takes beyond its target where timer slack is at its default.
    const LATE_NS: u64 = 100_000;
    /// Short sleeps are never so few.
    const SHORTEST: Duration = Duration::from_millis(8);
    let sleeps = tompion_probe::wake_up::WARM_UP + samples.min(FEW);
    let ns = each_ns.saturating_add(LATE_NS).saturating_mul(sleeps);
    Duration::from_nanos(ns).max(SHORTEST)
}

/// Bytes of a row of wake-up latency, generously.
pub(super) const WAKE_ROW: u64 = 24;
