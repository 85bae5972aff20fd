//! Several sleepers at once, each on a thread of its own, as a program with many timers has them.
//!
//! Company changes what is measured: CPUs are woken more often and idle less deeply, and sleepers
//! wait for one another. So what is measured in company is a cell of its own.

use std::time::Duration;

use tompion_model::{Sample, Storage};
use tompion_time::os::{self, ClockId};

use crate::wake_up::{Method, measure};
use crate::{Error, Limits, MeasuringThread, Outcome, ThreadSettings};

/// How long the threads have to get ready before the first target.
const READY: Duration = Duration::from_millis(20);

/// Fewest rows of a sleeper.
const FEWEST_ROWS: usize = 1 << 12;

/// One sleeper, or several of one kind whose targets are spread over the period.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sleeper {
    /// How it waits.
    pub method: Method,
    /// Its period, or how far ahead its targets lie, in nanoseconds.
    pub target_ns: u64,
    /// How its threads are set up.
    pub thread: ThreadSettings,
    /// How many there are of it.
    pub many: u32,
}

/// Threads that sleep at once; kept from trial to trial, since a new one waits long beside a
/// heavy load.
#[derive(Debug, Default)]
pub struct Company {
    threads: Vec<MeasuringThread>,
}

impl Company {
    /// Measures all sleepers at once: the outcome of each kind, samples in the order of time.
    ///
    /// # Errors
    /// What the system refused.
    pub fn measure(
        &mut self,
        sleepers: &[Sleeper],
        limits: &Limits,
    ) -> Result<Vec<Outcome>, Error> {
        let count = sleepers.iter().map(|s| s.many as usize).sum::<usize>();
        while self.threads.len() < count {
            self.threads.push(MeasuringThread::start()?);
        }
        // All rows stay in memory, so that those of one kind can be put in order.
        let rows = (limits.rows / count.max(1)).max(FEWEST_ROWS);
        let start_ns = os::now_ns(ClockId::Monotonic) + READY.as_nanos() as u64;
        let mut threads = self.threads.iter();
        let mut running = Vec::new();
        for sleeper in sleepers {
            let limits = Limits {
                samples: limits
                    .samples
                    .div_ceil(u64::from(sleeper.many.max(1)))
                    .min(rows as u64 - super::WARM_UP),
                rows,
                ..limits.clone()
            };
            let begin = |(place, thread): (u32, &MeasuringThread)| {
                let phase = sleeper.target_ns / u64::from(sleeper.many.max(1)) * u64::from(place);
                let (method, target_ns, limits) =
                    (sleeper.method, sleeper.target_ns, limits.clone());
                thread.begin(sleeper.thread, move || {
                    os::sleep_until_ns(start_ns + phase);
                    measure(method, target_ns, &limits)
                })
            };
            let of_kind = (0..sleeper.many).zip(threads.by_ref());
            running.push(of_kind.map(begin).collect::<Result<Vec<_>, Error>>()?);
        }
        // All are waited for, whatever becomes of one.
        let ended: Vec<Vec<Result<Outcome, Error>>> = running
            .into_iter()
            .map(|kind| {
                kind.into_iter()
                    .map(|result| result.recv().map_err(|_| Error::Panicked)?)
                    .collect()
            })
            .collect();
        let whole = |kind: Vec<_>| {
            kind.into_iter()
                .collect::<Result<Vec<_>, Error>>()
                .map(together)
        };
        ended.into_iter().map(whole).collect()
    }
}

/// Sleepers of one kind as one outcome.
fn together(mut all: Vec<Outcome>) -> Outcome {
    let many = all.len();
    let began_ns = all.iter().map(|o| o.began_ns).min().unwrap_or(0);
    let mut whole = all.swap_remove(0);
    let shifted = |outcome: &Outcome| -> Vec<Sample> {
        let later = outcome.began_ns - began_ns;
        let shift = |s: &Sample| Sample {
            at_ns: s.at_ns + later,
            ..*s
        };
        outcome.data.samples.iter().map(shift).collect()
    };
    if many > 1 {
        let mut samples = shifted(&whole);
        all.iter().for_each(|o| samples.extend(shifted(o)));
        samples.sort_by_key(|s| s.at_ns);
        whole.data.samples = samples;
        let missed = all.iter().map(|o| o.missed_periods);
        whole.missed_periods = missed.chain([whole.missed_periods]).sum();
        let m = &mut whole.measurement;
        m.technique = format!("{}, by {many} threads at spread phases", m.technique);
        let others = all.iter().map(|o| o.measurement.wanted_samples);
        m.wanted_samples += others.sum::<u64>();
        m.ended_by_time |= all.iter().any(|o| o.measurement.ended_by_time);
        m.memory_locked &= all.iter().all(|o| o.measurement.memory_locked);
    }
    whole.began_ns = began_ns;
    debug_assert_eq!(whole.storage, Storage::Complete);
    whole
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::wake_up::WARM_UP;

    const MS: u64 = 1_000_000;

    fn sleeper(method: &str, target_ns: u64, many: u32) -> Sleeper {
        Sleeper {
            method: method.parse().unwrap(),
            target_ns,
            thread: ThreadSettings::default(),
            many,
        }
    }

    #[test]
    fn each_kind_has_its_own_samples_of_the_same_time() {
        let sleepers = [
            sleeper("clock-nanosleep-abs", 2 * MS, 1),
            sleeper("usleep", 3 * MS, 1),
            sleeper("clock-nanosleep-abs", 20 * MS, 4),
        ];
        let limits = Limits {
            samples: 1000,
            time_ns: 400 * MS,
            least_samples: 0,
            patience_ns: 0,
            rows: 1 << 16,
            granularity: false,
            stop: Default::default(),
        };
        let mut company = Company::default();
        // The second time by the same threads.
        for _ in 0..2 {
            let began = os::now_ns(ClockId::Monotonic);
            let found = company.measure(&sleepers, &limits).unwrap();
            let took = os::now_ns(ClockId::Monotonic) - began;
            assert_eq!(company.threads.len(), 6);
            assert!(took < 3 * limits.time_ns, "one after the other: {took} ns");
            let samples = |of: usize| found[of].data.samples.len() as u64;
            let missed = |of: usize| found[of].missed_periods;
            // All periods are there, woken in or missed, but for the last of each thread.
            assert!(
                (150..=201).contains(&(samples(0) + missed(0).unwrap())),
                "{}",
                samples(0)
            );
            assert!(samples(1) > WARM_UP && missed(1).is_none());
            let whole = samples(2) + missed(2).unwrap();
            assert!((60..=84).contains(&whole), "{whole}");
            let of_four = &found[2].data.samples;
            assert!(of_four.is_sorted_by_key(|s| s.at_ns));
            // Each of the four has a grid of its own.
            let phase =
                |s: &Sample| (s.at_ns as i64 - s.value_ps / 1000).rem_euclid(20 * MS as i64);
            let phases: BTreeSet<i64> = of_four.iter().map(phase).collect();
            assert_eq!(phases.len(), 4, "{phases:?}");
        }
    }
}
