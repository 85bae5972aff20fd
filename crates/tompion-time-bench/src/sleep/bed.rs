//! A thread that sleeps by one method and measures it.

use std::io;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

use tompion_time::os::{self, ClockId};

use super::methods::{Method, Sleep};

/// How long a trial goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Length {
    /// So long at least, in nanoseconds of wall time.
    pub time_ns: u64,
    /// So many sleeps at least.
    pub sleeps: usize,
}

/// What a trial measured.
#[derive(Clone, Debug)]
pub struct Trial {
    /// For each sleep, how late it ended by `CLOCK_MONOTONIC`, counted from a
    /// reading just before the call; in nanoseconds.
    pub misses_ns: Vec<i64>,
    /// Wall time of the trial.
    pub wall_ns: u64,
    /// CPU time that the thread used meanwhile.
    pub cpu_ns: u64,
    /// Sleeps that a budget cut.
    pub limited: u64,
}

/// A thread of its own for one method, target and load: timer slack belongs to
/// the thread, and what a method learns about its condition it keeps from block to
/// block. Parked between trials; ends when dropped.
pub struct Bed {
    orders: Option<Sender<Length>>,
    trials: Receiver<Trial>,
    thread: Option<JoinHandle<()>>,
}

impl Bed {
    /// Starts the thread.
    ///
    /// # Errors
    /// If the system gives no thread.
    pub fn new(method: Method, target: Duration) -> io::Result<Self> {
        let (orders, to_do) = channel::<Length>();
        let (done, trials) = channel();
        let thread = Builder::new().name("sleeper".to_owned()).spawn(move || {
            let mut sleep = method.start();
            for length in to_do {
                if done.send(trial(&mut sleep, target, length)).is_err() {
                    return;
                }
            }
        })?;
        Ok(Self {
            orders: Some(orders),
            trials,
            thread: Some(thread),
        })
    }

    /// Measures one trial; the calling thread waits for its end.
    pub fn measure(&self, length: Length) -> Trial {
        let orders = self.orders.as_ref().expect("only dropping takes them away");
        orders
            .send(length)
            .expect("the thread takes orders until dropped");
        self.trials.recv().expect("the thread answers every order")
    }
}

impl Drop for Bed {
    fn drop(&mut self) {
        self.orders = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn trial(sleep: &mut Sleep, target: Duration, length: Length) -> Trial {
    let target_ns = target.as_nanos() as u64;
    let mut misses_ns = buffer(target_ns, length);
    let mut limited = 0;
    let start_cpu_ns = os::now_ns(ClockId::ThreadCpu);
    let start_ns = os::now_ns(ClockId::Monotonic);
    let mut now_ns = start_ns;
    while now_ns - start_ns < length.time_ns || misses_ns.len() < length.sleeps {
        let called_ns = os::now_ns(ClockId::Monotonic);
        limited += u64::from(sleep(target));
        now_ns = os::now_ns(ClockId::Monotonic);
        misses_ns.push(now_ns as i64 - (called_ns + target_ns) as i64);
    }
    Trial {
        misses_ns,
        wall_ns: now_ns - start_ns,
        cpu_ns: os::now_ns(ClockId::ThreadCpu) - start_cpu_ns,
        limited,
    }
}

/// Memory for all sleeps that fit, written once so that no page fault falls into
/// the measurement.
fn buffer(target_ns: u64, length: Length) -> Vec<i64> {
    let fit = (length.time_ns / target_ns) as usize + 1;
    let mut buffer = vec![-1; fit.max(length.sleeps)];
    buffer.clear();
    buffer
}

#[cfg(test)]
mod tests {
    use super::*;

    const TARGET: Duration = Duration::from_micros(100);

    #[test]
    fn a_trial_lasts_as_long_and_has_as_many_sleeps_as_asked() {
        let mut counted = 0;
        let mut sleep: Sleep = Box::new(move |d| {
            std::thread::sleep(d);
            counted += 1;
            counted % 2 == 0
        });
        let by_count = Length {
            time_ns: 0,
            sleeps: 8,
        };
        let done = trial(&mut sleep, TARGET, by_count);
        assert_eq!((done.misses_ns.len(), done.limited), (8, 4));
        assert!(done.misses_ns.iter().all(|&miss| miss >= 0), "{done:?}");
        assert!(done.cpu_ns < done.wall_ns, "{done:?}");
        let by_time = Length {
            time_ns: 3_000_000,
            sleeps: 1,
        };
        let done = trial(&mut sleep, TARGET, by_time);
        assert!(
            done.wall_ns >= 3_000_000 && done.misses_ns.len() <= 30,
            "{done:?}"
        );
    }

    #[test]
    fn early_returns_are_seen() {
        let mut sleep: Sleep = Box::new(|_| false);
        let length = Length {
            time_ns: 0,
            sleeps: 5,
        };
        // A call that does nothing takes far less than ten seconds.
        let target = Duration::from_secs(10);
        let done = trial(&mut sleep, target, length);
        assert!(done.misses_ns.iter().all(|&miss| miss < 0), "{done:?}");
    }

    #[test]
    fn every_method_sleeps_in_a_thread_of_its_own_with_its_own_slack() {
        let slack = os::timer_slack_ns().unwrap();
        let length = Length {
            time_ns: 0,
            sleeps: 3,
        };
        for method in Method::ALL {
            let bed = Bed::new(method, TARGET).unwrap();
            for _ in 0..2 {
                let done = bed.measure(length);
                assert_eq!(done.misses_ns.len(), 3);
                assert!(
                    done.misses_ns.iter().all(|&miss| miss >= 0),
                    "{method:?}: {done:?}"
                );
            }
        }
        assert_eq!(os::timer_slack_ns().unwrap(), slack);
    }
}
