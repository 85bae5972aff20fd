//! What kept the threads that send and receive from their work, and which probes that held up.

use std::collections::BTreeMap;

use tompion_cause::{Access, Cause, Disturbance, Source};
use tompion_net::{monotonic_ns, realtime_ns};
use tompion_observe::events::{self, CpuEvents, item};
use tompion_observe::observer::{Settings, Watch};
use tompion_path::trust::{HeldUp, Side};
use tompion_time::os::{ClockId, now_ns};

/// The clock of stamps was set where it moves by more against the steady one, in nanoseconds.
pub(crate) const SET_NS: u64 = 10_000;
/// What counters tell of a window explains no less than so small a part of it, but for a quota.
const WINDOW: u64 = 10;
/// How often it is looked, in nanoseconds, and how much time has to be left for that until the next probe.
const EVERY_NS: u64 = 100_000_000;
const TAKES_NS: u64 = 2_000_000;

/// At work beside a measurement, on the thread that sends: one of its own would wait for its turn on a busy machine.
pub(crate) struct Observing {
    watch: Watch,
    /// Why it is not known who had the CPU.
    lacks: Option<String>,
    ahead_ns: i64,
    next_ns: u64,
    began_ns: u64,
    own_ns: u64,
}

impl Observing {
    /// Of one thread, or of one that sends and one that receives, which may run on these CPUs beside other threads of ours.
    pub fn begin(threads: &[i32], beside: &[i32], cpus: &[u32]) -> Self {
        let start = |cpu_events| {
            Watch::begin(Settings {
                threads: threads.to_vec(),
                beside: beside.to_vec(),
                own: [threads, beside].concat(),
                cpus: cpus.to_vec(),
                events: Some(events::Settings {
                    cpu_ring_bytes: 1 << 20,
                    cpu_events,
                    ..events::Settings::default()
                }),
                // Nobody looks at the series.
                series_bytes: 1 << 16,
                ..Settings::default()
            })
        };
        let mut watch = start(CpuEvents::Turns);
        let lacks = reason(&watch.access(), item::TURNS);
        if lacks.is_some() {
            watch = start(CpuEvents::None);
        }
        watch.begin_window();
        let now_ns = monotonic_ns();
        Self {
            watch,
            lacks,
            ahead_ns: ahead_ns(),
            next_ns: now_ns + EVERY_NS,
            began_ns: now_ns,
            own_ns: 0,
        }
    }

    /// Nothing is under way until then.
    pub fn quiet(&mut self, until_ns: u64) {
        let now_ns = monotonic_ns();
        if now_ns >= self.next_ns && until_ns.saturating_sub(now_ns) > TAKES_NS {
            self.next_ns = now_ns + EVERY_NS;
            self.counted(Watch::look);
        }
    }

    /// Looks at once.
    pub fn look(&mut self) {
        self.counted(Watch::look);
    }

    /// What there was since the beginning, or since the last such call; another begins.
    pub fn next(&mut self) -> Observed {
        let observed = self.end();
        self.own_ns = 0;
        self.began_ns = monotonic_ns();
        self.ahead_ns = ahead_ns();
        self.counted(Watch::begin_window);
        observed
    }

    /// The measurement is over.
    pub fn finish(mut self) -> Observed {
        self.end()
    }

    fn end(&mut self) -> Observed {
        let is_steady = ahead_ns().abs_diff(self.ahead_ns) <= SET_NS;
        let mut of_threads = self.counted(|watch| watch.end_window(&[])).into_iter();
        let took_ns = monotonic_ns().saturating_sub(self.began_ns);
        let access = self.watch.access();
        let is_blind = !access.has_switches;
        let lost = is_blind.then(|| {
            let why = reason(&access, item::THREAD_SWITCHES);
            why.unwrap_or_else(|| "the kernel lost records".to_owned())
        });
        let was_set = (!is_steady).then(|| "the system clock was set meanwhile".to_owned());
        Observed {
            sending: of_threads.next().unwrap_or_default(),
            receiving: of_threads.next().unwrap_or_default(),
            ahead_ns: is_steady.then_some(self.ahead_ns),
            until_ns: self.began_ns.saturating_add(took_ns),
            access,
            lacks: was_set.or_else(|| self.lacks.clone()).or(lost),
            own_cpu_share: self.own_ns as f64 / took_ns.max(1) as f64,
        }
    }

    fn counted<T>(&mut self, what: impl FnOnce(&mut Watch) -> T) -> T {
        let before = now_ns(ClockId::ThreadCpu);
        let result = what(&mut self.watch);
        self.own_ns += now_ns(ClockId::ThreadCpu).saturating_sub(before);
        result
    }
}

/// How far the clock of stamps is ahead of the steady one: of three looks the one in which they were nearest.
pub(crate) fn ahead_ns() -> i64 {
    let look = || {
        let before = monotonic_ns();
        let ahead = realtime_ns().saturating_sub(before.cast_signed());
        (monotonic_ns() - before, ahead)
    };
    let nearest = (0..3).map(|_| look()).min_by_key(|(apart, _)| *apart);
    nearest.map_or(0, |(_, ahead)| ahead)
}

fn reason(access: &Access, name: &str) -> Option<String> {
    let found = access.items.iter().find(|(item, _)| item == name);
    found.and_then(|(_, had)| had.as_ref().err().cloned())
}

/// What kept the two threads from their work while they measured.
#[derive(Clone, Debug, Default)]
pub struct Observed {
    /// Of the thread that sends, in nanoseconds of `CLOCK_MONOTONIC`, in the order of their beginnings.
    sending: Vec<Disturbance>,
    /// Of the one that receives.
    receiving: Vec<Disturbance>,
    /// How far the clock of stamps is ahead of that one; none where it was set meanwhile.
    ahead_ns: Option<i64>,
    /// Until when it was looked at, by `CLOCK_MONOTONIC`, in nanoseconds.
    until_ns: u64,
    access: Access,
    /// Why it is not known who had the CPU, in words; none where it is.
    pub lacks: Option<String>,
    /// The share of one CPU that observing took.
    pub own_cpu_share: f64,
}

/// By what a probe was held up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeldUpBy<'a> {
    /// By what.
    pub cause: Cause,
    /// Where that is known from; stamps have their own times.
    pub source: Source,
    /// By whom, where that is known.
    pub by: Option<&'a str>,
}

impl Observed {
    /// Of one thread, as a test has it.
    #[cfg(test)]
    pub(crate) fn planted(all: &[Disturbance], ahead_ns: i64, until_ns: u64) -> Self {
        Self {
            sending: all.to_vec(),
            ahead_ns: Some(ahead_ns),
            until_ns,
            ..Self::default()
        }
    }

    /// The same where the clock of stamps was set meanwhile.
    #[cfg(test)]
    pub(crate) fn with_clock_set(self) -> Self {
        Self {
            ahead_ns: None,
            ..self
        }
    }

    /// What there was to be observed.
    pub fn access(&self) -> &Access {
        &self.access
    }

    /// By what each of these was held up here, in their order; nothing is known of the far end. A cause is named where
    /// it lasted at least half of that by which the probe was held up; what has its own times goes before what counters
    /// tell of a window, which explains no less than a tenth of it. What waits in the own queue waits for other packets, but where
    /// something kept its sender from running for nearly all of that time.
    pub fn causes(&self, held_up: &[HeldUp]) -> Vec<Option<HeldUpBy<'_>>> {
        let mut found = vec![None; held_up.len()];
        for (side, disturbances, otherwise) in [
            (Side::Sending, &self.sending, Cause::Unknown),
            (Side::Queued, &self.sending, Cause::Queued),
            (Side::Receiving, &self.receiving, Cause::Unknown),
        ] {
            let mut places: Vec<usize> = (0..held_up.len())
                .filter(|place| held_up[*place].side == side)
                .collect();
            places.sort_by_key(|place| held_up[*place].from_ns);
            let otherwise = HeldUpBy {
                cause: otherwise,
                source: Source::Event,
                by: None,
            };
            self.explain(held_up, &places, disturbances, |place, by| {
                found[place] = Some(by.unwrap_or(otherwise));
            });
        }
        found
    }

    /// By what requests were held up in a reflector whose only thread was watched, in their order; a cause is named as by
    /// [`causes`](Self::causes).
    pub(crate) fn causes_of_answers(&self, held_up: &[HeldUp]) -> Vec<Option<HeldUpBy<'_>>> {
        let mut found = vec![None; held_up.len()];
        let mut places: Vec<usize> = (0..held_up.len()).collect();
        places.sort_by_key(|place| held_up[*place].from_ns);
        self.explain(held_up, &places, &self.sending, |place, by| {
            found[place] = by
        });
        found
    }

    /// The same with what there was before that, of the same threads.
    pub(crate) fn after(self, before: Self) -> Self {
        Self {
            sending: [before.sending, self.sending].concat(),
            receiving: [before.receiving, self.receiving].concat(),
            ahead_ns: self.ahead_ns.filter(|now| {
                before
                    .ahead_ns
                    .is_some_and(|then| then.abs_diff(*now) <= SET_NS)
            }),
            ..self
        }
    }

    /// Until when it was looked at, by the clock of stamps, in nanoseconds; none where that was set meanwhile.
    pub(crate) fn until_utc_ns(&self) -> Option<i64> {
        Some(self.until_ns.cast_signed().saturating_add(self.ahead_ns?))
    }

    /// Says of each of these places, in the order of their beginnings, which disturbance explains it.
    fn explain<'a>(
        &self,
        held_up: &[HeldUp],
        places: &[usize],
        disturbances: &'a [Disturbance],
        mut tell: impl FnMut(usize, Option<HeldUpBy<'a>>),
    ) {
        let steady = |ns: i64, ahead_ns| ns.saturating_sub(ahead_ns).max(0).cast_unsigned();
        let mut waiting = disturbances.iter().peekable();
        // Begun, and not known to be over.
        let mut open: Vec<&Disturbance> = Vec::new();
        for &place in places {
            let HeldUp {
                from_ns,
                until_ns,
                excess_ns,
                ..
            } = held_up[place];
            let Some(ahead_ns) = self.ahead_ns else {
                tell(place, None);
                continue;
            };
            let (from_ns, until_ns) = (steady(from_ns, ahead_ns), steady(until_ns, ahead_ns));
            open.retain(|d| d.until_ns > from_ns);
            while let Some(begun) = waiting.next_if(|d| d.from_ns < until_ns) {
                if begun.until_ns > from_ns {
                    open.push(begun);
                }
            }
            let excess_ns = excess_ns.max(0).cast_unsigned();
            // A window says that something happened somewhere within it. A quota stops all that the group does.
            let is_near = |d: &&Disturbance| {
                let length_ns = d.until_ns.saturating_sub(d.from_ns);
                let is_own = d.source == Source::Event || d.cause == Cause::Throttled;
                is_own || length_ns / excess_ns.max(1) < WINDOW
            };
            let near: Vec<&Disturbance> = open.iter().copied().filter(is_near).collect();
            let least_ns = match held_up[place].side {
                Side::Queued => until_ns.saturating_sub(from_ns) / 10 * 9,
                _ => excess_ns / 2,
            };
            tell(place, explanation(&near, (from_ns, until_ns), least_ns));
        }
    }
}

/// The cause that has most of an interval, if it has so much of it, and who had most of that.
fn explanation<'a>(
    open: &[&'a Disturbance],
    (from_ns, until_ns): (u64, u64),
    least_ns: u64,
) -> Option<HeldUpBy<'a>> {
    let shared = |d: &Disturbance, from_ns: u64, until_ns: u64| {
        let until_ns = d.until_ns.min(until_ns);
        until_ns.saturating_sub(d.from_ns.max(from_ns))
    };
    // Of who had the CPU before a thread that had been woken, only the end may be known: it waited since the packet came,
    // or since the one before left, but for what kept it from running besides.
    let is_turn = |d: &Disturbance| {
        let is_whose = matches!(d.cause, Cause::Preempted | Cause::Own) && d.by.is_some();
        d.from_ns == d.until_ns && is_whose && d.source == Source::Event
    };
    let besides = |from_ns, until_ns| -> u64 {
        let others = open.iter().filter(|d| d.source == Source::Event);
        others.map(|d| shared(d, from_ns, until_ns)).sum()
    };
    let mut waited_from_ns = from_ns;
    let mut by_cause: BTreeMap<(Source, Cause), (u64, u64, Option<&str>)> = BTreeMap::new();
    for d in open {
        let mut ns = shared(d, from_ns, until_ns);
        if is_turn(d) && (waited_from_ns..until_ns).contains(&d.from_ns) {
            let waited_ns = d.from_ns - waited_from_ns;
            ns = waited_ns.saturating_sub(besides(waited_from_ns, d.from_ns));
            waited_from_ns = d.from_ns;
        }
        let (all, most, by) = by_cause.entry((d.source, d.cause)).or_default();
        *all += ns;
        if ns > *most {
            (*most, *by) = (ns, d.by.as_deref());
        }
    }
    let enough = by_cause
        .into_iter()
        .filter(|(_, (all, ..))| *all >= least_ns.max(1));
    let best = enough.min_by_key(|((source, _), (all, ..))| (*source, std::cmp::Reverse(*all)))?;
    let ((source, cause), (_, _, by)) = best;
    // Of who had the CPU the kernel says who came and who left. Where the group's quota was used up meanwhile others may
    // have had it for a moment.
    let enough = |d: &&&Disturbance| shared(d, from_ns, until_ns) >= least_ns.max(1);
    let throttled = open.iter().filter(|d| d.cause == Cause::Throttled);
    match throttled.filter(enough).map(|d| d.source).min() {
        Some(source) if matches!(cause, Cause::Preempted | Cause::Own) => Some(HeldUpBy {
            cause: Cause::Throttled,
            source,
            by: None,
        }),
        _ => Some(HeldUpBy { cause, source, by }),
    }
}

#[cfg(test)]
mod tests;
