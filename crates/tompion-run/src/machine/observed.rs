//! What went on beside a trial, and which of its samples that disturbed.

use tompion_cause::Disturbance;
use tompion_model::{EvidenceItem, Mark, Observation, ObservedReason, Sample};
use tompion_observe::events::{self, CpuEvents, Keeper, item};
use tompion_observe::marks::marks;
use tompion_observe::observer::{Settings, Watch};
use tompion_probe::Outcome;
use tompion_time::os::{self, ClockId};

use crate::Observe;
use crate::probes::Probing;

/// Watches measuring threads while their load is on.
pub struct Observed {
    /// What it was begun with.
    what: Observe,
    tids: Vec<i32>,
    watch: Watch,
    /// What would have been better, and why it was not to be had.
    lacks: Option<EvidenceItem>,
    window_ns: u64,
    /// CPU time that observing took in this window.
    own_ns: u64,
}

/// Whether the thread's turns can be watched here; unknown before the first attempt. A
/// thread lives as long as its load is on; what keeps its events cheap to open, longer.
#[derive(Default)]
pub struct Turns(Option<Result<Option<Keeper>, EvidenceItem>>);

impl Observed {
    /// What watches these threads beside that probe: what did so far, where it is the same, or anew; absent where
    /// nothing is to be observed. `cpus` are those on which they may run.
    pub fn again<'a>(
        observed: &'a mut Option<Self>,
        what: Observe,
        probe: &dyn Probing,
        (tids, cpus): (&[i32], &[u32]),
        turns: &mut Turns,
    ) -> Option<&'a mut Self> {
        let chosen = turns.choose(what, probe);
        if chosen == Observe::Off {
            // What watches others stays for the next that wants it.
            return None;
        }
        let is_it = |o: &Self| o.what == chosen && o.tids == tids;
        if !observed.as_ref().is_some_and(is_it) {
            // Two at once would each cost.
            *observed = None;
            *observed = Self::begin(what, probe, (tids, cpus), turns);
        }
        observed.as_mut()
    }

    fn begin(
        what: Observe,
        probe: &dyn Probing,
        (tids, cpus): (&[i32], &[u32]),
        turns: &mut Turns,
    ) -> Option<Self> {
        let chosen = turns.choose(what, probe);
        let begun = Self::of(chosen, tids, cpus)?;
        if what != Observe::Auto || chosen != Observe::Turns {
            let lacks = turns.0.as_ref().and_then(|t| t.as_ref().err().cloned());
            let lacks = lacks.filter(|_| what == Observe::Auto);
            return Some(Self { lacks, ..begun });
        }
        let evidence = Observation::of_access(&begun.watch.access()).evidence;
        let item = evidence.into_iter().find(|i| i.name == item::TURNS);
        match item.filter(|i| i.missing.is_some()) {
            None => {
                if turns.0.is_none() {
                    let keeper = cpus.first().map(|cpu| Keeper::of_turns(*cpu));
                    turns.0 = Some(Ok(keeper.and_then(Result::ok)));
                }
                Some(begun)
            }
            Some(lacks) => {
                turns.0 = Some(Err(lacks));
                Self::begin(what, probe, (tids, cpus), turns)
            }
        }
    }

    fn of(what: Observe, tids: &[i32], cpus: &[u32]) -> Option<Self> {
        let only = |cpu_events| events::Settings {
            cpu_events,
            ..events::Settings::default()
        };
        let events = match what {
            Observe::Off => return None,
            Observe::Auto | Observe::Counters => None,
            Observe::Turns => Some(events::Settings {
                cpu_ring_bytes: 1 << 20,
                ..only(CpuEvents::Turns)
            }),
            Observe::Threads => Some(only(CpuEvents::None)),
            Observe::Cpus => Some(events::Settings::default()),
        };
        let watch = Watch::begin(Settings {
            threads: tids.to_vec(),
            own: tids.to_vec(),
            cpus: cpus.to_vec(),
            events,
            // Nothing looks at the series of a trial.
            series_bytes: 1 << 16,
            ..Settings::default()
        });
        Some(Self {
            what,
            tids: tids.to_vec(),
            watch,
            lacks: None,
            window_ns: 0,
            own_ns: 0,
        })
    }

    /// A trial begins.
    pub fn begin_window(&mut self) {
        self.own_ns = 0;
        self.counted(Watch::begin_window);
        self.window_ns = os::now_ns(ClockId::Monotonic);
    }

    /// Some time of it has passed.
    pub fn look(&mut self) {
        self.counted(Watch::look);
    }

    /// The trial has ended: marks the samples of each thread, and tells what was seen of each group of threads. All
    /// groups together are the watched threads, in their order.
    pub fn end_window(&mut self, groups: &mut [Vec<Outcome>]) -> Vec<Observation> {
        let ends = groups.iter().flatten().map(|outcome| {
            let samples = outcome.data.samples.iter();
            let mut ends: Vec<u64> = samples.map(|s| outcome.began_ns + s.at_ns).collect();
            ends.sort_unstable();
            ends
        });
        let ends: Vec<Vec<u64>> = ends.collect();
        let ends: Vec<&[u64]> = ends.iter().map(Vec::as_slice).collect();
        let mut disturbances = self.counted(|watch| watch.end_window(&ends)).into_iter();
        let wall_ns = os::now_ns(ClockId::Monotonic) - self.window_ns;
        let mut observation = Observation::of_access(&self.watch.access());
        observation.evidence.extend(self.lacks.clone());
        observation.own_cpu_share = self.own_ns as f64 / wall_ns.max(1) as f64;
        let of_group = |group: &mut Vec<Outcome>| {
            for (outcome, disturbances) in group.iter_mut().zip(&mut disturbances) {
                mark(&mut outcome.data.samples, outcome.began_ns, &disturbances);
            }
            let samples = group.iter().flat_map(|outcome| &outcome.data.samples);
            Observation {
                marked: ObservedReason::of(samples.map(|s| s.mark)),
                ..observation.clone()
            }
        };
        groups.iter_mut().map(of_group).collect()
    }

    fn counted<T>(&mut self, what: impl FnOnce(&mut Watch) -> T) -> T {
        let before = os::now_ns(ClockId::ThreadCpu);
        let result = what(&mut self.watch);
        self.own_ns += os::now_ns(ClockId::ThreadCpu) - before;
        result
    }
}

impl Turns {
    /// Keeps the events cheap to open for who opens them himself, again and again.
    pub fn keep(&mut self) {
        if self.0.is_none()
            && let Some(cpu) = tompion_host::usable_cpus().first()
            && let Ok(keeper) = Keeper::of_turns(*cpu)
        {
            self.0 = Some(Ok(Some(keeper)));
        }
    }

    /// What is to be watched beside a probe.
    pub fn choose(&self, what: Observe, probe: &dyn Probing) -> Observe {
        match (what, &self.0) {
            (Observe::Auto, None | Some(Ok(_))) => Observe::Turns,
            (Observe::Auto, _) => probe.watched(),
            (what, _) => what,
        }
    }
}

/// Marks the samples of one thread that a disturbance overlaps.
///
/// A sample reaches from when its event was due, or its read began, to its end: what
/// went on while a thread slept as it was asked to does not disturb it.
fn mark(samples: &mut [Sample], began_ns: u64, disturbances: &[Disturbance]) {
    let mut order: Vec<(u64, u64, usize)> = samples
        .iter()
        .enumerate()
        .filter(|(_, s)| s.mark == Mark::None)
        .map(|(i, s)| {
            let until_ns = began_ns + s.at_ns;
            let length_ps = s.value_ps.max(0).unsigned_abs() * u64::from(s.n);
            (
                until_ns.saturating_sub(length_ps.div_ceil(1000)),
                until_ns,
                i,
            )
        })
        .collect();
    order.sort_unstable();
    let intervals: Vec<(u64, u64)> = order.iter().map(|o| (o.0, o.1)).collect();
    for ((.., index), found) in order.iter().zip(marks(&intervals, disturbances)) {
        if let Some((cause, source)) = found {
            samples[*index].mark = Mark::Disturbed(cause, source);
        }
    }
}

#[cfg(test)]
mod tests {
    use tompion_cause::{Cause, Source};

    use super::*;

    #[test]
    fn a_sample_reaches_from_when_it_was_due_to_its_end() {
        let sample = |at_ns, value_ps, mark| Sample {
            at_ns,
            value_ps,
            n: 1,
            missed: 0,
            mark,
        };
        let mut samples = [
            sample(1_000, 200_000, Mark::None),
            // Slept meanwhile, and woke 50 ns late.
            sample(5_000, 50_000, Mark::None),
            sample(1_050, 900_000, Mark::WarmUp),
        ];
        let disturbance = |from_ns, until_ns, source| Disturbance {
            from_ns,
            until_ns,
            cause: Cause::Preempted,
            by: None,
            source,
        };
        let disturbances = [
            disturbance(10_850, 10_900, Source::Event),
            disturbance(12_000, 14_000, Source::Event),
        ];
        mark(&mut samples, 10_000, &disturbances);
        let marks = samples.map(|s| s.mark);
        let reasons = ObservedReason::of(marks);
        assert_eq!(
            marks,
            [
                Mark::Disturbed(Cause::Preempted, Source::Event),
                Mark::None,
                Mark::WarmUp
            ]
        );
        assert_eq!(
            reasons,
            [ObservedReason {
                cause: Cause::Preempted,
                samples: 1,
                by_events: true
            }]
        );
    }
}
