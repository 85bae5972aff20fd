//! Busy loops and what is known of their stalls, brought together while they run.

mod gathered;
mod spans;

use std::time::Duration;

use tompion_cause::Access;
use tompion_observe::{ThreadCounters, events};
use tompion_probe::stalls::{Loops, Settings};
use tompion_probe::{Error, Limits, Outcome, ThreadSettings};
use tompion_record::{Observation, Stalls};
use tompion_time::Rate;
use tompion_time::os::{self, ClockId};

use gathered::Gathered;

/// How often stalls and events are brought together. Rings hold much more.
const EVERY: Duration = Duration::from_millis(50);

/// Rows on their way from a loop: half a second of stalls every 2 us.
const RING_ROWS: usize = 1 << 18;

/// One loop's trial.
pub(super) struct Measured {
    pub outcome: Outcome,
    pub stalls: Stalls,
    pub observation: Observation,
}

/// Runs a loop at each placement for the time that `limits` gives.
pub(super) fn measure(
    placements: &[ThreadSettings],
    threshold_ns: u64,
    rate: Option<Rate>,
    limits: &Limits,
) -> Result<Vec<Measured>, Error> {
    let loops = Loops::prepare(placements)?;
    let tids = loops.tids().to_vec();
    let (mut recorder, _) = events::Recorder::attach(&tids, &watched_cpus(placements));
    let settings = Settings {
        threshold_ns,
        time_ns: limits.time_ns,
        stop: limits.stop.clone(),
        ..Settings::default()
    };
    let cpu_before = os::now_ns(ClockId::ThreadCpu);
    let wall_before = os::now_ns(ClockId::Monotonic);
    let mut running = loops.begin(&settings, rate, RING_ROWS, |tid| {
        let mut counters = ThreadCounters::open(tid);
        move || counters.read()
    })?;
    let mut gathered: Vec<Gathered> = tids.iter().map(|_| Gathered::new(limits.rows)).collect();
    while !running.has_ended() {
        std::thread::sleep(EVERY);
        running.drain(|index, row| gathered[index].waiting.push_back(row));
        let drained = recorder.drain();
        for (gathered, tid) in gathered.iter_mut().zip(&tids) {
            gathered.settle(drained.thread(*tid), drained.until_ns, &recorder);
        }
    }
    let outcomes = running.finish(|index, row| gathered[index].waiting.push_back(row))?;
    let drained = recorder.finish();
    let own_ns = os::now_ns(ClockId::ThreadCpu) - cpu_before;
    let wall_ns = os::now_ns(ClockId::Monotonic) - wall_before;
    for (gathered, tid) in gathered.iter_mut().zip(&tids) {
        gathered.settle(drained.thread(*tid), u64::MAX, &recorder);
    }
    let mut observation = Observation::of_access(&access(&recorder, 0, u64::MAX));
    observation.own_cpu_share = own_ns as f64 / wall_ns.max(1) as f64;
    Ok(placements
        .iter()
        .zip(gathered)
        .zip(outcomes)
        .map(|((placement, gathered), outcome)| {
            gathered.finish(placement.cpu, threshold_ns, outcome, observation.clone())
        })
        .collect())
}

/// The CPUs on which the loops may run: those they are pinned to, or all.
fn watched_cpus(placements: &[ThreadSettings]) -> Vec<u32> {
    let pinned: Option<Vec<u32>> = placements.iter().map(|p| p.cpu).collect();
    pinned.unwrap_or_else(tompion_platform::usable_cpus)
}

/// The recorder's evidence and what else is known.
fn access(recorder: &events::Recorder, from_ns: u64, until_ns: u64) -> Access {
    let mut access = recorder.access_between(from_ns, until_ns);
    let steal = tompion_observe::steal_is_accounted();
    access.steal_is_accounted = steal.is_ok();
    access.items.push(("steal accounting".to_owned(), steal));
    access
}

