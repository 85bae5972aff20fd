//! Timer events: periodic ones every d, each stamped as it arrives.
//!
//! The experiment of Adamczyk and Chydzinski ("Achieving High Resolution Timer
//! Events in Virtualized Environment", PLOS ONE 10(7), 2015), from user space:
//! 4500 events for each d between 10 and 150 us, by every mechanism that a
//! program has. [`Form::Rearmed`] is the paper's; [`Form::Grid`] tells lateness
//! and missed periods as well.
//!
//! In both forms `began_ns + at_ns` of a sample is when its event came, and that
//! less `value_ps / 1000` when it was due. On a grid the first event is due one
//! period after `began_ns`, and sample k (from 0) is due at that first point plus
//! the period times (the samples before it + the periods that they missed).

mod event_loop;
mod mechanisms;
mod search;
mod sys;

#[cfg(test)]
mod tests;

use std::fmt;
use std::io;
use std::str::FromStr;
use tompion_model::{InvalidValue, Unavailable};

use tompion_model::MethodRow;
use tompion_time::os::{self, ClockId};
use tompion_time::sleep::Budget;

pub use event_loop::{MAX_PERIOD_NS, run};
pub use search::{Attempt, Found, Held, Search, search, smallest_held};

use crate::listed::{self, Listed};
use crate::{Error, Limits, Outcome};

/// The name of this probe.
pub const NAME: &str = "timer-events";

/// Events of a trial by default, as in the paper.
pub const EVENTS: u64 = 4_500;

/// Periods measured by default, in nanoseconds: those of the paper.
pub const PERIODS_NS: [u64; 4] = [10_000, 50_000, 100_000, 150_000];

/// What an event is due by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Form {
    /// A grid that never moves. The mean interval is d by construction; lateness
    /// and missed periods tell.
    Grid,
    /// Each event is due d after the one before it came. The interval tells: it is
    /// d plus what the mechanism adds.
    Rearmed,
}

impl Form {
    /// Both of them.
    pub const ALL: [Self; 2] = [Self::Grid, Self::Rearmed];

    /// The level of the factor `form`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Grid => "grid",
            Self::Rearmed => "rearmed",
        }
    }

    /// What it is, in a few words.
    pub fn about(self) -> &'static str {
        match self {
            Self::Grid => "on a fixed grid: lateness and missed periods",
            Self::Rearmed => "armed again after each event: the interval minus d",
        }
    }
}

impl fmt::Display for Form {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Form {
    type Err = InvalidValue;

    fn from_str(text: &str) -> Result<Self, InvalidValue> {
        Self::ALL
            .into_iter()
            .find(|f| f.name() == text)
            .ok_or_else(|| {
                format!("`{text}` is no form of timer events; use grid or rearmed").into()
            })
    }
}

/// What fires the events.
pub type Method = listed::Method<Firing>;

/// An entry in the list of what fires events.
pub struct Firing {
    row: MethodRow,
    /// The most CPU time that it may spend spinning, as a share of each second;
    /// none for what waits in the kernel alone.
    spin_budget: Option<Budget>,
    /// Whether this system has it, found out by one event on the calling thread.
    available: fn() -> io::Result<()>,
    trial: fn(Trial<'_>) -> io::Result<Result<Outcome, Error>>,
    /// What may help after an error of that number; starts with a separator.
    advice: fn(i32) -> &'static str,
}

impl Listed for Firing {
    const WHAT: &'static str = "method of timer events";

    fn all() -> &'static [&'static Self] {
        mechanisms::ALL
    }

    fn row(&self) -> &MethodRow {
        &self.row
    }
}

impl Method {
    /// The most CPU time that it may spend spinning, as a share of each second;
    /// none for what waits in the kernel alone.
    pub fn spin_budget(self) -> Option<Budget> {
        self.entry().spin_budget
    }

    /// Whether this system has it, found out by one event on the calling thread.
    ///
    /// # Errors
    /// Why not, and what would help, in one line.
    pub fn available(self) -> Result<(), Unavailable> {
        let fires = (self.entry().available)();
        fires.map_err(|e| Unavailable::from(format!("{self}: {e}{}", self.advice(&e))))
    }

    fn advice(self, error: &io::Error) -> &'static str {
        error.raw_os_error().map_or("", self.entry().advice)
    }
}

/// Something that fires events, and the clock by which it is judged. Waits go on
/// after signals that cut them short.
pub trait Mechanism {
    /// The clock, in nanoseconds: `CLOCK_MONOTONIC` but where it is planted.
    #[inline(always)]
    fn now_ns(&mut self) -> u64 {
        os::now_ns(ClockId::Monotonic)
    }

    /// Starts a grid whose point 0 is due at `first_ns`.
    ///
    /// # Errors
    /// What the system refused.
    fn start(&mut self, first_ns: u64, period_ns: u64) -> io::Result<()> {
        let _ = (first_ns, period_ns);
        Ok(())
    }

    /// Waits for the event of a grid's point, due at `target_ns`; events of
    /// points before it have been counted as missed and are passed over.
    ///
    /// # Errors
    /// What the system refused.
    fn wait_point(&mut self, point: u64, target_ns: u64) -> io::Result<()>;

    /// Arms for `target_ns` and waits for the event. What knows lengths of time
    /// alone waits for `period_ns` from the call.
    ///
    /// # Errors
    /// What the system refused.
    fn rearm(&mut self, target_ns: u64, period_ns: u64) -> io::Result<()>;
}

/// Lets it fire one event a microsecond ahead.
fn one_event(mechanism: &mut impl Mechanism) -> io::Result<()> {
    const SOON_NS: u64 = 1_000;
    let target = mechanism.now_ns() + SOON_NS;
    mechanism.rearm(target, SOON_NS)
}

/// One trial.
struct Trial<'a> {
    form: Form,
    period_ns: u64,
    limits: &'a Limits,
    /// It ends once more periods than these were missed.
    most_missed: u64,
}

impl Trial<'_> {
    fn on(self, mechanism: &mut impl Mechanism) -> Result<Outcome, Error> {
        event_loop::run_while_held(
            mechanism,
            self.form,
            self.period_ns,
            self.limits,
            self.most_missed,
        )
    }
}

/// Measures one method with events every `period_ns`; call it on the measuring
/// thread.
///
/// # Errors
/// Where the system lacks the method ([`Method::available`] tells beforehand) or
/// the period is 0 or above [`MAX_PERIOD_NS`].
pub fn measure(
    method: Method,
    form: Form,
    period_ns: u64,
    limits: &Limits,
) -> Result<Outcome, Error> {
    let trial = Trial {
        form,
        period_ns,
        limits,
        most_missed: u64::MAX,
    };
    measure_trial(method, trial)
}

fn measure_trial(method: Method, trial: Trial<'_>) -> Result<Outcome, Error> {
    let mut outcome = (method.entry().trial)(trial)
        .map_err(|e| Error::system(format!("{method}{}", method.advice(&e)))(e))??;
    let technique = &mut outcome.measurement.technique;
    *technique = format!("{technique}, by {}", method.about());
    if let Some(budget) = method.spin_budget() {
        *technique += &format!(" of {} % of each second", 100.0 * budget.as_share());
    }
    Ok(outcome)
}
