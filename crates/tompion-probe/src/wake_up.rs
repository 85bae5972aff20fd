//! Wake-up latency: wake-up minus target (the papers call it miss time).

mod company;
mod methods;

use tompion_model::{Mark, Measurement, MethodRow, Recorder, Sample, Unavailable};
use tompion_time::os::{self, ClockId};

use crate::listed::{self, Listed};
use crate::{Error, Limits, Outcome, floor, sys};

pub use company::{Company, Meanwhile, Sleeper, together};

/// The name of this probe.
pub const NAME: &str = "wake-up";

/// A function that waits.
pub type Method = listed::Method<Waiting>;

/// An entry in the list of functions that wait.
pub struct Waiting {
    row: MethodRow,
    /// Whether the system lets it wait, found out by a wait of no length.
    available: fn() -> std::io::Result<()>,
    measure: fn(target_ns: u64, &Limits) -> Result<Outcome, Error>,
}

impl Listed for Waiting {
    const WHAT: &'static str = "wake-up method";

    fn all() -> &'static [&'static Self] {
        methods::ALL
    }

    fn row(&self) -> &MethodRow {
        &self.row
    }
}

impl Method {
    /// Whether this system has it: a sandbox may refuse the call.
    ///
    /// # Errors
    /// Why not, in one line.
    pub fn available(self) -> Result<(), Unavailable> {
        (self.entry().available)().map_err(Unavailable::refused(self.name()))
    }
}

/// Something that waits, and the clock by which it is judged.
pub trait Waiter {
    /// Whether targets lie on a fixed grid.
    const GRID: bool;

    /// The clock, in nanoseconds: `CLOCK_MONOTONIC` but where it is planted.
    #[inline(always)]
    fn now_ns(&mut self) -> u64 {
        os::now_ns(ClockId::Monotonic)
    }

    /// Prepares a grid whose first target is `first_ns`.
    fn start(&mut self, first_ns: u64, period_ns: u64) -> std::io::Result<()> {
        let _ = (first_ns, period_ns);
        Ok(())
    }

    /// Waits until `target_ns`, which lies `ahead_ns` after the present; goes on
    /// after signals.
    fn wait(&mut self, target_ns: u64, ahead_ns: u64);
}

/// Samples at the start of a trial that are marked as warm-up.
pub const WARM_UP: u64 = 3;

/// Measures one method; call it on the measuring thread.
///
/// # Errors
/// What the system refused.
pub fn measure(method: Method, target_ns: u64, limits: &Limits) -> Result<Outcome, Error> {
    (method.entry().measure)(target_ns, limits)
}

/// Runs any waiter, planted ones included.
pub fn run<W: Waiter>(waiter: &mut W, target_ns: u64, limits: &Limits) -> Result<Outcome, Error> {
    let target_ns = target_ns.max(1);
    let wanted = limits.samples + WARM_UP;
    let rows = limits
        .rows
        .min(usize::try_from(wanted).unwrap_or(usize::MAX));
    let period_ps = W::GRID.then_some(target_ns as i64 * 1000);
    let mut recorder = Recorder::new(rows, period_ps);
    let memory_locked = sys::lock_memory(recorder.buffer());
    let floor_ns = floor(|| waiter.now_ns());

    let cpu_before = os::now_ns(ClockId::ThreadCpu);
    let began = waiter.now_ns();
    let taken = if W::GRID {
        on_grid(waiter, began, target_ns, wanted, limits, &mut recorder)
    } else {
        relative(waiter, began, target_ns, wanted, limits, &mut recorder)
    };
    let cpu_ns = os::now_ns(ClockId::ThreadCpu) - cpu_before;

    if memory_locked {
        sys::unlock_memory(recorder.buffer());
    }
    let taken = taken.map_err(Error::system("starting the timer"))?;
    let missed = recorder.missed();
    let (data, storage) = recorder.finish();
    Ok(Outcome {
        data,
        storage,
        missed_periods: W::GRID.then_some(missed),
        began_ns: began,
        measurement: Measurement {
            technique: if W::GRID {
                "time after each wait minus its target on a fixed grid".into()
            } else {
                "time after each relative wait minus (time before it + target)".into()
            },
            clock: "CLOCK_MONOTONIC".into(),
            floor_ns: Some(floor_ns),
            blind_spots: "a stall between waking and the clock read counts as wake-up latency; \
                          with relative waits the time between two waits is not observed"
                .into(),
            period_ns: W::GRID.then_some(target_ns),
            cpu_per_operation_ns: (taken > 0).then(|| cpu_ns as f64 / taken as f64),
            wanted_samples: limits.samples,
            ended_by_time: taken < wanted,
            timer_slack_ns: os::timer_slack_ns().ok(),
            memory_locked,
            ..Measurement::default()
        },
    })
}

fn mark(taken: u64, after_pause: bool) -> Mark {
    if taken < WARM_UP {
        Mark::WarmUp
    } else if after_pause {
        Mark::Recorder
    } else {
        Mark::None
    }
}

/// Targets on a grid: a late wake-up is one row that says how many points it
/// missed, and the next target is the next point in the future.
fn on_grid<W: Waiter>(
    waiter: &mut W,
    began: u64,
    period_ns: u64,
    wanted: u64,
    limits: &Limits,
    recorder: &mut Recorder,
) -> std::io::Result<u64> {
    let mut target = began + period_ns;
    waiter.start(target, period_ns)?;
    let mut now = began;
    let mut after_pause = false;
    for taken in 0..wanted {
        // No sleep begins that would outlast the trial.
        if limits.ended(taken.saturating_sub(WARM_UP), target - began) {
            return Ok(taken);
        }
        waiter.wait(target, target.saturating_sub(now));
        now = waiter.now_ns();
        let latency = now as i64 - target as i64;
        let missed = latency.max(0) as u64 / period_ns;
        recorder.push(Sample {
            at_ns: now - began,
            value_ps: latency * 1000,
            n: 1,
            missed: u32::try_from(missed).unwrap_or(u32::MAX),
            mark: mark(taken, after_pause),
        });
        target += period_ns * (missed + 1);
        after_pause = recorder.is_full() && taken + 1 < wanted;
        if after_pause {
            recorder.make_room();
            // Our own pause must not count as missed periods.
            now = waiter.now_ns();
            target = now + period_ns;
            waiter.start(target, period_ns)?;
        }
    }
    Ok(wanted)
}

/// Each target counts from the moment before the wait.
fn relative<W: Waiter>(
    waiter: &mut W,
    began: u64,
    ahead_ns: u64,
    wanted: u64,
    limits: &Limits,
    recorder: &mut Recorder,
) -> std::io::Result<u64> {
    let mut now = began;
    let mut after_pause = false;
    for taken in 0..wanted {
        let until = (now - began).saturating_add(ahead_ns);
        if limits.ended(taken.saturating_sub(WARM_UP), until) {
            return Ok(taken);
        }
        let target = waiter.now_ns() + ahead_ns;
        waiter.wait(target, ahead_ns);
        now = waiter.now_ns();
        recorder.push(Sample {
            at_ns: now - began,
            value_ps: (now as i64 - target as i64) * 1000,
            n: 1,
            missed: 0,
            mark: mark(taken, after_pause),
        });
        after_pause = recorder.is_full() && taken + 1 < wanted;
        if after_pause {
            recorder.make_room();
        }
    }
    Ok(wanted)
}

#[cfg(test)]
mod tests;
