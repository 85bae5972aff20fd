//! What the threads of a load do.

mod departures;
mod pace;

use std::sync::Barrier;
use std::thread;

use crate::counters::Counter;

pub(crate) use departures::{Departures, Gaps};
pub(crate) use pace::Budget;

/// What a load is going to do: one job a thread, and what they count.
pub(crate) struct Plan {
    pub(crate) operation: String,
    /// What the reader of the evidence has to know, each in one line.
    pub(crate) notes: Vec<String>,
    pub(crate) jobs: Vec<Job>,
}

impl Plan {
    pub(crate) fn new(operation: String, jobs: Vec<Job>) -> Self {
        Self {
            operation,
            notes: Vec::new(),
            jobs,
        }
    }
}

/// The work of one thread: prepares, passes the gate, and then works for as long
/// as it can. Returns why it could not go on.
pub(crate) type Job = Box<dyn FnOnce(&Counter<'_>, &Gate) -> String + Send>;

/// Holds prepared threads until the load is switched on for the first time.
pub(crate) struct Gate {
    ready: Barrier,
    open: Barrier,
}

impl Gate {
    /// A gate for so many threads, and for the one that opens it.
    pub(crate) fn new(threads: usize) -> Self {
        Self {
            ready: Barrier::new(threads + 1),
            open: Barrier::new(threads + 1),
        }
    }

    /// Waits until all threads are ready, then until it is opened.
    pub(crate) fn pass(&self) {
        self.ready.wait();
        self.open.wait();
    }

    /// Waits until all threads are ready.
    pub(crate) fn await_ready(&self) {
        self.ready.wait();
    }

    /// Lets all threads pass.
    pub(crate) fn open(&self) {
        self.open.wait();
    }
}

/// CPUs that this process may run on.
pub(crate) fn usable_cpus() -> usize {
    thread::available_parallelism().map_or(1, usize::from)
}
