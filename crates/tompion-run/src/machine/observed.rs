//! What went on beside a trial, and which of its samples that disturbed.

use std::collections::BTreeMap;

use tompion_cause::{Cause, Disturbance, Source};
use tompion_observe::events;
use tompion_observe::marks::marks;
use tompion_observe::observer::{Settings, Watch};
use tompion_probe::Outcome;
use tompion_record::{Mark, Observation, ObservedReason, Sample};
use tompion_time::os::{self, ClockId};

use crate::Observe;

/// Watches one measuring thread while its load is on.
pub struct Observed {
    watch: Watch,
    window_ns: u64,
    /// CPU time that observing took in this window.
    own_ns: u64,
}

impl Observed {
    /// Begins where anything is to be observed. `cpus` are those on which the thread
    /// may run.
    pub fn begin(what: Observe, tid: i32, cpus: Vec<u32>) -> Option<Self> {
        let events = match what {
            Observe::Off => return None,
            Observe::Auto | Observe::Counters => None,
            Observe::Threads => Some(events::Settings {
                cpu_events: events::CpuEvents::None,
                ..events::Settings::default()
            }),
            Observe::Cpus => Some(events::Settings::default()),
        };
        let watch = Watch::begin(Settings {
            threads: vec![tid],
            cpus,
            events,
            // Nothing looks at the series of a trial.
            series_bytes: 1 << 16,
            ..Settings::default()
        });
        Some(Self {
            watch,
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

    /// The trial has ended: marks its samples.
    pub fn end_window(&mut self, outcome: &mut Outcome) -> Observation {
        let disturbances = self.counted(Watch::end_window);
        let wall_ns = os::now_ns(ClockId::Monotonic) - self.window_ns;
        let mut observation = Observation::of_access(&self.watch.access());
        observation.own_cpu_share = self.own_ns as f64 / wall_ns.max(1) as f64;
        let samples = &mut outcome.data.samples;
        observation.marked = mark_samples(samples, outcome.began_ns, &disturbances);
        observation
    }

    fn counted<T>(&mut self, what: impl FnOnce(&mut Watch) -> T) -> T {
        let before = os::now_ns(ClockId::ThreadCpu);
        let result = what(&mut self.watch);
        self.own_ns += os::now_ns(ClockId::ThreadCpu) - before;
        result
    }
}

/// Marks the samples that a disturbance overlaps, and counts them by reason.
///
/// A sample reaches from when its event was due, or its read began, to its end: what
/// went on while a thread slept as it was asked to does not disturb it.
fn mark_samples(
    samples: &mut [Sample],
    began_ns: u64,
    disturbances: &[Disturbance],
) -> Vec<ObservedReason> {
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
    let mut counted: BTreeMap<(Cause, bool), u64> = BTreeMap::new();
    for ((.., index), mark) in order.iter().zip(marks(&intervals, disturbances)) {
        if let Some((cause, source)) = mark {
            samples[*index].mark = Mark::Disturbed(cause, source);
            *counted.entry((cause, source == Source::Event)).or_default() += 1;
        }
    }
    let mut reasons: Vec<ObservedReason> = counted
        .into_iter()
        .map(|((cause, by_events), samples)| ObservedReason {
            cause,
            samples,
            by_events,
        })
        .collect();
    reasons.sort_by_key(|r| std::cmp::Reverse(r.samples));
    reasons
}

#[cfg(test)]
mod tests {
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
        let reasons = mark_samples(&mut samples, 10_000, &disturbances);
        let marks = samples.map(|s| s.mark);
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
