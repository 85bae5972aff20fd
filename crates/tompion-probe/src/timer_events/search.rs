//! The smallest period that a mechanism holds.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use tompion_model::{Mark, Sample};

use super::event_loop::missed_by;
use super::{EVENTS, Form, Method, Trial, measure_trial};
use crate::wake_up::WARM_UP;
use crate::{Error, Limits};

/// What is searched for, where, and how finely.
///
/// A period is held when in each of `runs` runs of `events` events at most
/// `most_missed` of the periods were missed.
#[derive(Clone, Debug, PartialEq)]
pub struct Search {
    /// The shortest period tried, in nanoseconds.
    pub least_ns: u64,
    /// The longest period tried, in nanoseconds.
    pub most_ns: u64,
    /// Ratio of neighbouring periods on the coarse grid.
    pub coarse: f64,
    /// Ratio of the period found to the longest below it that is not held.
    pub fine: f64,
    /// Events of one run.
    pub events: u64,
    /// Runs that must all succeed.
    pub runs: u32,
    /// The largest share of missed periods in a run, 0 to 1.
    pub most_missed: f64,
    /// Time after which the search ends with what it has, in nanoseconds.
    pub time_ns: u64,
}

impl Default for Search {
    fn default() -> Self {
        Self {
            least_ns: 100,
            most_ns: 4_000_000,
            coarse: 2.0,
            fine: 1.05,
            events: EVENTS,
            runs: 3,
            most_missed: 0.001,
            time_ns: 60_000_000_000,
        }
    }
}

impl Search {
    /// Missed periods with which a run of all its events may still be within the
    /// share: a grid has as many more periods as were missed.
    fn allowed(&self) -> u64 {
        let share = self.most_missed.clamp(0.0, 1.0);
        // Saturates where the share is 1.
        (share * self.events as f64 / (1.0 - share)).ceil() as u64
    }
}

/// What one run of events with one period brought.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Held {
    /// Periods that passed, missed ones included. A run ends before it has all of
    /// its events once too many were missed.
    pub periods: u64,
    /// Those missed: points of the grid, or intervals of at least twice d where
    /// each event arms the next.
    pub missed: u64,
    /// Whether the run was cut short from outside: the search ends then.
    pub cut: bool,
}

impl Held {
    /// A run that its time ended before it had all of its events has failed too.
    fn meets(&self, what: &Search) -> bool {
        self.periods >= what.events.max(1)
            && self.missed as f64 <= what.most_missed * self.periods as f64
    }
}

/// One period as it was tried.
#[derive(Clone, Debug, PartialEq)]
pub struct Attempt {
    /// The period, in nanoseconds.
    pub period_ns: u64,
    /// Its runs; the first that fails is the last.
    pub runs: Vec<Held>,
    /// Whether it was held.
    pub held: bool,
}

/// What a search found.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Found {
    /// The shortest period that was held, in nanoseconds; none where none was.
    pub smallest_ns: Option<u64>,
    /// The longest period below it that was not held, in nanoseconds. None where
    /// even the shortest tried was held: the true limit lies below.
    pub not_held_ns: Option<u64>,
    /// Every period in the order in which it was tried.
    pub attempts: Vec<Attempt>,
    /// Whether the search ended before it was done, by its time or by a run that
    /// was cut.
    pub ended_early: bool,
}

impl Found {
    /// Periods that failed although a shorter one was held: chance stalls, which
    /// a second attempt tells from what the mechanism cannot do.
    pub fn contradictions(&self) -> usize {
        let Some(smallest) = self.smallest_ns else {
            return 0;
        };
        let failed = |a: &&Attempt| !a.held && a.period_ns >= smallest;
        self.attempts.iter().filter(failed).count()
    }
}

/// Searches with runs by `run`, which is given a period in nanoseconds.
///
/// Up the coarse grid to the first period that is held, then by halves, on a
/// logarithmic scale, between it and the last that was not. A stall that has
/// nothing to do with the mechanism may fail any period; hence a failed one that
/// would bound the result is tried a second time, and where it is held then, the
/// search goes on below it. Each period is tried twice at most, so that the search
/// ends whatever the answers are.
///
/// # Errors
/// The first one of `run`.
pub fn search<E>(search: &Search, run: impl FnMut(u64) -> Result<Held, E>) -> Result<Found, E> {
    let mut state = State {
        search,
        run,
        found: Found::default(),
    };
    match state.carry_out() {
        Ok(()) => {}
        Err(End::Cut) => state.found.ended_early = true,
        Err(End::Failed(e)) => return Err(e),
    }
    let mut found = state.found;
    let held = |held| move |a: &&Attempt| a.held == held;
    let periods = |want| {
        found
            .attempts
            .iter()
            .filter(held(want))
            .map(|a| a.period_ns)
    };
    found.smallest_ns = periods(true).min();
    found.not_held_ns = match found.smallest_ns {
        Some(smallest) => periods(false).filter(|&p| p < smallest).max(),
        None => periods(false).max(),
    };
    Ok(found)
}

enum End<E> {
    Cut,
    Failed(E),
}

struct State<'a, R> {
    search: &'a Search,
    run: R,
    found: Found,
}

impl<E, R: FnMut(u64) -> Result<Held, E>> State<'_, R> {
    fn carry_out(&mut self) -> Result<(), End<E>> {
        let (least, most) = (self.search.least_ns.max(1), self.search.most_ns.max(1));
        let coarse = self.search.coarse.max(1.01);
        let mut period = least.min(most);
        let mut held = loop {
            if self.holds(period)? {
                break period;
            }
            if period >= most {
                return Ok(());
            }
            let next = (period as f64 * coarse) as u64;
            period = next.clamp(period + 1, most.max(period + 1));
        };
        // Failed periods below the one held, each of which may bound it.
        while let Some(failed) = self.bound_below(held) {
            if held as f64 <= failed as f64 * self.search.fine.max(1.0001) || held - failed <= 1 {
                if self.attempts_at(failed) > 1 || !self.holds(failed)? {
                    break;
                }
                held = failed;
                continue;
            }
            let middle = (held as f64 * failed as f64).sqrt() as u64;
            let middle = middle.clamp(failed + 1, held - 1);
            if self.holds(middle)? {
                held = middle;
            }
        }
        Ok(())
    }

    /// The longest period below `held` of which no attempt succeeded.
    fn bound_below(&self, held: u64) -> Option<u64> {
        let attempts = &self.found.attempts;
        let below = attempts.iter().filter(|a| a.period_ns < held);
        below.map(|a| a.period_ns).max()
    }

    fn attempts_at(&self, period_ns: u64) -> usize {
        let attempts = &self.found.attempts;
        attempts.iter().filter(|a| a.period_ns == period_ns).count()
    }

    /// Runs until one fails or all have succeeded.
    fn holds(&mut self, period_ns: u64) -> Result<bool, End<E>> {
        let mut runs = Vec::new();
        for _ in 0..self.search.runs.max(1) {
            let held = (self.run)(period_ns).map_err(End::Failed)?;
            if held.cut {
                // Half a run proves nothing either way.
                return Err(End::Cut);
            }
            runs.push(held);
            if !held.meets(self.search) {
                break;
            }
        }
        let held = runs.iter().all(|run| run.meets(self.search));
        self.found.attempts.push(Attempt {
            period_ns,
            runs,
            held,
        });
        Ok(held)
    }
}

/// Searches for the smallest period that `method` holds; call it on the measuring
/// thread. `stop`, set from outside, ends it with what it has.
///
/// A mechanism with a [spin budget](Method::spin_budget) may use that of a whole
/// second at once: what it holds for runs shorter than the budget, it need not hold
/// for longer.
///
/// # Errors
/// As [`measure`](super::measure).
pub fn smallest_held(
    method: Method,
    form: Form,
    what: &Search,
    stop: &Arc<AtomicBool>,
) -> Result<Found, Error> {
    let began = Instant::now();
    search(what, |period_ns| {
        let limits = run_limits(what, period_ns, stop);
        let spent_ns = u64::try_from(began.elapsed().as_nanos()).unwrap_or(u64::MAX);
        let expected_ns = what.events.saturating_mul(period_ns);
        if limits.stopped() || spent_ns.saturating_add(expected_ns) > what.time_ns {
            return Ok(Held {
                periods: 0,
                missed: 0,
                cut: true,
            });
        }
        let trial = Trial {
            form,
            period_ns,
            limits: &limits,
            most_missed: what.allowed(),
        };
        let outcome = measure_trial(method, trial)?;
        Ok(judge(
            form,
            period_ns,
            &outcome.data.samples,
            limits.stopped(),
        ))
    })
}

/// A run that holds its period takes `events` of them; one that takes four times
/// as long has failed, and what was seen by then shows it.
fn run_limits(what: &Search, period_ns: u64, stop: &Arc<AtomicBool>) -> Limits {
    const START_NS: u64 = 10_000_000;
    let all = what.events.saturating_add(WARM_UP);
    Limits {
        samples: what.events,
        time_ns: all
            .saturating_mul(period_ns)
            .saturating_mul(4)
            .saturating_add(START_NS),
        least_samples: 0,
        patience_ns: 0,
        rows: usize::try_from(all).unwrap_or(usize::MAX),
        granularity: false,
        stop: Arc::clone(stop),
    }
}

/// Counts what was missed, warm-up aside.
fn judge(form: Form, period_ns: u64, samples: &[Sample], cut: bool) -> Held {
    let (mut periods, mut missed) = (0, 0);
    for sample in samples.iter().filter(|s| s.mark == Mark::None) {
        periods += 1 + u64::from(sample.missed);
        missed += missed_by(form, period_ns, sample);
    }
    Held {
        periods,
        missed,
        cut,
    }
}

#[cfg(test)]
mod tests;
