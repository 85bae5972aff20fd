//! Quantiles beyond what was sampled, from a fit of the largest samples of a cell: always
//! extrapolated, and in no verdict.

use tompion_model::{Cell, Trial, TrialData, View};
use tompion_stats::{
    Extrapolation, NoInterval, NoTail, TailFit, TailSeries, interval_samples_needed,
};

use crate::over_blocks::OverBlocks;
use crate::precision::LEVEL;

/// The quantiles that are extrapolated where samples are too few for an interval.
pub(crate) const QUANTILES: [f64; 2] = [0.999, 0.9999];

/// Cells whose tails are fitted, the first of a run: each takes some hundredths of a second.
const FITTED_CELLS: usize = 256;

/// The largest samples of a cell, as its trials come in.
#[derive(Clone, Debug, Default)]
pub(crate) struct Largest {
    series: TailSeries,
    /// Some samples are known by number alone.
    binned: bool,
}

/// The fitted tail of a cell.
#[derive(Clone, Debug)]
pub(crate) struct Tail {
    /// Whether missed periods were filled in.
    pub filled: bool,
    /// Whether there are too few samples for any fit.
    pub few: bool,
    /// One for each of [`QUANTILES`] that the samples alone do not tell, or why not.
    pub quantiles: Vec<(f64, Result<Extrapolation, String>)>,
}

impl Largest {
    /// Takes in one trial: single operations, with missed periods filled in where there are any,
    /// in picoseconds.
    pub(crate) fn add(&mut self, trial: &Trial, data: &TrialData) {
        if self.is_enough() || trial.findings.stalls.is_some() {
            return;
        }
        if data.bins.is_some() {
            self.binned = true;
            return;
        }
        let missed = data.samples.iter().any(|s| s.missed > 0);
        match trial.measurement.period_ns.filter(|_| missed) {
            None => {
                let counting = data.samples.iter();
                let counting = counting.filter(|s| s.n == 1 && !s.mark.is_left_out());
                counting.for_each(|s| self.series.push(s.value_ps as f64));
            }
            Some(period_ns) => {
                let period_ps = period_ns as i64 * 1000;
                match data.series(View::Filled { period_ps }) {
                    Some(values) => values.iter().for_each(|v| self.series.push(*v as f64)),
                    None => self.binned = true,
                }
            }
        }
    }

    /// Whether samples alone tell all quantiles.
    fn is_enough(&self) -> bool {
        let last = QUANTILES[QUANTILES.len() - 1];
        self.series.len() as u64 >= interval_samples_needed(last)
    }

    /// What is said of quantiles that the samples alone do not tell; `None` where they tell all of
    /// them, and where there are none.
    ///
    /// `number` is how many cells were looked at before.
    pub(crate) fn tail(
        &self,
        cell: &Cell,
        number: usize,
        over_blocks: &OverBlocks,
    ) -> Option<Tail> {
        if self.is_enough() || (self.series.is_empty() && !self.binned) {
            return None;
        }
        let samples = self.series.len() as u64;
        let untold = QUANTILES
            .into_iter()
            .filter(|q| self.binned || samples < interval_samples_needed(*q));
        let mut few = false;
        let fit = match self.refused(over_blocks) {
            None if number >= FITTED_CELLS => Err(format!(
                "a run has {FITTED_CELLS} cells at most whose tails are fitted"
            )),
            Some(why) => Err(why),
            None => TailFit::of(&self.series).map_err(|why| {
                few = matches!(why, NoTail::TooFew { .. });
                why.to_string()
            }),
        };
        let quantile = |q: f64| match &fit {
            Ok(fit) => fit.quantile(q, LEVEL).map_err(|why| why.to_string()),
            Err(why) => Err(why.clone()),
        };
        Some(Tail {
            filled: cell.missed_periods.is_some_and(|n| n > 0),
            few,
            quantiles: untold.map(|q| (q, quantile(q))).collect(),
        })
    }

    /// What forbids a fit before it is tried.
    fn refused(&self, over_blocks: &OverBlocks) -> Option<String> {
        let disagree = [0.5, 0.9, 0.99]
            .iter()
            .any(|q| over_blocks.range(*q).is_some());
        let drift = matches!(over_blocks.interval(0.5), Some(Err(NoInterval::Slow)));
        let why = match () {
            () if self.binned => NoInterval::NoOrder.to_string(),
            () if disagree => "blocks disagree: a fit of the tail takes samples of one kind".into(),
            () if drift => "values drift within blocks: a fit of the tail takes steady ones".into(),
            () => return None,
        };
        Some(why)
    }
}
