//! Periodic waking without drift.

use std::fmt;
use std::time::Duration;

use super::host::{Host, Machine};
use super::policy::Policy;
use super::sleeper::Sleeper;

/// One waking of a [`Ticker`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Tick {
    /// Which point of the grid it is, from 0 on; missed ones are counted.
    pub number: u64,
    /// When it was due: nanoseconds of `CLOCK_MONOTONIC`.
    pub scheduled_ns: u64,
    /// How long after that it came, in nanoseconds.
    pub late_ns: u64,
    /// Missed periods: points of the grid after this one that had passed when it
    /// came. They are not made up for.
    pub missed: u64,
    /// Wall time spent spinning for it, in nanoseconds.
    pub spun_ns: u64,
    /// Whether the budget cut the spin.
    pub limited: bool,
}

/// Wakes at every point of the grid `start + number * period`.
///
/// The grid never moves, however late a tick comes or however long the caller
/// works between two: a tick that comes a period or more late says how many
/// points were [`missed`](Tick::missed), and the next one is the first point
/// still ahead. Numbers and misses account for every period.
///
/// ```
/// use std::time::Duration;
/// use tompion_time::sleep::{Policy, Ticker};
///
/// let mut ticker = Ticker::new(Duration::from_micros(500), Policy::hybrid())?;
/// for _ in 0..4 {
///     let tick = ticker.tick();
///     if tick.missed > 0 {
///         eprintln!("{} periods missed after number {}", tick.missed, tick.number);
///     }
/// }
/// # Ok::<(), tompion_time::sleep::PeriodError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Ticker<H: Host = Machine> {
    sleeper: Sleeper<H>,
    start_ns: u64,
    period_ns: u64,
    next: u64,
}

impl Ticker {
    /// A ticker whose first tick is due one period from now.
    ///
    /// # Errors
    /// Where the period is zero or longer than 584 years.
    pub fn new(period: Duration, policy: Policy) -> Result<Self, PeriodError> {
        Self::with_sleeper(period, Sleeper::new(policy))
    }

    /// A ticker on the grid that `start_ns` of `CLOCK_MONOTONIC` is a point of.
    /// The first tick, number 0, is due then or, where that has passed, at the
    /// first point ahead.
    ///
    /// # Errors
    /// Where the period is zero or longer than 584 years.
    pub fn starting_at_ns(
        start_ns: u64,
        period: Duration,
        policy: Policy,
    ) -> Result<Self, PeriodError> {
        Ok(Self::new(period, policy)?.in_phase_with(start_ns))
    }
}

impl<H: Host> Ticker<H> {
    /// A ticker that waits by `sleeper`; its first tick is due one period from
    /// now.
    ///
    /// # Errors
    /// Where the period is zero or longer than 584 years.
    pub fn with_sleeper(period: Duration, mut sleeper: Sleeper<H>) -> Result<Self, PeriodError> {
        let period_ns = u64::try_from(period.as_nanos())
            .ok()
            .filter(|&ns| ns > 0)
            .ok_or(PeriodError(period))?;
        Ok(Self {
            start_ns: sleeper.host().kernel_now_ns().saturating_add(period_ns),
            sleeper,
            period_ns,
            next: 0,
        })
    }

    fn in_phase_with(mut self, start_ns: u64) -> Self {
        let now = self.sleeper.host().kernel_now_ns();
        self.start_ns = match now.checked_sub(start_ns) {
            None => start_ns,
            Some(since) => now.saturating_add(self.period_ns - since % self.period_ns),
        };
        self
    }

    /// The period, in nanoseconds.
    pub fn period_ns(&self) -> u64 {
        self.period_ns
    }

    /// The sleeper that it waits by.
    pub fn sleeper(&mut self) -> &mut Sleeper<H> {
        &mut self.sleeper
    }

    /// Waits for the next point of the grid. Where that has passed already, the
    /// tick is late and comes at once.
    pub fn tick(&mut self) -> Tick {
        let number = self.next;
        let scheduled_ns = self
            .start_ns
            .saturating_add(number.saturating_mul(self.period_ns));
        let slept = self.sleeper.sleep_until_ns(scheduled_ns);
        let missed = slept.late_ns / self.period_ns;
        self.next = number.saturating_add(missed + 1);
        Tick {
            number,
            scheduled_ns,
            late_ns: slept.late_ns,
            missed,
            spun_ns: slept.spun_ns,
            limited: slept.limited,
        }
    }
}

/// A period that no ticker can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PeriodError(Duration);

impl fmt::Display for PeriodError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "a period of {:?} cannot be kept; it must be longer than zero and at most 584 years",
            self.0
        )
    }
}

impl std::error::Error for PeriodError {}
