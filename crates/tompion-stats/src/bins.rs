//! Two-level binary bins for trials too long to keep every value.

use hdrhistogram::Histogram;

use crate::Distribution;

/// Magnitudes below twice this have a bin; in picoseconds it is 75 minutes.
const LARGEST: u64 = 1 << 52;

/// Significant decimal digits kept by every bin.
const DIGITS: u8 = 3;

/// Signed two-level binary bins in constant memory (an HDR histogram for each
/// sign), the form Perneel 2015 keeps its hour-long traces in.
///
/// A value is kept to three significant digits; `record` neither allocates nor
/// locks.
#[derive(Clone, Debug)]
pub struct Bins {
    negative: Histogram<u64>,
    positive: Histogram<u64>,
}

/// A value lies beyond the largest bin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RangeError(
    /// The value that fits no bin.
    pub i64,
);

impl std::fmt::Display for RangeError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "value {} is beyond the largest bin: magnitudes below 2^53 have one",
            self.0
        )
    }
}

impl std::error::Error for RangeError {}

impl Default for Bins {
    fn default() -> Self {
        Self::new()
    }
}

impl Bins {
    /// Empty bins; all memory is allocated here.
    pub fn new() -> Self {
        let histogram =
            || Histogram::new_with_max(LARGEST, DIGITS).expect("constant bounds are valid");
        Self {
            negative: histogram(),
            positive: histogram(),
        }
    }

    /// Counts one value.
    pub fn record(&mut self, value: i64) -> Result<(), RangeError> {
        self.record_many(value, 1)
    }

    /// Counts a value `count` times.
    pub fn record_many(&mut self, value: i64, count: u64) -> Result<(), RangeError> {
        let half = if value < 0 {
            &mut self.negative
        } else {
            &mut self.positive
        };
        half.record_n(value.unsigned_abs(), count)
            .map_err(|_| RangeError(value))
    }

    /// Adds the counts of `other`.
    pub fn merge(&mut self, other: &Self) {
        // Both sides share their bounds, so adding cannot fail.
        let same = "all bins share one layout";
        self.negative.add(&other.negative).expect(same);
        self.positive.add(&other.positive).expect(same);
    }

    /// How many values were counted.
    pub fn len(&self) -> u64 {
        self.negative.len() + self.positive.len()
    }

    /// Whether nothing was counted.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Occupied bins in ascending order as `(lowest, highest, count)`.
    pub fn occupied(&self) -> Vec<(i64, i64, u64)> {
        let edges = |h: &Histogram<u64>| {
            h.iter_recorded()
                .map(|v| {
                    let top = v.value_iterated_to();
                    let (low, high) = (h.lowest_equivalent(top), h.highest_equivalent(top));
                    (low as i64, high as i64, v.count_at_value())
                })
                .collect::<Vec<_>>()
        };
        let mut all: Vec<_> = edges(&self.negative)
            .into_iter()
            .rev()
            .map(|(low, high, n)| (-high, -low, n))
            .collect();
        all.extend(edges(&self.positive));
        all
    }

    /// The binned values as a distribution of bin middles.
    pub fn distribution(&self) -> Distribution {
        Distribution::from_pairs(
            self.occupied()
                .into_iter()
                .map(|(low, high, n)| (low + (high - low) / 2, n)),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn refuses_what_no_bin_can_hold() {
        assert_eq!(Bins::new().record(i64::MAX), Err(RangeError(i64::MAX)));
    }

    proptest! {
        #[test]
        fn quantiles_stay_within_three_digits(v in prop::collection::vec(-1_000_000_000i64..1_000_000_000, 1..200)) {
            let mut bins = Bins::new();
            for &x in &v { bins.record(x).unwrap(); }
            let exact = Distribution::from_values(v.iter().copied());
            let binned = bins.distribution();
            prop_assert_eq!(binned.len(), exact.len());
            for (low, high, _) in bins.occupied() {
                prop_assert!((high - low) as f64 <= 1e-3 * low.abs().max(high.abs()) as f64 + 1.0);
            }
            let (b, e) = (binned.max().unwrap() as f64, exact.max().unwrap() as f64);
            prop_assert!((b - e).abs() <= 1e-3 * e.abs() + 1.0);
        }

        #[test]
        fn merging_adds_counts(a in prop::collection::vec(-5000i64..5000, 0..50), b in prop::collection::vec(-5000i64..5000, 0..50)) {
            let fill = |v: &[i64]| { let mut h = Bins::new(); for &x in v { h.record(x).unwrap(); } h };
            let mut merged = fill(&a);
            merged.merge(&fill(&b));
            let both: Vec<i64> = a.iter().chain(&b).copied().collect();
            prop_assert_eq!(merged.occupied(), fill(&both).occupied());
        }
    }
}
