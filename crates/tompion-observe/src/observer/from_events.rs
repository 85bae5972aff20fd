//! Which spans of a watched thread disturb what it measures (pure).
//!
//! A thread that sleeps or waits by its own will is not disturbed, and the interrupt
//! that wakes it is what it waited for.

use tompion_cause::{Cause, Disturbance, OffCpu, Source, Span, Task, What};

/// A woken thread takes some microseconds to its CPU; a longer wait while somebody
/// else runs there is a disturbance.
pub(super) const LEAST_WAIT_NS: u64 = 50_000;
/// A thread that could run while its CPU idles for longer than the kernel needs to
/// switch is kept from running: by a quota.
const LEAST_IDLE_NS: u64 = 1_000_000;

/// The disturbances among a thread's spans, in the order of their beginnings.
/// `own` are threads of Tompion.
pub(super) fn disturbances<'a>(
    spans: &'a [Span],
    own: &'a [i32],
) -> impl Iterator<Item = Disturbance> + 'a {
    let mut wakes: Vec<_> = spans
        .iter()
        .filter(|s| s.what == What::Runnable)
        .map(|s| s.from_ns)
        .collect();
    wakes.sort_unstable();
    let mut ran: Vec<_> = spans
        .iter()
        .filter(|s| matches!(s.what, What::Ran(_)))
        .collect();
    ran.sort_unstable_by_key(|s| s.from_ns);
    spans.iter().filter_map(move |span| {
        let (cause, by) = match &span.what {
            What::OffCpu(OffCpu::Preempted) => longest(&ran, span, own),
            What::Runnable if length(span) >= LEAST_WAIT_NS => {
                Some(longest(&ran, span, own)).filter(|(_, by)| by.is_some())?
            }
            What::OffCpu(OffCpu::Stopped) => (Cause::Stopped, None),
            What::PageFault => (Cause::PageFault, None),
            What::Migration { from_cpu, to_cpu } => (
                Cause::Migration,
                Some(format!("CPU {from_cpu} to CPU {to_cpu}")),
            ),
            What::Interrupt { .. } | What::Softirq { .. } if woke(&wakes, span) => return None,
            What::Interrupt { name, tick: true } => (Cause::Tick, Some(name.clone())),
            What::Interrupt { name, tick: false } => (Cause::HardInterrupt, Some(name.clone())),
            What::Softirq { name } => (Cause::Softirq, Some(name.clone())),
            What::OffCpu(OffCpu::Waiting | OffCpu::Left) | What::Runnable | What::Ran(_) => {
                return None;
            }
        };
        Some(Disturbance {
            from_ns: span.from_ns,
            until_ns: span.until_ns,
            cause,
            by,
            source: Source::Event,
        })
    })
}

fn length(span: &Span) -> u64 {
    span.until_ns - span.from_ns
}

fn woke(wakes: &[u64], span: &Span) -> bool {
    let first = wakes.partition_point(|w| *w < span.from_ns);
    wakes.get(first).is_some_and(|w| *w <= span.until_ns)
}

/// Who ran longest while the thread could have.
fn longest(ran: &[&Span], span: &Span, own: &[i32]) -> (Cause, Option<String>) {
    // Turns on the thread's CPU do not overlap: their ends are in order, too.
    let first = ran.partition_point(|r| r.until_ns <= span.from_ns);
    let within = ran[first..]
        .iter()
        .take_while(|r| r.from_ns < span.until_ns);
    let shared = |r: &Span| r.until_ns.min(span.until_ns) - r.from_ns.max(span.from_ns);
    let Some(most) = within.max_by_key(|r| shared(r)) else {
        return (Cause::Preempted, None);
    };
    let What::Ran(task) = &most.what else {
        return (Cause::Preempted, None);
    };
    by_whom(task, shared(most), own)
}

/// What a thread suffered that could have run while `task` had its CPU.
pub(super) fn by_whom(task: &Task, length_ns: u64, own: &[i32]) -> (Cause, Option<String>) {
    let by = || Some(task.to_string());
    match task.tid {
        0 if length_ns >= LEAST_IDLE_NS => (Cause::Throttled, None),
        0 => (Cause::Preempted, None),
        tid if own.contains(&tid) => (Cause::Own, by()),
        _ => (Cause::Preempted, by()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(from_us: u64, until_us: u64, what: What) -> Span {
        Span {
            from_ns: from_us * 1000,
            until_ns: until_us * 1000,
            what,
        }
    }

    fn ran(tid: i32, name: &str) -> What {
        What::Ran(Task {
            tid,
            name: Some(name.to_owned()),
        })
    }

    fn found(spans: &[Span]) -> Vec<(u64, Cause, Option<String>)> {
        let all = disturbances(spans, &[77]);
        all.map(|d| (d.from_ns / 1000, d.cause, d.by)).collect()
    }

    fn tick() -> What {
        What::Interrupt {
            name: "local_timer".to_owned(),
            tick: true,
        }
    }

    #[test]
    fn a_preemption_is_named_after_who_ran_longest() {
        let preempted = |from, until| span(from, until, What::OffCpu(OffCpu::Preempted));
        let spans = [
            preempted(0, 100),
            span(0, 30, ran(5, "short")),
            span(30, 100, ran(6, "long")),
            preempted(200, 210),
            span(200, 210, ran(77, "tompion-observe")),
            preempted(1000, 81_000),
            span(1000, 81_000, ran(0, "idle")),
        ];
        assert_eq!(
            found(&spans),
            [
                (0, Cause::Preempted, Some("long[6]".to_owned())),
                (200, Cause::Own, Some("tompion-observe[77]".to_owned())),
                (1000, Cause::Throttled, None),
            ]
        );
    }

    #[test]
    fn a_stranger_to_the_namespace_is_named_without_a_number() {
        let spans = [
            span(0, 100, What::OffCpu(OffCpu::Preempted)),
            span(0, 100, ran(-4337, "python3")),
        ];
        let by = Some("python3".to_owned());
        assert_eq!(found(&spans), [(0, Cause::Preempted, by)]);
    }

    #[test]
    fn sleeping_and_being_woken_disturbs_nothing() {
        let net = What::Softirq {
            name: "NET_RX".to_owned(),
        };
        let spans = [
            span(0, 1000, What::OffCpu(OffCpu::Waiting)),
            span(1000, 1005, tick()),
            span(1002, 1012, What::Runnable),
            span(1002, 1012, ran(6, "other")),
            span(1500, 1505, tick()),
            span(1600, 1605, net),
        ];
        assert_eq!(
            found(&spans),
            [
                (1500, Cause::Tick, Some("local_timer".to_owned())),
                (1600, Cause::Softirq, Some("NET_RX".to_owned())),
            ]
        );
    }

    #[test]
    fn a_long_wait_for_a_busy_cpu_disturbs() {
        let busy = [span(0, 400, What::Runnable), span(0, 400, ran(6, "hog"))];
        assert_eq!(
            found(&busy),
            [(0, Cause::Preempted, Some("hog[6]".to_owned()))]
        );
        let idle = [span(0, 400, What::Runnable), span(0, 400, ran(0, "idle"))];
        assert_eq!(found(&idle), [], "the way out of a deep idle state");
    }

    #[test]
    fn stops_faults_and_moves_disturb() {
        let spans = [
            span(0, 30_000, What::OffCpu(OffCpu::Stopped)),
            span(31_000, 31_002, What::PageFault),
            span(
                32_000,
                32_000,
                What::Migration {
                    from_cpu: 0,
                    to_cpu: 1,
                },
            ),
            span(33_000, 34_000, What::OffCpu(OffCpu::Left)),
        ];
        let causes: Vec<_> = found(&spans).into_iter().map(|f| f.1).collect();
        assert_eq!(causes, [Cause::Stopped, Cause::PageFault, Cause::Migration]);
    }
}
