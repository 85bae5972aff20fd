//! The events of a stall laid side by side: what was the thread's CPU doing at
//! each moment?

use crate::part::Verdict;
use crate::{Access, Cause, OffCpu, Span, Stall, Task, What};

/// Time between an event and the rest of the loop that is taken as the kernel's
/// way in or out around that event, in nanoseconds at most.
pub(crate) const EDGE_NS: u64 = 5_000;

/// Where the thread was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// On its CPU.
    OnCpu,
    /// Off it, and could run.
    CouldRun,
    /// Off it, and could not.
    Away,
}

/// What went on in one stretch of a stall.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The events tell.
    Told(Verdict, Place),
    /// Off the CPU other than by preemption.
    Left(OffCpu),
    /// It could run and did not; who ran, where known.
    Ready(Option<String>),
    /// It could run, and the CPU was idle.
    Idle {
        /// Whether it lost the CPU (else it had been woken up).
        preempted: bool,
    },
    /// No event covers it.
    Uncovered,
}

/// A stall cut into stretches.
#[derive(Debug, Default)]
pub(crate) struct Timeline {
    /// In order of time; they fill the stall.
    pub stretches: Vec<(Kind, u64)>,
    /// Page faults of which only the moment is known.
    pub fault_moments: u64,
    /// Whether the thread came to another CPU.
    pub migrated: bool,
}

impl Timeline {
    pub fn of(stall: &Stall, spans: &[Span], access: &Access) -> Self {
        let mut line = Self::default();
        // Beginnings and ends; at one moment ends come first.
        let mut edges: Vec<(u64, bool, usize)> = Vec::with_capacity(2 * spans.len());
        for (index, span) in spans.iter().enumerate() {
            if span.until_ns < stall.from_ns || span.from_ns > stall.until_ns {
                continue;
            }
            match span.what {
                What::PageFault if span.from_ns == span.until_ns => line.fault_moments += 1,
                What::Migration { .. } => line.migrated = true,
                _ => {}
            }
            let from = span.from_ns.max(stall.from_ns);
            let until = span.until_ns.min(stall.until_ns);
            if from < until {
                edges.push((from, true, index));
                edges.push((until, false, index));
            }
        }
        edges.sort_unstable();

        let mut active: Vec<usize> = Vec::new();
        let mut at = stall.from_ns;
        for (time, begins, index) in edges {
            if time > at {
                line.push(classify(&active, spans, access), time - at);
                at = time;
            }
            if begins {
                active.push(index);
            } else {
                active.retain(|&i| i != index);
            }
        }
        line.push(Kind::Uncovered, stall.until_ns.saturating_sub(at));
        line.close_edges();
        line
    }

    fn push(&mut self, kind: Kind, ns: u64) {
        match self.stretches.last_mut() {
            _ if ns == 0 => {}
            Some((last, length)) if *last == kind => *length += ns,
            _ => self.stretches.push((kind, ns)),
        }
    }

    /// Gives short uncovered time to the event before it, else to the one after.
    fn close_edges(&mut self) {
        for i in 0..self.stretches.len() {
            let (Kind::Uncovered, 1..=EDGE_NS) = self.stretches[i] else {
                continue;
            };
            let neighbour = if i > 0 { i - 1 } else { i + 1 };
            if let Some((kind, _)) = self.stretches.get(neighbour) {
                self.stretches[i].0 = kind.clone();
            }
        }
    }
}

/// What the spans that are active at one moment say together.
fn classify(active: &[usize], spans: &[Span], access: &Access) -> Kind {
    // Of several of a kind the latest is the innermost.
    fn latest<'a, T>(
        active: &[usize],
        spans: &'a [Span],
        pick: impl Fn(&'a What) -> Option<T>,
    ) -> Option<T> {
        active
            .iter()
            .filter_map(|&i| Some((spans[i].from_ns, i, pick(&spans[i].what)?)))
            .max_by_key(|&(from, i, _)| (from, i))
            .map(|(_, _, picked)| picked)
    }
    let has = |wanted: &What| active.iter().any(|&i| spans[i].what == *wanted);

    let off = |state| has(&What::OffCpu(state));
    let woken = has(&What::Runnable);
    if !woken {
        // What its CPU does meanwhile is no concern of a thread that cannot run.
        if off(OffCpu::Stopped) {
            let verdict = Verdict::event(Cause::Stopped, None, "it was stopped");
            return Kind::Told(verdict, Place::Away);
        }
        if let Some(state) = [OffCpu::Waiting, OffCpu::Left]
            .into_iter()
            .find(|s| off(*s))
        {
            return if has(&What::PageFault) {
                let because = "it waited within a page fault";
                Kind::Told(Verdict::event(Cause::PageFault, None, because), Place::Away)
            } else {
                Kind::Left(state)
            };
        }
    }
    let ready = woken || off(OffCpu::Preempted);
    let runner = latest(active, spans, |what| match what {
        What::Ran(task) => Some(task),
        _ => None,
    });
    if ready && runner.is_some_and(|task| task.tid == 0) {
        return Kind::Idle { preempted: !woken };
    }
    let interrupt = latest(active, spans, |what| match what {
        What::Interrupt { name, tick: true } => Some((Cause::Tick, name, "the timer's interrupt")),
        What::Interrupt { name, tick: false } => Some((Cause::HardInterrupt, name, "an interrupt")),
        _ => None,
    });
    let softirq = || {
        latest(active, spans, |what| match what {
            What::Softirq { name } => Some((Cause::Softirq, name, "a softirq")),
            _ => None,
        })
    };
    if let Some((cause, name, because)) = interrupt.or_else(softirq) {
        let place = if ready { Place::CouldRun } else { Place::OnCpu };
        return Kind::Told(Verdict::event(cause, Some(name.clone()), because), place);
    }
    if ready {
        return match runner {
            Some(task) if moves_threads(task) => Kind::Told(
                Verdict::event(
                    Cause::Migration,
                    Some(task.to_string()),
                    "the kernel's migration thread moved it",
                ),
                Place::CouldRun,
            ),
            runner => Kind::Ready(runner.map(Task::to_string)),
        };
    }
    if has(&What::PageFault) {
        let verdict = Verdict::event(Cause::PageFault, None, "a page fault");
        return Kind::Told(verdict, Place::OnCpu);
    }
    if active
        .iter()
        .any(|&i| matches!(spans[i].what, What::Migration { .. }))
    {
        let verdict = Verdict::event(Cause::Migration, None, "it came from another CPU");
        return Kind::Told(verdict, Place::CouldRun);
    }
    match runner {
        Some(task) if !access.has_switches && task.tid != 0 => Kind::Ready(Some(task.to_string())),
        _ => Kind::Uncovered,
    }
}

/// The stopper threads that push a running thread to another CPU.
fn moves_threads(task: &Task) -> bool {
    task.name
        .as_deref()
        .is_some_and(|n| n.starts_with("migration/"))
}
