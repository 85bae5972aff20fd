//! One side of a comparison: the trials of a run, cell by cell.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use tompion_model::{Factors, RunHeader, RunRecord, Status, Storage, Summary, Trial, View, factor};

use tompion_store::Run;

use crate::compare::parameters::Parameters;
use crate::compare::{Error, Result};

/// A run, or the trials of a run that have one level of a factor.
#[derive(Clone, Debug)]
pub struct Side {
    /// What the user calls it: the run's directory, or the level.
    pub name: String,
    /// The machine, the program and the plan.
    pub header: RunHeader,
    /// What befell the run: why it ended early, a CPU quota that stopped it.
    pub remarks: Vec<String>,
    /// Replicates of each cell.
    pub cells: BTreeMap<Factors, Replicates>,
}

/// The trials of one cell.
#[derive(Clone, Debug, Default)]
pub struct Replicates {
    /// In the order of their blocks.
    pub trials: Vec<Replicate>,
    /// All samples of the first trial in time order, in picoseconds, with missed periods filled
    /// in, where trials are too few to be replicates: then stretches of it may be. Empty otherwise.
    pub series: Vec<i64>,
    /// Seconds that the series lasted; 0 where it is empty.
    pub series_s: f64,
    /// How the values came about.
    pub(crate) parameters: Parameters,
}

/// One trial.
#[derive(Clone, Debug)]
pub struct Replicate {
    /// Its block.
    pub block: u32,
    /// Its samples as measured, without warm-up; `None` where there are none.
    pub summary: Option<Summary>,
    /// The same with missed periods filled in; `None` without a grid.
    pub corrected: Option<Summary>,
    /// Periods of the grid that it missed; `None` without a grid.
    pub missed: Option<u64>,
    /// Nanoseconds lost in stalls and observed; `None` but for stalls.
    pub stalls: Option<(u64, u64)>,
}

/// What the absence of a factor means, where other trials of the run have it: the usual
/// policy, the first of several guests.
fn usual(by: &str) -> Option<&'static str> {
    match by {
        factor::POLICY => Some("other"),
        factor::GUEST => Some("1"),
        _ => None,
    }
}

/// Trials below which the series itself is read: two groups of three reach no
/// p-value below 0.1.
const FEW: usize = 4;

impl Side {
    /// A whole run as one side.
    pub fn of_run(name: &str, run: &Run) -> Result<Self> {
        Self::gather(name, run, |f| Some(f.clone()))
    }

    /// The levels of a factor within one run, a side each, without that factor in
    /// the keys of their cells. Trials without the factor are in none, unless its absence
    /// is a level, too.
    pub fn of_levels(run: &Run, by: &str) -> Result<Vec<Self>> {
        let trials = &run.record().trials;
        let varies = trials.iter().any(|t| t.factors.get(by).is_some());
        // The first guest of a placement that has no other is held against nobody.
        let placements: BTreeSet<Option<&str>> = trials
            .iter()
            .filter(|t| t.factors.get(factor::GUEST).is_some())
            .map(|t| t.factors.get(factor::PLACEMENT))
            .collect();
        let counts = |factors: &Factors| {
            by != factor::GUEST || placements.contains(&factors.get(factor::PLACEMENT))
        };
        let level_of = |factors: &Factors| -> Option<String> {
            let level = factors.get(by).map(str::to_owned);
            let unnamed = usual(by).filter(|_| varies && counts(factors));
            level.or_else(|| unnamed.map(str::to_owned))
        };
        let mut levels: Vec<String> = Vec::new();
        for level in trials.iter().filter_map(|t| level_of(&t.factors)) {
            if !levels.contains(&level) {
                levels.push(level);
            }
        }
        if levels.len() < 2 {
            let names = varied(trials);
            return Err(Error::Wish(format!(
                "{}: factor `{by}` has {} here; {}",
                run.directory().path().display(),
                match levels.len() {
                    0 => "no level".to_owned(),
                    _ => format!("the one level `{}`", levels[0]),
                },
                match names.len() {
                    0 => "no factor of this run has several".to_owned(),
                    _ => format!("factors with several are {}", names.join(", ")),
                }
            )));
        }
        levels.sort_unstable();
        levels
            .into_iter()
            .map(|level| {
                Self::gather(&level, run, |f| {
                    (level_of(f).as_ref() == Some(&level)).then(|| {
                        let key = f.clone().without(by);
                        // Real-time threads have no slack: they stand beside the usual one.
                        match by == factor::POLICY && f.get(factor::SLACK) == Some("default") {
                            true => key.without(factor::SLACK),
                            false => key,
                        }
                    })
                })
            })
            .collect()
    }

    /// The platforms of a lab's run, without the factor in the keys of their cells and
    /// without series: from its record alone.
    pub(crate) fn of_platforms(record: &RunRecord) -> Vec<Self> {
        let mut levels: Vec<&str> = Vec::new();
        let named = record
            .trials
            .iter()
            .filter_map(|t| t.factors.get(factor::PLATFORM));
        for level in named {
            if !levels.contains(&level) {
                levels.push(level);
            }
        }
        let key = |f: &Factors, level: &str| {
            let here = f.get(factor::PLATFORM) == Some(level);
            here.then(|| f.clone().without(factor::PLATFORM))
        };
        levels
            .into_iter()
            .map(|level| Self::without_series(level, record, |f| key(f, level)).0)
            .collect()
    }

    fn gather(name: &str, run: &Run, key: impl Fn(&Factors) -> Option<Factors>) -> Result<Self> {
        let record = match run.summaries_are_checked() {
            true => Cow::Borrowed(run.record()),
            false => Cow::Owned(summarised_anew(run)?),
        };
        let (mut side, first) = Self::without_series(name, &record, key);
        for (key, cell) in &mut side.cells {
            let trial = first[key];
            if cell.trials.len() < FEW && trial.storage == Storage::Complete {
                cell.series = series(run, trial)?;
                cell.series_s = trial.duration_ns as f64 / 1e9;
            }
        }
        Ok(side)
    }

    /// The side, and the first trial of each cell.
    fn without_series<'r>(
        name: &str,
        record: &'r RunRecord,
        key: impl Fn(&Factors) -> Option<Factors>,
    ) -> (Self, BTreeMap<Factors, &'r Trial>) {
        let mut cells: BTreeMap<Factors, Replicates> = BTreeMap::new();
        let mut first: BTreeMap<Factors, &Trial> = BTreeMap::new();
        for trial in &record.trials {
            let Some(key) = key(&trial.factors) else {
                continue;
            };
            first.entry(key.clone()).or_insert(trial);
            let cell = cells.entry(key).or_default();
            cell.parameters.add(trial);
            cell.trials.push(Replicate {
                block: trial.block,
                summary: trial.summary.measured.clone(),
                corrected: trial.summary.missed_filled.clone(),
                missed: trial.summary.missed_periods,
                stalls: trial
                    .findings
                    .stalls
                    .as_ref()
                    .map(|s| (s.lost_ns, s.observed_ns)),
            });
        }
        cells
            .values_mut()
            .for_each(|cell| cell.trials.sort_by_key(|t| t.block));
        let side = Self {
            name: name.to_owned(),
            header: record.header.clone(),
            remarks: remarks(record),
            cells,
        };
        (side, first)
    }
}

/// What a reader of a comparison should know of how a run went.
fn remarks(record: &RunRecord) -> Vec<String> {
    let mut found = Vec::new();
    match record.status {
        Status::Running => found
            .push("It was not ended in order; its trials are those that were saved.".to_owned()),
        Status::Interrupted => found.push(
            "It was interrupted; its trials are those that were measured by then.".to_owned(),
        ),
        _ => {}
    }
    if let Some(t) = record.throttling.filter(|t| t.throttled_periods > 0) {
        found.push(format!(
            "A CPU quota stopped it in {} of {} periods.",
            t.throttled_periods, t.periods
        ));
    }
    found.extend(record.notes.iter().map(|note| note.text.clone()));
    found
}

/// Factors that can be compared within a run.
fn varied(trials: &[Trial]) -> Vec<&str> {
    let mut levels: BTreeMap<&str, BTreeSet<Option<&str>>> = BTreeMap::new();
    for name in trials.iter().flat_map(|t| t.factors.iter()).map(|f| f.0) {
        levels.entry(name).or_default();
    }
    for (name, levels) in &mut levels {
        let found = trials.iter().map(|t| t.factors.get(name));
        levels.extend(found.filter(|l| l.is_some() || usual(name).is_some()));
    }
    let several = levels.iter().filter(|(_, levels)| levels.len() > 1);
    let names = several.map(|(name, _)| *name);
    names.filter(|name| *name != factor::PROBE).collect()
}

/// The record of a run whose summaries no checksum covers, with those that its samples give.
fn summarised_anew(run: &Run) -> Result<RunRecord> {
    let mut record = run.record().clone();
    let mut summaries = Vec::with_capacity(record.trials.len());
    run.each_trial(|trial, data| {
        let missed = trial.summary.missed_periods;
        summaries.push(data.summarise(trial.measurement.period_ns, missed));
    })?;
    for (trial, summary) in record.trials.iter_mut().zip(summaries) {
        trial.summary = summary;
    }
    Ok(record)
}

/// Values of single operations in time order, with missed periods filled in; empty where these are
/// too many.
fn series(run: &Run, trial: &Trial) -> Result<Vec<i64>> {
    let view = match trial.measurement.period_ns {
        Some(period) => View::Filled {
            period_ps: period as i64 * 1000,
        },
        None => View::Measured,
    };
    Ok(run.data(trial)?.series(view).unwrap_or_default())
}
