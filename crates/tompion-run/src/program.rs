//! A running program, watched from outside: when it did not run though it could
//! have, and why.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tompion_cause::Totals;
use tompion_model::{ProgramStall, ProgramStalls, ProgramThread};
use tompion_observe::events::{Drained, Recorder};
use tompion_time::os::{self, ClockId};

use crate::totals::by_cause;
use crate::{Error, evidence};

mod process;
mod settling;
mod thread;

use process::{Process, be_prompt, name_of, raise_open_files};
use thread::{LONGEST, Watched};

/// How often events are taken, counters read and new threads looked for.
const EVERY: Duration = Duration::from_millis(100);

/// Every how many of these times lost time is told.
const SETTLE_EVERY: u32 = 5;

/// Lost time is told this long after it ended, when all about it is known.
const LAG_NS: u64 = 200_000_000;

/// Watches all threads of process `pid` for `duration`, until it ends or until
/// `stop` is set. Tells `progress` some ten times a second for how long it has watched.
/// Lets this process open as many files as it is allowed to, and raises
/// the calling thread's priority where that is permitted.
///
/// # Errors
/// There is no such process.
pub fn watch_program(
    pid: i32,
    duration: Duration,
    stop: &Arc<AtomicBool>,
    mut progress: impl FnMut(Duration),
) -> Result<ProgramStalls, Error> {
    raise_open_files();
    be_prompt();
    let asked_ns = os::now_ns(ClockId::Monotonic);
    let mut process = Process::open(pid).map_err(|e| Error::Process {
        pid,
        why: e.to_string(),
    })?;
    let name = name_of(pid);
    let tids = process.threads().unwrap_or_default().to_vec();
    // First, while there are descriptors left.
    let names: Vec<(i32, String)> = tids.iter().map(|tid| (*tid, name_of(*tid))).collect();
    let (mut recorder, _) = Recorder::attach(&tids, &tompion_host::usable_cpus());
    let mut watched: BTreeMap<i32, Watched> = names
        .into_iter()
        .map(|(tid, name)| (tid, Watched::new(tid, name, &recorder)))
        .collect();
    let counted = watched
        .values()
        .map(Watched::access)
        .find(|had| !had.is_empty())
        .unwrap_or_default();
    let cpu_before = os::now_ns(ClockId::ThreadCpu);
    // What was recorded before, while the threads were taken one by one, is left out.
    let began_ns = os::now_ns(ClockId::Monotonic);
    let end_ns = began_ns.saturating_add(duration.as_nanos() as u64);
    let mut told = Told::default();
    let mut settled_ns = began_ns;
    let mut round = 0;
    let (ended, over_ns) = loop {
        let now_ns = os::now_ns(ClockId::Monotonic);
        let ended = match process.threads() {
            Some(tids) => {
                meet(&mut watched, tids, now_ns, &mut recorder);
                false
            }
            None => true,
        };
        let is_over = ended || now_ns >= end_ns || stop.load(Ordering::Relaxed);
        let alive = watched.values_mut().filter(|w| w.gone_ns.is_none());
        alive.for_each(|w| w.poll(is_over));
        let drained = if is_over {
            let mut drained = recorder.drain_past(now_ns, EVERY);
            let idle: Vec<i32> = watched
                .iter()
                .filter(|(_, w)| w.is_idle())
                .map(|(tid, _)| *tid)
                .collect();
            drained.append(recorder.close(now_ns, &idle));
            drained
        } else {
            recorder.drain()
        };
        let clip_ns = if is_over { now_ns } else { u64::MAX };
        let drained_ns = drained.until_ns;
        hand_out(drained, &mut watched, began_ns, clip_ns);
        round += 1;
        if is_over || round % SETTLE_EVERY == 0 {
            let until_ns = match is_over {
                true => u64::MAX,
                false => drained_ns.saturating_sub(LAG_NS),
            };
            let access = recorder.access_between(settled_ns, until_ns);
            for (tid, thread) in &mut watched {
                thread.settle(until_ns, recorder.kept_since(*tid), &access);
            }
            settled_ns = until_ns;
            let gone = |w: &Watched| w.gone_ns.is_some_and(|ns| ns < until_ns);
            let gone: Vec<i32> = watched
                .iter()
                .filter(|(_, w)| gone(w))
                .map(|(tid, _)| *tid)
                .collect();
            for tid in gone {
                recorder.unwatch(tid);
                let thread = watched.remove(&tid);
                thread.into_iter().for_each(|t| told.add(t, began_ns));
            }
        }
        if is_over {
            break (ended, now_ns);
        }
        progress(Duration::from_nanos(now_ns - began_ns));
        let left_ns = end_ns.saturating_sub(os::now_ns(ClockId::Monotonic));
        os::sleep(EVERY.min(Duration::from_nanos(left_ns)));
    };
    let own_ns = os::now_ns(ClockId::ThreadCpu) - cpu_before;
    let taken_ns = os::now_ns(ClockId::Monotonic) - began_ns;
    let observation = evidence::of(&recorder, counted);
    watched
        .into_values()
        .for_each(|thread| told.add(thread, began_ns));
    told.threads
        .sort_by_key(|t| std::cmp::Reverse((t.lost_ns, t.run_delay_ns, t.cpu_time_ns)));
    let delays = told.threads.iter().filter_map(|t| t.run_delay_ns);
    let is_followed = told.threads.len() as u64 > told.unwatched;
    let known = |n: u64| is_followed.then_some(n);
    Ok(ProgramStalls {
        pid,
        name,
        wall_ns: over_ns - began_ns,
        attach_ns: began_ns - asked_ns,
        ended,
        lost_ns: known(told.totals.lost_ns()),
        stalls: known(told.totals.stalls().count),
        run_delay_ns: delays.reduce(|all, ns| all + ns),
        throttled_ns: told.throttled_ns,
        unwatched_threads: told.unwatched,
        causes: by_cause(&told.totals),
        threads: told.threads,
        longest: told.longest,
        evidence: observation.evidence,
        steal_is_accounted: observation.steal_is_accounted,
        own_cpu_share: own_ns as f64 / taken_ns.max(1) as f64,
    })
}

/// Watches threads that are new, and notes which are gone.
fn meet(watched: &mut BTreeMap<i32, Watched>, tids: &[i32], now_ns: u64, recorder: &mut Recorder) {
    for tid in tids {
        watched.entry(*tid).or_insert_with(|| {
            let name = name_of(*tid);
            recorder.watch(*tid);
            Watched::new(*tid, name, recorder)
        });
    }
    for (tid, thread) in watched {
        if thread.gone_ns.is_none() && !tids.contains(tid) {
            thread.gone_ns = Some(now_ns);
        }
    }
}

/// Gives each thread its spans, as far as they lie in that time.
fn hand_out(drained: Drained, watched: &mut BTreeMap<i32, Watched>, from_ns: u64, until_ns: u64) {
    for (tid, spans) in drained.threads {
        if let Some(thread) = watched.get_mut(&tid) {
            thread.take(spans, from_ns, until_ns);
        }
    }
}

/// What is told of all threads.
#[derive(Default)]
struct Told {
    totals: Totals,
    threads: Vec<ProgramThread>,
    longest: Vec<ProgramStall>,
    throttled_ns: Option<u64>,
    unwatched: u64,
}

impl Told {
    fn add(&mut self, thread: Watched, began_ns: u64) {
        self.totals.merge(&thread.totals);
        self.threads.push(thread.summary());
        self.throttled_ns = self.throttled_ns.max(thread.throttled_ns());
        self.unwatched += u64::from(!thread.is_followed);
        let longest = thread.longest.into_iter().map(|stall| ProgramStall {
            at_ns: stall.at_ns.saturating_sub(began_ns),
            ..stall
        });
        self.longest.extend(longest);
        self.longest.sort_by_key(|s| std::cmp::Reverse(s.ns));
        self.longest.truncate(LONGEST);
    }
}

#[cfg(test)]
mod tests;
