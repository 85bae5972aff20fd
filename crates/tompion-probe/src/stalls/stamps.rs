//! The clocks that the loop reads.

use tompion_time::os::{self, ClockId};
use tompion_time::{Anchor, Rate, counter};

use super::sys;

/// A clock for the loop, and what it needs when something has happened.
pub trait Stamps {
    /// The clock in its own ticks; all that stands between two iterations.
    fn now(&mut self) -> u64;

    /// Ticks as picoseconds.
    fn ps(&self, ticks: u64) -> u64;

    /// Nanoseconds as ticks.
    fn ticks(&self, ns: u64) -> u64;

    /// One moment on both clocks: in ticks, and in nanoseconds of
    /// `CLOCK_MONOTONIC`.
    fn anchor(&mut self) -> (u64, u64);

    /// The CPU that the loop is on, where that is known.
    fn cpu(&mut self) -> Option<u32>;

    /// Ticks per second.
    fn hz(&self) -> f64;

    /// Its name in reports.
    fn name(&self) -> &'static str;
}

/// Uncertainty of an anchor that nothing disturbed, in nanoseconds at most.
const USUAL_NS: u64 = 250;

/// The CPU's counter. Its reads are not ordered: each ends one interval and
/// begins the next, so that what one interval gains its neighbour loses.
#[derive(Clone, Copy, Debug)]
pub struct CounterStamps(
    /// The counter's rate.
    pub Rate,
);

impl Stamps for CounterStamps {
    #[inline(always)]
    fn now(&mut self) -> u64 {
        counter::read()
    }

    #[inline(always)]
    fn ps(&self, ticks: u64) -> u64 {
        self.0.ps(ticks)
    }

    fn ticks(&self, ns: u64) -> u64 {
        self.0.ticks(ns)
    }

    fn anchor(&mut self) -> (u64, u64) {
        // One bracket will do, unless something came into it.
        let mut anchor = Anchor::take(1);
        if self.0.ns(anchor.uncertainty_ticks) > USUAL_NS {
            anchor = Anchor::take(3);
        }
        (anchor.ticks, anchor.ns)
    }

    fn cpu(&mut self) -> Option<u32> {
        sys::cpu()
    }

    fn hz(&self) -> f64 {
        self.0.hz()
    }

    fn name(&self) -> &'static str {
        "CPU counter"
    }
}

/// `CLOCK_MONOTONIC`, where no counter can be read or trusted.
#[derive(Clone, Copy, Debug, Default)]
pub struct KernelStamps;

impl Stamps for KernelStamps {
    #[inline(always)]
    fn now(&mut self) -> u64 {
        os::now_ns(ClockId::Monotonic)
    }

    #[inline(always)]
    fn ps(&self, ticks: u64) -> u64 {
        ticks.saturating_mul(1000)
    }

    fn ticks(&self, ns: u64) -> u64 {
        ns
    }

    fn anchor(&mut self) -> (u64, u64) {
        let ns = os::now_ns(ClockId::Monotonic);
        (ns, ns)
    }

    fn cpu(&mut self) -> Option<u32> {
        sys::cpu()
    }

    fn hz(&self) -> f64 {
        1e9
    }

    fn name(&self) -> &'static str {
        "CLOCK_MONOTONIC"
    }
}
