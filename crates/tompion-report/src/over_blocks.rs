//! Quantiles of a cell over its blocks: intervals or why there are none, and the ranges of
//! blocks that disagree. All in nanoseconds.

use tompion_model::{Blocks, range_in_words};
use tompion_stats::{BlockQuantile, BlockRange, Interval, NoInterval};

use crate::precision::LEVEL;

/// The quantiles that reports show, with the names that they have in summaries.
pub(crate) const QUANTILES: [(f64, &str); 5] = [
    (0.5, "median_ns"),
    (0.9, "p90_ns"),
    (0.99, "p99_ns"),
    (0.999, "p99_9_ns"),
    (0.9999, "p99_99_ns"),
];

/// What blocks say of the quantiles of [`QUANTILES`].
#[derive(Clone, Debug, Default)]
pub(crate) struct OverBlocks {
    found: Vec<Option<BlockQuantile>>,
}

impl OverBlocks {
    /// Of values in picoseconds.
    pub(crate) fn of(blocks: &Blocks) -> Self {
        Self {
            found: blocks.quantiles(&QUANTILES.map(|q| q.0), LEVEL),
        }
    }

    fn at(&self, q: f64) -> Option<&BlockQuantile> {
        let place = QUANTILES.iter().position(|known| known.0 == q)?;
        self.found.get(place)?.as_ref()
    }

    /// The interval of a quantile, or why there is none; `None` without samples.
    pub(crate) fn interval(&self, q: f64) -> Option<Result<Interval, NoInterval>> {
        Some(self.at(q)?.interval.map(|i| i.scaled(1e-3)))
    }

    /// What stands for a quantile where blocks disagree.
    pub(crate) fn range(&self, q: f64) -> Option<BlockRange> {
        Some(self.at(q)?.range?.scaled(1e-3))
    }

    /// The range in words where there is one, else `number`.
    pub(crate) fn or_range(&self, q: f64, number: impl FnOnce() -> String) -> String {
        self.range(q).map_or_else(number, range_in_words)
    }
}

/// Why there is no interval, as a remark beside a figure.
pub(crate) fn no_interval(why: &str) -> String {
    format!("no 95 % interval: {why}")
}
