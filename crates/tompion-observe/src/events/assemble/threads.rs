//! How a watched thread stands, record by record.

use tompion_cause::{OffCpu, What};

use super::state::{Assembler, Off, span};

/// Which of the two kinds of switch records told of a switch.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum By {
    Cpu,
    Thread,
}

impl Assembler {
    pub(super) fn find(&mut self, tid: i32, at_ns: u64, off: Option<OffCpu>) {
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
        w.found_ready_ns = w.wants_since_ns;
    }

    pub(super) fn out(&mut self, tid: i32, at_ns: u64, how: OffCpu, by: By) {
        let Some(w) = self.watched.get_mut(&tid) else {
            return;
        };
        w.is_known = true;
        w.found_ready_ns = None;
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

    pub(super) fn come_in(&mut self, tid: i32, at_ns: u64, cpu: u32) {
        self.move_to(tid, at_ns, cpu);
        let Some(w) = self.watched.get_mut(&tid) else {
            return;
        };
        w.is_known = true;
        w.wants_since_ns.get_or_insert(at_ns);
        if let Some(from_ns) = w.found_ready_ns.take() {
            // It comes without having left: it was off its CPU when it was found.
            w.spans.push(span(from_ns, at_ns, What::Runnable));
        }
        w.end_off(at_ns);
    }

    pub(super) fn wake(&mut self, tid: i32, at_ns: u64) {
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

    pub(super) fn move_to(&mut self, tid: i32, at_ns: u64, to_cpu: u32) {
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

    /// The thread's concern with its CPU ends: gives it its part of what goes on
    /// there.
    pub(super) fn leave(&mut self, tid: i32, at_ns: u64) {
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
        if let (Some(other), Some(since_ns)) = (c.tid.filter(|t| *t != tid), c.since_ns) {
            let task = self.names.task(other);
            w.spans.push(part(since_ns, What::Ran(task)));
        }
        for open in &c.open {
            let what = self.labels[open.label as usize].clone();
            w.spans.push(part(open.from_ns, what));
        }
    }

    pub(super) fn fault(&mut self, tid: i32, at_ns: u64) {
        let Some(w) = self.watched.get_mut(&tid) else {
            return;
        };
        if let Some(earlier) = w.fault_ns.replace(at_ns) {
            w.spans.push(span(earlier, earlier, What::PageFault));
        }
    }

    pub(super) fn serve(&mut self, tid: i32, at_ns: u64) {
        if let Some(w) = self.watched.get_mut(&tid)
            && let Some(from_ns) = w.fault_ns.take()
        {
            w.spans.push(span(from_ns, at_ns, What::PageFault));
        }
    }
}
