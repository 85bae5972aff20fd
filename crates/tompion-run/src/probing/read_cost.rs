//! Read cost of one clock.

use std::time::Duration;

use tompion_probe::read_cost::{self, Method};

use super::{Probing, Room, Way};
use crate::Observe;

/// Read cost of one clock.
#[derive(Clone, Debug)]
pub struct ReadCost {
    /// The clock.
    pub method: Method,
}

impl Probing for ReadCost {
    fn way(&self) -> Way<'_> {
        let method = self.method;
        Way::OnThread(Box::new(move |rate, limits| {
            read_cost::measure(method, rate, limits)
        }))
    }

    fn watched(&self) -> Observe {
        Observe::Threads
    }

    fn is_timed(&self) -> bool {
        false
    }

    fn least_time(&self, _: u64) -> Duration {
        Duration::ZERO
    }

    fn bytes(&self, room: &Room) -> u64 {
        const ROW: u64 = 2;
        room.of_samples(ROW)
    }
}
