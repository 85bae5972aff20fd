//! Busy loops and what is known of their stalls, brought together while they run.

mod gathered;
mod spans;

use std::time::Duration;

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use tompion_cause::Counters;
use tompion_model::Unavailable;
use tompion_observe::events::Keeper;
use tompion_observe::{ThreadCounters, events};
use tompion_probe::stalls::{Loops, Settings};
use tompion_probe::{Error, Limits, ThreadSettings};
use tompion_time::Rate;
use tompion_time::os::{self, ClockId};

use gathered::Gathered;

use crate::evidence;

pub(super) use gathered::Measured;

/// How often stalls and events are brought together. Rings hold much more.
const EVERY: Duration = Duration::from_millis(100);

/// How long the last events may take to come.
const PATIENCE: Duration = Duration::from_millis(100);

/// From this length on a stall has all counters read, with and without events of
/// the CPU beside them. Reading takes some 4 us, and a tick comes every few
/// milliseconds: read for each of them, the time unobserved would exceed 0.1 %.
const COUNTERS_BESIDE_EVENTS_NS: u64 = 200_000;
const COUNTERS_ALONE_NS: u64 = 50_000;

/// How often they are read all the same: stalls too short for a reading of their own
/// have the growth between two of these.
const REFRESH_NS: u64 = 25_000_000;

/// Rows on their way from a loop, as a share of those that a trial keeps: with 2^20 of these
/// half a second of stalls every 2 us. All of it is memory that is written beforehand, 300 bytes
/// a row.
const RING_SHARE: usize = 4;

/// Runs a loop at each placement for the time that `limits` gives. Events of whole CPUs
/// are recorded where there is room for what keeps them cheap from then on: closing them
/// for good waits in the kernel two dozen times, and an ordinary thread beside load gets
/// the CPU back late each time.
pub(super) fn measure(
    placements: &[ThreadSettings],
    threshold_ns: u64,
    rate: Option<Rate>,
    cpu_events: Option<&mut Option<Keeper>>,
    limits: &Limits,
) -> Result<Vec<Measured>, Error> {
    let loops = Loops::prepare(placements)?;
    let _elsewhere = Elsewhere::than(placements);
    let tids = loops.tids().to_vec();
    let wanted = events::Settings {
        cpu_events: match cpu_events {
            Some(_) => events::CpuEvents::All,
            None => events::CpuEvents::None,
        },
        ..events::Settings::default()
    };
    let (mut recorder, had) =
        events::Recorder::attach_with(&wanted, &tids, &watched_cpus(placements));
    let counters: Result<Vec<ThreadCounters>, Unavailable> =
        tids.iter().map(|tid| ThreadCounters::open(*tid)).collect();
    let counted = match &counters {
        Ok(counters) => counters
            .first()
            .map_or_else(Vec::new, ThreadCounters::access),
        Err(why) => vec![("counters of the thread".to_owned(), Err(why.to_string()))],
    };
    let has_cpu_events = had.has_cpu_events;
    if let (Some(keeper @ None), true) = (cpu_events, has_cpu_events) {
        // While these are open: they are the last of their tracepoints no more.
        *keeper = watched_cpus(placements)
            .first()
            .and_then(|cpu| Keeper::of_all(*cpu).ok());
    }
    let settings = Settings {
        threshold_ns,
        counters_above_ns: match counters {
            // Where events tell, counters are for what is rare.
            Ok(_) if has_cpu_events => COUNTERS_BESIDE_EVENTS_NS,
            Ok(_) => COUNTERS_ALONE_NS,
            Err(_) => u64::MAX,
        },
        refresh_ns: REFRESH_NS,
        time_ns: limits.time_ns,
        stop: limits.stop.clone(),
    };
    let cpu_before = os::now_ns(ClockId::ThreadCpu);
    let wall_before = os::now_ns(ClockId::Monotonic);
    let mut running = loops.begin(&settings, rate, limits.rows / RING_SHARE, |tid| {
        let mut counters = ThreadCounters::open(tid).ok();
        move || {
            counters
                .as_mut()
                .map_or_else(Counters::default, ThreadCounters::read)
        }
    })?;
    let mut gathered: Vec<Gathered> = tids.iter().map(|_| Gathered::new(limits.rows)).collect();
    while !running.has_ended() {
        os::sleep(EVERY);
        running.drain(|index, row| gathered[index].waiting.push_back(row));
        let drained = recorder.drain();
        for (gathered, tid) in gathered.iter_mut().zip(&tids) {
            gathered.settle(drained.thread(*tid), drained.until_ns, &recorder);
        }
    }
    let outcomes = running.finish(|index, row| gathered[index].waiting.push_back(row))?;
    let ended_ns = os::now_ns(ClockId::Monotonic);
    let drained = recorder.drain_past(ended_ns, PATIENCE);
    let own_ns = os::now_ns(ClockId::ThreadCpu) - cpu_before;
    let wall_ns = os::now_ns(ClockId::Monotonic) - wall_before;
    for (gathered, tid) in gathered.iter_mut().zip(&tids) {
        gathered.settle(drained.thread(*tid), u64::MAX, &recorder);
    }
    let mut observation = evidence::of(&recorder, counted);
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

/// While it lives the calling thread stays off the CPUs that are measured, where it
/// has others.
struct Elsewhere(Option<CpuSet>);

impl Elsewhere {
    fn than(placements: &[ThreadSettings]) -> Self {
        let Ok(allowed) = sched_getaffinity(None) else {
            return Self(None);
        };
        let mut others = allowed;
        for cpu in placements.iter().filter_map(|p| p.cpu) {
            if (cpu as usize) < CpuSet::MAX_CPU {
                others.unset(cpu as usize);
            }
        }
        let moved = others.count() > 0 && others.count() < allowed.count();
        // Refused, it stays where it is.
        Self((moved && sched_setaffinity(None, &others).is_ok()).then_some(allowed))
    }
}

impl Drop for Elsewhere {
    fn drop(&mut self) {
        if let Some(allowed) = &self.0 {
            let _ = sched_setaffinity(None, allowed);
        }
    }
}

/// The CPUs on which the loops may run: those they are pinned to, or all.
fn watched_cpus(placements: &[ThreadSettings]) -> Vec<u32> {
    let pinned: Option<Vec<u32>> = placements.iter().map(|p| p.cpu).collect();
    pinned.unwrap_or_else(tompion_host::usable_cpus)
}
