//! What becomes of a comparison.

use tompion_stats::Interval;

use crate::compare::drift::{Allowing, Drift, hull};

/// A figure on each side.
pub type Values = (Option<f64>, Option<f64>);

/// What became of a row.
#[derive(Clone, Debug)]
pub enum Verdict {
    /// There was enough to decide on.
    Found(Found),
    /// There was enough, but drift explains what was seen as well. Intervals allow for it.
    Drifts(Drift, Found),
    /// Too little: replicates (or samples, for stretches) there are and needed.
    TooFew {
        /// What is counted.
        basis: Basis,
        /// There are, on each side.
        have: (usize, usize),
        /// So many on each side would do.
        need: usize,
        /// The same as times and trials; only for stretches.
        instead: Option<Instead>,
    },
    /// No trial of a side has the figure, or not enough samples for it.
    NoFigure,
}

/// What would do where a single trial on each side does not.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Instead {
    /// Seconds that each of the two would have to last.
    pub seconds: f64,
    /// Trials on each side, however short.
    pub trials: usize,
}

/// What the replicates were.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Basis {
    /// Separate trials.
    Trials,
    /// Separate runs.
    Runs,
    /// Stretches of one trial on each side, each longer than the measured
    /// autocorrelation time.
    Stretches,
}

/// A decided comparison of the second side with the first.
#[derive(Clone, Copy, Debug)]
pub struct Found {
    /// How much larger the second is, in the figure's unit, with its interval.
    pub shift: f64,
    /// Interval of the shift at confidence 1 - level: of the permutation test alone, or, once a
    /// comparison is settled, with drift allowed for.
    pub interval: Interval,
    /// How many times larger, with its interval; `None` where a figure is not above 0.
    pub ratio: Option<(f64, Interval)>,
    /// Vargha and Delaney's A: the share of pairs of replicates in which the second
    /// is the larger.
    pub a_hat: f64,
    /// p-value of the permutation test alone.
    pub p: f64,
    /// The larger of this and that beside drift, adjusted for the family by Holm's method.
    pub p_adjusted: f64,
    /// Tests in the family.
    pub family: usize,
    /// What the replicates were, and how many there were on each side.
    pub basis: Basis,
    /// Replicates of each side.
    pub replicates: (usize, usize),
    /// The smallest shift that would have been found in 80 % of cases; `None` for stretches.
    pub detectable: Option<f64>,
    /// The same as a ratio; `None` where a figure is not above 0.
    pub detectable_ratio: Option<f64>,
    /// What drift leaves of the difference; `None` where sides took turns, and for stretches.
    pub drift: Option<Allowing>,
}

impl Found {
    /// With intervals that allow for drift.
    pub(crate) fn allowing_for_drift(mut self) -> Self {
        if let Some(drift) = self.drift {
            self.interval = hull(self.interval, drift.interval);
            self.ratio = self.ratio.map(|(ratio, interval)| {
                (
                    ratio,
                    drift.ratio.map_or(interval, |wide| hull(interval, wide)),
                )
            });
        }
        self
    }

    /// Whether values drift within blocks, so that intervals without allowance are too narrow.
    pub(crate) fn drifts_within(&self) -> bool {
        self.drift.is_some_and(|d| d.drift == Drift::Within)
    }

    /// What comes of it at `level`, where the permutation test alone has `p_plain`, adjusted. Its
    /// intervals allow for drift, as those do that gates are judged by.
    pub(crate) fn settled(self, p_plain: f64, level: f64) -> Verdict {
        let differs = self.p_adjusted <= level;
        let wide = self.allowing_for_drift();
        match self.drift {
            Some(allowing) if !differs && (self.drifts_within() || p_plain <= level) => {
                Verdict::Drifts(allowing.drift, wide)
            }
            _ => Verdict::Found(wide),
        }
    }
}
