//! Stalls: time during which a busy loop did not run (Perneel 2015's clock tick
//! processing duration, in its traced and its statistical form at once).
//!
//! The loop does nothing but read a clock. Each time stamp ends one interval and
//! begins the next, so that no time goes unobserved but what Tompion needs itself
//! when something has happened, which is told apart. Every interval is counted;
//! those above a threshold become [`Row`]s with their times, their CPUs and, from
//! a length on, the thread's counters before and after.
//!
//! Perneel's loop does some calculations between two stamps, and a sample is how
//! long those took. Without them an interval is 10 to 30 ns, and a stall shows
//! with that resolution.

mod loops;
mod outcome;
mod ring;
mod stamps;
mod sys;
mod tally;
mod watch;

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use tompion_cause::{Counters, Stall};
use tompion_model::{Mark, Sample};
use tompion_time::Rate;

pub use loops::{Loops, Running};
pub use outcome::StallsOutcome;
pub use ring::{Consumer, Producer, ring};
pub use stamps::{CounterStamps, KernelStamps, Stamps};
pub use watch::run;

/// The probe's name.
pub const NAME: &str = "stalls";

/// Its one method.
pub const METHOD: &str = "busy-loop";

use crate::Error;

/// What the loop keeps, and how long it runs.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Intervals of at least this length are stalls and become rows, in
    /// nanoseconds.
    pub threshold_ns: u64,
    /// From this length on the thread's counters are read right after a stall, in
    /// nanoseconds; `u64::MAX` for never.
    pub counters_above_ns: u64,
    /// Counters are also read this often, in nanoseconds, so that the reading
    /// before a stall is not old. Less often if that took more than 0.02 % of the
    /// time. `stop` is looked at as often.
    pub refresh_ns: u64,
    /// Time after which the loop ends, in nanoseconds.
    pub time_ns: u64,
    /// Set from outside to end the loop early.
    pub stop: Arc<AtomicBool>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            threshold_ns: 1_000,
            counters_above_ns: 20_000,
            refresh_ns: 10_000_000,
            time_ns: u64::MAX,
            stop: Arc::default(),
        }
    }
}

/// One stall.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    /// When, in nanoseconds of `CLOCK_MONOTONIC`.
    pub stall: Stall,
    /// Its length by the loop's own clock, in picoseconds.
    pub length_ps: u64,
    /// Whether it fell into Tompion's own work between two intervals; then it is
    /// in no bin, and its length contains that work.
    pub own: bool,
    /// The CPU when the loop last looked before the stall.
    pub cpu_before: Option<u32>,
    /// The CPU right after it.
    pub cpu_after: Option<u32>,
    /// The last counters read before the stall.
    pub before: Option<Counters>,
    /// The counters right after it; absent below
    /// [`counters_above_ns`](Settings::counters_above_ns).
    pub after: Option<Counters>,
    /// Time lost to other stalls since `before` was read, in nanoseconds.
    pub elsewhere_ns: u64,
}

impl Default for Row {
    fn default() -> Self {
        Self {
            stall: Stall {
                from_ns: 0,
                until_ns: 0,
            },
            length_ps: 0,
            own: false,
            cpu_before: None,
            cpu_after: None,
            before: None,
            after: None,
            elsewhere_ns: 0,
        }
    }
}

impl Row {
    /// The row as a sample of a trial that began at `began_ns`; one that fell into
    /// Tompion's own work carries [`Mark::Recorder`].
    pub fn sample(&self, began_ns: u64) -> Sample {
        Sample {
            at_ns: self.stall.until_ns.saturating_sub(began_ns),
            value_ps: i64::try_from(self.length_ps).unwrap_or(i64::MAX),
            n: 1,
            missed: 0,
            mark: if self.own { Mark::Recorder } else { Mark::None },
        }
    }
}

/// Runs the loop on the calling thread, which should be a measuring thread.
/// `rate` converts the counter; without one the kernel's clock is read.
/// `counters` reads the thread's counters; its time is Tompion's own.
///
/// # Errors
/// The threshold is not above twice the loop's own period.
pub fn measure(
    rate: Option<Rate>,
    counters: impl FnMut() -> Counters,
    settings: &Settings,
    rows: &mut Producer,
) -> Result<StallsOutcome, Error> {
    match rate {
        Some(rate) => checked(&mut CounterStamps(rate), counters, settings, rows),
        None => checked(&mut KernelStamps, counters, settings, rows),
    }
}

fn checked(
    stamps: &mut impl Stamps,
    counters: impl FnMut() -> Counters,
    settings: &Settings,
    rows: &mut Producer,
) -> Result<StallsOutcome, Error> {
    let period_ns = watch::period_ps(stamps) / 1000;
    if settings.threshold_ns <= 2 * period_ns {
        let wrong = format!(
            "one iteration of the loop takes {period_ns} ns; use {} ns or more",
            (3 * period_ns).next_multiple_of(100)
        );
        return Err(Error::system(format!(
            "stalls from {} ns on",
            settings.threshold_ns
        ))(std::io::Error::other(wrong)));
    }
    Ok(run(stamps, counters, settings, rows))
}

#[cfg(test)]
mod tests;
