//! Several sleepers at once, each on a thread of its own, as a program with many timers has them.
//!
//! Company changes what is measured: CPUs are woken more often and idle less deeply, and sleepers
//! wait for one another. So what is measured in company is a cell of its own.

use std::time::Duration;

use tompion_time::os::{self, ClockId};

use crate::wake_up::{Method, measure};
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
}

/// Threads that sleep at once; kept from trial to trial, since a new one waits long beside a
/// heavy load.
#[derive(Debug, Default)]
pub struct Company {
    threads: Vec<MeasuringThread>,
}

impl Company {
    /// Measures all sleepers at once: the outcome of each.
    ///
    /// # Errors
    /// What the system refused.
    pub fn measure(
        &mut self,
        sleepers: &[Sleeper],
        limits: &Limits,
    ) -> Result<Vec<Outcome>, Error> {
        while self.threads.len() < sleepers.len() {
            self.threads.push(MeasuringThread::start()?);
        }
        let limits = Limits {
            rows: (limits.rows / sleepers.len().max(1)).max(FEWEST_ROWS),
            ..limits.clone()
        };
        let start_ns = os::now_ns(ClockId::Monotonic) + READY.as_nanos() as u64;
        let begin = |(sleeper, thread): (&Sleeper, &MeasuringThread)| {
            let (method, target_ns, limits) = (sleeper.method, sleeper.target_ns, limits.clone());
            thread.begin(sleeper.thread, move || {
                os::sleep_until_ns(start_ns);
                measure(method, target_ns, &limits)
            })
        };
        let running = sleepers.iter().zip(&self.threads).map(begin);
        let running = running.collect::<Result<Vec<_>, Error>>()?;
        // All are waited for, whatever becomes of one.
        let ended = running
            .into_iter()
            .map(|r| r.recv().map_err(|_| Error::Panicked)?);
        let ended: Vec<Result<Outcome, Error>> = ended.collect();
        ended.into_iter().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wake_up::WARM_UP;

    const MS: u64 = 1_000_000;

    fn sleeper(method: &str, target_ns: u64) -> Sleeper {
        Sleeper {
            method: method.parse().unwrap(),
            target_ns,
            thread: ThreadSettings::default(),
        }
    }

    #[test]
    fn each_has_its_own_samples_of_the_same_time() {
        let sleepers = [
            sleeper("clock-nanosleep-abs", 2 * MS),
            sleeper("usleep", 3 * MS),
            sleeper("clock-nanosleep-abs", 20 * MS),
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
            assert_eq!(company.threads.len(), 3);
            assert!(took < 2 * limits.time_ns, "one after the other: {took} ns");
            let samples = |of: usize| found[of].data.samples.len() as u64;
            let missed = |of: usize| found[of].missed_periods;
            // All periods are there, woken in or missed, but for the last.
            let of_2_ms = samples(0) + missed(0).unwrap();
            assert!((150..=201).contains(&of_2_ms), "{of_2_ms}");
            assert!(samples(1) > WARM_UP && missed(1).is_none());
            let of_20_ms = samples(2) + missed(2).unwrap();
            assert!((15..=21).contains(&of_20_ms), "{of_20_ms}");
        }
    }
}
