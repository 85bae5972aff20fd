//! When a watched thread wanted to run and did not, from records that the kernel
//! writes only then (pure).
//!
//! A thread that sleeps on a CPU that is otherwise idle makes no record here: its
//! wake-up interrupts the idle loop, its switches are from and to it. So observing
//! costs an undisturbed sleep next to nothing. Recorded are switches away from a
//! thread that could have gone on or was stopped, switches to it from another
//! thread, wake-ups that found its CPU busy, and its page faults. The price: of a thread that comes
//! back to a CPU that idled meanwhile (after a stop, or a quota's end) the moment is
//! not known, only that it is over when the thread is next seen to have run.
//!
//! A wait goes to the thread that had the CPU for most of it: where watched threads wait behind one
//! another, that is mostly not the one that ran just before. Of threads that are not watched only the last
//! one is known.

mod before;
mod sources;
#[cfg(test)]
mod tests;

use tompion_cause::{OffCpu, Task};

use super::names::Names;
use super::record::{Event, Record};

use before::{Before, Left, longest};

pub(super) use sources::{FAULTS, Opened, SCHEDULER, open};

/// Why a thread did not run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Want {
    /// Its CPU was taken from it.
    Preempted,
    /// It was stopped.
    Stopped,
    /// It had been woken, and another thread had its CPU.
    Queued,
    /// Another thread had its CPU before it, and left it at that moment; since when it waited is not known.
    Behind,
    /// It took a page fault, of which only the beginning is known.
    Fault,
}

/// A time in which a thread wanted to run and did not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Turn {
    /// Beginning.
    pub from_ns: u64,
    /// End. Where it is not `exact`, the latest moment at which it can have been;
    /// absent: it may still go on.
    pub until_ns: Option<u64>,
    /// Whether the end was recorded.
    pub exact: bool,
    /// Why.
    pub want: Want,
    /// Who took the CPU, or had it longest; nobody for a stop or a fault.
    pub by: Option<Task>,
}

/// Puts the records of some threads together.
pub(super) struct Turns {
    threads: Vec<Thread>,
    names: Names,
    before: Before,
}

struct Thread {
    tid: i32,
    /// When it left its CPU, how, and who came.
    out: Option<(u64, Want, Task)>,
    /// When it was put into the queue of a busy CPU, and of which.
    queued: Option<(u64, u32)>,
    done: Vec<Turn>,
}

impl Turns {
    pub(super) fn new(tids: &[i32], names: Names) -> Self {
        let thread = |&tid: &i32| Thread {
            tid,
            out: None,
            queued: None,
            done: Vec::new(),
        };
        Self {
            threads: tids.iter().map(thread).collect(),
            names,
            before: Before::default(),
        }
    }

    /// Takes the next record, in the order of time.
    pub(super) fn push(&mut self, record: Record) {
        let at_ns = record.time_ns;
        match record.event {
            Event::Switch {
                prev,
                prev_comm,
                how,
                next,
                next_comm,
            } => {
                self.names.learn(prev, prev_comm);
                self.names.learn(next, next_comm);
                if let Some(thread) = self.threads.iter_mut().find(|t| t.tid == prev) {
                    thread.leaves(at_ns, how, self.names.task(next));
                }
                self.before
                    .note(record.cpu, at_ns, next, self.names.task(prev));
                if let Some(thread) = self.threads.iter_mut().find(|t| t.tid == next) {
                    thread.comes(at_ns, record.cpu, self.before.who(record.cpu, next));
                }
            }
            Event::Queued { tid, cpu } => {
                if let Some(thread) = self.threads.iter_mut().find(|t| t.tid == tid) {
                    // It slept meanwhile.
                    thread.end(at_ns, false);
                    // Else its CPU is another one, about which this says nothing.
                    thread.queued = (cpu == record.cpu).then_some((at_ns, cpu));
                }
            }
            Event::Fault { tid } => {
                if let Some(thread) = self.threads.iter_mut().find(|t| t.tid == tid) {
                    thread.faults(at_ns);
                }
            }
            // What was open may have ended within the gap.
            Event::Lost { .. } | Event::Again { .. } => {
                self.before.forget();
                for thread in &mut self.threads {
                    thread.end(at_ns, false);
                    thread.queued = None;
                }
            }
            _ => {}
        }
    }

    /// What has ended; with `all`, what may still go on, too.
    pub(super) fn take(&mut self, all: bool) -> Vec<(i32, Turn)> {
        let mut turns = Vec::new();
        for thread in &mut self.threads {
            if all && let Some((from_ns, want, task)) = thread.out.take() {
                thread.done.push(Turn {
                    from_ns,
                    until_ns: None,
                    exact: false,
                    want,
                    by: by(want, task),
                });
            }
            turns.extend(thread.done.drain(..).map(|turn| (thread.tid, turn)));
        }
        turns
    }
}

impl Thread {
    fn leaves(&mut self, at_ns: u64, how: OffCpu, to: Task) {
        self.end(at_ns, false);
        self.queued = None;
        let want = match how {
            OffCpu::Preempted => Want::Preempted,
            OffCpu::Stopped => Want::Stopped,
            OffCpu::Waiting | OffCpu::Left => return,
        };
        self.out = Some((at_ns, want, to));
    }

    fn comes(&mut self, at_ns: u64, to_cpu: u32, before: impl Iterator<Item = Left>) {
        let queued = self.queued.take().filter(|q| q.1 == to_cpu);
        if self.out.is_some() {
            return self.end(at_ns, true);
        }
        let turn = |from_ns, until_ns, want, by| Turn {
            from_ns,
            until_ns: Some(until_ns),
            exact: true,
            want,
            by,
        };
        match queued {
            Some((from_ns, _)) => {
                let by = longest(before, from_ns);
                self.done.push(turn(from_ns, at_ns, Want::Queued, by));
            }
            // Which of them it waited for is told by when it was due.
            None => self
                .done
                .extend(before.map(|l| turn(l.at_ns, l.at_ns, Want::Behind, Some(l.task)))),
        }
    }

    fn faults(&mut self, at_ns: u64) {
        // It runs.
        self.end(at_ns, false);
        self.queued = None;
        self.done.push(Turn {
            from_ns: at_ns,
            until_ns: Some(at_ns),
            exact: true,
            want: Want::Fault,
            by: None,
        });
    }

    fn end(&mut self, until_ns: u64, exact: bool) {
        if let Some((from_ns, want, task)) = self.out.take() {
            self.done.push(Turn {
                from_ns,
                until_ns: Some(until_ns),
                exact,
                want,
                by: by(want, task),
            });
        }
    }
}

fn by(want: Want, task: Task) -> Option<Task> {
    (want != Want::Stopped).then_some(task)
}
