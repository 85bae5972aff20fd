//! Summaries in decimal nanoseconds.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tompion_stats::{Distribution, MeanDistribution};

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
