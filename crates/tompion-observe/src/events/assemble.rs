//! From single records to spans (pure). Records come in the order of their times;
//! what is open at the end of a batch is closed by a later one.

use std::collections::HashMap;

use tompion_cause::{OffCpu, Span, What};

use super::names::{Comm, Names};

/// One thing that the kernel recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Record {
    pub time_ns: u64,
    pub cpu: u32,
    pub event: Event,
}

/// What it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Event {
    /// A CPU went from one thread to another; from events of the CPU.
    Switch {
        prev: i32,
        prev_comm: Option<Comm>,
        how: OffCpu,
        next: i32,
        next_comm: Option<Comm>,
    },
    /// A watched thread left its CPU; from events of the thread.
    Out { tid: i32, how: OffCpu },
    /// A watched thread came to a CPU; from events of the thread.
    In { tid: i32 },
    /// A thread that waited may run again.
    Wake { tid: i32 },
    /// A thread was put into another CPU's queue.
    Moved { tid: i32, to_cpu: u32 },
    /// An interrupt or softirq begins; `label` says what to call it.
    Enter { kind: Kind, label: u32 },
    /// It ends.
    Exit { kind: Kind },
    /// A page fault begins.
    Fault { tid: i32 },
    /// It was served.
    Served { tid: i32 },
    /// How a thread stood when it began to be watched: off its CPU or not.
    Found { tid: i32, off: Option<OffCpu> },
    /// A thread has a new name.
    Named { tid: i32, comm: Comm },
    /// Records were lost, at some time since the one before in the same ring.
    Lost { origin: Origin },
}

/// Tells interrupts apart that may interrupt each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Irq(i32),
    Vector(u32),
    Softirq(u32),
}

/// Whose records a ring holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Origin {
    /// All that happened on one CPU.
    Cpu(u32),
    /// What one thread did.
    Thread(i32),
}

/// Which of the two kinds of switch records told of a switch.
#[derive(Clone, Copy, PartialEq, Eq)]
enum By {
    Cpu,
    Thread,
}

struct Off {
    from_ns: u64,
    how: OffCpu,
    told_by: [bool; 2],
    wake_ns: Option<u64>,
}

struct Watched {
    /// Whether anything but the beginning told how it stands.
    is_known: bool,
    /// The CPU whose events concern it: where it runs, or waits to run.
    cpu: u32,
    /// Since when they do; absent while it does not want to run.
    wants_since_ns: Option<u64>,
    off: Option<Off>,
    fault_ns: Option<u64>,
    has_own_ring: bool,
    spans: Vec<Span>,
}

struct Cpu {
    /// Who runs; unknown before the first switch.
    tid: Option<i32>,
    since_ns: u64,
    open: Vec<Open>,
    spans: Vec<Span>,
}

struct Open {
    from_ns: u64,
    kind: Kind,
    label: u32,
}

/// The state between records.
pub(super) struct Assembler {
    watched: HashMap<i32, Watched>,
    cpus: HashMap<u32, Cpu>,
    labels: Vec<What>,
    names: Names,
}

impl Assembler {
    pub(super) fn new(names: Names) -> Self {
        Self {
            watched: HashMap::new(),
            cpus: HashMap::new(),
            labels: Vec::new(),
            names,
        }
    }

    /// Watches a thread, which was seen on that CPU last.
    pub(super) fn watch(&mut self, tid: i32, cpu: u32, has_own_ring: bool) {
        let watched = Watched {
            is_known: false,
            cpu,
            wants_since_ns: None,
            off: None,
            fault_ns: None,
            has_own_ring,
            spans: Vec::new(),
        };
        self.watched.insert(tid, watched);
    }

    /// Takes a CPU's switches and interrupts in from now on.
    pub(super) fn watch_cpu(&mut self, cpu: u32, since_ns: u64) {
        let state = Cpu {
            tid: None,
            since_ns,
            open: Vec::new(),
            spans: Vec::new(),
        };
        self.cpus.insert(cpu, state);
    }

    /// What interrupts are called; the index is the label of their records.
    pub(super) fn label(&mut self, what: What) -> u32 {
        if let Some(known) = self.labels.iter().position(|l| *l == what) {
            return known as u32;
        }
        self.labels.push(what);
        self.labels.len() as u32 - 1
    }

    /// Takes one record in.
    pub(super) fn push(&mut self, record: Record) {
        let Record {
            time_ns,
            cpu,
            event,
        } = record;
        match event {
            Event::Switch {
                prev,
                prev_comm,
                how,
                next,
                next_comm,
            } => {
                self.names.learn(prev, prev_comm);
                self.names.learn(next, next_comm);
                self.end_turn(cpu, prev, time_ns);
                self.out(prev, time_ns, how, By::Cpu);
                self.begin_turn(cpu, next, time_ns);
                self.come_in(next, time_ns, cpu);
            }
            Event::Out { tid, how } => self.out(tid, time_ns, how, By::Thread),
            Event::In { tid } => self.come_in(tid, time_ns, cpu),
            Event::Wake { tid } => self.wake(tid, time_ns),
            Event::Moved { tid, to_cpu } => self.move_to(tid, time_ns, to_cpu),
            Event::Enter { kind, label } => self.enter(cpu, time_ns, kind, label),
            Event::Exit { kind } => self.exit(cpu, time_ns, kind),
            Event::Fault { tid } => self.fault(tid, time_ns),
            Event::Served { tid } => {
                if let Some(w) = self.watched.get_mut(&tid)
                    && let Some(from_ns) = w.fault_ns.take()
                {
                    w.spans.push(span(from_ns, time_ns, What::PageFault));
                }
            }
            Event::Found { tid, off } => self.find(tid, time_ns, off),
            Event::Named { tid, comm } => self.names.learn(tid, Some(comm)),
            Event::Lost { origin } => self.lose(origin, time_ns),
        }
    }

    /// All spans that have ended, in the order of their beginnings: those of each
    /// watched thread, those of each CPU.
    pub(super) fn take(&mut self) -> (Vec<(i32, Vec<Span>)>, Vec<(u32, Vec<Span>)>) {
        let sorted = |spans: &mut Vec<Span>| {
            let mut spans = std::mem::take(spans);
            spans.sort_by_key(|s| (s.from_ns, s.until_ns));
            spans
        };
        let watched = self.watched.iter_mut();
        let mut threads: Vec<_> = watched
            .map(|(tid, w)| (*tid, sorted(&mut w.spans)))
            .collect();
        let cpus = self.cpus.iter_mut();
        let mut cpus: Vec<_> = cpus.map(|(cpu, c)| (*cpu, sorted(&mut c.spans))).collect();
        threads.sort_by_key(|t| t.0);
        cpus.sort_by_key(|c| c.0);
        (threads, cpus)
    }

    /// A span of a CPU: its own, and that of the threads that run or want to run
    /// there, as far as they did.
    fn on_cpu(&mut self, cpu: u32, ended: Span) {
        let ran = match &ended.what {
            What::Ran(task) => Some(task.tid),
            _ => None,
        };
        for (tid, w) in &mut self.watched {
            let since_ns = match w.wants_since_ns {
                Some(since_ns) if w.cpu == cpu && ran != Some(*tid) => since_ns,
                _ => continue,
            };
            let from_ns = ended.from_ns.max(since_ns);
            if from_ns < ended.until_ns || ended.from_ns == from_ns {
                w.spans
                    .push(span(from_ns, ended.until_ns, ended.what.clone()));
            }
        }
        if let Some(c) = self.cpus.get_mut(&cpu) {
            c.spans.push(ended);
        }
    }

    /// The thread's concern with its CPU ends: gives it its part of what goes on
    /// there.
    fn leave(&mut self, tid: i32, at_ns: u64) {
        let Some(w) = self.watched.get_mut(&tid) else {
            return;
        };
        let Some(since_ns) = w.wants_since_ns.take() else {
            return;
        };
        let Some(c) = self.cpus.get(&w.cpu) else {
            return;
        };
        let part = |from_ns: u64, what| span(from_ns.max(since_ns), at_ns, what);
        if let Some(other) = c.tid.filter(|t| *t != tid) {
            let task = self.names.task(other);
            w.spans.push(part(c.since_ns, What::Ran(task)));
        }
        for open in &c.open {
            let what = self.labels[open.label as usize].clone();
            w.spans.push(part(open.from_ns, what));
        }
    }

    fn end_turn(&mut self, cpu: u32, prev: i32, at_ns: u64) {
        let Some(c) = self.cpus.get_mut(&cpu) else {
            return;
        };
        // The record says who ran; an own note of somebody else means that a
        // switch is missing, and then nobody knows since when.
        let since_ns = match c.tid {
            Some(noted) if noted != prev => at_ns,
            _ => c.since_ns,
        };
        c.tid = None;
        // Nothing sleeps within a hard interrupt: one still open has lost its end.
        let (stale, open) = c
            .open
            .drain(..)
            .partition(|o: &Open| !matches!(o.kind, Kind::Softirq(_)));
        c.open = open;
        self.end_unknown(cpu, stale);
        if since_ns < at_ns {
            let task = self.names.task(prev);
            self.on_cpu(cpu, span(since_ns, at_ns, What::Ran(task)));
        }
    }

    fn begin_turn(&mut self, cpu: u32, next: i32, at_ns: u64) {
        if let Some(c) = self.cpus.get_mut(&cpu) {
            c.tid = Some(next);
            c.since_ns = at_ns;
        }
    }

    fn find(&mut self, tid: i32, at_ns: u64, off: Option<OffCpu>) {
        let Some(w) = self.watched.get_mut(&tid).filter(|w| !w.is_known) else {
            return;
        };
        let told_by = [false; 2];
        w.off = off.map(|how| Off {
            from_ns: at_ns,
            how,
            told_by,
            wake_ns: None,
        });
        w.wants_since_ns = off.is_none().then_some(at_ns);
    }

    fn out(&mut self, tid: i32, at_ns: u64, how: OffCpu, by: By) {
        let Some(w) = self.watched.get_mut(&tid) else {
            return;
        };
        w.is_known = true;
        let mut told_by = [false; 2];
        match &mut w.off {
            // The other record of the same switch.
            Some(off) if !off.told_by[by as usize] && off.told_by[1 - by as usize] => {
                off.told_by[by as usize] = true;
                if off.how == OffCpu::Left {
                    off.how = how;
                    self.may_rest(tid, at_ns, how);
                }
                return;
            }
            // Its return was lost: the moment is all that is left.
            Some(off) if off.told_by[by as usize] => {
                w.spans
                    .push(span(off.from_ns, off.from_ns, What::OffCpu(off.how)));
            }
            _ => {}
        }
        told_by[by as usize] = true;
        w.off = Some(Off {
            from_ns: at_ns,
            how,
            told_by,
            wake_ns: None,
        });
        self.may_rest(tid, at_ns, how);
    }

    /// A thread that waits or is stopped does not want to run.
    fn may_rest(&mut self, tid: i32, at_ns: u64, how: OffCpu) {
        if matches!(how, OffCpu::Waiting | OffCpu::Stopped) {
            self.leave(tid, at_ns);
        }
    }

    fn come_in(&mut self, tid: i32, at_ns: u64, cpu: u32) {
        self.move_to(tid, at_ns, cpu);
        let Some(w) = self.watched.get_mut(&tid) else {
            return;
        };
        w.is_known = true;
        w.wants_since_ns.get_or_insert(at_ns);
        let Some(off) = w.off.take() else { return };
        let wake_ns = off.wake_ns.unwrap_or(at_ns);
        w.spans
            .push(span(off.from_ns, wake_ns, What::OffCpu(off.how)));
        if wake_ns < at_ns {
            w.spans.push(span(wake_ns, at_ns, What::Runnable));
        }
    }

    fn wake(&mut self, tid: i32, at_ns: u64) {
        let Some(w) = self.watched.get_mut(&tid) else {
            return;
        };
        if let Some(off) = &mut w.off
            && off.how != OffCpu::Preempted
            && off.wake_ns.is_none()
        {
            off.wake_ns = Some(at_ns);
            w.wants_since_ns.get_or_insert(at_ns);
        }
    }

    fn move_to(&mut self, tid: i32, at_ns: u64, to_cpu: u32) {
        let Some(w) = self.watched.get(&tid) else {
            return;
        };
        let (from_cpu, wanted) = (w.cpu, w.wants_since_ns.is_some());
        if from_cpu == to_cpu {
            return;
        }
        self.leave(tid, at_ns);
        if let Some(w) = self.watched.get_mut(&tid) {
            w.cpu = to_cpu;
            w.wants_since_ns = wanted.then_some(at_ns);
            w.spans
                .push(span(at_ns, at_ns, What::Migration { from_cpu, to_cpu }));
        }
    }

    fn enter(&mut self, cpu: u32, at_ns: u64, kind: Kind, label: u32) {
        let Some(c) = self.cpus.get_mut(&cpu) else {
            return;
        };
        // None interrupts itself: the earlier one has lost its end.
        let (stale, open) = c.open.drain(..).partition(|o: &Open| o.kind == kind);
        c.open = open;
        c.open.push(Open {
            from_ns: at_ns,
            kind,
            label,
        });
        self.end_unknown(cpu, stale);
    }

    fn exit(&mut self, cpu: u32, at_ns: u64, kind: Kind) {
        let Some(c) = self.cpus.get_mut(&cpu) else {
            return;
        };
        let Some(at) = c.open.iter().rposition(|o| o.kind == kind) else {
            return;
        };
        let open = c.open.remove(at);
        let what = self.labels[open.label as usize].clone();
        self.on_cpu(cpu, span(open.from_ns, at_ns, what));
    }

    /// Interrupts of which only the beginning is known.
    fn end_unknown(&mut self, cpu: u32, opens: Vec<Open>) {
        for open in opens {
            let what = self.labels[open.label as usize].clone();
            self.on_cpu(cpu, span(open.from_ns, open.from_ns, what));
        }
    }

    fn fault(&mut self, tid: i32, at_ns: u64) {
        let Some(w) = self.watched.get_mut(&tid) else {
            return;
        };
        if let Some(earlier) = w.fault_ns.replace(at_ns) {
            w.spans.push(span(earlier, earlier, What::PageFault));
        }
    }

    /// What was open may have ended unseen.
    fn lose(&mut self, origin: Origin, at_ns: u64) {
        let forget = |w: &mut Watched| {
            w.fault_ns = None;
            if let Some(off) = w.off.take() {
                w.spans
                    .push(span(off.from_ns, off.from_ns, What::OffCpu(off.how)));
            }
            w.wants_since_ns = Some(at_ns);
        };
        match origin {
            Origin::Thread(tid) => {
                self.watched.get_mut(&tid).into_iter().for_each(forget);
            }
            Origin::Cpu(cpu) => {
                let Some(c) = self.cpus.get_mut(&cpu) else {
                    return;
                };
                c.tid = None;
                c.since_ns = at_ns;
                let opens = std::mem::take(&mut c.open);
                self.end_unknown(cpu, opens);
                let there = self.watched.values_mut();
                there
                    .filter(|w| w.cpu == cpu && !w.has_own_ring)
                    .for_each(forget);
            }
        }
    }
}

fn span(from_ns: u64, until_ns: u64, what: What) -> Span {
    let until_ns = until_ns.max(from_ns);
    Span {
        from_ns,
        until_ns,
        what,
    }
}

#[cfg(test)]
#[path = "assemble_tests.rs"]
mod tests;
