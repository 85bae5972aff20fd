//! Very many values counted in bins as they come, in memory that their number does not change.

use crate::Distribution;
use crate::coarse::{BITS, mean_of};
use crate::histogram::bin_by;

/// Bins of the magnitudes below `FIRST`, each of one value; half as many for each power of two above.
const FIRST: usize = 1 << BITS;

/// Values in the bins of [`Distribution::bounded`], of which their number and their sum are kept.
///
/// What comes of them is as exact as a distribution that is bounded: magnitudes below 8192 stay
/// as they are, others are the mean of those that lie within 2^-12 of them, and the smallest and
/// the largest value are kept. It takes 7 MiB for the values of each sign.
#[derive(Clone, Debug, Default)]
pub struct CoarseCounts {
    /// By place, of values from 0 and of those below.
    positive: Vec<Bin>,
    negative: Vec<Bin>,
    ends: Option<(i64, i64)>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Bin {
    count: u64,
    /// Sum of the distances from the bin's lowest value.
    above_low: u128,
}

impl CoarseCounts {
    /// Counts `first`, `first - step`, ..., `count` values. Values below -2^63 count as that.
    ///
    /// There is a step of work for each value where the bins are narrower than `step`, and else
    /// for each bin, of which there are less than 2^18 for all values of one sign.
    pub fn add_falling(&mut self, first: i64, step: u64, count: u64) {
        let (mut value, mut left) = (first, count);
        let mut least = None;
        while left > 0 {
            let (low, _) = bin_by(value, BITS);
            let off = value.abs_diff(low);
            let (together, apart) = match off.checked_div(step) {
                Some(more) if value > i64::MIN => (left.min(more.saturating_add(1)), step),
                // From here on they are all the same.
                _ => (left, 0),
            };
            let bin = self.bin(value);
            let n = u128::from(together);
            bin.count += together;
            bin.above_low += n * u128::from(off) - n * (n - 1) / 2 * u128::from(apart);
            let last = value.saturating_sub_unsigned(apart.saturating_mul(together - 1));
            least = Some(last);
            value = last.saturating_sub_unsigned(step);
            left -= together;
        }
        if let Some(least) = least {
            let (low, high) = self.ends.unwrap_or((least, first));
            self.ends = Some((low.min(least), high.max(first)));
        }
    }

    fn bin(&mut self, value: i64) -> &mut Bin {
        let bins = match value < 0 {
            true => &mut self.negative,
            false => &mut self.positive,
        };
        if bins.is_empty() {
            *bins = vec![Bin::default(); place(1 << 63) + 1];
        }
        &mut bins[place(value.unsigned_abs())]
    }

    /// What was counted.
    pub fn distribution(mut self) -> Distribution {
        let Some((least, largest)) = self.ends else {
            return Distribution::default();
        };
        self.take_out(least);
        // One value alone is both.
        let is_more = self
            .positive
            .iter()
            .chain(&self.negative)
            .any(|b| b.count > 0);
        if is_more {
            self.take_out(largest);
        }
        let mut pairs = vec![(least, 1)];
        let negative = self.negative.iter().enumerate().rev();
        let positive = self.positive.iter().enumerate();
        let signed = negative
            .map(|b| (true, b))
            .chain(positive.map(|b| (false, b)));
        let filled = signed.filter(|(_, (_, bin))| bin.count > 0);
        pairs.extend(filled.map(|(is_negative, (place, bin))| {
            let low = lowest(place, is_negative);
            (mean_of(low, bin.above_low, bin.count), bin.count)
        }));
        if is_more {
            pairs.push((largest, 1));
        }
        Distribution::coarse_sorted(pairs)
    }

    /// One value that is kept by itself.
    fn take_out(&mut self, value: i64) {
        let off = value.abs_diff(bin_by(value, BITS).0);
        let bin = self.bin(value);
        bin.count -= 1;
        bin.above_low -= u128::from(off);
    }
}

/// The number of the bin of a magnitude.
fn place(magnitude: u64) -> usize {
    let shift = (u64::BITS - magnitude.leading_zeros()).saturating_sub(BITS);
    shift as usize * (FIRST / 2) + (magnitude >> shift) as usize
}

/// The lowest value of a bin.
fn lowest(place: usize, is_negative: bool) -> i64 {
    let shift = (place / (FIRST / 2)).saturating_sub(1);
    let magnitude = ((place - shift * (FIRST / 2)) as u64) << shift;
    let any = match is_negative {
        true => 0i64.saturating_sub_unsigned(magnitude),
        false => i64::try_from(magnitude).unwrap_or(i64::MAX),
    };
    bin_by(any, BITS).0
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn counted(all: &[(i64, u64, u64)]) -> Distribution {
        let mut counts = CoarseCounts::default();
        for &(first, step, count) in all {
            counts.add_falling(first, step, count);
        }
        counts.distribution()
    }

    #[test]
    fn the_ends_of_the_range_and_no_step_at_all_are_counted() {
        for (first, step, count) in [
            (i64::MIN, u64::MAX, 1 << 60),
            (i64::MAX, u64::MAX, 3),
            (i64::MAX, 1 << 32, 1 << 33),
            (i64::MAX, 1, 1 << 60),
            (5, 0, 1 << 60),
            (7, 7, 0),
            (-1, 1, 2),
        ] {
            let found = counted(&[(first, step, count)]);
            assert_eq!(found.len(), count, "{first} {step} {count}");
            if count > 0 {
                assert_eq!(found.max(), Some(first));
                let least = i128::from(first) - i128::from(step) * i128::from(count - 1);
                assert_eq!(found.min(), Some(least.max(i64::MIN.into()) as i64));
            }
        }
    }

    #[test]
    fn a_sequence_without_end_keeps_its_mean() {
        let found = counted(&[(1 << 50, 1 << 20, 1 << 30)]);
        let mean = (2f64.powi(50) + 2f64.powi(20)) / 2.0;
        assert!((found.mean().unwrap() / mean - 1.0).abs() < 1e-12);
        assert!(found.pairs().len() < 100_000);
    }

    proptest! {
        #[test]
        fn order_statistics_stay_within_a_bin(
            all in prop::collection::vec((any::<i64>(), 0u32..63, 0_u64..40_000_000, 0_u64..400), 1..4),
        ) {
            let all: Vec<_> = all.into_iter().map(|(first, by, step, n)| (first >> by, step, n)).collect();
            let each = all.iter().flat_map(|&(first, step, count)| {
                (0..count).map(move |k| first.saturating_sub_unsigned(k * step))
            });
            let mut each: Vec<i64> = each.collect();
            each.sort_unstable();
            let found = counted(&all);
            prop_assert_eq!(found.len(), each.len() as u64);
            prop_assert_eq!((found.min(), found.max()), (each.first().copied(), each.last().copied()));
            prop_assert!(found.is_coarse() || each.is_empty());
            prop_assert!(found.pairs().windows(2).all(|w| w[0].0 < w[1].0));
            let kept = found.pairs().iter().flat_map(|p| (0..p.1).map(|_| p.0));
            for (kept, value) in kept.zip(each) {
                let most = value.unsigned_abs() / 4096;
                prop_assert!(value.abs_diff(kept) <= most, "{} {}", value, kept);
            }
        }
    }
}
