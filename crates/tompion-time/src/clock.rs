//! Nanoseconds of `CLOCK_MONOTONIC` at the cost of a counter read.

use std::fs;
use std::time::Duration;

use crate::calibrate::{Anchor, Rate};
use crate::counter;
use crate::os::{self, ClockId};

/// Where a [`Clock`] takes its time from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// The CPU counter, converted.
    Counter,
    /// The kernel, because of the reason given.
    Kernel(
        /// Why the counter is not used.
        &'static str,
    ),
}

/// A calibrated clock. Copies share one calibration; the rate is measured once,
/// so the clock drifts from `CLOCK_MONOTONIC` by the calibration's error (parts
/// per million) times the time since.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    conversion: Option<(Anchor, Rate)>,
    source: Source,
}

const CLOCKSOURCE: &str = "/sys/devices/system/clocksource/clocksource0/current_clocksource";

impl Clock {
    /// Calibrates over `span`; longer is more exact (about 50 ns / `span`).
    ///
    /// The counter is used only where the kernel itself keeps time by it.
    pub fn calibrate(span: Duration) -> Self {
        let kernel = |reason| Self {
            conversion: None,
            source: Source::Kernel(reason),
        };
        if !counter::AVAILABLE {
            return kernel("this architecture has no counter that programs can read");
        }
        match fs::read_to_string(CLOCKSOURCE) {
            Ok(name) if matches!(name.trim(), "tsc" | "arch_sys_counter") => {}
            Ok(_) => return kernel("the kernel keeps time by another clocksource"),
            Err(_) => return kernel("the kernel's clocksource is not known"),
        }
        match Rate::measure(span) {
            Some(conversion) => Self {
                conversion: Some(conversion),
                source: Source::Counter,
            },
            None => kernel("the counter stands still"),
        }
    }

    /// The present time on the scale of `CLOCK_MONOTONIC`, in nanoseconds.
    #[inline]
    pub fn now_ns(&self) -> u64 {
        match &self.conversion {
            Some((anchor, rate)) => {
                let ticks = counter::read();
                // The anchor may be in the future of another CPU by a few ticks.
                anchor
                    .ns
                    .wrapping_add(rate.ns(ticks.saturating_sub(anchor.ticks)))
            }
            None => os::now_ns(ClockId::Monotonic),
        }
    }

    /// Where the time comes from, and why.
    pub fn source(&self) -> Source {
        self.source
    }

    /// The counter's rate where it is used.
    pub fn rate(&self) -> Option<Rate> {
        self.conversion.map(|c| c.1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agrees_with_the_kernel() {
        let clock = Clock::calibrate(Duration::from_millis(20));
        // The tightest of many brackets: preemption only widens one.
        let best = (0..1000)
            .map(|_| {
                let before = os::now_ns(ClockId::Monotonic);
                let ours = clock.now_ns();
                let after = os::now_ns(ClockId::Monotonic);
                let outside = before.saturating_sub(ours).max(ours.saturating_sub(after));
                (after - before, outside)
            })
            .min()
            .unwrap();
        assert!(
            best.1 < 20_000,
            "off by {} ns in a bracket of {} ns",
            best.1,
            best.0
        );
    }
}
