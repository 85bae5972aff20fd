//! Figures, and the cells of a run that may stand beside them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::published::Figure;

/// A statistic of a cell of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Statistic {
    /// Smallest value.
    Minimum,
    /// Median.
    Median,
    /// Largest value.
    Maximum,
    /// Half the interquartile range.
    HalfInterquartileRange,
    /// Standard deviation with divisor n, of the intervals between timer events.
    UncorrectedStandardDeviation,
}

impl Statistic {
    /// The name that a run's summaries have for it.
    pub fn summary_name(self) -> &'static str {
        match self {
            Self::Minimum => "min_ns",
            Self::Median => "median_ns",
            Self::Maximum => "max_ns",
            Self::HalfInterquartileRange => "half_interquartile_range_ns",
            Self::UncorrectedStandardDeviation => "uncorrected_standard_deviation_ns",
        }
    }

    /// The quantile that it is, 0 to 1; `None` where it is none.
    pub fn quantile(self) -> Option<f64> {
        match self {
            Self::Minimum => Some(0.0),
            Self::Median => Some(0.5),
            Self::Maximum => Some(1.0),
            Self::HalfInterquartileRange | Self::UncorrectedStandardDeviation => None,
        }
    }
}

/// How well a cell of a run corresponds to a published row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fit {
    /// The same function and load, as far as the paper tells.
    Same,
    /// The nearest that a run has; the notes say how it differs.
    Near,
}

/// A published figure and the cells of a run that may stand beside it.
#[derive(Clone, Debug)]
pub struct Counterpart {
    /// The figure.
    pub figure: Figure<'static>,
    /// Factors and levels that a cell must have: an empty level is the absence of
    /// the factor, and one that ends in `:*` takes any options. Other factors, such
    /// as the target where the paper does not state it, may have any level.
    pub cell: BTreeMap<&'static str, &'static str>,
    /// The statistic of that cell.
    pub statistic: Statistic,
    /// The figure in nanoseconds.
    pub value_ns: f64,
    /// How well it fits.
    pub fit: Fit,
    /// How it differs, where it is near; see [`comparison_notes`](crate::published::comparison_notes) for what holds of the
    /// whole table.
    pub notes: Vec<&'static str>,
}

/// A published figure beside which no cell of a run may stand.
#[derive(Clone, Debug)]
pub struct Absent {
    /// The figure.
    pub figure: Figure<'static>,
    /// Why there is no counterpart.
    pub why: &'static str,
}

impl Counterpart {
    /// Whether a cell with these levels (`None` where it lacks the factor) is a
    /// counterpart.
    pub fn fits<'l>(&self, level: impl Fn(&str) -> Option<&'l str>) -> bool {
        self.cell
            .iter()
            .all(|(factor, want)| matches(want, level(factor).unwrap_or_default()))
    }
}

/// Whether a level is the one wanted: the same, or of that kind with any options
/// where the wish ends in `:*`. Loads that run together are another thing.
fn matches(want: &str, level: &str) -> bool {
    match want.strip_suffix(":*") {
        None => level == want,
        Some(kind) => {
            let options = level.strip_prefix(kind).filter(|_| !level.contains('+'));
            options.is_some_and(|o| o.is_empty() || o.starts_with(':'))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_match_with_or_without_options() {
        for (want, level, fits) in [
            ("idle", "idle", true),
            ("cpu", "cpu:threads=4", false),
            ("nfs:*", "nfs:dir=/mnt", true),
            ("file-server:*", "file-server", true),
            ("file-server:*", "file-server+cpu", false),
            ("disk-read:*", "disk-reader", false),
            ("", "", true),
            ("", "fifo:50", false),
        ] {
            assert_eq!(matches(want, level), fits, "{want} {level}");
        }
    }
}
