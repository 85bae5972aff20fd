//! The shares of blocks' samples above a value, and how they scatter.

use crate::Distribution;
use crate::mean_distribution::{at, position, positions};

/// Fewest blocks over which there is an interval.
pub const LEAST_BLOCKS: usize = 6;

/// The blocks' distributions, to look up the share above a value.
pub(crate) struct Shares {
    /// Of each block: values, and how many samples are not above them.
    cumulated: Vec<Vec<(i64, u64)>>,
    pub(crate) lengths: Vec<u64>,
}

/// Shares of the blocks above one value.
pub(crate) struct Above {
    mean: f64,
    /// Variance of `mean` by the scatter of the blocks,
    scatter: f64,
    /// and what it would be for independent samples with a share of 1/2, but for p (1 - p).
    unit: f64,
}

impl Shares {
    pub(crate) fn new(blocks: &[Distribution]) -> Self {
        let blocks = blocks.iter().filter(|b| !b.is_empty());
        let cumulated = |block: &Distribution| {
            let mut seen = 0;
            let pairs = block.pairs().iter();
            let summed = pairs.map(|&(value, count)| {
                seen += count;
                (value, seen)
            });
            summed.collect()
        };
        Self {
            cumulated: blocks.clone().map(cumulated).collect(),
            lengths: blocks.map(Distribution::len).collect(),
        }
    }

    pub(crate) fn at(&self, x: i64) -> Above {
        let share = |(steps, length): (&Vec<(i64, u64)>, &u64)| {
            let place = steps.partition_point(|step| step.0 <= x);
            let not_above = place.checked_sub(1).map_or(0, |place| steps[place].1);
            (length - not_above) as f64 / *length as f64
        };
        let shares: Vec<f64> = self
            .cumulated
            .iter()
            .zip(&self.lengths)
            .map(share)
            .collect();
        let count = shares.len() as f64;
        let mean = shares.iter().sum::<f64>() / count;
        let squares: f64 = shares.iter().map(|s| (s - mean).powi(2)).sum();
        let unit = self.lengths.iter().map(|n| 1.0 / *n as f64).sum::<f64>() / count / count;
        Above {
            mean,
            scatter: squares / (count - 1.0) / count,
            unit,
        }
    }

    /// The smallest value above which the mean share is at most 1 - `q`.
    pub(crate) fn place(&self, q: f64) -> i64 {
        let (low, high) = self.range();
        first(low, high, |x| self.at(x).mean <= 1.0 - q + 1e-12)
    }

    /// From just below the smallest value to the largest.
    fn range(&self) -> (i64, i64) {
        let firsts = self.cumulated.iter().map(|steps| steps[0].0);
        let lasts = self.cumulated.iter().map(|steps| steps[steps.len() - 1].0);
        let low = firsts.min().unwrap_or(0).saturating_sub(1);
        (low, lasts.max().unwrap_or(0))
    }

    /// The `q`-quantile of the blocks' mean, as that of [`MeanDistribution`](crate::MeanDistribution)
    /// but for rounding, without all blocks' values in one order; `None` without samples.
    pub(crate) fn quantile(&self, q: f64) -> Option<f64> {
        let samples: u64 = self.lengths.iter().sum();
        let of_one_size = self.lengths.windows(2).all(|two| two[0] == two[1]);
        let blocks = || self.cumulated.iter().zip(&self.lengths);
        let weight = |length: u64| match of_one_size {
            true => 1.0,
            false => samples as f64 / self.lengths.len() as f64 / length as f64,
        };
        let seen = |steps: &[(i64, u64)]| steps.last().map_or(0, |step| step.1);
        // Weights before a value and at it.
        let weights = |value: i64| {
            blocks().fold((0.0, 0.0), |(before, here), (steps, length)| {
                let (below, from) = steps.split_at(steps.partition_point(|step| step.0 < value));
                let below = seen(below);
                let at = from.first().filter(|step| step.0 == value);
                let weight = weight(*length);
                (
                    before + below as f64 * weight,
                    here + at.map_or(0, |step| step.1 - below) as f64 * weight,
                )
            })
        };
        let ends = |value: i64| {
            let (before, here) = weights(value);
            positions(before, here)
        };
        let least = blocks().map(|(steps, _)| steps[0].0).min()?;
        let (_, largest) = self.range();
        let position = position(samples, (weights(least).1, weights(largest).1), q);
        // The largest value before the position, and the smallest at it or after.
        let (mut below, mut above): (Option<i64>, Option<i64>) = (None, None);
        for (steps, _) in blocks() {
            // What it is for is what it asks.
            let _ = steps.partition_point(|&(value, _)| {
                let known = match (below, above) {
                    (Some(below), _) if value <= below => Some(true),
                    (_, Some(above)) if value >= above => Some(false),
                    _ => None,
                };
                known.unwrap_or_else(|| {
                    let is_before = ends(value).1 < position;
                    *(if is_before { &mut below } else { &mut above }) = Some(value);
                    is_before
                })
            });
        }
        let Some(above) = above else {
            return Some(largest as f64);
        };
        let below = below.map(|value| (value as f64, ends(value).1));
        Some(at(position, below, (above as f64, ends(above).0)))
    }

    /// The ends around `place` of the values that are not rejected as too low and too high;
    /// `None` where all values on a side are kept.
    pub(crate) fn ends(
        &self,
        place: i64,
        too_low: impl Fn(i64) -> bool,
        too_high: impl Fn(i64) -> bool,
    ) -> (Option<f64>, Option<f64>) {
        let (least, largest) = self.range();
        let low = too_low(least).then(|| first(least, place, |x| !too_low(x)) as f64);
        let high =
            too_high(largest).then(|| first(place.saturating_sub(1), largest, too_high) as f64);
        (low, high)
    }
}

impl Above {
    /// How many times larger than for independent samples the blocks' scatter makes the variance.
    pub(crate) fn inflation(&self) -> f64 {
        let independent = self.mean * (1.0 - self.mean) * self.unit;
        match independent > 0.0 {
            true => self.scatter / independent,
            false => 1.0,
        }
    }

    /// Standard error of the mean share.
    pub(crate) fn error(&self, inflation: f64) -> f64 {
        let independent = self.mean * (1.0 - self.mean) * self.unit;
        self.scatter.max(inflation * independent).sqrt()
    }

    /// How many standard errors the mean share lies above `share`, if that were the truth.
    pub(crate) fn score(&self, share: f64, inflation: f64) -> f64 {
        let inflation = self.inflation().max(inflation);
        (self.mean - share) / (inflation * share * (1.0 - share) * self.unit).sqrt()
    }
}

/// The first value after `low`, at most `high`, that fits: none before it does, all after it do.
fn first(low: i64, high: i64, fits: impl Fn(i64) -> bool) -> i64 {
    let (mut low, mut high) = (low, high);
    while high.abs_diff(low) > 1 {
        // Half of both, since their sum may be too large.
        let middle = low + (high.abs_diff(low) / 2) as i64;
        match fits(middle) {
            true => high = middle,
            false => low = middle,
        }
    }
    high
}
