//! Stalls of busy loops.

use std::time::Duration;

use super::{Probing, Room, Way};
use crate::Observe;

/// Stalls of busy loops.
#[derive(Clone, Debug)]
pub struct Stalls {
    /// Iterations longer than this are stalls, in nanoseconds.
    pub threshold_ns: u64,
    /// One loop on each of these CPUs at once, each a trial of its own; empty
    /// for one loop where the thread's settings put it.
    pub cpus: Vec<u32>,
}

impl Probing for Stalls {
    fn way(&self) -> Way<'_> {
        Way::Loops(self)
    }

    fn watched(&self) -> Observe {
        Observe::Threads
    }

    fn least_time(&self, _: u64) -> Duration {
        // A few dozen ticks of the kernel.
        Duration::from_millis(100)
    }

    fn overhead(&self) -> Duration {
        // Opening the events of whole CPUs, setting up the loop.
        Duration::from_millis(50)
    }

    fn trials(&self) -> usize {
        self.cpus.len().max(1)
    }

    fn bytes(&self, room: &Room) -> u64 {
        // A stall has a row, and one for each of its parts; a trial keeps 2^20 rows.
        const ROW: u64 = 60;
        const A_SECOND: u64 = 5_000;
        const LARGEST: u64 = ROW << 20;
        let in_time = room.duration.as_secs() * A_SECOND * ROW;
        in_time.min(LARGEST * room.blocks)
    }
}
