//! Who had a CPU before a thread that waited for it (pure).
//!
//! Where several watched threads wait behind the same one, the first comes after it, and each other one after
//! the one before: what held them up is found by going back from thread to thread.

use std::collections::{HashMap, VecDeque};

use tompion_cause::Task;

/// How far back one looks on each CPU: so many threads may wait behind one.
const KEPT: usize = 256;

/// Threads that came to a CPU after another one, in the order of time.
#[derive(Default)]
pub(super) struct Before {
    cpus: HashMap<u32, VecDeque<Came>>,
}

struct Came {
    at_ns: u64,
    tid: i32,
    after: Task,
}

/// A thread that had the CPU, and when it left it to the next one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Left {
    pub at_ns: u64,
    pub task: Task,
}

impl Before {
    /// Notes that a thread came to the CPU after another one.
    pub(super) fn note(&mut self, cpu: u32, at_ns: u64, tid: i32, after: Task) {
        let came = self.cpus.entry(cpu).or_default();
        if came.len() == KEPT {
            came.pop_front();
        }
        came.push_back(Came { at_ns, tid, after });
    }

    /// What was known is not known to hold any longer.
    pub(super) fn forget(&mut self) {
        self.cpus.clear();
    }

    /// Who had the CPU before `tid`, which came there last: the latest first, as far as was noted
    /// and not before its own turn.
    pub(super) fn who(&self, cpu: u32, tid: i32) -> impl Iterator<Item = Left> {
        let mut came = self.cpus.get(&cpu).into_iter().flatten().rev();
        let mut wanted = tid;
        std::iter::from_fn(move || {
            let Came { at_ns, after, .. } = came.find(|c| c.tid == wanted)?;
            wanted = after.tid;
            (wanted != tid && wanted != 0).then(|| Left {
                at_ns: *at_ns,
                task: after.clone(),
            })
        })
    }
}

/// Which of them, the latest first, had the CPU for most of the time since `from_ns`.
pub(super) fn longest(left: impl Iterator<Item = Left>, from_ns: u64) -> Option<Task> {
    let mut held: Vec<(Task, u64)> = Vec::new();
    let mut left = left.take_while(|l| l.at_ns > from_ns).peekable();
    while let Some(Left { at_ns, task }) = left.next() {
        let since_ns = left.peek().map_or(from_ns, |earlier| earlier.at_ns);
        let ns = at_ns.saturating_sub(since_ns);
        match held.iter_mut().find(|(known, _)| known.tid == task.tid) {
            Some((_, all_ns)) => *all_ns += ns,
            None => held.push((task, ns)),
        }
    }
    // Of equals the latest, as if nothing else were known.
    let most = held.into_iter().rev().max_by_key(|(_, ns)| *ns);
    most.map(|(task, _)| task)
}
