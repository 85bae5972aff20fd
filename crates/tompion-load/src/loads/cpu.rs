//! `cpu`: square roots in many threads, as in Kirova 2019, section 2.1.3; or busy
//! for a part of the time.

use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tompion_model::Unavailable;
use tompion_time::os;

use nix::time::{ClockId, clock_gettime};
use tompion_model::{format_duration, parse_duration_ns};

use crate::counters::Counter;
use crate::job::{Budget, Job, Plan, usable_cpus};
use crate::load::{Load, Parse, Parsed, Work};
use crate::spec::{Opt, Options, THREADS as THREADS_OPTION, Text};

pub(super) static ENTRY: Load = Load {
    name: "cpu",
    about: "100 threads computing square roots, as in Kirova 2019; threads=N, level=PERCENT CPU \
            utilisation (then one thread per CPU) in each period=TIME (10ms), cpus=LIST",
    in_check: false,
    parse: Parse::Options(&[THREADS_OPTION, LEVEL, PERIOD], parse),
};

const LEVEL: Opt = ("level", "level=PERCENT");
const PERIOD: Opt = ("period", "period=TIME");

/// Threads in Kirova 2019, section 2.1.3.
const THREADS: u32 = 100;
/// Period in which a thread is busy for a part: that of a program which works a hundred
/// times a second.
pub(super) const PERIOD_NS: u64 = 10_000_000;
/// Up to this level a thread is known to make way for one that wakes up.
const MOST_THAT_YIELDS: u32 = 70;
/// Periods with a level: below, reading the CPU time would be the load; above, trials
/// would see the load on or off.
const PERIODS_NS: std::ops::RangeInclusive<u64> = 100_000..=10_000_000_000;

#[derive(Debug)]
struct Cpu {
    /// Absent means one a CPU, which only a level does.
    threads: Option<u32>,
    level: Option<Level>,
}

/// How busy a thread is.
#[derive(Clone, Copy, Debug)]
struct Level {
    /// Part of each period in percent, 1 to 100.
    percent: u32,
    /// Length of a period in nanoseconds.
    period_ns: u64,
}

impl Work for Cpu {
    fn describe(&self, text: &mut Text) {
        let is_default = self.level.is_none() && self.threads == Some(THREADS);
        text.option("threads", self.threads.filter(|_| text.shows(is_default)));
        text.option("level", self.level.map(|l| l.percent));
        let period = self.level.map(|l| l.period_ns);
        let period = period.filter(|ns| text.shows(*ns == PERIOD_NS));
        text.option("period", period.map(format_duration));
    }

    fn makes_wait(&self) -> bool {
        let of_one_per_cpu = self.level.filter(|_| self.threads.is_none());
        of_one_per_cpu.is_none_or(|level| at_level_makes_wait(level.percent))
    }

    fn moves_bytes(&self) -> bool {
        false
    }

    fn plan(&self, _: Budget) -> Result<Plan, Unavailable> {
        Ok(plan(self.threads, self.level))
    }
}

fn parse(options: &Options<'_>) -> Parsed {
    let percent = options.value("level", |text| match text.trim_end_matches('%').parse() {
        Ok(percent @ 1..=100) => Ok(percent),
        _ => Err(format!("level={text} should be a whole number of percent from 1 to 100").into()),
    })?;
    let period = options.value("period", |text| {
        let ns = parse_duration_ns(text).map_err(|e| format!("period={text}: {e}"))?;
        match PERIODS_NS.contains(&ns) {
            true => Ok(ns),
            false => Err(format!("period={text} should be from 100us to 10s").into()),
        }
    })?;
    let threads = options.threads()?;
    match percent {
        None if period.is_some() => {
            Err("period=TIME needs level=PERCENT: without a level threads are always busy".into())
        }
        None => Ok(Arc::new(Cpu {
            threads: Some(threads.unwrap_or(THREADS)),
            level: None,
        })),
        Some(percent) => Ok(Arc::new(Cpu {
            threads,
            level: Some(Level {
                percent,
                period_ns: period.unwrap_or(PERIOD_NS),
            }),
        })),
    }
}

/// One thread a CPU, each busy for a part of every period, in percent.
pub(super) fn at_level(percent: u32, period_ns: u64) -> Plan {
    plan(None, Some(Level { percent, period_ns }))
}

/// Whether who wakes up beside one such thread on its CPU may have to wait for the scheduler's tick. That thread sleeps in
/// each period, but never as long as one that wakes up seldom, which comes first. Up to the level of `busy` that is held by a
/// guest with Linux 6.1 in virtual time, 24 sleepers against one (`tests/acceptance/test_company.py`); of schedulers from
/// Linux 6.6 on nobody has measured it.
pub(super) fn at_level_makes_wait(percent: u32) -> bool {
    percent > MOST_THAT_YIELDS
}

fn plan(threads: Option<u32>, level: Option<Level>) -> Plan {
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

/// Square roots between two counts: some microseconds, so that counting costs
/// nothing and a trial of milliseconds still counts many.
const ROOTS: u32 = 1000;
/// The same between two looks at the CPU time: short beside the shortest period.
const FEW_ROOTS: u32 = 100;

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
                Some(left) => os::sleep(left),
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
