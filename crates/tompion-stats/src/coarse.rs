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

impl Distribution {
    /// The same where there are at most `most` distinct values; else some `most` of them, at most twice as many, each the
    /// mean of neighbours that lie within a few ranks: the fewer the nearer they are to one of the two ends.
    ///
    /// How many that are is the scale function k1 of Dunning and Ertl, "Computing Extremely Accurate Quantiles Using
    /// t-Digests" (2019): at the quantile `q` a share of the values of at most `pi sqrt(q (1 - q)) / most`, or values that are
    /// all alike. The smallest and the largest value are kept. Unlike [`bounded`](Self::bounded) it holds whatever the
    /// values are, and says nothing of how near to one another they lie.
    pub fn clustered(&self, most: usize) -> Self {
        let pairs = self.pairs();
        if pairs.len() <= most {
            return self.clone();
        }
        let [first, within @ .., last] = pairs else {
            return self.clone();
        };
        let all = self.len() as f64;
        // Grows by one from cluster to cluster.
        let scale = |below: u64| {
            let q = below as f64 / all;
            (2.0 * q - 1.0).asin() * most as f64 / std::f64::consts::PI
        };
        let mut kept = Vec::with_capacity(2 * most + 2);
        kept.push(*first);
        let mut below = first.1;
        let mut rest = within;
        while !rest.is_empty() {
            let end = scale(below) + 1.0;
            let mut together = 0;
            let mut seen = below;
            while let Some(&(_, count)) = rest.get(together) {
                if together > 0 && scale(seen + count) > end {
                    break;
                }
                seen += count;
                together += 1;
            }
            let (cluster, behind) = rest.split_at(together);
            kept.push(mean(cluster));
            (below, rest) = (seen, behind);
        }
        kept.push(*last);
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
        fn ranks_stay_within_a_cluster(
            values in prop::collection::vec(any::<i64>(), 1..3000),
            most in 4_usize..200,
        ) {
            let all = Distribution::from_values(values);
            let kept = all.clustered(most);
            prop_assert_eq!(kept.len(), all.len());
            prop_assert_eq!((kept.min(), kept.max()), (all.min(), all.max()));
            prop_assert!(kept.pairs().len() <= 2 * most + 2, "{}", kept.pairs().len());
            prop_assert!(kept.pairs().windows(2).all(|w| w[0].0 < w[1].0));
            let n = all.len() as f64;
            // Each of them stands for values around it.
            let mut below = 0;
            for &(value, count) in kept.pairs() {
                let less = all.len() - all.count_above(value.saturating_sub(1)).min(all.len());
                let rank = less as f64 / n;
                let (low, high) = (below as f64 / n, (below + count) as f64 / n);
                prop_assert!(low - 1e-9 <= rank && rank <= high + 1e-9, "{} {} {}", low, rank, high);
                // A cluster is no wider than the scale says, or has one value.
                let most_wide = std::f64::consts::PI / most as f64;
                prop_assert!(count == 1 || high - low <= most_wide / 2.0 + 1e-9);
                below += count;
            }
        }

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
