//! The observer: a thread that keeps what happened while something is measured.
//!
//! Ten times a second it reads the counters of the machine, and takes the events
//! that were recorded meanwhile. What disturbed the watched threads becomes
//! [`Disturbance`]s: from events, with their own times, where there are such; else
//! from counters, as long as the window between two readings. The thresholds of
//! both stand in `polled.rs`, `from_events.rs` and `from_turns.rs`:
//!
//! * Events: being preempted (by whom), stopped, moved, a page fault, an interrupt
//!   or softirq (but not the one that wakes the thread), a wait for a busy CPU of
//!   at least 50 us after a wake-up; preempted while the CPU idles for at least
//!   1 ms is throttled.
//! * Counters: steal and time in interrupts and softirqs of a watched CPU grew by a
//!   tick (10 ms); run delay by 1 % of the window; throttling or major faults at
//!   all; the wall clock parted from the monotonic one by more than 10 us.
//!
//! # What it does not see
//! Steal shorter than it takes to fill a tick, nor in which part of the window it
//! happened. A wait that the kernel does not call a preemption where only the
//! thread's own switches are recorded.

mod from_events;
mod from_turns;
mod gauge;
mod gauges;
mod polled;
mod series;
mod tables;
mod thread;
mod throughput;
mod watch;

use std::sync::mpsc::{Sender, channel};
use std::thread::JoinHandle;

use tompion_cause::{Access, Disturbance};

use crate::events::{self, Drained};

pub use series::{Column, Series};
pub use watch::Watch;

/// Called with everything that was recorded, for who wants more of it than
/// disturbances.
pub type OnDrained = Box<dyn FnMut(&Drained) + Send>;

/// What is observed, and how often.
pub struct Settings {
    /// The threads that measure.
    pub threads: Vec<i32>,
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
            cpus: Vec::new(),
            rate_hz: 10.0,
            events: Some(events::Settings::default()),
            on_drained: None,
            series_bytes: 8 << 20,
            most_disturbances: 200_000,
        }
    }
}

/// What was observed.
#[derive(Clone, Debug)]
pub struct Observations {
    /// In the order of their beginnings.
    pub disturbances: Vec<Disturbance>,
    /// The counters over time.
    pub series: Series,
    /// What there was to be observed; each `Err` says why not.
    pub access: Access,
    /// The share of one CPU that the observer used itself.
    pub own_cpu_share: f64,
    /// The observer's thread, for who sees it in other records.
    pub own_tid: i32,
    /// How many records the kernel wrote.
    pub records: u64,
    /// How many it could not keep, as far as it says.
    pub lost_records: u64,
    /// When it began and ended, in ns of `CLOCK_MONOTONIC`.
    pub window_ns: (u64, u64),
}

/// An observer at work.
pub struct Observer {
    stop: Sender<()>,
    thread: JoinHandle<Observations>,
}

impl Observer {
    /// Starts observing; returns once recording has begun.
    ///
    /// # Errors
    /// When the system grants no thread.
    pub fn start(settings: Settings) -> std::io::Result<Self> {
        let (stop, stopped) = channel();
        let (begun, has_begun) = channel();
        let thread = std::thread::Builder::new()
            .name("tompion-observe".to_owned())
            .spawn(move || thread::run(settings, &stopped, &begun))?;
        // An error means that the thread has ended, which `finish` tells.
        let _ = has_begun.recv();
        Ok(Self { stop, thread })
    }

    /// Ends it; takes some milliseconds, until the last events have arrived.
    ///
    /// # Panics
    /// When the observer's thread did.
    pub fn finish(self) -> Observations {
        // A thread that has ended needs no telling.
        let _ = self.stop.send(());
        match self.thread.join() {
            Ok(observations) => observations,
            Err(panic) => std::panic::resume_unwind(panic),
        }
    }
}
