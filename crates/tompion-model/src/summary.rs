//! Summaries in decimal nanoseconds.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tompion_stats::{Distribution, MeanDistribution, WithinBlock, drifts_within};

/// Summary statistics of one set of samples. Quantiles follow definition 7 of
/// Hyndman and Fan (1996), as NumPy and R do by default.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Summary {
    /// Number of samples.
    pub samples: u64,
    /// Smallest value.
    pub min_ns: f64,
    /// 0.25-quantile.
    pub p25_ns: f64,
    /// Median.
    pub median_ns: f64,
    /// 0.75-quantile.
    pub p75_ns: f64,
    /// 0.9-quantile.
    pub p90_ns: f64,
    /// 0.95-quantile.
    pub p95_ns: f64,
    /// 0.99-quantile.
    pub p99_ns: f64,
    /// 0.999-quantile.
    pub p99_9_ns: f64,
    /// 0.9999-quantile.
    pub p99_99_ns: f64,
    /// Largest value.
    pub max_ns: f64,
    /// Arithmetic mean.
    pub mean_ns: f64,
    /// Sample standard deviation (divisor n - 1); absent below two samples.
    pub standard_deviation_ns: Option<f64>,
    /// Median absolute deviation from the median, unscaled.
    pub median_absolute_deviation_ns: f64,
    /// Half the interquartile range; Kirova 2019 prints this as "MAD".
    pub half_interquartile_range_ns: f64,
    /// How the values follow one another; absent where they are too few for that or some are known
    /// by number alone, and in runs of older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub order: Option<Order>,
}

/// How the values of a trial follow one another: the strength of slow movements of "is above a
/// quantile", at the median, p90, p99 and p99.9 (see `WithinBlock`).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Order {
    /// Mean of the periodogram at one to three cycles a trial, per sample.
    pub slowest: [f64; Order::QUANTILES.len()],
    /// The same at four to sixteen cycles.
    pub next: [f64; Order::QUANTILES.len()],
}

impl Order {
    /// The quantiles that are looked at.
    pub const QUANTILES: [f64; 4] = [0.5, 0.9, 0.99, 0.999];

    /// Of one trial, with three digits.
    pub fn of(within: &WithinBlock) -> Self {
        let movements = Self::QUANTILES.map(|q| within.movements(q));
        Self {
            slowest: movements.map(|m| three_digits(m.0)),
            next: movements.map(|m| three_digits(m.1)),
        }
    }

    /// Whether values drift or wander within the trials, which are then too short to be replicates
    /// of their `q`-quantile. `None` where the order of one of them is not known.
    pub fn drifts<'o>(trials: impl Iterator<Item = Option<&'o Self>>, q: f64) -> Option<bool> {
        let rare = q.max(1.0 - q);
        let place = Self::QUANTILES.iter().position(|of| *of >= rare - 1e-9);
        let places = [0, place.unwrap_or(Self::QUANTILES.len() - 1)];
        let mut sums = [(0.0, 0.0); 2];
        for order in trials {
            let order = order?;
            for (sum, place) in sums.iter_mut().zip(places) {
                sum.0 += order.slowest[place];
                sum.1 += order.next[place];
            }
        }
        Some(sums.into_iter().any(drifts_within))
    }
}

fn three_digits(value: f64) -> f64 {
    format!("{value:.2e}").parse().unwrap_or(value)
}

impl Summary {
    /// Summarises the mean of blocks' distributions in picoseconds, of which each weighs the same;
    /// `None` without values.
    pub fn of_blocks_ps(blocks: &[Distribution]) -> Option<Self> {
        let d = MeanDistribution::of(blocks);
        let ns = |ps: f64| ps / 1000.0;
        let q = |p: f64| d.quantile(p).map(ns);
        Some(Self {
            samples: d.len(),
            min_ns: ns(d.min()? as f64),
            p25_ns: q(0.25)?,
            median_ns: q(0.5)?,
            p75_ns: q(0.75)?,
            p90_ns: q(0.9)?,
            p95_ns: q(0.95)?,
            p99_ns: q(0.99)?,
            p99_9_ns: q(0.999)?,
            p99_99_ns: q(0.9999)?,
            max_ns: ns(d.max()? as f64),
            mean_ns: ns(d.mean()?),
            standard_deviation_ns: d.standard_deviation().map(ns),
            median_absolute_deviation_ns: ns(d.median_absolute_deviation()?),
            half_interquartile_range_ns: ns(d.half_interquartile_range()?),
            order: None,
        })
    }

    /// Summarises the values of one trial, and how they follow one another.
    pub(crate) fn of_trial(d: &Distribution, within: Option<&WithinBlock>) -> Option<Self> {
        Some(Self {
            order: within.map(Order::of),
            ..Self::of_ps(d)?
        })
    }

    /// Summarises values in picoseconds; `None` when there are none.
    pub fn of_ps(d: &Distribution) -> Option<Self> {
        Self::of_blocks_ps(std::slice::from_ref(d))
    }
}

/// What a trial's samples come to.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TrialSummary {
    /// Single operations as measured, without warm-up.
    pub measured: Option<Summary>,
    /// The same without the samples that something disturbed; absent where nothing
    /// did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub undisturbed: Option<Summary>,
    /// The same with the missed periods of the grid filled in; only on a grid.
    pub missed_filled: Option<Summary>,
    /// Operations timed in batches, per operation; only where batches were taken.
    pub batched: Option<Summary>,
    /// Grid periods missed before samples that count; absent without a grid.
    pub missed_periods: Option<u64>,
    /// Samples set apart as warm-up or otherwise marked.
    pub marked_samples: u64,
}

impl TrialSummary {
    /// The summary called `name`; `None` where there is none of that name.
    pub(crate) fn by_name(&mut self, name: &str) -> Option<&mut Option<Summary>> {
        Some(match name {
            "measured" => &mut self.measured,
            "undisturbed" => &mut self.undisturbed,
            "missed_filled" => &mut self.missed_filled,
            "batched" => &mut self.batched,
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Sample, TrialData};

    /// A trial of values that stay for `stay` samples in a row, in no other order.
    fn trial(stay: usize, seed: u64) -> TrialData {
        let mut state = seed;
        let mut values = Vec::new();
        while values.len() < 4096 {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            values.extend(std::iter::repeat_n((state >> 33) as i64, stay));
        }
        let sample = |value_ps| Sample {
            value_ps,
            n: 1,
            ..Sample::default()
        };
        TrialData {
            samples: values.into_iter().map(sample).collect(),
            ..TrialData::default()
        }
    }

    fn order(stay: usize, seed: u64) -> Option<Order> {
        let summary = trial(stay, seed).summarise(Some(1_000_000), Some(0));
        let measured = summary.measured.unwrap().order;
        assert_eq!(measured, summary.missed_filled.unwrap().order);
        assert!(summary.batched.is_none_or(|s| s.order.is_none()));
        measured
    }

    #[test]
    fn values_that_stay_as_long_as_a_trial_drift() {
        let of = |stay| (1..=8).map(move |seed| order(stay, seed));
        for (stay, drifts) in [(1, false), (10, false), (2000, true)] {
            let orders: Vec<Option<Order>> = of(stay).collect();
            let found = Order::drifts(orders.iter().map(Option::as_ref), 0.5);
            assert_eq!(found, Some(drifts), "{stay}: {orders:?}");
        }
    }

    #[test]
    fn of_unknown_order_nothing_is_said() {
        let mut data = trial(1, 1);
        data.samples.truncate(63);
        let none = data.summarise(None, None).measured.unwrap().order;
        assert_eq!(none, None);
        assert_eq!(
            Order::drifts([order(1, 2).as_ref(), None].into_iter(), 0.99),
            None
        );
    }
}
