//! Periodic events of one mechanism.

use std::time::Duration;

use tompion_probe::timer_events::{self, Form, Method};

use super::{Probing, Room, WAKE_ROW, Way, waiting};

/// Periodic events of one mechanism.
#[derive(Clone, Debug)]
pub struct TimerEvents {
    /// The mechanism.
    pub method: Method,
    /// A fixed grid, or re-armed after each event.
    pub form: Form,
    /// The period in nanoseconds.
    pub period_ns: u64,
}

impl Probing for TimerEvents {
    fn way(&self) -> Way<'_> {
        let Self {
            method,
            form,
            period_ns,
        } = *self;
        Way::OnThread(Box::new(move |_, limits| {
            timer_events::measure(method, form, period_ns, limits)
        }))
    }

    fn least_time(&self, samples: u64) -> Duration {
        waiting(self.period_ns, samples)
    }

    fn wait_ns(&self) -> u64 {
        self.period_ns
    }

    fn bytes(&self, room: &Room) -> u64 {
        room.of_samples(WAKE_ROW)
    }
}
