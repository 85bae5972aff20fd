//! Sleep in the kernel, then spin over the wake-up latency.

use crate::margin::Margin;
use crate::os::{self, ClockId};
use crate::{Anchor, Clock, counter};

/// A sleeper for one thread. It learns this thread's wake-up latency; its first
/// sleep sets the thread's timer slack to 1 ns.
///
/// Spinning uses CPU time: about the learned margin (a few microseconds on a
/// quiet machine) for each sleep. [`Slept`] tells how much it was.
#[derive(Debug)]
pub struct HybridSleeper {
    clock: Clock,
    margin: Margin,
    slack_set: bool,
}

/// What one sleep cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slept {
    /// Time spent spinning, in nanoseconds.
    pub spun_ns: u64,
}

impl HybridSleeper {
    /// A sleeper that reads `clock`.
    pub fn new(clock: Clock) -> Self {
        Self {
            clock,
            margin: Margin::default(),
            slack_set: false,
        }
    }

    /// The clock in use.
    pub fn clock(&self) -> &Clock {
        &self.clock
    }

    /// Returns at `deadline_ns` of `CLOCK_MONOTONIC` or as soon after as the CPU
    /// is ours; at once when it has passed.
    pub fn sleep_until_ns(&mut self, deadline_ns: u64) -> Slept {
        if !self.slack_set {
            // Where the kernel refuses, the margin learns the larger latency.
            let _ = os::set_timer_slack_ns(1);
            self.slack_set = true;
        }
        let kernel_target = deadline_ns.saturating_sub(self.margin.ns());
        let mut now = os::now_ns(ClockId::Monotonic);
        if kernel_target > now {
            os::sleep_until_ns(kernel_target);
            now = os::now_ns(ClockId::Monotonic);
            self.margin.observe(now.saturating_sub(kernel_target));
        }
        Slept {
            spun_ns: self.spin(now, deadline_ns),
        }
    }

    /// Spins from `now` to the deadline and returns for how long, in
    /// nanoseconds.
    fn spin(&self, now: u64, deadline_ns: u64) -> u64 {
        /// Shorter waits end before a bracket would pay.
        const WORTH_A_BRACKET_NS: u64 = 1_000;
        let left = deadline_ns.saturating_sub(now);
        if let Some(rate) = self.clock.rate()
            && left > WORTH_A_BRACKET_NS
        {
            // A bracket taken now: the clock's own anchor may be minutes old,
            // and its drift would be added to every deadline.
            let anchor = Anchor::take(2);
            if rate.ns(anchor.uncertainty_ticks) < WORTH_A_BRACKET_NS / 2 {
                let ahead = rate.ticks(deadline_ns.saturating_sub(anchor.ns));
                let end = anchor.ticks + ahead + anchor.uncertainty_ticks;
                let mut ticks = counter::read();
                while ticks < end {
                    std::hint::spin_loop();
                    ticks = counter::read();
                }
                return anchor.ns.saturating_sub(now) + rate.ns(ticks.saturating_sub(anchor.ticks));
            }
        }
        let mut then = now;
        while then < deadline_ns {
            then = os::now_ns(ClockId::Monotonic);
        }
        then - now
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn never_returns_early() {
        let clock = Clock::calibrate(Duration::from_millis(5));
        let mut sleeper = HybridSleeper::new(clock);
        for _ in 0..50 {
            let deadline = os::now_ns(ClockId::Monotonic) + 150_000;
            sleeper.sleep_until_ns(deadline);
            assert!(os::now_ns(ClockId::Monotonic) >= deadline);
        }
    }

    #[test]
    fn a_deadline_in_the_past_returns_at_once_without_spinning() {
        let clock = Clock::calibrate(Duration::from_millis(5));
        assert_eq!(HybridSleeper::new(clock).sleep_until_ns(1).spun_ns, 0);
    }
}
