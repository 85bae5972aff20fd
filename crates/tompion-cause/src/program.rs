//! When a running program did not run though it could have, and why.
//!
//! Here the time lost is built from the thread's own switches; nothing looped
//! within it. What it waited for of its own will is not lost, and neither is time
//! of which its switches do not tell whether it waited or was stopped.

use crate::attribute::{Throttled, explain};
use crate::{Access, Counters, Evidence, OffCpu, Part, Source, Span, Stall, What};

/// Time that a program lost at one go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lost {
    /// From losing the CPU, being stopped or being woken up until it ran again.
    pub stall: Stall,
    /// Its causes; their lengths sum to the stall's.
    pub parts: Vec<Part>,
}

/// Builds the lost time of one thread from its spans and those of its CPUs, in any
/// order. `polled` are its counters read several times a second, in order of
/// time: their throttled time is told of the spans that it overlaps, the longest
/// first, and no more of it than it grew.
pub fn lost(spans: &[Span], polled: &[Counters], access: &Access) -> Vec<Lost> {
    let mut sorted: Vec<&Span> = spans.iter().filter(|s| s.from_ns <= s.until_ns).collect();
    sorted.sort_by_key(|s| s.from_ns);
    let index = Index::new(&sorted);

    let mut quota = Quota::new(polled);
    let mut stalls = stalls(&sorted);
    stalls.sort_by_key(|s| std::cmp::Reverse(s.until_ns - s.from_ns));
    let mut all: Vec<Lost> = stalls
        .into_iter()
        .map(|stall| {
            let spans: Vec<Span> = index.overlapping(&stall).cloned().collect();
            let evidence = Evidence {
                before: None,
                after: None,
                elsewhere_ns: 0,
                spans: &spans,
                access,
            };
            let throttled = Throttled {
                known: quota.known,
                ns: quota.over(&stall),
                source: Source::Polled,
            };
            let (parts, used_ns) = explain(&stall, &evidence, None, throttled);
            quota.take(&stall, used_ns);
            Lost { stall, parts }
        })
        .collect();
    all.sort_by_key(|l| l.stall.from_ns);
    all
}

/// The times at which the thread could have run or was stopped; touching ones are
/// one.
fn stalls(sorted: &[&Span]) -> Vec<Stall> {
    let mut stalls: Vec<Stall> = Vec::new();
    for span in sorted {
        let counts = matches!(
            span.what,
            What::Runnable | What::OffCpu(OffCpu::Preempted | OffCpu::Stopped)
        );
        if !counts || span.from_ns == span.until_ns {
            continue;
        }
        match stalls.last_mut() {
            Some(last) if span.from_ns <= last.until_ns => {
                last.until_ns = last.until_ns.max(span.until_ns);
            }
            _ => stalls.push(Stall {
                from_ns: span.from_ns,
                until_ns: span.until_ns,
            }),
        }
    }
    stalls
}

/// Finds the spans that overlap a stall.
struct Index<'a> {
    sorted: &'a [&'a Span],
    /// The latest end among each span and those before it.
    latest_end: Vec<u64>,
}

impl<'a> Index<'a> {
    fn new(sorted: &'a [&'a Span]) -> Self {
        let latest_end = sorted
            .iter()
            .scan(0, |latest: &mut u64, span| {
                *latest = (*latest).max(span.until_ns);
                Some(*latest)
            })
            .collect();
        Self { sorted, latest_end }
    }

    fn overlapping(&self, stall: &Stall) -> impl Iterator<Item = &'a Span> {
        let (from_ns, until_ns) = (stall.from_ns, stall.until_ns);
        let first = self.latest_end.partition_point(|&end| end < from_ns);
        self.sorted[first..]
            .iter()
            .copied()
            .take_while(move |span| span.from_ns < until_ns)
            .filter(move |span| span.until_ns >= from_ns)
    }
}

/// The group's throttled time, window by window, as far as it was not told yet.
struct Quota {
    known: bool,
    /// Beginning, end, growth.
    windows: Vec<(u64, u64, u64)>,
}

impl Quota {
    fn new(polled: &[Counters]) -> Self {
        let windows: Vec<_> = polled
            .windows(2)
            .filter_map(|w| {
                let growth = w[1].throttled_ns?.saturating_sub(w[0].throttled_ns?);
                Some((w[0].at_ns, w[1].at_ns, growth))
            })
            .collect();
        Self {
            known: !windows.is_empty(),
            windows,
        }
    }

    fn of(&mut self, stall: &Stall) -> impl DoubleEndedIterator<Item = &mut u64> {
        let (from_ns, until_ns) = (stall.from_ns, stall.until_ns);
        let first = self.windows.partition_point(|w| w.1 <= from_ns);
        let end = self.windows.partition_point(|w| w.0 < until_ns);
        self.windows[first..end.max(first)]
            .iter_mut()
            .map(|w| &mut w.2)
    }

    fn over(&mut self, stall: &Stall) -> u64 {
        self.of(stall).map(|growth| *growth).sum()
    }

    /// The kernel counts throttled time when it ends: from the last window back.
    fn take(&mut self, stall: &Stall, mut used_ns: u64) {
        for growth in self.of(stall).rev() {
            let taken = used_ns.min(*growth);
            *growth -= taken;
            used_ns -= taken;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Cause, Task};

    const MS: u64 = 1_000_000;

    fn span(from_ms: u64, until_ms: u64, what: What) -> Span {
        Span {
            from_ns: from_ms * MS,
            until_ns: until_ms * MS,
            what,
        }
    }

    fn ran(name: &str, tid: i32) -> What {
        What::Ran(Task {
            tid,
            name: Some(name.into()),
        })
    }

    type Brief<'a> = (Cause, Option<&'a str>, u64);

    /// Beginnings, ends and parts, in milliseconds.
    fn told(lost: &[Lost]) -> Vec<(u64, u64, Vec<Brief<'_>>)> {
        lost.iter()
            .map(|l| {
                let parts = l
                    .parts
                    .iter()
                    .map(|p| (p.cause, p.by.as_deref(), p.ns / MS))
                    .collect();
                (l.stall.from_ns / MS, l.stall.until_ns / MS, parts)
            })
            .collect()
    }

    #[test]
    fn preempted_woken_late_and_stopped_are_lost_and_waiting_is_not() {
        let spans = [
            span(10, 14, ran("hog", 7)),
            span(10, 14, What::OffCpu(OffCpu::Preempted)),
            // Waits from 20 to 30, and is woken up 3 ms before it runs.
            span(20, 30, What::OffCpu(OffCpu::Waiting)),
            span(27, 30, What::Runnable),
            span(0, 29, ran("other", 8)),
            span(29, 30, ran("third", 9)),
            span(40, 70, What::OffCpu(OffCpu::Stopped)),
            span(70, 71, What::Runnable),
            span(80, 90, What::OffCpu(OffCpu::Left)),
        ];
        let lost = lost(&spans, &[], &Access::default());
        assert_eq!(
            told(&lost),
            [
                (10, 14, vec![(Cause::Preempted, Some("hog[7]"), 4)]),
                (
                    27,
                    30,
                    vec![
                        (Cause::Preempted, Some("other[8]"), 2),
                        (Cause::Preempted, Some("third[9]"), 1),
                    ]
                ),
                (
                    40,
                    71,
                    vec![(Cause::Stopped, None, 30), (Cause::Preempted, None, 1)]
                ),
            ]
        );
    }

    #[test]
    fn throttled_time_goes_to_the_longest_and_is_told_once() {
        let at = |ms: u64, throttled: u64| Counters {
            at_ns: ms * MS,
            throttled_ns: Some(throttled * MS),
            ..Counters::default()
        };
        // Every 100 ms: 80 ms throttled, and 2 ms behind a neighbour.
        let mut spans = Vec::new();
        for period in 0..3 {
            let t = 100 * period;
            spans.push(span(t + 5, t + 7, What::OffCpu(OffCpu::Preempted)));
            spans.push(span(t + 5, t + 7, ran("hog", 7)));
            spans.push(span(t + 20, t + 100, What::OffCpu(OffCpu::Preempted)));
        }
        // The last reading is late: throttled time shows a window later.
        let polled = [at(0, 0), at(101, 80), at(201, 160), at(310, 240)];
        let lost = lost(&spans, &polled, &Access::default());
        assert_eq!(lost.len(), 6);
        for pair in told(&lost).chunks(2) {
            assert_eq!(pair[0].2, [(Cause::Preempted, Some("hog[7]"), 2)]);
            assert_eq!(pair[1].2, [(Cause::Throttled, None, 80)]);
        }
        assert!(
            lost[1]
                .parts
                .iter()
                .all(|p| p.source == Some(Source::Polled))
        );
    }

    #[test]
    fn a_long_span_before_others_is_still_found() {
        let mut spans = vec![span(0, 1_000, ran("old", 3))];
        spans.extend((1..400).map(|i| span(i, i, What::PageFault)));
        spans.push(span(500, 510, What::OffCpu(OffCpu::Preempted)));
        let lost = lost(&spans, &[], &Access::default());
        assert_eq!(
            told(&lost),
            [(500, 510, vec![(Cause::Preempted, Some("old[3]"), 10)])]
        );
    }
}
