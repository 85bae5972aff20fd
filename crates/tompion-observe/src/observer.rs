//! The observer: a thread that keeps what happened while something is measured.
//!
//! Ten times a second it reads the counters of the machine, and takes the events
//! that were recorded meanwhile. What disturbed the watched threads becomes a
//! [`Disturbance`](tompion_cause::Disturbance): from events, with its own time, where there
//! are such; else from counters, as long as the window between two readings. The thresholds of
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
mod observations;
mod polled;
mod series;
mod settings;
mod tables;
mod thread;
mod throughput;
mod watch;

use std::sync::mpsc::{Sender, channel};
use std::thread::JoinHandle;

pub use observations::Observations;
pub use series::{Column, Series};
pub use settings::{OnDrained, Settings};
pub use watch::Watch;

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
