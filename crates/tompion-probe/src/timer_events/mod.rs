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
mod posix_timer;
mod search;
mod sys;
mod uring;

#[cfg(test)]
mod tests;

use std::fmt;
use std::io;
use std::str::FromStr;

use tompion_time::sleep::Budget;

pub use event_loop::{MAX_PERIOD_NS, run};
pub use search::{Attempt, Found, Held, Search, search, smallest_held};

use crate::{Error, Limits, Outcome};

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
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Self::ALL
            .into_iter()
            .find(|f| f.name() == text)
            .ok_or_else(|| format!("`{text}` is no form of timer events; use grid or rearmed"))
    }
}

/// What fires the events.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)] // `about` tells
pub enum Method {
    Timerfd,
    ClockNanosleepAbs,
    ClockNanosleepRel,
    PosixTimer,
    IoUring,
    Epoll,
    Ticker,
}

impl Method {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::Timerfd,
        Self::ClockNanosleepAbs,
        Self::ClockNanosleepRel,
        Self::PosixTimer,
        Self::IoUring,
        Self::Epoll,
        Self::Ticker,
    ];

    /// The level of the factor `method`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Timerfd => "timerfd",
            Self::ClockNanosleepAbs => "clock-nanosleep-abs",
            Self::ClockNanosleepRel => "clock-nanosleep-rel",
            Self::PosixTimer => "posix-timer",
            Self::IoUring => "io-uring",
            Self::Epoll => "epoll",
            Self::Ticker => "ticker",
        }
    }

    /// What it does, in a few words.
    pub fn about(self) -> &'static str {
        match self {
            Self::Timerfd => "read(2) of a timerfd",
            Self::ClockNanosleepAbs => "clock_nanosleep(2) to an absolute time",
            Self::ClockNanosleepRel => "clock_nanosleep(2) for what is left",
            Self::PosixTimer => "timer_create(2) with a signal to the thread, sigwaitinfo(2)",
            Self::IoUring => "an absolute timeout of io_uring, submitted and awaited",
            Self::Epoll => "the timeout of epoll_pwait2(2), for what is left",
            Self::Ticker => "Tompion's ticker: kernel sleep, then spinning within a budget",
        }
    }

    /// Whether it can be used in that form. Every method can: those that wait for
    /// a length of time reckon on a grid what is left, right before each wait.
    pub fn has_form(self, form: Form) -> bool {
        match form {
            Form::Grid | Form::Rearmed => true,
        }
    }

    /// Whether timer slack acts on it as a setting: the kernel applies it to
    /// sleeps, not to timers, and Tompion's ticker sets its own.
    pub fn has_slack(self) -> bool {
        matches!(
            self,
            Self::ClockNanosleepAbs | Self::ClockNanosleepRel | Self::Epoll
        )
    }

    /// The most CPU time that it may spend spinning, as a share of each second;
    /// none for what waits in the kernel alone.
    pub fn spin_budget(self) -> Option<Budget> {
        (self == Self::Ticker).then_some(mechanisms::TICKER_BUDGET)
    }

    /// Whether this system has it, found out by one event on the calling thread.
    ///
    /// # Errors
    /// Why not, and what would help, in one line.
    pub fn available(self) -> Result<(), String> {
        const SOON_NS: u64 = 1_000;
        let fires = match self {
            // One that is accepted but never signalled would be waited for for ever.
            Self::PosixTimer => posix_timer::delivers(),
            // It needs nothing special, and a trial of it changes the thread's slack.
            Self::Ticker => Ok(()),
            _ => self.with(OneEvent(SOON_NS)).and_then(|fired| fired),
        };
        fires.map_err(|e| format!("{self}: {e}{}", self.advice(&e)))
    }

    /// What may help after an error; starts with a separator.
    fn advice(self, error: &io::Error) -> &'static str {
        match (self, error.raw_os_error()) {
            (Self::IoUring, Some(libc::EPERM | libc::EACCES)) => {
                "; /proc/sys/kernel/io_uring_disabled must be 0 and no sandbox filter io_uring"
            }
            (Self::IoUring, Some(libc::ENOSYS)) => {
                "; it needs Linux 5.4 and a sandbox that lets io_uring pass"
            }
            (Self::IoUring, Some(libc::ENOMEM)) => "; a higher limit of locked memory (ulimit -l)",
            (Self::Epoll, Some(libc::ENOSYS)) => "; epoll_pwait2 needs Linux 5.11",
            (Self::PosixTimer, Some(libc::EAGAIN)) => {
                "; a higher limit of pending signals (ulimit -i)"
            }
            _ => "",
        }
    }

    /// Does something with the mechanism, each in code of its own.
    fn with<T>(self, task: impl Task<Output = T>) -> io::Result<T> {
        use mechanisms::*;
        Ok(match self {
            Self::Timerfd => task.perform(&mut Timerfd::open()?),
            Self::ClockNanosleepAbs => task.perform(&mut ClockNanosleepAbs),
            Self::ClockNanosleepRel => task.perform(&mut ClockNanosleepRel),
            Self::PosixTimer => task.perform(&mut posix_timer::PosixTimer::open()?),
            Self::IoUring => task.perform(&mut uring::Uring::open()?),
            Self::Epoll => task.perform(&mut Epoll::open()?),
            Self::Ticker => task.perform(&mut TompionTicker::default()),
        })
    }
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Method {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Self::ALL
            .into_iter()
            .find(|m| m.name() == text)
            .ok_or_else(|| {
                format!(
                    "`{text}` is no method for timer events; use one of {}",
                    Self::ALL.map(Self::name).join(", ")
                )
            })
    }
}

/// Something that fires events, and the clock by which it is judged. Waits go on
/// after signals that cut them short.
pub trait Mechanism {
    /// The clock, in nanoseconds.
    fn now_ns(&mut self) -> u64;

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

/// Something to do with whichever mechanism.
trait Task {
    type Output;
    fn perform(self, mechanism: &mut impl Mechanism) -> Self::Output;
}

/// One event so many nanoseconds ahead.
struct OneEvent(u64);

impl Task for OneEvent {
    type Output = io::Result<()>;

    fn perform(self, mechanism: &mut impl Mechanism) -> io::Result<()> {
        let target = mechanism.now_ns() + self.0;
        mechanism.rearm(target, self.0)
    }
}

/// One trial.
struct Trial<'a> {
    form: Form,
    period_ns: u64,
    limits: &'a Limits,
    /// It ends once more periods than these were missed.
    most_missed: u64,
}

impl Task for Trial<'_> {
    type Output = Result<Outcome, Error>;

    fn perform(self, mechanism: &mut impl Mechanism) -> Self::Output {
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
    let mut outcome = method
        .with(trial)
        .map_err(|e| Error::system(format!("{method}{}", method.advice(&e)))(e))??;
    let technique = &mut outcome.measurement.technique;
    *technique = format!("{technique}, by {}", method.about());
    if let Some(budget) = method.spin_budget() {
        *technique += &format!(" of {} % of each second", 100.0 * budget.as_share());
    }
    Ok(outcome)
}
