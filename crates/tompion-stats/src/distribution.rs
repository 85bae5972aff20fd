//! Distributions as sorted distinct values with their counts, exact unless bounded.

use std::sync::Arc;

use crate::counting;

/// A multiset of integers as sorted `(value, count)` pairs.
///
/// Distributions merge without loss, and quantiles, moments and counts come out
/// exactly as from the raw values, unless it was [`bounded`](Self::bounded). A clone
/// shares its pairs and takes no memory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Distribution {
    pairs: Arc<Vec<(i64, u64)>>,
    len: u64,
    coarse: bool,
}

impl Distribution {
    /// Counts raw values. A slice is counted without a copy by
    /// [`Distribution::from_slice`].
    pub fn from_values(values: impl IntoIterator<Item = i64>) -> Self {
        let values: Vec<i64> = values.into_iter().collect();
        Self::from_counted(counting::count_owned(values))
    }

    /// Counts the raw values of a slice; fastest where most of them lie within a
    /// range no wider than a few times their number, as latencies in whole
    /// nanoseconds do.
    pub fn from_slice(values: &[i64]) -> Self {
        Self::from_counted(counting::count(values))
    }

    /// From pairs in ascending order of distinct values.
    fn from_counted(pairs: Vec<(i64, u64)>) -> Self {
        let len = pairs.iter().map(|p| p.1).sum();
        Self {
            pairs: Arc::new(pairs),
            len,
            coarse: false,
        }
    }

    /// From pairs in ascending order that stand for values near them.
    pub(crate) fn coarse(pairs: Vec<(i64, u64)>) -> Self {
        Self {
            coarse: true,
            ..Self::from_counted(pairs)
        }
    }

    /// The same where neighbours may be of one value.
    pub(crate) fn coarse_sorted(pairs: Vec<(i64, u64)>) -> Self {
        Self {
            coarse: true,
            ..Self::from_sorted(pairs)
        }
    }

    /// Builds a distribution from `(value, count)` pairs in any order; equal
    /// values are added up and zero counts dropped.
    pub fn from_pairs(pairs: impl IntoIterator<Item = (i64, u64)>) -> Self {
        let mut pairs: Vec<(i64, u64)> = pairs.into_iter().filter(|p| p.1 > 0).collect();
        pairs.sort_unstable_by_key(|p| p.0);
        Self::from_sorted(pairs)
    }

    /// From pairs in ascending order of values.
    fn from_sorted(mut pairs: Vec<(i64, u64)>) -> Self {
        pairs.dedup_by(|next, kept| {
            let is_same = next.0 == kept.0;
            if is_same {
                kept.1 += next.1;
            }
            is_same
        });
        pairs.shrink_to_fit();
        Self::from_counted(pairs)
    }

    /// All values of `self` and `other`.
    pub fn merge(&self, other: &Self) -> Self {
        Self::merged([self, other])
    }

    /// All values of many distributions.
    pub fn merged<'a>(parts: impl IntoIterator<Item = &'a Self>) -> Self {
        let parts: Vec<&Self> = parts.into_iter().filter(|p| !p.is_empty()).collect();
        match parts.as_slice() {
            [] => Self::default(),
            [one] => (*one).clone(),
            several => {
                let pairs = several.iter().map(|p| p.pairs.as_slice());
                let mut pairs = pairs.collect::<Vec<_>>().concat();
                // Stable, since that finds the parts in order and only merges them.
                pairs.sort_by_key(|p| p.0);
                Self {
                    coarse: several.iter().any(|p| p.coarse),
                    ..Self::from_sorted(pairs)
                }
            }
        }
    }

    /// How many values were counted.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Whether nothing was counted.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Whether values near one another were taken together, by their distance
    /// ([`Distribution::bounded`]) or their ranks ([`Distribution::clustered`]).
    pub fn is_coarse(&self) -> bool {
        self.coarse
    }

    /// Whether both share one piece of memory.
    pub fn shares_memory(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.pairs, &other.pairs)
    }

    /// Where its pairs lie: those that share memory have one.
    pub fn address(&self) -> usize {
        Arc::as_ptr(&self.pairs).addr()
    }

    /// The sorted distinct values with their counts.
    pub fn pairs(&self) -> &[(i64, u64)] {
        &self.pairs
    }

    /// The smallest value.
    pub fn min(&self) -> Option<i64> {
        self.pairs.first().map(|p| p.0)
    }

    /// The largest value.
    pub fn max(&self) -> Option<i64> {
        self.pairs.last().map(|p| p.0)
    }

    /// The `q`-quantile by linear interpolation of the order statistics.
    ///
    /// This is definition 7 of Hyndman and Fan, "Sample Quantiles in Statistical
    /// Packages", The American Statistician 50 (1996), the default of NumPy and R.
    /// `None` when empty or when `q` is outside 0..=1.
    pub fn quantile(&self, q: f64) -> Option<f64> {
        if self.len == 0 || !(0.0..=1.0).contains(&q) {
            return None;
        }
        let position = q * (self.len - 1) as f64;
        let rank = position.floor() as u64;
        let fraction = position - rank as f64;
        let (below, above) = self.neighbours(rank);
        // Unsigned: the ends of the range are further apart than an `i64` can tell.
        Some(below as f64 + fraction * above.abs_diff(below) as f64)
    }

    /// The 0.5-quantile.
    pub fn median(&self) -> Option<f64> {
        self.quantile(0.5)
    }

    /// Order statistics `rank` and `rank + 1` (zero-based; the last one twice).
    fn neighbours(&self, rank: u64) -> (i64, i64) {
        let mut seen = 0;
        for (i, &(value, count)) in self.pairs.iter().enumerate() {
            seen += count;
            if rank < seen {
                let next = if rank + 1 < seen {
                    value
                } else {
                    self.pairs.get(i + 1).map_or(value, |p| p.0)
                };
                return (value, next);
            }
        }
        let last = self.pairs.last().map_or(0, |p| p.0);
        (last, last)
    }

    /// The arithmetic mean.
    pub fn mean(&self) -> Option<f64> {
        if self.len == 0 {
            return None;
        }
        // Deviations from the first value keep the sum small, so that a large
        // offset costs no precision.
        let origin = self.pairs[0].0;
        let sum: f64 = self
            .pairs
            .iter()
            .map(|&(v, c)| v.abs_diff(origin) as f64 * c as f64)
            .sum();
        Some(origin as f64 + sum / self.len as f64)
    }

    /// The sample standard deviation (divisor n - 1); `None` below two values.
    pub fn standard_deviation(&self) -> Option<f64> {
        if self.len < 2 {
            return None;
        }
        let mean = self.mean()?;
        let squares: f64 = self
            .pairs
            .iter()
            .map(|&(v, c)| (v as f64 - mean).powi(2) * c as f64)
            .sum();
        Some((squares / (self.len - 1) as f64).sqrt())
    }

    /// The median absolute deviation from the median, without a scale factor.
    ///
    /// Kirova 2019 prints half the interquartile range under this name: see
    /// [`Distribution::half_interquartile_range`].
    pub fn median_absolute_deviation(&self) -> Option<f64> {
        let median = self.median()?;
        // On either side they grow with the distance from the middle.
        let deviation = |p: &&(i64, u64)| (p.0 as f64 - median).abs();
        let split = self.pairs.partition_point(|p| (p.0 as f64) < median);
        let (below, above) = self.pairs.split_at(split);
        let mut below = below.iter().rev().peekable();
        let mut above = above.iter().peekable();
        let mut seen = 0;
        let mut low = None;
        loop {
            let nearest = match (below.peek().map(deviation), above.peek().map(deviation)) {
                (Some(b), Some(a)) if b < a => below.next(),
                (_, Some(_)) => above.next(),
                (_, None) => below.next(),
            }?;
            seen += nearest.1;
            if seen > (self.len - 1) / 2 {
                let low = *low.get_or_insert(deviation(&nearest));
                if seen > self.len / 2 {
                    return Some((low + deviation(&nearest)) / 2.0);
                }
            }
        }
    }

    /// Half the distance between the quartiles (Kirova 2019 §2.3 calls this MAD).
    pub fn half_interquartile_range(&self) -> Option<f64> {
        Some((self.quantile(0.75)? - self.quantile(0.25)?) / 2.0)
    }

    /// How many values are greater than `limit`.
    pub fn count_above(&self, limit: i64) -> u64 {
        let first = self.pairs.partition_point(|p| p.0 <= limit);
        self.pairs[first..].iter().map(|p| p.1).sum()
    }

    /// The complementary cumulative distribution: for each distinct value the
    /// share of all values that are greater or equal.
    ///
    /// "Greater or equal" keeps the maximum on a logarithmic axis, where a
    /// share of zero has no place.
    pub fn ccdf(&self) -> impl Iterator<Item = (i64, f64)> + '_ {
        let total = self.len as f64;
        let mut left = self.len;
        self.pairs.iter().map(move |&(value, count)| {
            let share = left as f64 / total;
            left -= count;
            (value, share)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn quantiles_follow_hyndman_fan_seven() {
        let d = Distribution::from_values([10, 20, 30, 40]);
        assert_eq!(d.quantile(0.0), Some(10.0));
        assert_eq!(d.quantile(0.25), Some(17.5));
        assert_eq!(d.quantile(0.5), Some(25.0));
        assert_eq!(d.quantile(1.0), Some(40.0));
        assert_eq!(d.quantile(1.1), None);
        assert_eq!(Distribution::default().quantile(0.5), None);
    }

    #[test]
    fn values_at_both_ends_of_their_range_are_summed_and_interpolated_rightly() {
        let d = Distribution::from_values([i64::MIN, i64::MAX]);
        assert_eq!((d.median(), d.mean()), (Some(0.0), Some(0.0)));
        let d = Distribution::from_values([-9_000_000_000_000_000_000, 9_000_000_000_000_000_000]);
        assert_eq!(d.quantile(0.25), Some(-4.5e18));
        assert_eq!(d.median_absolute_deviation(), Some(9e18));
    }

    #[test]
    fn mad_and_half_iqr_differ_on_a_skewed_set() {
        let d = Distribution::from_values([1, 1, 2, 2, 4, 6, 9]);
        assert_eq!(d.median_absolute_deviation(), Some(1.0));
        assert_eq!(d.half_interquartile_range(), Some(1.75));
    }

    #[test]
    fn ccdf_ends_above_zero() {
        let d = Distribution::from_values([1, 1, 5, 9]);
        let points: Vec<_> = d.ccdf().collect();
        assert_eq!(points, vec![(1, 1.0), (5, 0.5), (9, 0.25)]);
    }

    fn naive_quantile(values: &mut [i64], q: f64) -> f64 {
        values.sort_unstable();
        let position = q * (values.len() - 1) as f64;
        let i = position.floor() as usize;
        let j = (i + 1).min(values.len() - 1);
        values[i] as f64 + (position - i as f64) * (values[j] - values[i]) as f64
    }

    proptest! {
        #[test]
        fn merging_equals_pooling(a in prop::collection::vec(-50i64..50, 0..60),
                                  b in prop::collection::vec(-50i64..50, 0..60)) {
            let pooled = Distribution::from_values(a.iter().chain(&b).copied());
            let merged = Distribution::from_values(a).merge(&Distribution::from_values(b));
            prop_assert_eq!(pooled, merged);
        }

        #[test]
        fn deviations_match_sorting(mut v in prop::collection::vec(-30i64..30, 1..80)) {
            let d = Distribution::from_values(v.iter().copied());
            let median = naive_quantile(&mut v, 0.5);
            let mut deviations: Vec<f64> = v.iter().map(|x| (*x as f64 - median).abs()).collect();
            deviations.sort_unstable_by(f64::total_cmp);
            let want = (deviations[(v.len() - 1) / 2] + deviations[v.len() / 2]) / 2.0;
            prop_assert_eq!(d.median_absolute_deviation(), Some(want));
        }

        #[test]
        fn pairs_add_up_in_any_order(mut v in prop::collection::vec((-9i64..9, 0u64..3), 0..60)) {
            let plain = |v: &[(i64, u64)]| {
                Distribution::from_values(v.iter().flat_map(|p| (0..p.1).map(|_| p.0)))
            };
            prop_assert_eq!(Distribution::from_pairs(v.iter().copied()), plain(&v));
            let parts: Vec<Distribution> = v.chunks(7).map(plain).collect();
            prop_assert_eq!(Distribution::merged(&parts), plain(&v));
            v.reverse();
            prop_assert_eq!(Distribution::from_pairs(v.iter().copied()), plain(&v));
        }

        #[test]
        fn quantiles_match_sorting(mut v in prop::collection::vec(-1000i64..1000, 1..80), q in 0.0f64..=1.0) {
            let d = Distribution::from_values(v.iter().copied());
            let want = naive_quantile(&mut v, q);
            prop_assert!((d.quantile(q).unwrap() - want).abs() < 1e-9);
        }

        #[test]
        fn shifting_moves_location_but_not_spread(v in prop::collection::vec(-1000i64..1000, 2..80), by in -10_000i64..10_000) {
            let d = Distribution::from_values(v.iter().copied());
            let s = Distribution::from_values(v.iter().map(|x| x + by));
            prop_assert!((s.median().unwrap() - d.median().unwrap() - by as f64).abs() < 1e-9);
            prop_assert!((s.median_absolute_deviation().unwrap() - d.median_absolute_deviation().unwrap()).abs() < 1e-9);
            prop_assert!((s.standard_deviation().unwrap() - d.standard_deviation().unwrap()).abs() < 1e-6);
        }
    }
}
