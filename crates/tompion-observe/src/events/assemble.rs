//! From single records to spans (pure). Records come in the order of their times;
//! what is open at the end of a batch is closed by a later one.

use std::collections::HashMap;

use tompion_cause::{OffCpu, Span, What};

use super::names::Names;
use super::record::{Event, Kind, Origin, Record};

mod state;
mod threads;

use state::{Cpu, Open, Watched, span};
use threads::By;

pub(super) use state::Assembler;

/// Spans by thread or CPU.
pub(super) type Spans<K> = Vec<(K, Vec<Span>)>;

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
            found_ready_ns: None,
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
            since_ns: Some(since_ns),
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
            // For turns alone.
            Event::Queued { .. } => {}
            Event::Wake { tid } => self.wake(tid, time_ns),
            Event::Moved { tid, to_cpu } => self.move_to(tid, time_ns, to_cpu),
            Event::Enter { kind, label } => self.enter(cpu, time_ns, kind, label),
            Event::Exit { kind } => self.exit(cpu, time_ns, kind),
            Event::Fault { tid } => self.fault(tid, time_ns),
            Event::Served { tid } => self.serve(tid, time_ns),
            Event::Found { tid, off } => self.find(tid, time_ns, off),
            Event::Named { tid, comm } => self.names.learn(tid, Some(comm)),
            Event::Lost { origin } => self.lose(origin, time_ns),
            Event::Again { origin } => self.begin_again(origin, time_ns),
        }
    }

    /// Watches a thread no longer.
    pub(super) fn forget(&mut self, tid: i32) {
        self.watched.remove(&tid);
    }

    /// Since when a watched thread has been stopped, or could have run and has not.
    pub(super) fn kept_since(&self, tid: i32) -> Option<u64> {
        let w = self.watched.get(&tid)?;
        match &w.off {
            Some(off) if matches!(off.how, OffCpu::Preempted | OffCpu::Stopped) => {
                Some(off.from_ns)
            }
            Some(off) => off.wake_ns,
            None => w.found_ready_ns,
        }
    }

    /// Ends what goes on for the threads. Of one that could run when it was found,
    /// and of which there was no record since, only its CPU time tells whether it
    /// ran: `idle` are those that did not.
    pub(super) fn close(&mut self, at_ns: u64, idle: &[i32]) {
        let tids: Vec<i32> = self.watched.keys().copied().collect();
        for tid in tids {
            self.leave(tid, at_ns);
            if let Some(w) = self.watched.get_mut(&tid) {
                let ready = w.found_ready_ns.take().filter(|_| idle.contains(&tid));
                if let Some(from_ns) = ready {
                    w.spans.push(span(from_ns, at_ns, What::Runnable));
                }
                w.end_off(at_ns);
            }
        }
    }

    /// All spans that have ended, in the order of their beginnings: those of each
    /// watched thread, those of each CPU.
    pub(super) fn take(&mut self) -> (Spans<i32>, Spans<u32>) {
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

    fn end_turn(&mut self, cpu: u32, prev: i32, at_ns: u64) {
        let Some(c) = self.cpus.get_mut(&cpu) else {
            return;
        };
        // The record says who ran; an own note of somebody else means that a
        // switch is missing, and then nobody knows since when.
        let since_ns = match c.tid {
            Some(noted) if noted != prev => at_ns,
            _ => c.since_ns.unwrap_or(at_ns),
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
            c.since_ns = Some(at_ns);
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

    /// What is open may end unseen. Only up to now is it known who ran.
    fn lose(&mut self, origin: Origin, at_ns: u64) {
        let forget = |w: &mut Watched| {
            if let Some(off) = w.off.take() {
                w.spans
                    .push(span(off.from_ns, off.from_ns, What::OffCpu(off.how)));
            }
            w.wants_since_ns = Some(at_ns);
            w.found_ready_ns = None;
        };
        match origin {
            Origin::Faults(tid) => {
                if let Some(w) = self.watched.get_mut(&tid) {
                    w.fault_ns = None;
                }
            }
            Origin::Thread(tid) => {
                self.watched.get_mut(&tid).into_iter().for_each(forget);
            }
            Origin::Cpu(cpu) => {
                let Some(c) = self.cpus.get_mut(&cpu) else {
                    return;
                };
                let ran = c.tid.take().zip(c.since_ns.take());
                let opens = std::mem::take(&mut c.open);
                self.end_unknown(cpu, opens);
                if let Some((tid, since_ns)) = ran.filter(|r| r.1 < at_ns) {
                    let task = self.names.task(tid);
                    self.on_cpu(cpu, span(since_ns, at_ns, What::Ran(task)));
                }
                let there = self.watched.values_mut();
                there
                    .filter(|w| w.cpu == cpu && !w.has_own_ring)
                    .for_each(forget);
            }
        }
    }

    fn begin_again(&mut self, origin: Origin, at_ns: u64) {
        let Origin::Cpu(cpu) = origin else { return };
        if let Some(c) = self.cpus.get_mut(&cpu).filter(|c| c.tid.is_none()) {
            c.since_ns = Some(at_ns);
        }
    }
}

#[cfg(test)]
mod any_records;
#[cfg(test)]
mod ends;
#[cfg(test)]
mod losses;
#[cfg(test)]
mod tests;
