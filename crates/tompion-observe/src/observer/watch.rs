//! The observer without a thread of its own.

use tompion_cause::{Access, Disturbance};

use super::settings::Settings;
use super::thread::Observing;

/// Observes window by window, on the thread of a caller who looks himself: one that
/// is real-time gets its turn beside loads of a hundred threads, where an ordinary
/// thread waits for hundreds of milliseconds.
pub struct Watch(Observing);

impl Watch {
    /// Opens all counters and begins recording. The rate of `settings` is the
    /// caller's affair: it says how often to [`look`](Self::look).
    pub fn begin(settings: Settings) -> Self {
        Self(Observing::begin(settings))
    }

    /// Begins a window.
    pub fn begin_window(&mut self) {
        self.0.begin_window();
    }

    /// Reads the counters and takes the events so far; to be called some ten times
    /// a second within a window.
    pub fn look(&mut self) {
        self.0.look();
    }

    /// Ends the window: what disturbed each of the threads in it, in the order of its
    /// beginnings. Takes some milliseconds, until the last events have arrived.
    /// `seen_ns` are, for each thread, moments of `CLOCK_MONOTONIC`, in their order, at which it
    /// is known to have run, for example the ends of its samples: what was
    /// recorded without its end ended at the next of them. What counters tell concerns all.
    pub fn end_window(&mut self, seen_ns: &[&[u64]]) -> Vec<Vec<Disturbance>> {
        self.0.collect(seen_ns).of_each_thread()
    }

    /// What there is to be observed; each `Err` says why not.
    pub fn access(&self) -> Access {
        self.0.access()
    }
}
