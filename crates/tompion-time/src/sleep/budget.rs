//! How much a thread may spin, and the account of how much it did.

use std::fmt;

const SECOND_NS: u64 = 1_000_000_000;

/// The largest share of wall time that a hybrid sleeper may spin, over any
/// second.
///
/// The share is kept over every window of one second, so all of it may be used
/// in one go: at 10 %, a loop of sleeps shorter than the wake-up latency spins
/// for 100 ms and is then left to the kernel until the second is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Budget {
    /// In nanoseconds for each second.
    per_second_ns: u32,
}

impl Budget {
    /// 10 %: what sleeps of 100 us need where the wake-up latency varies by a
    /// few microseconds. Sleeps of 1 ms and more use a tenth of it and less, so
    /// that for them it only bounds the damage on a machine gone bad.
    pub const DEFAULT: Self = Self {
        per_second_ns: 100_000_000,
    };

    /// A share between 0 (never spin) and 1 (spin at will).
    ///
    /// # Errors
    /// Where `share` is outside of 0 to 1 or not a number.
    ///
    /// ```
    /// use tompion_time::sleep::{Budget, Policy};
    ///
    /// let policy = Policy::Hybrid { budget: Budget::share(0.02)? };
    /// # assert_eq!(policy.name(), "hybrid");
    /// # Ok::<(), tompion_time::sleep::BudgetError>(())
    /// ```
    pub fn share(share: f64) -> Result<Self, BudgetError> {
        if !(0.0..=1.0).contains(&share) {
            return Err(BudgetError(share));
        }
        Ok(Self {
            per_second_ns: (share * SECOND_NS as f64).round() as u32,
        })
    }

    /// A share of so many nanoseconds in each second; at most all of them.
    pub const fn nanoseconds_per_second(ns: u32) -> Self {
        Self {
            per_second_ns: if ns as u64 > SECOND_NS {
                SECOND_NS as u32
            } else {
                ns
            },
        }
    }

    /// The share in nanoseconds of each second.
    pub const fn as_nanoseconds_per_second(self) -> u32 {
        self.per_second_ns
    }

    /// The share as a number between 0 and 1.
    pub fn as_share(self) -> f64 {
        f64::from(self.per_second_ns) / SECOND_NS as f64
    }
}

impl Default for Budget {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// A share of time that is not between 0 and 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BudgetError(f64);

impl fmt::Display for BudgetError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} is not a share of time that can be spent spinning; it must lie between 0 and 1",
            self.0
        )
    }
}

impl std::error::Error for BudgetError {}

/// Buckets of a second.
const BUCKETS: usize = 20;
/// One more: the oldest is only partly within the last second.
const SLOTS: usize = BUCKETS + 1;
const WIDTH_NS: u64 = SECOND_NS / BUCKETS as u64;

/// What was spun in the last second, in a ring of buckets.
///
/// A spin counts in the bucket of its end, and the oldest bucket counts whole
/// while any of it lies within the last second. Both err towards counting too
/// much, hence no window of one second, wherever it begins, holds more than was
/// granted: all spins that touch the window end within a second before the last
/// of them starts, and that one was granted with all the others counted.
#[derive(Clone, Debug, Default)]
pub(super) struct Ledger {
    slots: [Slot; SLOTS],
}

#[derive(Clone, Copy, Debug, Default)]
struct Slot {
    /// Time since boot in units of a bucket.
    bucket: u64,
    spun_ns: u64,
}

impl Ledger {
    /// How much may be spun from `now_ns` on.
    pub(super) fn left_ns(&self, now_ns: u64, budget: Budget) -> u64 {
        if u64::from(budget.per_second_ns) >= SECOND_NS {
            return u64::MAX;
        }
        let oldest = now_ns.saturating_sub(SECOND_NS) / WIDTH_NS;
        let spun: u64 = self
            .slots
            .iter()
            .filter(|slot| slot.bucket >= oldest)
            .map(|slot| slot.spun_ns)
            .sum();
        u64::from(budget.per_second_ns).saturating_sub(spun)
    }

    /// Enters a spin of `spun_ns` that ends at `end_ns`.
    pub(super) fn enter(&mut self, end_ns: u64, spun_ns: u64) {
        let bucket = end_ns / WIDTH_NS;
        let slot = &mut self.slots[(bucket % SLOTS as u64) as usize];
        if slot.bucket != bucket {
            *slot = Slot { bucket, spun_ns: 0 };
        }
        slot.spun_ns += spun_ns;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn only_shares_are_budgets() {
        assert_eq!(Budget::share(0.1), Ok(Budget::DEFAULT));
        assert_eq!(Budget::share(1.0).unwrap().as_share(), 1.0);
        for bad in [-0.1, 1.1, f64::NAN, f64::INFINITY] {
            let error = Budget::share(bad).unwrap_err().to_string();
            assert!(error.contains("between 0 and 1"), "{error}");
        }
    }

    #[test]
    fn what_was_spun_comes_back_after_a_second() {
        let budget = Budget::DEFAULT;
        let mut ledger = Ledger::default();
        let start = 77 * SECOND_NS;
        ledger.enter(start, 60_000_000);
        assert_eq!(ledger.left_ns(start, budget), 40_000_000);
        assert_eq!(ledger.left_ns(start + SECOND_NS, budget), 40_000_000);
        let later = start + SECOND_NS + WIDTH_NS;
        assert_eq!(ledger.left_ns(later, budget), 100_000_000);
    }

    #[test]
    fn no_budget_grants_nothing() {
        let none = Budget::share(0.0).unwrap();
        assert_eq!(Ledger::default().left_ns(0, none), 0);
    }

    proptest! {
        /// Spins of random lengths at random distances, each cut to what is
        /// left: no window of a second holds more than the budget. The windows
        /// tried begin or end where a spin does, which is where the sum peaks.
        #[test]
        fn no_second_holds_more_than_the_budget(
            share in 0.0..=1.0f64,
            start in 0..3 * SECOND_NS,
            steps in prop::collection::vec((0..80_000_000u64, 0..120_000_000u64), 1..120),
        ) {
            let budget = Budget::share(share).unwrap();
            let mut ledger = Ledger::default();
            let mut now = start;
            let mut spins = Vec::new();
            for (idle, wanted) in steps {
                now += idle;
                let spun = wanted.min(ledger.left_ns(now, budget));
                ledger.enter(now + spun, spun);
                spins.push((now, now + spun));
                now += spun;
            }
            let within = |from: u64, to: u64| -> u64 {
                spins.iter().map(|&(a, b)| b.min(to).saturating_sub(a.max(from))).sum()
            };
            for &(a, b) in &spins {
                prop_assert!(within(a, a + SECOND_NS) <= u64::from(budget.per_second_ns));
                prop_assert!(within(b.saturating_sub(SECOND_NS), b) <= u64::from(budget.per_second_ns));
            }
        }
    }
}
