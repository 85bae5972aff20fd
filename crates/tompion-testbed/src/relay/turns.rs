//! Which CPU a relay spins on.
//!
//! The kernel lets real-time threads have 95 % of each CPU (`kernel.sched_rt_runtime_us`) and then stops them for the
//! rest of a second: 50 ms in which every packet is late. A relay whose queue is never empty spins all the time; it
//! takes turns on the CPUs that it may use, so that it has no more than its part of any.

use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::unistd::Pid;

/// How long it stays on one CPU, in nanoseconds.
const TURN_NS: i64 = 450_000_000;

/// The turns of the calling thread.
#[derive(Debug)]
pub struct Turns {
    all: CpuSet,
    cpus: Vec<usize>,
    next: usize,
    spun_ns: i64,
    is_pinned: bool,
}

impl Turns {
    /// Of all CPUs that the calling thread may use; none where they cannot be known, or there is one.
    pub fn new() -> Self {
        let all = sched_getaffinity(Pid::from_raw(0)).unwrap_or_default();
        let is_there = |cpu: &usize| all.is_set(*cpu).unwrap_or(false);
        Self {
            all,
            cpus: (0..CpuSet::count()).filter(is_there).collect(),
            next: 0,
            spun_ns: 0,
            is_pinned: false,
        }
    }

    /// It has spun for so long: moves on where its turn is over.
    pub fn spun(&mut self, ns: i64) {
        self.spun_ns += ns;
        if self.spun_ns < TURN_NS || self.cpus.len() < 2 {
            return;
        }
        self.spun_ns = 0;
        self.next = (self.next + 1) % self.cpus.len();
        let mut one = CpuSet::new();
        // Refused, it stays where it is, and may be late.
        if one.set(self.cpus[self.next]).is_ok() {
            self.is_pinned |= sched_setaffinity(Pid::from_raw(0), &one).is_ok();
        }
    }

    /// It is going to sleep: the kernel may choose a CPU again.
    pub fn sleeps(&mut self) {
        if self.is_pinned {
            self.is_pinned = sched_setaffinity(Pid::from_raw(0), &self.all).is_err();
        }
    }
}
