//! What brackets reads.

use tompion_time::os::{self, ClockId};
use tompion_time::{Rate, counter};

use super::Bracket;

/// Brackets by the CPU counter, ordered on both sides.
pub(super) struct CounterBracket(pub(super) Rate);

impl Bracket for CounterBracket {
    #[inline(always)]
    fn open(&self) -> u64 {
        counter::read_closing()
    }

    #[inline(always)]
    fn close(&self) -> u64 {
        counter::read_closing()
    }

    #[inline(always)]
    fn ps(&self, ticks: u64) -> u64 {
        self.0.ps(ticks)
    }

    fn hz(&self) -> f64 {
        self.0.hz()
    }

    fn name(&self) -> &'static str {
        "CPU counter (ordered)"
    }
}

/// Brackets by `CLOCK_MONOTONIC_RAW` where no counter can be read.
pub(super) struct KernelBracket;

impl Bracket for KernelBracket {
    #[inline(always)]
    fn open(&self) -> u64 {
        os::now_ns(ClockId::MonotonicRaw)
    }

    #[inline(always)]
    fn close(&self) -> u64 {
        os::now_ns(ClockId::MonotonicRaw)
    }

    #[inline(always)]
    fn ps(&self, ticks: u64) -> u64 {
        ticks * 1000
    }

    fn hz(&self) -> f64 {
        1e9
    }

    fn name(&self) -> &'static str {
        "CLOCK_MONOTONIC_RAW"
    }
}
