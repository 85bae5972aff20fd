//! Several sleepers at once, each on a thread of its own, as a program with many timers has them.
//!
//! Company changes what is measured: CPUs are woken more often and idle less deeply, and sleepers
//! wait for one another. So what is measured in company is a cell of its own.

use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use tompion_model::Sample;
use tompion_time::os::{self, ClockId};

use crate::wake_up::{Method, WARM_UP, measure};
use crate::{Error, Limits, MeasuringThread, Outcome, ThreadSettings};

/// How long the threads have to get ready before the first target.
const READY: Duration = Duration::from_millis(20);

/// Fewest rows that a sleeper keeps in memory.
const FEWEST_ROWS: usize = 1 << 12;

/// One sleeper.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sleeper {
    /// How it waits.
    pub method: Method,
    /// Its period, or how far ahead its targets lie, in nanoseconds.
    pub target_ns: u64,
    /// How its thread is set up.
    pub thread: ThreadSettings,
    /// As many threads do this, each a part of the period after the one before it.
    pub threads: u32,
}

impl Sleeper {
    fn threads(&self) -> u32 {
        self.threads.max(1)
    }

    /// How long after the first thread the one at this place begins.
    fn phase_ns(&self, place: u32) -> u64 {
        let part = u128::from(self.target_ns) * u128::from(place) / u128::from(self.threads());
        u64::try_from(part).unwrap_or(u64::MAX)
    }
}

/// Threads that sleep at once; kept from trial to trial, since a new one waits long beside a
/// heavy load.
#[derive(Debug, Default)]
pub struct Company {
    threads: Vec<MeasuringThread>,
}

/// What is to be done while they sleep, and how often.
pub type Meanwhile<'a> = (Duration, &'a mut dyn FnMut());

impl Company {
    /// Starts the threads that these sleepers take and that are not there yet: the numbers of all, sleeper by
    /// sleeper, by which the system knows them.
    ///
    /// # Errors
    /// What the system refused.
    pub fn ready(&mut self, sleepers: &[Sleeper]) -> Result<Vec<i32>, Error> {
        let wanted = sleepers.iter().map(|s| s.threads() as usize).sum();
        while self.threads.len() < wanted {
            self.threads.push(MeasuringThread::start()?);
        }
        let threads = self.threads.iter().take(wanted);
        Ok(threads.map(MeasuringThread::tid).collect())
    }

    /// Measures all sleepers at once: the outcomes of each sleeper's threads, for [`together`].
    ///
    /// # Errors
    /// What the system refused.
    pub fn measure(
        &mut self,
        sleepers: &[Sleeper],
        limits: &Limits,
        meanwhile: Option<Meanwhile<'_>>,
    ) -> Result<Vec<Vec<Outcome>>, Error> {
        self.ready(sleepers)?;
        let of_sleeper = |s| (0..Sleeper::threads(s)).map(move |place| (s, place));
        let each: Vec<(&Sleeper, u32)> = sleepers.iter().flat_map(of_sleeper).collect();
        let rows = (limits.rows / each.len().max(1)).max(FEWEST_ROWS);
        let start_ns = os::now_ns(ClockId::Monotonic) + READY.as_nanos() as u64;
        let begin = |(&(sleeper, place), thread): (&(&Sleeper, u32), &MeasuringThread)| {
            let (method, target_ns) = (sleeper.method, sleeper.target_ns);
            let phase_ns = sleeper.phase_ns(place);
            let share = limits.samples.div_ceil(u64::from(sleeper.threads()));
            let limits = Limits {
                rows,
                // Samples of several threads are put in order, for which all have to be kept.
                samples: match sleeper.threads() {
                    1 => limits.samples,
                    _ => share.min(rows as u64 - WARM_UP),
                },
                time_ns: limits.time_ns.saturating_sub(phase_ns),
                ..limits.clone()
            };
            thread.begin(sleeper.thread, move || {
                os::sleep_until_ns(start_ns.saturating_add(phase_ns));
                measure(method, target_ns, &limits)
            })
        };
        let running = each.iter().zip(&self.threads).map(begin);
        let running = running.collect::<Result<Vec<_>, Error>>()?;
        // All are waited for, whatever becomes of one.
        let mut ended = wait(running, meanwhile).into_iter();
        let of_sleeper =
            |sleeper: &Sleeper| ended.by_ref().take(sleeper.threads() as usize).collect();
        sleepers.iter().map(of_sleeper).collect()
    }
}

/// What each of them ends with.
fn wait<T>(
    running: Vec<Receiver<Result<T, Error>>>,
    mut meanwhile: Option<Meanwhile<'_>>,
) -> Vec<Result<T, Error>> {
    let mut looked = Instant::now();
    let mut ended = |running: Receiver<_>| {
        let Some((every, look)) = &mut meanwhile else {
            // A job that panicked dropped its sender.
            return running.recv().map_err(|_| Error::Panicked)?;
        };
        loop {
            match running.recv_timeout(every.saturating_sub(looked.elapsed())) {
                Ok(result) => return result,
                Err(RecvTimeoutError::Disconnected) => return Err(Error::Panicked),
                Err(RecvTimeoutError::Timeout) => {
                    looked = Instant::now();
                    look();
                }
            }
        }
    };
    running.into_iter().map(&mut ended).collect()
}

/// What threads that did the same found, as one outcome, with the samples of all in the order of time; `None` of none.
pub fn together(threads: Vec<Outcome>, wanted: u64) -> Option<Outcome> {
    let began_ns = threads.iter().map(|t| t.began_ns).min()?;
    let n = threads.len() as f64;
    let mut threads = threads.into_iter();
    let mut all = threads.next()?;
    let later = |samples: &mut Vec<Sample>, by_ns: u64| {
        samples.iter_mut().for_each(|s| s.at_ns += by_ns);
    };
    later(&mut all.data.samples, all.began_ns - began_ns);
    all.began_ns = began_ns;
    all.measurement.wanted_samples = wanted;
    let measured = &mut all.measurement;
    measured.cpu_per_operation_ns = measured.cpu_per_operation_ns.map(|ns| ns / n);
    for mut thread in threads {
        later(&mut thread.data.samples, thread.began_ns - began_ns);
        all.data.samples.append(&mut thread.data.samples);
        all.missed_periods = all
            .missed_periods
            .zip(thread.missed_periods)
            .map(|(a, b)| a + b);
        let of = &thread.measurement;
        let both = measured.cpu_per_operation_ns.zip(of.cpu_per_operation_ns);
        measured.cpu_per_operation_ns = both.map(|(sum, ns)| sum + ns / n);
        measured.ended_by_time |= of.ended_by_time;
        measured.memory_locked &= of.memory_locked;
    }
    all.data.samples.sort_by_key(|s| s.at_ns);
    Some(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    /// Of a trial of 400 ms.
    fn limits() -> Limits {
        Limits {
            samples: 1000,
            time_ns: 400 * MS,
            least_samples: 0,
            patience_ns: 0,
            rows: 1 << 16,
            granularity: false,
            stop: Default::default(),
        }
    }

    fn sleeper(method: &str, target_ns: u64) -> Sleeper {
        Sleeper {
            method: method.parse().unwrap(),
            target_ns,
            thread: ThreadSettings::default(),
            threads: 1,
        }
    }

    #[test]
    fn threads_that_do_the_same_make_one_outcome_in_the_order_of_time() {
        let sleepers = [
            Sleeper {
                threads: 8,
                ..sleeper("clock-nanosleep-abs", 20 * MS)
            },
            sleeper("usleep", 3 * MS),
        ];
        let limits = limits();
        let mut looks = 0;
        let mut look = || looks += 1;
        let beside = (Duration::from_millis(100), &mut look as &mut dyn FnMut());
        let mut company = Company::default();
        let mut found = company.measure(&sleepers, &limits, Some(beside)).unwrap();
        let (alone, all) = (found.remove(1), found.remove(0));
        assert_eq!((all.len(), alone.len()), (8, 1));
        assert_eq!(company.ready(&sleepers).unwrap().len(), 9);
        // In 400 ms, however late each is.
        assert!(looks > 0);
        let (all, alone) = (&together(all, 1000).unwrap(), &alone[0]);
        let samples = &all.data.samples;
        assert!(samples.is_sorted_by_key(|s| s.at_ns));
        // Some 19 of each, woken in or missed.
        let periods = samples.len() as u64 + all.missed_periods.unwrap();
        assert!((8 * 14..=8 * 20).contains(&periods), "{periods}");
        assert_eq!(
            samples.iter().filter(|s| s.mark.is_left_out()).count(),
            8 * 3
        );
        assert!(alone.data.samples.len() > 20);
        // They wake at phases of their own, 2.5 ms apart, but for threads that began late.
        let planned: Vec<u64> = (0..8).map(|place| sleepers[0].phase_ns(place)).collect();
        let wanted: Vec<u64> = (0..8).map(|place| place * 5 * MS / 2).collect();
        assert_eq!(planned, wanted);
        let phases: std::collections::BTreeSet<u64> = samples
            .iter()
            .map(|s| s.at_ns.saturating_sub(s.value_ps as u64 / 1000))
            .map(|ns| (ns + MS) % (20 * MS) / (5 * MS / 2))
            .collect();
        assert!(phases.len() >= 4, "{phases:?}");
    }

    #[test]
    fn each_has_its_own_samples_of_the_same_time() {
        let sleepers = [
            sleeper("clock-nanosleep-abs", 2 * MS),
            sleeper("usleep", 3 * MS),
            sleeper("clock-nanosleep-abs", 20 * MS),
        ];
        let limits = limits();
        let mut company = Company::default();
        // The second time by the same threads.
        for _ in 0..2 {
            let began = os::now_ns(ClockId::Monotonic);
            let found = company.measure(&sleepers, &limits, None).unwrap();
            let found: Vec<Outcome> = found.into_iter().flatten().collect();
            let took = os::now_ns(ClockId::Monotonic) - began;
            assert_eq!(company.threads.len(), 3);
            assert!(took < 2 * limits.time_ns, "one after the other: {took} ns");
            let samples = |of: usize| found[of].data.samples.len() as u64;
            let missed = |of: usize| found[of].missed_periods;
            // All periods are there, woken in or missed, but for the last; the end may be late.
            let most = |period_ns: u64| took / period_ns + 1;
            let of_2_ms = samples(0) + missed(0).unwrap();
            assert!((150..=most(2 * MS)).contains(&of_2_ms), "{of_2_ms}");
            assert!(samples(1) > WARM_UP && missed(1).is_none());
            let of_20_ms = samples(2) + missed(2).unwrap();
            assert!((15..=most(20 * MS)).contains(&of_20_ms), "{of_20_ms}");
        }
    }
}
