//! The raw counter as a type.

use std::time::Duration;

use crate::machine::CLOCK;
use crate::{Rate, counter};

/// A reading of the CPU counter: for short intervals and hot loops.
///
/// Costs one instruction, is converted only when asked for, and promises nothing:
/// whether the counter may be read at all, runs steadily and agrees between CPUs
/// is for the caller to know ([`Clock::report`](crate::Clock::report)). Two
/// readings are best less than a second apart, on one CPU. On architectures
/// without a counter every reading is 0.
///
/// ```
/// use tompion_time::Ticks;
///
/// let start = Ticks::now();
/// let sum: u64 = std::hint::black_box((0..1000).sum());
/// let ticks = Ticks::now().wrapping_sub(start);
/// # let _ = (sum, ticks);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ticks(u64);

impl Ticks {
    /// The counter as it stands; the CPU may move the read across neighbouring
    /// instructions.
    #[inline(always)]
    #[must_use]
    pub fn now() -> Self {
        Self(counter::read())
    }

    /// The counter after all earlier instructions have completed.
    #[inline(always)]
    #[must_use]
    pub fn now_ordered() -> Self {
        Self(counter::read_ordered())
    }

    /// A reading made elsewhere.
    #[inline(always)]
    #[must_use]
    pub const fn from_raw(ticks: u64) -> Self {
        Self(ticks)
    }

    /// The bare number.
    #[inline(always)]
    #[must_use]
    pub const fn raw(self) -> u64 {
        self.0
    }

    /// Ticks since `earlier`, whatever happened in between.
    #[inline(always)]
    #[must_use]
    pub const fn wrapping_sub(self, earlier: Self) -> u64 {
        self.0.wrapping_sub(earlier.0)
    }

    /// So many ticks later.
    #[inline(always)]
    #[must_use]
    pub const fn wrapping_add(self, ticks: u64) -> Self {
        Self(self.0.wrapping_add(ticks))
    }

    /// The time since `earlier` by the clock's present rate; zero if the counter
    /// went back. `None` while the clock does not know the rate: in the first 15 ms
    /// (see [`Clock::init`](crate::Clock::init)), after a change of policy, and
    /// where the counter is not admitted.
    #[must_use]
    pub fn duration_since(self, earlier: Self) -> Option<Duration> {
        let ticks = (self.0.wrapping_sub(earlier.0) as i64).max(0) as u64;
        Self::rate().map(|rate| Duration::from_nanos(rate.ns(ticks)))
    }

    /// The clock's present rate, to convert many differences by; `None` as for
    /// [`Ticks::duration_since`].
    #[must_use]
    pub fn rate() -> Option<Rate> {
        Rate::from_ns_per_tick(CLOCK.state().ns_per_tick)
    }
}
