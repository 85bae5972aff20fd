//! Wake-up latency of one function at one target.

use std::time::Duration;

use tompion_probe::wake_up::{self, Method};

use super::{Probing, Room, WAKE_ROW, Way, waiting};

/// Wake-up latency of one function at one target.
#[derive(Clone, Debug)]
pub struct WakeUp {
    /// The function.
    pub method: Method,
    /// How far ahead it is told to wake, in nanoseconds.
    pub target_ns: u64,
}

impl Probing for WakeUp {
    fn way(&self) -> Way<'_> {
        let (method, target_ns) = (self.method, self.target_ns);
        Way::OnThread(Box::new(move |_, limits| {
            wake_up::measure(method, target_ns, limits)
        }))
    }

    fn least_time(&self, samples: u64) -> Duration {
        waiting(self.target_ns, samples)
    }

    fn wait_ns(&self) -> u64 {
        self.target_ns
    }

    fn sleep_ns(&self) -> Option<u64> {
        Some(self.target_ns)
    }

    fn bytes(&self, room: &Room) -> u64 {
        let ns = u64::try_from(room.duration.as_nanos()).unwrap_or(u64::MAX);
        let in_time = (ns / self.target_ns.max(1)).saturating_mul(WAKE_ROW);
        room.of_samples(WAKE_ROW).min(in_time)
    }
}
