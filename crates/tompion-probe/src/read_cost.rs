//! Read cost: what it costs to read a clock (the papers' timer cost).

mod brackets;
mod sources;

use std::hint::black_box;

use tompion_model::{Granularity, Mark, Measurement, MethodRow, Recorder, Sample};
use tompion_time::Rate;
use tompion_time::os::{self, ClockId};

use crate::listed::{self, Listed};
use crate::{Error, Limits, Outcome, sys};

/// The name of this probe.
pub const NAME: &str = "read-cost";

/// A way to read a clock.
pub type Method = listed::Method<Reading>;

/// An entry in the list of clocks.
pub struct Reading {
    row: MethodRow,
    is_available: fn() -> bool,
    /// How many of the wanted samples it takes, as a divisor.
    sample_divisor: u64,
    measure: fn(Option<Rate>, &Limits) -> Result<Outcome, Error>,
}

impl Listed for Reading {
    const WHAT: &'static str = "read-cost method";

    fn all() -> &'static [&'static Self] {
        sources::ALL
    }

    fn row(&self) -> &MethodRow {
        &self.row
    }
}

impl Method {
    /// Those that this CPU can carry out.
    pub fn available() -> impl Iterator<Item = Self> {
        Self::all().filter(|m| (m.entry().is_available)())
    }

    /// How many of the wanted samples it takes, as a divisor.
    pub fn sample_divisor(self) -> u64 {
        self.entry().sample_divisor
    }
}

/// A clock whose reads are timed.
pub trait ReadSource {
    /// How its values are obtained.
    const PAIRING: Pairing;

    /// Reads the clock in its own unit.
    fn read(&mut self) -> u64;

    /// One unit of `read` in nanoseconds.
    fn unit_ns(&self) -> f64;
}

/// How one read is timed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pairing {
    /// The counter is read before and after it.
    Bracketed,
    /// It is the counter itself: the difference of two successive reads.
    Successive,
}

/// The counter that brackets reads, and its conversion.
pub trait Bracket {
    /// Opens a bracket.
    fn open(&self) -> u64;
    /// Closes a bracket.
    fn close(&self) -> u64;
    /// Ticks as picoseconds.
    fn ps(&self, ticks: u64) -> u64;
    /// Ticks per second.
    fn hz(&self) -> f64;
    /// Its name in reports.
    fn name(&self) -> &'static str;
}

/// Operations timed together in one batch.
pub const BATCH: u32 = 100;

/// Samples at the start of a trial that are marked as warm-up.
pub const WARM_UP: u64 = 100;

/// Measures one method; call it on the measuring thread. `rate` converts the
/// counter; without one (no counter) the kernel's clock brackets.
///
/// # Errors
/// What the system refused.
pub fn measure(method: Method, rate: Option<Rate>, limits: &Limits) -> Result<Outcome, Error> {
    (method.entry().measure)(rate, limits)
}

/// Runs any source under any bracket, planted ones included.
pub fn run<S: ReadSource, B: Bracket>(
    source: &mut S,
    bracket: &B,
    limits: &Limits,
) -> Result<Outcome, Error> {
    let wanted = limits.samples + WARM_UP;
    let batches = (limits.samples / u64::from(BATCH)).max(10);
    let rows = limits
        .rows
        .min(usize::try_from(wanted + batches).unwrap_or(usize::MAX));
    let mut recorder = Recorder::new(rows, None);
    let memory_locked = sys::lock_memory(recorder.buffer());
    let floor_ns = floor::<S, B>(bracket);

    let began_ns = os::now_ns(ClockId::Monotonic);
    let began = bracket.open();
    let limit_ticks = (limits.time_ns as f64 / 1e9 * bracket.hz()) as u64;
    let singles = singles(
        source,
        bracket,
        wanted,
        began,
        limit_ticks,
        limits,
        &mut recorder,
    );
    // Batches may take a quarter longer: they are the better median.
    let limit_ticks = limit_ticks + limit_ticks / 4;
    let batched = self::batches(
        source,
        bracket,
        batches,
        began,
        limit_ticks,
        limits,
        &mut recorder,
    );
    let granularity = if limits.granularity {
        granularity(source, bracket)
    } else {
        None
    };

    if memory_locked {
        sys::unlock_memory(recorder.buffer());
    }
    let (data, storage) = recorder.finish();
    Ok(Outcome {
        data,
        storage,
        missed_periods: None,
        began_ns,
        measurement: Measurement {
            technique: match S::PAIRING {
                Pairing::Bracketed => format!(
                    "rows with n = 1: one read bracketed by {}; rows with n = {BATCH}: that many \
                     reads timed together, per read",
                    bracket.name()
                ),
                Pairing::Successive => format!(
                    "rows with n = 1: difference of two successive reads; rows with n = {BATCH}: \
                     that many reads timed together, per read"
                ),
            },
            clock: bracket.name().to_owned(),
            tick_rate_hz: Some(bracket.hz()),
            floor_ns: Some(floor_ns),
            blind_spots: "a stall inside a pair of reads counts as read cost; the time between \
                          two pairs is not observed"
                .to_owned(),
            wanted_samples: limits.samples,
            ended_by_time: singles < wanted || batched < batches,
            granularity,
            memory_locked,
            ..Measurement::default()
        },
    })
}

/// What a value contains besides the read: for brackets the median of empty
/// ones, for successive reads nothing.
fn floor<S: ReadSource, B: Bracket>(bracket: &B) -> f64 {
    if S::PAIRING == Pairing::Successive {
        return 0.0;
    }
    const READS: usize = 1001;
    let mut costs = [0u64; READS];
    for cost in &mut costs {
        let before = bracket.open();
        *cost = bracket.close().saturating_sub(before);
    }
    costs.sort_unstable();
    bracket.ps(costs[READS / 2]) as f64 / 1000.0
}

fn singles<S: ReadSource, B: Bracket>(
    source: &mut S,
    bracket: &B,
    wanted: u64,
    began: u64,
    limit_ticks: u64,
    limits: &Limits,
    recorder: &mut Recorder,
) -> u64 {
    let mut after_pause = false;
    for taken in 0..wanted {
        let (before, after) = match S::PAIRING {
            Pairing::Bracketed => {
                let before = bracket.open();
                black_box(source.read());
                (before, bracket.close())
            }
            Pairing::Successive => {
                let before = source.read();
                (before, source.read())
            }
        };
        // A counter that steps back shows as a negative cost, not as none.
        let ticks = after.wrapping_sub(before).cast_signed();
        let elapsed = after.saturating_sub(began);
        recorder.push(Sample {
            at_ns: bracket.ps(elapsed) / 1000,
            value_ps: bracket.ps(ticks.unsigned_abs()).cast_signed() * ticks.signum(),
            n: 1,
            missed: 0,
            mark: if taken < WARM_UP {
                Mark::WarmUp
            } else if after_pause {
                Mark::Recorder
            } else {
                Mark::None
            },
        });
        if elapsed > limit_ticks || limits.stopped() {
            return taken + 1;
        }
        after_pause = recorder.is_full();
        if after_pause {
            recorder.make_room();
        }
    }
    wanted
}

fn batches<S: ReadSource, B: Bracket>(
    source: &mut S,
    bracket: &B,
    wanted: u64,
    began: u64,
    limit_ticks: u64,
    limits: &Limits,
    recorder: &mut Recorder,
) -> u64 {
    for taken in 0..wanted {
        if recorder.is_full() {
            recorder.make_room();
        }
        let before = bracket.open();
        for _ in 0..BATCH {
            black_box(source.read());
        }
        let after = bracket.close();
        let elapsed = after.saturating_sub(began);
        recorder.push(Sample {
            at_ns: bracket.ps(elapsed) / 1000,
            value_ps: (bracket.ps(after.saturating_sub(before)) / u64::from(BATCH)).cast_signed(),
            n: BATCH,
            missed: 0,
            mark: Mark::None,
        });
        if elapsed > limit_ticks || limits.stopped() {
            return taken + 1;
        }
    }
    wanted
}

/// The steps in which the source advances over successive reads. Coarse clocks
/// are watched for up to 10 ms, until two steps were seen.
fn granularity<S: ReadSource, B: Bracket>(source: &mut S, bracket: &B) -> Option<Granularity> {
    const READS: u64 = 2_000;
    const LONGEST_PS: u64 = 10_000_000_000;
    let began = bracket.open();
    let (mut zero, mut backward, mut forward, mut reads) = (0u64, 0u64, 0u64, 0u64);
    let (mut smallest, mut common) = (u64::MAX, 0u64);
    let mut last = source.read();
    while reads < READS
        || (forward < 2 && bracket.ps(bracket.close().saturating_sub(began)) < LONGEST_PS)
    {
        let now = source.read();
        reads += 1;
        match now.cmp(&last) {
            std::cmp::Ordering::Equal => zero += 1,
            std::cmp::Ordering::Less => backward += 1,
            std::cmp::Ordering::Greater => {
                forward += 1;
                let step = now - last;
                smallest = smallest.min(step);
                common = gcd(common, step);
            }
        }
        last = now;
        // A planted source may not advance the bracket at all.
        if reads > 100 * READS {
            break;
        }
    }
    (forward > 0).then(|| Granularity {
        smallest_step_ns: smallest as f64 * source.unit_ns(),
        common_step_ns: common as f64 * source.unit_ns(),
        zero_steps: zero as f64 / reads as f64,
        backward_steps: backward,
    })
}

fn gcd(a: u64, b: u64) -> u64 {
    if a == 0 { b } else { gcd(b % a, a) }
}

#[cfg(test)]
mod tests;
