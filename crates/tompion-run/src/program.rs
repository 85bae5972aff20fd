//! A running program, watched from outside: when it did not run though it could
//! have, and why.

use std::collections::BTreeMap;
use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tompion_cause::{Access, Counters, Lost, Span, Totals, describe_stall, lost};
use tompion_observe::{ThreadCounters, events};
use tompion_record::{ProgramStall, ProgramStalls, ProgramThread};
use tompion_time::os::{self, ClockId};

use crate::totals::by_cause;
use crate::{Error, evidence};

/// How often events are taken, counters read and new threads looked for.
const EVERY: Duration = Duration::from_millis(100);

/// Lost time is told this long after it ended, when all about it is known.
const LAG_NS: u64 = 200_000_000;

/// How long events and counters are kept for stalls that go on.
const KEPT_NS: u64 = 4_000_000_000;

/// Stalls that are told one by one.
const LONGEST: usize = 100;

/// Watches all threads of process `pid` for `duration`, until it ends or until
/// `stop` is set.
///
/// # Errors
/// There is no such process.
pub fn watch_program(
    pid: i32,
    duration: Duration,
    stop: &Arc<AtomicBool>,
) -> Result<ProgramStalls, Error> {
    let name = fs::read_to_string(format!("/proc/{pid}/comm"))
        .map_err(|e| Error::Plan(format!("--pid {pid}: no such process can be watched ({e})")))?;
    let tids = threads_of(pid);
    let (mut recorder, _) = events::Recorder::attach(&tids, &tompion_platform::usable_cpus());
    let began_ns = os::now_ns(ClockId::Monotonic);
    let end_ns = began_ns.saturating_add(duration.as_nanos() as u64);
    let cpu_before = os::now_ns(ClockId::ThreadCpu);
    let mut watched: BTreeMap<i32, Watched> = BTreeMap::new();
    let mut counted = Vec::new();
    for tid in tids {
        let thread = Watched::new(tid);
        if counted.is_empty() {
            counted = thread.access();
        }
        watched.insert(tid, thread);
    }
    let mut ended = false;
    loop {
        let now_ns = os::now_ns(ClockId::Monotonic);
        let is_over = ended || now_ns >= end_ns || stop.load(Ordering::Relaxed);
        for tid in threads_of(pid) {
            watched.entry(tid).or_insert_with(|| {
                recorder.watch(tid);
                Watched::new(tid)
            });
        }
        watched.values_mut().for_each(|w| w.poll(is_over));
        let drained = if is_over {
            recorder.drain_past(now_ns, EVERY)
        } else {
            recorder.drain()
        };
        let until_ns = if is_over {
            u64::MAX
        } else {
            drained.until_ns.saturating_sub(LAG_NS)
        };
        for (tid, thread) in &mut watched {
            let access = recorder.access_between(thread.settled_ns, until_ns);
            thread.settle(drained.thread(*tid), until_ns, &access);
        }
        if is_over {
            break;
        }
        ended = threads_of(pid).is_empty();
        std::thread::sleep(EVERY.min(Duration::from_nanos(end_ns.saturating_sub(now_ns))));
    }
    let wall_ns = os::now_ns(ClockId::Monotonic) - began_ns;
    let own_ns = os::now_ns(ClockId::ThreadCpu) - cpu_before;
    let observation = evidence::of(&recorder, counted);
    let mut totals = Totals::new();
    let mut longest: Vec<ProgramStall> = Vec::new();
    let mut threads: Vec<ProgramThread> = Vec::new();
    for thread in watched.into_values() {
        totals.merge(&thread.totals);
        threads.push(thread.summary());
        longest.extend(thread.longest.into_iter().map(|stall| ProgramStall {
            at_ns: stall.at_ns.saturating_sub(began_ns),
            ..stall
        }));
    }
    threads.sort_by_key(|t| std::cmp::Reverse((t.lost_ns, t.cpu_time_ns)));
    longest.sort_by_key(|s| std::cmp::Reverse(s.ns));
    longest.truncate(LONGEST);
    Ok(ProgramStalls {
        pid,
        name: name.trim().to_owned(),
        wall_ns,
        ended,
        lost_ns: totals.lost_ns(),
        stalls: totals.stalls().count,
        causes: by_cause(&totals),
        threads,
        longest,
        evidence: observation.evidence,
        steal_is_accounted: observation.steal_is_accounted,
        own_cpu_share: own_ns as f64 / wall_ns.max(1) as f64,
    })
}

/// Numbers of the threads of a process; empty when it has ended.
fn threads_of(pid: i32) -> Vec<i32> {
    // A zombie has a directory still, and nothing more to run.
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let state = stat
        .rsplit(')')
        .next()
        .and_then(|s| s.trim().chars().next());
    if matches!(state, None | Some('Z' | 'X')) {
        return Vec::new();
    }
    let entries = fs::read_dir(format!("/proc/{pid}/task"));
    entries
        .into_iter()
        .flatten()
        .filter_map(|e| e.ok()?.file_name().to_str()?.parse().ok())
        .collect()
}

/// One thread of the program.
struct Watched {
    tid: i32,
    name: String,
    counters: Option<ThreadCounters>,
    first: Option<Counters>,
    last: Option<Counters>,
    /// The latest readings, in order of time.
    polled: Vec<Counters>,
    spans: Vec<Span>,
    /// Lost time that ended by then has been told.
    settled_ns: u64,
    totals: Totals,
    longest: Vec<ProgramStall>,
}

impl Watched {
    fn new(tid: i32) -> Self {
        let name = fs::read_to_string(format!("/proc/{tid}/comm")).unwrap_or_default();
        Self {
            tid,
            name: name.trim().to_owned(),
            counters: ThreadCounters::open(tid).ok(),
            first: None,
            last: None,
            polled: Vec::new(),
            spans: Vec::new(),
            settled_ns: 0,
            totals: Totals::new(),
            longest: Vec::new(),
        }
    }

    fn access(&self) -> Vec<(String, Result<(), String>)> {
        self.counters
            .as_ref()
            .map_or_else(Vec::new, ThreadCounters::access)
    }

    fn poll(&mut self, is_over: bool) {
        let Some(counters) = &mut self.counters else {
            return;
        };
        let now = counters.read();
        // Nothing is left of a thread that has ended.
        if now.cpu_time_ns < self.last.map_or(0, |l| l.cpu_time_ns)
            || (is_over && now.cpu_time_ns == 0)
        {
            return;
        }
        self.first.get_or_insert(now);
        self.last = Some(now);
        self.polled.push(now);
    }

    /// Tells the lost time that ended by `until_ns`.
    fn settle(&mut self, spans: &[Span], until_ns: u64, access: &Access) {
        self.spans.extend_from_slice(spans);
        let from_ns = self.settled_ns;
        for stall in lost(&self.spans, &self.polled, access) {
            if (from_ns..until_ns).contains(&stall.stall.until_ns) {
                self.tell(&stall);
            }
        }
        self.settled_ns = until_ns;
        let kept_from = until_ns.saturating_sub(KEPT_NS);
        self.spans.retain(|s| s.until_ns >= kept_from);
        self.polled.retain(|c| c.at_ns >= kept_from);
    }

    fn tell(&mut self, lost: &Lost) {
        self.totals.add(&lost.parts);
        let ns = lost.stall.until_ns - lost.stall.from_ns;
        let shortest = self.longest.last().map_or(0, |s| s.ns);
        if self.longest.len() < LONGEST || ns > shortest {
            self.longest.push(ProgramStall {
                tid: self.tid,
                at_ns: lost.stall.from_ns,
                ns,
                because: describe_stall(&lost.parts),
            });
            self.longest.sort_by_key(|s| std::cmp::Reverse(s.ns));
            self.longest.truncate(LONGEST);
        }
    }

    fn summary(&self) -> ProgramThread {
        let stalls = self.totals.stalls();
        let (first, last) = (
            self.first.unwrap_or_default(),
            self.last.unwrap_or_default(),
        );
        let delay = last.run_delay_ns.zip(first.run_delay_ns);
        ProgramThread {
            tid: self.tid,
            name: self.name.clone(),
            cpu_time_ns: last.cpu_time_ns.saturating_sub(first.cpu_time_ns),
            run_delay_ns: delay.map(|(l, f)| l.saturating_sub(f)),
            lost_ns: stalls.ns,
            stalls: stalls.count,
            longest_ns: stalls.longest_ns,
        }
    }
}
