//! `cpu`: square roots in many threads, as in Kirova 2019, section 2.1.3; or busy
//! for a part of the time.

use std::hint::black_box;
use std::thread;
use std::time::{Duration, Instant};

use nix::time::{ClockId, clock_gettime};

use super::{Job, Plan, usable_cpus};
use crate::counters::Counter;
use crate::spec::Level;

/// Square roots between two counts: some microseconds, so that counting costs
/// nothing and a trial of milliseconds still counts many.
const ROOTS: u32 = 1000;
/// The same between two looks at the CPU time: short beside the shortest period.
const FEW_ROOTS: u32 = 100;

pub fn plan(threads: Option<u32>, level: Option<Level>) -> Plan {
    let threads = threads.map_or_else(usable_cpus, |threads| threads as usize);
    let (roots, job): (_, fn(Level) -> Job) = match level {
        None => (ROOTS, |_| always_busy()),
        Some(_) => (FEW_ROOTS, partly_busy),
    };
    let level = level.unwrap_or(Level {
        percent: 100,
        period_ns: 1,
    });
    Plan::new(
        format!("{roots} square roots"),
        (0..threads).map(|_| job(level)).collect(),
    )
}

fn always_busy() -> Job {
    Box::new(|counter, gate| {
        gate.pass();
        let mut value = 2.0;
        loop {
            take_roots(&mut value, ROOTS, counter);
        }
    })
}

/// Busy until it has used its part of the period's CPU time, then asleep until
/// the next period. Only CPU time counts: what others take of the CPU, or a
/// hypervisor of both, is made up for within the following period.
fn partly_busy(level: Level) -> Job {
    Box::new(move |counter, gate| {
        let period = Duration::from_nanos(level.period_ns);
        let busy = period * level.percent / 100;
        gate.pass();
        let mut value = 2.0;
        let mut period_ends = Instant::now() + period;
        let mut allowance = match cpu_time() {
            Ok(used) => used + busy,
            Err(e) => return format!("could not read its CPU time: {e}"),
        };
        loop {
            let used = loop {
                match cpu_time() {
                    Ok(used) if used >= allowance => break used,
                    Ok(_) => take_roots(&mut value, FEW_ROOTS, counter),
                    Err(e) => return format!("could not read its CPU time: {e}"),
                }
            };
            let now = Instant::now();
            match period_ends.checked_duration_since(now) {
                Some(left) => thread::sleep(left),
                // After a pause the grid begins anew.
                None if now - period_ends > period => period_ends = now,
                None => {}
            }
            period_ends += period;
            allowance = (allowance + busy).max(used);
        }
    })
}

/// The calling thread's.
fn cpu_time() -> nix::Result<Duration> {
    clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).map(Duration::from)
}

fn take_roots(value: &mut f64, roots: u32, counter: &Counter<'_>) {
    for step in 0..roots {
        // Each root waits for the one before it.
        *value = black_box(*value + f64::from(step)).sqrt();
    }
    counter.add(1);
}
