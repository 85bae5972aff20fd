//! What the observer's thread does.

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::time::Duration;

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use tompion_cause::{Access, Disturbance};
use tompion_time::os::{self, ClockId, now_ns};

use super::gauge::Gauge;
use super::gauges::{self, Items};
use super::observations::Observations;
use super::polled::{self, Covered};
use super::series::Series;
use super::settings::{OnDrained, Settings};
use super::{from_events, from_turns};
use crate::events::{Drained, Recorder, Turn, item};
use crate::{steal, sys};

/// What lies between two pieces of a look: enough that whoever waits for the CPU has it.
const BETWEEN_PIECES: Duration = Duration::from_micros(50);
/// A look that takes so long has no further pauses: where it waits for the CPU after each, it would not end before the next.
const LONGEST_LOOK_NS: u64 = 25_000_000;
/// How long the end waits for the last events.
const LAST_EVENTS: Duration = Duration::from_millis(50);

pub(super) fn run(settings: Settings, stop: &Receiver<()>, begun: &Sender<()>) -> Observations {
    behave(&settings.cpus);
    let mut observing = Observing::begin(settings);
    // Whoever started it may have gone meanwhile.
    let _ = begun.send(());
    let mut next_ns = observing.began_ns;
    loop {
        let now = now_ns(ClockId::Monotonic);
        next_ns = (next_ns + observing.period_ns).max(now);
        match stop.recv_timeout(Duration::from_nanos(next_ns - now)) {
            Err(RecvTimeoutError::Timeout) => observing.look(),
            Ok(()) | Err(RecvTimeoutError::Disconnected) => return observing.end(),
        }
    }
}

/// As any ordinary thread, and on other CPUs than the watched ones, if there are
/// any. Where this is refused it stays as it is.
fn behave(watched: &[u32]) {
    let _ = sys::be_ordinary();
    let Ok(allowed) = sched_getaffinity(None) else {
        return;
    };
    let mut others = CpuSet::new();
    for cpu in (0..CpuSet::MAX_CPU).filter(|c| allowed.is_set(*c)) {
        if !watched.iter().any(|w| *w as usize == cpu) {
            others.set(cpu);
        }
    }
    if others.count() > 0 {
        let _ = sched_setaffinity(None, &others);
    }
}

/// What disturbed the watched threads in a window.
pub(super) struct Collected {
    /// What events tell of each thread.
    by_thread: Vec<Vec<Disturbance>>,
    /// What counters tell, which may have held up any of them.
    of_all: Vec<Disturbance>,
}

impl Collected {
    /// What each thread may have been held up by, in the order of its beginnings.
    pub(super) fn of_each_thread(self) -> Vec<Vec<Disturbance>> {
        let with_all = |mut own: Vec<Disturbance>| {
            own.extend(self.of_all.iter().cloned());
            own.sort_by_key(|d| d.from_ns);
            own
        };
        self.by_thread.into_iter().map(with_all).collect()
    }

    /// All of it, in that order.
    fn together(self) -> Vec<Disturbance> {
        let mut all = self.by_thread.concat();
        all.extend(self.of_all);
        all.sort_by_key(|d| d.from_ns);
        all
    }
}

/// No pause: nobody measures meanwhile.
fn at_once() {}

pub(super) struct Observing {
    threads: Vec<i32>,
    /// Threads of Tompion, the one that observes first.
    own: Vec<i32>,
    period_ns: u64,
    gauges: Vec<(Box<dyn Gauge>, usize)>,
    gauge_access: Items,
    series: Series,
    /// The latest row and the one before.
    row: (u64, Vec<i64>),
    before: (u64, Vec<i64>),
    /// When the latest row had been read: its counters are from before that.
    read_ns: u64,
    recorder: Option<Recorder>,
    on_drained: Option<OnDrained>,
    from_events: Vec<(i32, Disturbance)>,
    turns: Vec<(i32, Turn)>,
    polled: Vec<(Disturbance, Covered)>,
    most: usize,
    /// Until when events were taken.
    events_until_ns: u64,
    is_full: bool,
    lost_records: u64,
    began_ns: u64,
    began_cpu_ns: u64,
}

impl Observing {
    pub(super) fn begin(settings: Settings) -> Self {
        let recorder = settings.events.map(|events| {
            let all = [&settings.threads[..], &settings.beside[..]].concat();
            Recorder::attach_with(&events, &all, &settings.cpus).0
        });
        let (gauges, gauge_access) = gauges::all(&settings.threads, &settings.cpus);
        let mut columns = Vec::new();
        let with_width = |g: Box<dyn Gauge>| {
            let own = g.columns();
            let width = own.len();
            columns.extend(own);
            (g, width)
        };
        let gauges: Vec<_> = gauges.into_iter().map(with_width).collect();
        let width = columns.len();
        let mut observing = Self {
            period_ns: (1e9 / settings.rate_hz.clamp(0.1, 1000.0)) as u64,
            gauges,
            gauge_access,
            series: Series::new(columns, settings.series_bytes),
            row: (0, vec![0; width]),
            before: (0, vec![0; width]),
            read_ns: 0,
            recorder,
            on_drained: settings.on_drained,
            from_events: Vec::new(),
            turns: Vec::new(),
            polled: Vec::new(),
            most: settings.most_disturbances,
            events_until_ns: 0,
            is_full: false,
            lost_records: 0,
            own: [&[sys::own_tid()], &settings.own[..]].concat(),
            threads: settings.threads,
            began_ns: 0,
            began_cpu_ns: 0,
        };
        observing.read(&mut at_once);
        observing.began_ns = observing.row.0;
        // What beginning cost is over before the measurement.
        observing.began_cpu_ns = sys::own_cpu_ns();
        observing
    }

    /// Reads all counters into `row`, with a pause after each.
    fn read(&mut self, pause: &mut dyn FnMut()) {
        self.row.0 = now_ns(ClockId::Monotonic);
        let mut rest = &mut self.row.1[..];
        for (gauge, width) in &mut self.gauges {
            let (own, others) = std::mem::take(&mut rest).split_at_mut(*width);
            gauge.read(own);
            rest = others;
            pause();
        }
        self.read_ns = now_ns(ClockId::Monotonic);
        self.series.push(self.row.0, &self.row.1);
    }

    /// Looks while others measure, in pieces: who shares a CPU with it waits for one of them at most.
    pub(super) fn look(&mut self) {
        let until_ns = now_ns(ClockId::Monotonic) + LONGEST_LOOK_NS;
        self.look_by(&mut || {
            if now_ns(ClockId::Monotonic) < until_ns {
                os::sleep(BETWEEN_PIECES);
            }
        });
    }

    fn look_by(&mut self, pause: &mut dyn FnMut()) {
        self.before.0 = self.row.0;
        self.before.1.copy_from_slice(&self.row.1);
        self.read(pause);
        let (before, after) = (&self.before, (self.read_ns, &self.row.1[..]));
        let found = polled::disturbances(&self.series.columns, (before.0, &before.1), after);
        let room = self.most.saturating_sub(self.polled.len());
        self.polled.extend(found.take(room));
        if let Some(drained) = self.recorder.as_mut().map(|r| r.drain_by(pause)) {
            self.take(&drained);
        }
    }

    fn take(&mut self, drained: &Drained) {
        self.lost_records += drained.lost.iter().map(|l| l.records).sum::<u64>();
        if let Some(on_drained) = &mut self.on_drained {
            on_drained(drained);
        }
        if self.is_full {
            return;
        }
        for (tid, spans) in &drained.threads {
            let found = from_events::disturbances(spans, &self.own);
            self.from_events.extend(found.map(|d| (*tid, d)));
        }
        self.turns.extend_from_slice(&drained.turns);
        self.events_until_ns = drained.until_ns;
        if self.from_events.len() + self.turns.len() > self.most {
            self.is_full = true;
        }
    }

    fn end(mut self) -> Observations {
        let own_cpu_ns = sys::own_cpu_ns() - self.began_cpu_ns;
        let disturbances = self.collect(&[]).together();
        let until_ns = self.row.0;
        Observations {
            disturbances,
            access: self.access(),
            own_cpu_share: own_cpu_ns as f64 / (until_ns - self.began_ns).max(1) as f64,
            own_tid: self.own[0],
            records: self.recorder.as_ref().map_or(0, Recorder::records),
            lost_records: self.lost_records,
            window_ns: (self.began_ns, until_ns),
            series: self.series,
        }
    }

    /// Begins a window: what happened before belongs to nobody.
    pub(super) fn begin_window(&mut self) {
        self.read(&mut at_once);
        if let Some(drained) = self.recorder.as_mut().map(Recorder::drain) {
            self.events_until_ns = drained.until_ns;
        }
        self.recorder.as_mut().map(Recorder::open_turns);
        self.from_events.clear();
        self.turns.clear();
        self.polled.clear();
        self.is_full = false;
    }

    /// Looks a last time and gives all disturbances. `seen_ns` are, for each thread, moments, in their
    /// order, at which it is known to have run.
    pub(super) fn collect(&mut self, seen_ns: &[&[u64]]) -> Collected {
        self.look_by(&mut at_once);
        let until_ns = self.read_ns;
        if let Some(last) = self
            .recorder
            .as_mut()
            .map(|r| r.drain_past(until_ns, LAST_EVENTS))
        {
            self.take(&last);
        }
        let polled = std::mem::take(&mut self.polled);
        let uncovered =
            |(d, covered): (Disturbance, Covered)| (!self.is_covered(&d, covered)).then_some(d);
        let of_all: Vec<_> = polled.into_iter().filter_map(uncovered).collect();
        if let Some(recorder) = &mut self.recorder {
            self.turns.extend(recorder.open_turns());
        }
        let turns = by_thread(&self.threads, std::mem::take(&mut self.turns));
        let mut events = by_thread(&self.threads, std::mem::take(&mut self.from_events));
        for (thread, (own, turns)) in events.iter_mut().zip(&turns).enumerate() {
            let seen_ns = seen_ns.get(thread).copied().unwrap_or_default();
            own.extend(from_turns::disturbances(
                turns, seen_ns, until_ns, &self.own,
            ));
        }
        Collected {
            by_thread: events,
            of_all,
        }
    }

    /// Whether events tell of that time and kind, so that the counters need not.
    fn is_covered(&self, d: &Disturbance, covered: Covered) -> bool {
        let Some(recorder) = &self.recorder else {
            return false;
        };
        if d.from_ns < recorder.since_ns() || self.events_until_ns < d.until_ns {
            return false;
        }
        let access = recorder.access_between(d.from_ns, d.until_ns);
        let faults = |a: &Access| {
            a.items
                .iter()
                .any(|i| i.0 == item::PAGE_FAULTS && i.1.is_ok())
        };
        match covered {
            Covered::Never => false,
            Covered::BySwitches => access.has_switches,
            Covered::ByFaults => access.has_switches && faults(&access),
            Covered::ByCpuEvents => access.has_cpu_events,
        }
    }

    pub(super) fn access(&self) -> Access {
        let mut access = match &self.recorder {
            Some(recorder) => recorder.access(),
            None => Access {
                items: vec![(item::CPU_EVENTS.to_owned(), Err("not asked for".to_owned()))],
                steal_is_accounted: steal::is_accounted(),
                ..Access::default()
            },
        };
        access.items.extend(self.gauge_access.iter().cloned());
        if self.is_full {
            let until_s = (self.events_until_ns.saturating_sub(self.began_ns)) as f64 / 1e9;
            let why = format!(
                "more than {}: events were taken for {until_s:.1} s",
                self.most
            );
            access
                .items
                .push(("room for disturbances".to_owned(), Err(why)));
            access.has_switches = false;
            access.has_cpu_events = false;
        }
        access
    }
}

/// What belongs to each of the threads, in their order.
fn by_thread<T>(tids: &[i32], all: Vec<(i32, T)>) -> Vec<Vec<T>> {
    let mut each: Vec<Vec<T>> = tids.iter().map(|_| Vec::new()).collect();
    for (tid, one) in all {
        if let Some(thread) = tids.iter().position(|t| *t == tid) {
            each[thread].push(one);
        }
    }
    each
}
