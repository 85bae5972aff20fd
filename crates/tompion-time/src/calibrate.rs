//! The counter's rate, found by bracketed reads.

use std::time::Duration;

use crate::counter;
use crate::os::{self, ClockId};

/// A moment known on both clocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Anchor {
    /// Counter value.
    pub ticks: u64,
    /// `CLOCK_MONOTONIC` at that value, in nanoseconds.
    pub ns: u64,
    /// Half the width of the bracket: the uncertainty of `ticks`.
    pub uncertainty_ticks: u64,
}

impl Anchor {
    /// The tightest of `tries` brackets counter, clock, counter.
    pub fn take(tries: u32) -> Self {
        Self::tightest((0..tries.max(1)).map(|_| {
            let before = counter::read_ordered();
            let ns = os::now_ns(ClockId::Monotonic);
            let after = counter::read_closing();
            (before, ns, after)
        }))
    }

    /// Pure part of [`Anchor::take`].
    fn tightest(brackets: impl Iterator<Item = (u64, u64, u64)>) -> Self {
        let (before, ns, after) = brackets
            .min_by_key(|(before, _, after)| after.wrapping_sub(*before))
            .unwrap_or_default();
        let width = after.wrapping_sub(before);
        Self {
            ticks: before.wrapping_add(width / 2),
            ns,
            uncertainty_ticks: width / 2,
        }
    }
}

/// Nanoseconds per tick as a fixed-point number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    /// Nanoseconds per tick times 2^[`Rate::SHIFT`].
    multiplier: u64,
}

impl Rate {
    /// Binary places of the multiplier: an error below 10^-9 for counters
    /// between 1 MHz and 10 GHz.
    const SHIFT: u32 = 40;

    /// The rate between two anchors; `None` when no time passed.
    pub fn between(earlier: &Anchor, later: &Anchor) -> Option<Self> {
        let ticks = u128::from(later.ticks.checked_sub(earlier.ticks)?);
        let ns = u128::from(later.ns.checked_sub(earlier.ns)?);
        if ticks == 0 || ns == 0 {
            return None;
        }
        let multiplier = u64::try_from((ns << Self::SHIFT) / ticks).ok()?;
        (multiplier > 0).then_some(Self { multiplier })
    }

    /// The rate of a counter that takes so long for a tick; `None` for a number
    /// that is no duration.
    pub fn from_ns_per_tick(ns: f64) -> Option<Self> {
        let multiplier = (ns * (1u64 << Self::SHIFT) as f64) as u64;
        (multiplier > 0).then_some(Self { multiplier })
    }

    /// Measures the rate over `span`.
    pub fn measure(span: Duration) -> Option<(Anchor, Self)> {
        if !counter::AVAILABLE {
            return None;
        }
        const BRACKETS: u32 = 200;
        let first = Anchor::take(BRACKETS);
        os::sleep(span);
        let second = Anchor::take(BRACKETS);
        Some((second, Self::between(&first, &second)?))
    }

    /// Ticks as nanoseconds.
    #[inline(always)]
    pub fn ns(self, ticks: u64) -> u64 {
        ((u128::from(ticks) * u128::from(self.multiplier)) >> Self::SHIFT) as u64
    }

    /// Ticks as picoseconds.
    #[inline(always)]
    pub fn ps(self, ticks: u64) -> u64 {
        ((u128::from(ticks) * u128::from(self.multiplier) * 1000) >> Self::SHIFT) as u64
    }

    /// Nanoseconds as ticks, rounded up.
    #[inline(always)]
    pub fn ticks(self, ns: u64) -> u64 {
        (u128::from(ns) << Self::SHIFT).div_ceil(u128::from(self.multiplier)) as u64
    }

    /// Ticks per second.
    pub fn hz(self) -> f64 {
        1e9 * (1u64 << Self::SHIFT) as f64 / self.multiplier as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn anchor(ticks: u64, ns: u64) -> Anchor {
        Anchor {
            ticks,
            ns,
            uncertainty_ticks: 0,
        }
    }

    #[test]
    fn the_tightest_bracket_wins() {
        let a = Anchor::tightest([(0, 1, 1000), (5000, 2, 5040), (9000, 3, 9900)].into_iter());
        assert_eq!(
            a,
            Anchor {
                ticks: 5020,
                ns: 2,
                uncertainty_ticks: 20
            }
        );
    }

    #[test]
    fn rates_convert_both_ways() {
        let r = Rate::between(&anchor(0, 0), &anchor(2_700_000_000, 1_000_000_000)).unwrap();
        assert!((r.hz() - 2.7e9).abs() < 10.0);
        assert_eq!(r.ns(2_700_000), 999_999);
        assert_eq!(r.ps(27), 9_999);
        assert_eq!(r.ticks(1_000_000), 2_700_001);
        // A day of ticks neither overflows nor loses a microsecond.
        let day = 86_400 * 2_700_000_000;
        assert!(86_400_000_000_000 - r.ns(day) < 100_000);
    }

    #[test]
    fn a_clock_that_stands_has_no_rate() {
        assert!(Rate::between(&anchor(5, 5), &anchor(5, 9)).is_none());
        assert!(Rate::between(&anchor(5, 5), &anchor(9, 5)).is_none());
        assert!(Rate::between(&anchor(9, 5), &anchor(5, 9)).is_none());
    }
}
