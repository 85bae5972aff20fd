//! The mean of the distributions of several blocks.

use crate::Distribution;

/// The mean of several distributions: each block weighs the same, however many samples it has.
///
/// A trial that ends by time brings more samples the faster it is; with all samples pooled, a fast
/// block outvotes slow ones. Where blocks have one size the figures are those of the pooled
/// samples, to the last digit.
#[derive(Clone, Debug, Default)]
pub struct MeanDistribution {
    /// Distinct values in ascending order with their weights, which add up to `samples`.
    steps: Vec<(i64, f64)>,
    samples: u64,
}

impl MeanDistribution {
    /// The mean of `blocks`; those without samples do not count.
    pub fn of<'a>(blocks: impl IntoIterator<Item = &'a Distribution>) -> Self {
        let blocks: Vec<&Distribution> = blocks.into_iter().filter(|b| !b.is_empty()).collect();
        let lengths = blocks.iter().map(|b| b.len());
        let samples = lengths.fold(0, u64::saturating_add);
        let of_one_size = blocks.windows(2).all(|two| two[0].len() == two[1].len());
        let weight = |block: &Distribution| match of_one_size {
            true => 1.0,
            false => samples as f64 / blocks.len() as f64 / block.len() as f64,
        };
        let weighted = blocks.iter().flat_map(|block| {
            let weight = weight(block);
            let pairs = block.pairs().iter();
            pairs.map(move |&(value, count)| (value, count as f64 * weight))
        });
        // So many at once: growing as it goes it would take twice as much.
        let mut steps = Vec::with_capacity(blocks.iter().map(|b| b.pairs().len()).sum());
        steps.extend(weighted);
        // Stable, since that finds the blocks in order and only merges them.
        steps.sort_by_key(|step| step.0);
        steps.dedup_by(|next, kept| {
            let is_same = next.0 == kept.0;
            if is_same {
                kept.1 += next.1;
            }
            is_same
        });
        Self { steps, samples }
    }

    /// Samples of all blocks.
    pub fn len(&self) -> u64 {
        self.samples
    }

    /// Whether there is no sample.
    pub fn is_empty(&self) -> bool {
        self.samples == 0
    }

    /// The smallest value.
    pub fn min(&self) -> Option<i64> {
        self.steps.first().map(|step| step.0)
    }

    /// The largest value.
    pub fn max(&self) -> Option<i64> {
        self.steps.last().map(|step| step.0)
    }

    /// The `q`-quantile: definition 7 of Hyndman and Fan (1996), where a sample of weight w takes
    /// the place of w samples, in their middle. `None` when empty or with `q` outside 0..=1.
    pub fn quantile(&self, q: f64) -> Option<f64> {
        let values = self
            .steps
            .iter()
            .map(|&(value, weight)| (value as f64, weight));
        (0.0..=1.0)
            .contains(&q)
            .then(|| weighted_quantile(values, self.samples, q))
            .flatten()
    }

    /// The complementary cumulative distribution: each distinct value with the share of weight
    /// greater or equal, by which each block weighs the same.
    pub fn ccdf(&self) -> Vec<(i64, f64)> {
        // From the largest value on: as a difference a small share would lose its digits.
        let mut above = 0.0;
        let share = |&(value, weight): &(i64, f64)| {
            above += weight;
            (value, above / self.samples as f64)
        };
        let mut falling: Vec<(i64, f64)> = self.steps.iter().rev().map(share).collect();
        falling.reverse();
        falling
    }

    /// Distinct values in ascending order with their weights, which add up to the samples.
    pub fn steps(&self) -> &[(i64, f64)] {
        &self.steps
    }

    /// The 0.5-quantile.
    pub fn median(&self) -> Option<f64> {
        self.quantile(0.5)
    }

    /// The mean of the blocks' means.
    pub fn mean(&self) -> Option<f64> {
        // Deviations from the first value keep the sum small.
        let origin = self.min()?;
        let deviations = self
            .steps
            .iter()
            .map(|&(v, w)| v.abs_diff(origin) as f64 * w);
        Some(origin as f64 + deviations.sum::<f64>() / self.samples as f64)
    }

    /// The standard deviation (divisor: samples - 1); `None` below two samples.
    pub fn standard_deviation(&self) -> Option<f64> {
        let mean = self.mean().filter(|_| self.samples > 1)?;
        let squares = self
            .steps
            .iter()
            .map(|&(v, w)| (v as f64 - mean).powi(2) * w);
        Some((squares.sum::<f64>() / (self.samples - 1) as f64).sqrt())
    }

    /// The median absolute deviation from the median, without a scale factor.
    pub fn median_absolute_deviation(&self) -> Option<f64> {
        let median = self.median()?;
        let deviation = |&(value, weight): &(i64, f64)| ((value as f64 - median).abs(), weight);
        let split = self.steps.partition_point(|step| (step.0 as f64) < median);
        let (below, above) = self.steps.split_at(split);
        // On either side they grow with the distance from the middle.
        let mut below = below.iter().rev().map(deviation).peekable();
        let mut above = above.iter().map(deviation).peekable();
        let nearest_first = std::iter::from_fn(move || match (below.peek(), above.peek()) {
            (Some(b), Some(a)) if b.0 > a.0 => above.next(),
            (None, _) => above.next(),
            _ => below.next(),
        });
        weighted_quantile(nearest_first, self.samples, 0.5)
    }

    /// Half the distance between the quartiles.
    pub fn half_interquartile_range(&self) -> Option<f64> {
        Some((self.quantile(0.75)? - self.quantile(0.25)?) / 2.0)
    }
}

/// The quantile of values in ascending order whose weights add up to `samples`.
fn weighted_quantile(
    values: impl Iterator<Item = (f64, f64)> + Clone,
    samples: u64,
    q: f64,
) -> Option<f64> {
    let (_, lightest) = values.clone().next()?;
    let (_, heaviest) = values.clone().last()?;
    let position = position(samples, (lightest, heaviest), q);
    let mut before = 0.0;
    let mut below: Option<(f64, f64)> = None;
    for (value, weight) in values {
        let (first, last) = positions(before, weight);
        if position <= last {
            return Some(at(position, below, (value, first)));
        }
        below = Some((value, last));
        before += weight;
    }
    below.map(|(value, _)| value)
}

/// Where the `q`-quantile lies among the positions of samples, by the weights of the first and last
/// value.
pub(crate) fn position(samples: u64, (lightest, heaviest): (f64, f64), q: f64) -> f64 {
    let (start, _) = positions(0.0, lightest);
    let (_, end) = positions(samples as f64 - heaviest, heaviest);
    start + q * (end - start)
}

/// The first and last position of samples of one value and of this weight, after others of `before`:
/// a weight below one has a single position, its middle.
pub(crate) fn positions(before: f64, weight: f64) -> (f64, f64) {
    let half = 0.5 * (weight.min(1.0) - 1.0);
    let first = before + half;
    (first, first.max(before + weight - 1.0 - half))
}

/// The value at a position, which lies after the last of `below` and not after the last of `above`,
/// whose first position is told.
pub(crate) fn at(position: f64, below: Option<(f64, f64)>, (value, first): (f64, f64)) -> f64 {
    let Some((below, at)) = below.filter(|_| position <= first) else {
        return value;
    };
    // From the nearer end, whose digits are not to be lost where the other is huge.
    let fraction = (position - at) / (first - at);
    let apart = value - below;
    match fraction < 0.5 {
        true => below + fraction * apart,
        false => value - (1.0 - fraction) * apart,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::block_shares::Shares;
    use proptest::prelude::*;

    fn blocks(of: &[&[i64]]) -> Vec<Distribution> {
        of.iter().map(|b| Distribution::from_slice(b)).collect()
    }

    #[test]
    fn a_fast_block_does_not_outvote_slow_ones() {
        // Seven trials of twenty sleeps of 3.8 ms, and one of a thousand of 67 us.
        let mut of = vec![Distribution::from_values(vec![3_800; 20]); 7];
        of.push(Distribution::from_values(vec![67; 1000]));
        assert_eq!(Distribution::merged(&of).median(), Some(67.0));
        let mean = MeanDistribution::of(&of);
        assert_eq!((mean.median(), mean.len()), (Some(3_800.0), 1140));
        assert_eq!(mean.quantile(0.1), Some(67.0));
        let want = (7.0 * 3_800.0 + 67.0) / 8.0;
        assert!((mean.mean().unwrap() - want).abs() < 1e-9);
    }

    #[test]
    fn shares_count_blocks_not_samples() {
        let mean = MeanDistribution::of(&blocks(&[&[1, 1, 1, 5], &[5]]));
        assert_eq!(mean.ccdf(), [(1, 1.0), (5, 0.625)]);
        let same = MeanDistribution::of(&blocks(&[&[1, 7], &[5, 7]]));
        assert_eq!(same.ccdf(), [(1, 1.0), (5, 0.75), (7, 0.5)]);
    }

    #[test]
    fn ends_and_emptiness() {
        let mean = MeanDistribution::of(&blocks(&[&[], &[1, 2, 3], &[10]]));
        assert_eq!((mean.min(), mean.max(), mean.len()), (Some(1), Some(10), 4));
        assert_eq!(
            (mean.quantile(0.0), mean.quantile(1.0)),
            (Some(1.0), Some(10.0))
        );
        assert_eq!(mean.quantile(1.5), None);
        let nothing = MeanDistribution::of(&blocks(&[&[]]));
        assert!(nothing.is_empty() && nothing.median().is_none() && nothing.mean().is_none());
        assert!(nothing.median_absolute_deviation().is_none());
    }

    #[test]
    fn the_ends_of_the_range_are_right() {
        let far = 9_000_000_000_000_000_000;
        let one = Distribution::from_slice(&[-far, -1, 0]);
        assert_eq!(MeanDistribution::of([&one]).median(), Some(-1.0));
        let mean = MeanDistribution::of(&blocks(&[&[-far, far], &[-far, far]]));
        assert_eq!((mean.median(), mean.mean()), (Some(0.0), Some(0.0)));
    }

    proptest! {
        #[test]
        fn blocks_of_one_size_have_the_figures_of_all_samples(
            values in prop::collection::vec(-30i64..30, 3..90),
            q in 0.0f64..=1.0,
        ) {
            let size = values.len() / 3;
            let of: Vec<Distribution> =
                values.chunks_exact(size).take(3).map(Distribution::from_slice).collect();
            let (mean, all) = (MeanDistribution::of(&of), Distribution::merged(&of));
            let close = |a: Option<f64>, b: Option<f64>| match (a, b) {
                (Some(a), Some(b)) => (a - b).abs() < 1e-9,
                (a, b) => a == b,
            };
            prop_assert!(close(mean.quantile(q), all.quantile(q)), "{:?} {:?}", mean.quantile(q), all.quantile(q));
            prop_assert!(close(mean.mean(), all.mean()));
            prop_assert!(close(mean.standard_deviation(), all.standard_deviation()));
            prop_assert!(close(mean.median_absolute_deviation(), all.median_absolute_deviation()));
        }

        #[test]
        fn quantiles_grow_from_the_least_to_the_largest_value(
            a in prop::collection::vec(-30i64..30, 1..40),
            b in prop::collection::vec(-30i64..30, 1..9),
            p in 0.0f64..=1.0,
            q in 0.0f64..=1.0,
        ) {
            let mean = MeanDistribution::of(&blocks(&[&a, &b]));
            let at = |q: f64| mean.quantile(q).unwrap();
            prop_assert!(at(p.min(q)) <= at(p.max(q)));
            prop_assert_eq!(at(0.0), mean.min().unwrap() as f64);
            prop_assert!((at(1.0) - mean.max().unwrap() as f64).abs() < 1e-6);
            prop_assert!(mean.min().unwrap() as f64 <= at(q) && at(q) <= mean.max().unwrap() as f64 + 1e-6);
        }

        #[test]
        fn shares_have_the_quantiles_of_the_mean(
            a in prop::collection::vec(-30i64..30, 1..40),
            b in prop::collection::vec(-30i64..30, 0..9),
            c in prop::collection::vec(-300i64..300, 0..60),
            q in 0.0f64..=1.0,
        ) {
            let of = blocks(&[&a, &b, &c]);
            let (mean, shares) = (MeanDistribution::of(&of), Shares::new(&of));
            for q in [q, 0.0, 0.5, 0.99, 1.0] {
                let (want, got) = (mean.quantile(q).unwrap(), shares.quantile(q).unwrap());
                prop_assert!((want - got).abs() < 1e-9, "{q}: {got}, not {want}");
            }
            // To the last digit where blocks have one size.
            let of = blocks(&[&a, &a.iter().map(|v| 7 * v).collect::<Vec<_>>()]);
            let (mean, shares) = (MeanDistribution::of(&of), Shares::new(&of));
            prop_assert_eq!(mean.quantile(q), shares.quantile(q));
        }
    }
}
