//! Distributions of very many distinct values, kept in little memory.

use crate::Distribution;
use crate::histogram::bin_by;

/// Bits of a magnitude that tell bins apart: they are at most 2^-12 of their values wide.
pub(crate) const BITS: u32 = 13;

/// Distinct values from which a distribution need not keep every one of them: 4 MiB.
pub const MANY_DISTINCT: usize = 1 << 18;

impl Distribution {
    /// The same where there are at most `most` distinct values; else with values that lie
    /// within 2^-12 of one another replaced by their mean.
    ///
    /// Magnitudes below 8192 stay as they are. Each power of two above is divided into 4096
    /// equal bins, and of the values in one their mean is kept, rounded to a whole number,
    /// with how many there were: no order statistic is further from its value than 2^-12 of
    /// it (0.025 %), and the mean of all by no more than half a unit. The smallest and the
    /// largest value are kept.
    pub fn bounded(&self, most: usize) -> Self {
        let pairs = self.pairs();
        if pairs.len() <= most {
            return self.clone();
        }
        let [first, within @ .., last] = pairs else {
            return self.clone();
        };
        let together = |a: &(i64, u64), b: &(i64, u64)| bin_by(a.0, BITS) == bin_by(b.0, BITS);
        let means = within.chunk_by(together).map(mean);
        let kept: Vec<_> = [*first].into_iter().chain(means).chain([*last]).collect();
        Self::coarse(kept)
    }
}

/// Pairs of one bin as one.
fn mean(pairs: &[(i64, u64)]) -> (i64, u64) {
    let origin = pairs[0].0;
    let count: u64 = pairs.iter().map(|p| p.1).sum();
    // Distances within a bin: sums of 2^51 times 2^64 at most.
    let off: u128 = pairs
        .iter()
        .map(|&(v, c)| u128::from(v.abs_diff(origin)) * u128::from(c))
        .sum();
    (mean_of(origin, off, count), count)
}

/// The mean of `count` values, rounded, whose distances from `origin` add up to `off`.
pub(crate) fn mean_of(origin: i64, off: u128, count: u64) -> i64 {
    let half = u128::from(count) / 2;
    origin.saturating_add_unsigned(((off + half) / u128::from(count)) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_noise::Noise;
    use proptest::prelude::*;

    #[test]
    fn few_distinct_values_stay() {
        let d = Distribution::from_values((0..1000).map(|v| v * 1_000_003));
        let same = d.bounded(1000);
        assert_eq!(same, d);
        assert!(same.shares_memory(&d) && !same.is_coarse());
        assert!(d.bounded(999).is_coarse());
    }

    /// Latencies in picoseconds: a million distinct values.
    #[test]
    fn a_million_latencies_take_little_memory() {
        let mut noise = Noise::new(6);
        let latency = |_| (5e7 * (0.5 * noise.normal()).exp()) as i64;
        let all = Distribution::from_values((0..1_000_000).map(latency));
        assert!(all.pairs().len() > 900_000);
        let kept = all.bounded(MANY_DISTINCT);
        // Eight powers of two or so.
        assert!(kept.pairs().len() < 40_000, "{}", kept.pairs().len());
        assert_eq!(kept.len(), all.len());
        assert_eq!((kept.min(), kept.max()), (all.min(), all.max()));
        let near = |a: Option<f64>, b: Option<f64>, by: f64| {
            let (a, b) = (a.unwrap(), b.unwrap());
            assert!((a / b - 1.0).abs() < by, "{a} {b}");
        };
        for q in [0.001, 0.5, 0.9, 0.99, 0.999, 0.9999] {
            near(kept.quantile(q), all.quantile(q), 2.5e-4);
        }
        near(kept.mean(), all.mean(), 1e-8);
        near(kept.standard_deviation(), all.standard_deviation(), 1e-6);
        // What comes of it is marked, too.
        assert!(kept.merge(&Distribution::from_values([1])).is_coarse());
        assert!(!all.merge(&Distribution::from_values([1])).is_coarse());
    }

    proptest! {
        #[test]
        fn order_statistics_stay_within_a_bin(
            values in prop::collection::vec(
                any::<i64>().prop_flat_map(|v| (0u32..63).prop_map(move |s| v >> s)), 1..300,
            ),
            near in prop::collection::vec(4_000_000i64..4_010_000, 0..300),
        ) {
            let all = Distribution::from_values(values.into_iter().chain(near));
            let kept = all.bounded(3);
            prop_assert_eq!(kept.len(), all.len());
            prop_assert_eq!((kept.min(), kept.max()), (all.min(), all.max()));
            prop_assert!(kept.pairs().windows(2).all(|w| w[0].0 < w[1].0));
            let each = |d: &Distribution| -> Vec<i64> {
                let pairs = d.pairs().iter();
                pairs.flat_map(|p| (0..p.1).map(|_| p.0)).collect()
            };
            for (a, b) in each(&all).into_iter().zip(each(&kept)) {
                let most = a.unsigned_abs() / 4096;
                prop_assert!(a.abs_diff(b) <= most, "{} {}", a, b);
            }
        }
    }
}
