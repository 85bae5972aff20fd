//! The replicates of one cell: its trials, or the runs of a side.

use tompion_model::{Blocks, Order, Summary, Trial};
use tompion_stats::Distribution;

use crate::compare::Basis;
use crate::compare::parameters::Parameters;

/// What a side has of one cell.
#[derive(Clone, Debug)]
pub struct Replicates {
    /// In the order of their blocks, or runs in the order in which they were given.
    pub trials: Vec<Replicate>,
    /// What each of them is: a trial, or a whole run.
    pub basis: Basis,
    /// All of them as one: the cell's one figures, of which each block weighs the same. `None` where
    /// nothing but the record of a run was read.
    pub whole: Option<Box<Replicate>>,
    /// All samples of the first trial in time order, in picoseconds, with missed periods filled
    /// in, where trials are too few to be replicates: then stretches of it may be. Empty otherwise.
    pub series: Vec<i64>,
    /// Seconds that the series lasted; 0 where it is empty.
    pub series_s: f64,
    /// How the values came about.
    pub(crate) parameters: Parameters,
}

/// One trial, or several as one.
#[derive(Clone, Debug, Default)]
pub struct Replicate {
    /// Its block; of a run, its place among those of its side.
    pub block: u32,
    /// When it began, in nanoseconds since the Unix epoch; `None` where that is not known.
    pub started_ns: Option<i128>,
    /// Its samples as measured, without warm-up; `None` where there are none.
    pub summary: Option<Summary>,
    /// The same with missed periods filled in; `None` without a grid.
    pub corrected: Option<Summary>,
    /// Periods of the grid that it missed; `None` without a grid.
    pub missed: Option<u64>,
    /// Nanoseconds lost in stalls and observed; `None` but for stalls.
    pub stalls: Option<(u64, u64)>,
    /// How its values follow one another, missed periods filled in; `None` where that is not
    /// known, or not asked for.
    pub order: Option<Order>,
}

/// The distributions behind some blocks.
#[derive(Debug, Default)]
pub(crate) struct Values {
    pub measured: Vec<Distribution>,
    pub filled: Vec<Distribution>,
}

impl Default for Replicates {
    fn default() -> Self {
        Self {
            trials: Vec::new(),
            basis: Basis::Trials,
            whole: None,
            series: Vec::new(),
            series_s: 0.0,
            parameters: Parameters::default(),
        }
    }
}

impl Replicates {
    /// Trials whose values are at hand, each a second after the one before; the first began
    /// `from` seconds after the epoch.
    pub fn of_blocks(blocks: &Blocks, from: u32) -> Self {
        let trial = |(at, values): (usize, &Distribution)| Replicate {
            block: at as u32,
            started_ns: Some(1_000_000_000 * (i128::from(from) + at as i128)),
            summary: Summary::of_ps(values),
            order: blocks
                .within()
                .get(at)
                .and_then(Option::as_ref)
                .map(Order::of),
            ..Replicate::default()
        };
        let trials: Vec<Replicate> = blocks.iter().enumerate().map(trial).collect();
        let values = Values {
            measured: blocks.to_vec(),
            filled: Vec::new(),
        };
        Self {
            whole: Some(Box::new(Replicate::of_several(0, &trials, &values))),
            trials,
            ..Self::default()
        }
    }

    /// Runs as replicates, each of them all that it has of a cell.
    pub fn of_runs(runs: &[Self]) -> Self {
        let wholes = runs.iter().filter_map(|run| run.whole.as_deref().cloned());
        let mut trials: Vec<Replicate> = wholes.collect();
        (0..).zip(&mut trials).for_each(|(at, run)| run.block = at);
        let mut parameters = Parameters::default();
        runs.iter()
            .for_each(|run| parameters.merge(&run.parameters));
        Self {
            trials,
            basis: Basis::Runs,
            parameters,
            ..Self::default()
        }
    }
}

impl Replicate {
    /// A trial by its record.
    pub(crate) fn of(trial: &Trial, run_started_ns: Option<i128>) -> Self {
        Self {
            block: trial.block,
            started_ns: run_started_ns.map(|ns| ns + i128::from(trial.started_ns)),
            summary: trial.summary.measured.clone(),
            corrected: trial.summary.missed_filled.clone(),
            missed: trial.summary.missed_periods,
            stalls: trial
                .findings
                .stalls
                .as_ref()
                .map(|s| (s.lost_ns, s.observed_ns)),
            order: None,
        }
    }

    /// Several as one: quantiles are those of the mean of the blocks' distributions.
    pub(crate) fn of_several(block: u32, parts: &[Self], values: &Values) -> Self {
        let started = parts.iter().map(|p| p.started_ns);
        let (mut missed, mut stalls) = (None, None);
        for part in parts {
            if let Some(more) = part.missed {
                let sum = missed.get_or_insert(0u64);
                *sum = sum.saturating_add(more);
            }
            if let Some((lost, observed)) = part.stalls {
                let sums = stalls.get_or_insert((0u64, 0u64));
                *sums = (sums.0.saturating_add(lost), sums.1.saturating_add(observed));
            }
        }
        // Bins need not be asked where there is but one block.
        let summary = |of: fn(&Self) -> &Option<Summary>, values: &[Distribution]| match parts {
            [one] => of(one).clone(),
            _ => {
                let parts: Vec<&Summary> = parts.iter().filter_map(|p| of(p).as_ref()).collect();
                Summary::of_blocks_ps(values).map(|whole| exact(whole, &parts))
            }
        };
        Self {
            block,
            // `None` is the least: where one is not known, the first is not.
            started_ns: started.min().flatten(),
            summary: summary(|p| &p.summary, &values.measured),
            corrected: summary(|p| &p.corrected, &values.filled),
            missed,
            stalls,
            order: None,
        }
    }
}

/// The same with what its parts know better than bins.
fn exact(mut whole: Summary, parts: &[&Summary]) -> Summary {
    let ends = parts.iter().map(|p| (p.min_ns, p.max_ns));
    if let Some((min, max)) = ends.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1))) {
        (whole.min_ns, whole.max_ns) = (min, max);
        whole.mean_ns = parts.iter().map(|p| p.mean_ns).sum::<f64>() / parts.len() as f64;
    }
    whole
}
