//! Whether CPUs stood still: a thread on each of them sleeps on a grid of time, and what it oversleeps by without having
//! waited for its CPU, nobody on that CPU had.
//!
//! A hypervisor that stops a guest leaves no event in it, and a packet that comes meanwhile is stamped afterwards: the path
//! seems slow. What a beat misses shows it.
//!
//! # What it does not see
//! Pauses shorter than half a millisecond, and of a longer one up to 2 ms of its beginning. Interrupts that are held off
//! for as long look the same. A thread that is frozen or stopped, and not its CPU, is taken for a pause.

use std::fs::File;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::thread::{Builder, JoinHandle};

use rustix::thread::{CpuSet, sched_setaffinity};
use tompion_cause::Cause;
use tompion_time::os::{ClockId, now_ns};
use tompion_time::sleep::sleep_until_ns;

use crate::cgroup::Throttling;
use crate::counters::pair;
use crate::kept::{Kept, numbers};
use crate::sys;

/// From one beat to the next, in nanoseconds.
const GRID_NS: u64 = 2_000_000;
/// What is shorter may be a CPU that wakes up from idling.
const LEAST_NS: u64 = 500_000;
/// After so many beats in time the slower counters are read again, so that what grew within a late one is its own.
const LOOK_EVERY: u32 = 50;
/// Pauses of one CPU that are kept; more are counted.
const MOST: usize = 1 << 12;

/// A time in which a CPU stood still.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pause {
    /// Which CPU.
    pub cpu: u32,
    /// Since when at the latest, in nanoseconds of `CLOCK_MONOTONIC`.
    pub from_ns: u64,
    /// Until when.
    pub until_ns: u64,
    /// `Stolen` where the kernel counts at least half of it as that, else `Unseen`.
    pub cause: Cause,
}

/// What all CPUs did.
#[derive(Clone, Debug, Default)]
pub struct Beats {
    /// When CPUs stood still, in the order of the beginnings.
    pub pauses: Vec<Pause>,
    /// Pauses that there was no room for.
    pub lost: u64,
    /// CPU time that all threads took, in nanoseconds.
    pub cpu_time_ns: u64,
    /// CPUs that were looked at.
    pub cpus: Vec<u32>,
}

/// Threads that sleep on a grid, one on each CPU.
#[derive(Debug)]
pub struct Heartbeat {
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<Beats>>,
    tids: Vec<i32>,
}

impl Heartbeat {
    /// Starts them on these CPUs. Of one that they may not run on nothing is known, nor where the kernel does not say how
    /// long threads wait for their CPU.
    ///
    /// # Errors
    /// When the system grants no thread.
    pub fn start(cpus: &[u32]) -> std::io::Result<Self> {
        let stop = Arc::new(AtomicBool::new(false));
        let mut heartbeat = Self {
            stop: Arc::clone(&stop),
            threads: Vec::with_capacity(cpus.len()),
            tids: Vec::with_capacity(cpus.len()),
        };
        let (told, numbers) = channel();
        for &cpu in cpus {
            let (stop, told) = (Arc::clone(&stop), told.clone());
            let name = format!("heartbeat-{cpu}");
            let thread = Builder::new()
                .name(name)
                .spawn(move || beat(cpu, &stop, &told));
            match thread {
                Ok(thread) => heartbeat.threads.push(thread),
                Err(error) => {
                    heartbeat.finish();
                    return Err(error);
                }
            }
        }
        heartbeat.tids.extend(numbers.iter().take(cpus.len()));
        Ok(heartbeat)
    }

    /// The numbers of the threads.
    pub fn tids(&self) -> &[i32] {
        &self.tids
    }

    /// Ends them, within some milliseconds.
    pub fn finish(self) -> Beats {
        self.stop.store(true, Ordering::Relaxed);
        let mut all = Beats::default();
        for thread in self.threads {
            // One that panicked has nothing to tell.
            let of_cpu = thread.join().unwrap_or_default();
            all.pauses.extend(of_cpu.pauses);
            all.cpus.extend(of_cpu.cpus);
            all.lost += of_cpu.lost;
            all.cpu_time_ns += of_cpu.cpu_time_ns;
        }
        all.pauses.sort_by_key(|pause| pause.from_ns);
        all
    }
}

fn beat(cpu: u32, stop: &AtomicBool, told: &Sender<i32>) -> Beats {
    // Whoever started it waits for that.
    let _ = told.send(sys::own_tid());
    let mut beats = Beats::default();
    let mut only = CpuSet::new();
    only.set(cpu as usize);
    let Some(mut counters) = Counters::open(cpu) else {
        return beats;
    };
    if sched_setaffinity(None, &only).is_err() {
        return beats;
    }
    beats.cpus.push(cpu);
    beats.pauses.reserve_exact(MOST);
    let mut slow = counters.slow();
    let mut waited_ns = counters.waited_ns();
    let mut due_ns = now_ns(ClockId::Monotonic) + GRID_NS;
    let mut since_look = 0;
    while !stop.load(Ordering::Relaxed) {
        sleep_until_ns(due_ns);
        let woke_ns = now_ns(ClockId::Monotonic);
        let before = std::mem::replace(&mut waited_ns, counters.waited_ns());
        since_look += 1;
        let is_late = woke_ns.saturating_sub(due_ns) >= LEAST_NS;
        if is_late || since_look == LOOK_EVERY {
            since_look = 0;
            let slow_before = std::mem::replace(&mut slow, counters.slow());
            let kept_ns = waited_ns.saturating_sub(before)
                + slow.throttled_ns.saturating_sub(slow_before.throttled_ns);
            if let Some(until_ns) = stood_still_until(due_ns, woke_ns, kept_ns) {
                let stolen_ns = slow.stolen_ns.saturating_sub(slow_before.stolen_ns);
                let is_stolen = 2 * stolen_ns >= until_ns - due_ns;
                let pause = Pause {
                    cpu,
                    from_ns: due_ns,
                    until_ns,
                    cause: if is_stolen {
                        Cause::Stolen
                    } else {
                        Cause::Unseen
                    },
                };
                match beats.pauses.len() < MOST {
                    true => beats.pauses.push(pause),
                    false => beats.lost += 1,
                }
            }
        }
        due_ns = next(due_ns, now_ns(ClockId::Monotonic));
    }
    beats.cpu_time_ns = sys::own_cpu_ns();
    beats
}

/// Until when nobody had the CPU, of a beat that was due and woke up then and was kept waiting for so long. It waits for its
/// turn once the CPU goes on.
fn stood_still_until(due_ns: u64, woke_ns: u64, kept_ns: u64) -> Option<u64> {
    let still_ns = woke_ns.saturating_sub(due_ns).saturating_sub(kept_ns);
    (still_ns >= LEAST_NS).then_some(due_ns + still_ns)
}

/// The next moment of the grid.
fn next(due_ns: u64, now_ns: u64) -> u64 {
    let missed = now_ns.saturating_sub(due_ns) / GRID_NS;
    due_ns + (missed + 1) * GRID_NS
}

/// Counters that take longer to read.
#[derive(Clone, Copy, Debug, Default)]
struct Slow {
    stolen_ns: u64,
    throttled_ns: u64,
}

struct Counters {
    cpu: u32,
    schedstat: Kept,
    stat: Option<Kept>,
    throttling: Option<Throttling>,
    tick_ns: u64,
}

impl Counters {
    /// Of the calling thread.
    fn open(cpu: u32) -> Option<Self> {
        let tid = sys::own_tid();
        Some(Self {
            cpu,
            schedstat: Kept::open(&format!("/proc/self/task/{tid}/schedstat"))?,
            stat: File::open("/proc/stat").ok().map(Kept::new),
            throttling: Throttling::of(tid).ok(),
            tick_ns: 1_000_000_000 / sys::user_hz(),
        })
    }

    /// How long it waited for its CPU so far.
    fn waited_ns(&mut self) -> u64 {
        let told = self.schedstat.read().and_then(pair);
        told.map_or(0, |(_, waited_ns)| waited_ns)
    }

    fn slow(&mut self) -> Slow {
        let stolen = self
            .stat
            .as_mut()
            .and_then(|stat| steal_of(stat.read()?, self.cpu));
        let throttled = self.throttling.as_mut().and_then(Throttling::throttled_ns);
        Slow {
            stolen_ns: stolen.unwrap_or(0) * self.tick_ns,
            throttled_ns: throttled.unwrap_or(0),
        }
    }
}

/// Field 8 of the line of a CPU in `/proc/stat`.
fn steal_of(stat: &[u8], cpu: u32) -> Option<u64> {
    let name = format!("cpu{cpu} ");
    let line = stat
        .split(|b| *b == b'\n')
        .find(|line| line.starts_with(name.as_bytes()))?;
    numbers(&line[name.len()..]).nth(7)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    #[test]
    fn what_it_waited_for_its_turn_is_no_pause_and_comes_after_one() {
        assert_eq!(stood_still_until(10 * MS, 10 * MS + 80_000, 0), None);
        assert_eq!(stood_still_until(10 * MS, 60 * MS, 0), Some(60 * MS));
        // Behind others all that time, or for the last 20 ms of it.
        assert_eq!(stood_still_until(10 * MS, 60 * MS, 50 * MS), None);
        assert_eq!(stood_still_until(10 * MS, 60 * MS, 20 * MS), Some(40 * MS));
        assert_eq!(stood_still_until(10 * MS, 60 * MS, 90 * MS), None);
        // A clock does not go backwards; a test may.
        assert_eq!(stood_still_until(10 * MS, 9 * MS, 0), None);
    }

    #[test]
    fn beats_that_were_missed_are_left_out() {
        assert_eq!(next(10 * MS, 10 * MS + 70_000), 12 * MS);
        assert_eq!(next(10 * MS, 61 * MS), 62 * MS);
        assert_eq!(next(10 * MS, 62 * MS), 64 * MS);
    }

    #[test]
    fn steal_is_that_of_the_cpu() {
        let stat = b"cpu  1 2 3 4 5 6 7 99 0 0\ncpu0 1 2 3 4 5 6 7 8 0 0\ncpu10 1 1 1 1 1 1 1 11 0 0\nintr 5\n";
        assert_eq!(steal_of(stat, 0), Some(8));
        assert_eq!(steal_of(stat, 10), Some(11));
        assert_eq!(steal_of(stat, 1), None);
    }

    #[test]
    fn a_hog_is_no_pause() {
        let cpus = crate::events::online_cpus();
        let done = Arc::new(AtomicBool::new(false));
        let hogs: Vec<_> = (0..2 * cpus.len())
            .map(|_| {
                let done = Arc::clone(&done);
                std::thread::spawn(move || {
                    while !done.load(Ordering::Relaxed) {
                        std::hint::spin_loop();
                    }
                })
            })
            .collect();
        let heartbeat = Heartbeat::start(&cpus).unwrap();
        std::thread::sleep(std::time::Duration::from_millis(600));
        let beats = heartbeat.finish();
        done.store(true, Ordering::Relaxed);
        hogs.into_iter().for_each(|hog| hog.join().unwrap());
        assert_eq!(beats.cpus, cpus);
        // The machine's own host may hold it up meanwhile; hogs took nearly all of that time.
        let still_ns: u64 = beats.pauses.iter().map(|p| p.until_ns - p.from_ns).sum();
        let time_ns = 600 * MS * cpus.len() as u64;
        assert!(still_ns < time_ns / 2, "{beats:?}");
        assert!(
            beats.cpu_time_ns > 0 && beats.cpu_time_ns < time_ns / 10,
            "{beats:?}"
        );
    }
}
