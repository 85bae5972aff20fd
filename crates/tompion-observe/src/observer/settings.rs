//! What an observer looks at.

use crate::events::{self, Drained};

/// Called with everything that was recorded, for who wants more of it than
/// disturbances.
pub type OnDrained = Box<dyn FnMut(&Drained) + Send>;

/// What is observed, and how often.
pub struct Settings {
    /// The threads that measure.
    pub threads: Vec<i32>,
    /// Threads that may have the CPU for a moment before those: whom these waited for before that is known only where
    /// their events are taken, too.
    pub beside: Vec<i32>,
    /// Further threads of Tompion, who are no others; the observer's own need not be among them.
    pub own: Vec<i32>,
    /// The CPUs on which they do.
    pub cpus: Vec<u32>,
    /// Readings a second; at least 0.1, at most 1000.
    pub rate_hz: f64,
    /// Which events are recorded; none when absent.
    pub events: Option<events::Settings>,
    /// Called on the observer's thread after each reading.
    pub on_drained: Option<OnDrained>,
    /// Memory of the series, in bytes.
    pub series_bytes: usize,
    /// How many disturbances are kept. Once there are more, events are no longer
    /// taken, and counters speak for the rest of the time.
    pub most_disturbances: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            threads: Vec::new(),
            beside: Vec::new(),
            own: Vec::new(),
            cpus: Vec::new(),
            rate_hz: 10.0,
            events: Some(events::Settings::default()),
            on_drained: None,
            series_bytes: 8 << 20,
            most_disturbances: 200_000,
        }
    }
}
