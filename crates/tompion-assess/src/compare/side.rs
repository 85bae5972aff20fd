//! One side of a comparison: the trials of a run, cell by cell.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::UNIX_EPOCH;

use tompion_model::{
    AT_REST, Factors, Order, RunHeader, RunRecord, Status, Storage, Trial, View, factor,
};
use tompion_stats::{Distribution, MANY_DISTINCT};
use tompion_store::Run;

use crate::compare::replicates::Values;
use crate::compare::{Error, Replicate, Replicates, Result};

/// A run, or the trials of a run that have one level of a factor.
#[derive(Clone, Debug)]
pub struct Side {
    /// What the user calls it: the run's directory, or the level.
    pub name: String,
    /// The machine, the program and the plan; sides of one run share it.
    pub header: Arc<RunHeader>,
    /// What befell the run: why it ended early, a CPU quota that stopped it.
    pub remarks: Arc<Vec<String>>,
    /// Replicates of each cell.
    pub cells: BTreeMap<Factors, Replicates>,
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

/// The level of a factor, or what its absence means.
pub(crate) fn level_of<'a>(factors: &'a Factors, name: &str) -> Option<&'a str> {
    factors.get(name).or_else(|| usual(name))
}

/// More levels than anybody compares two by two; a run of a stranger may have thousands.
const MOST_LEVELS: usize = 300;

/// Values that all series of a run have together: 128 MiB.
const MOST_IN_SERIES: usize = 1 << 24;

/// Distinct values of all trials of a cell, and those that each may have at least.
const MOST_IN_CELL: usize = 1 << 22;
const LEAST_IN_TRIAL: usize = 1 << 8;

/// Trials below which the series itself is read: two groups of three reach no
/// p-value below 0.1.
const FEW: usize = 4;

impl Side {
    /// A whole run as one side, whose replicates are its trials.
    pub fn of_run(name: &str, run: &Run) -> Result<Self> {
        let whole = Whole::of(run)?;
        let mut room = MOST_IN_SERIES;
        let mut side = Self::gather(name, &whole, &mut room, |f| Some(f.clone()))?;
        let mut trials: BTreeMap<&Factors, Vec<&Trial>> = BTreeMap::new();
        for trial in &run.record().trials {
            trials.entry(&trial.factors).or_default().push(trial);
        }
        for (key, mut trials) in trials {
            // As the replicates are.
            trials.sort_by_key(|trial| trial.block);
            let replicates = side
                .cells
                .get_mut(key)
                .into_iter()
                .flat_map(|c| &mut c.trials);
            for (replicate, trial) in replicates.zip(trials) {
                replicate.order = order(run, trial)?;
            }
        }
        Ok(side)
    }

    /// Several runs as one side, whose replicates are the runs. Its header is that of the first.
    ///
    /// # Errors
    /// No run.
    pub fn of_runs(name: &str, of_each: Vec<Self>) -> Result<Self> {
        let Some(first) = of_each.first() else {
            return Err(Error::Wish(format!("{name}: no run is given")));
        };
        let header = Arc::clone(&first.header);
        let mut known = BTreeSet::new();
        let remarks = of_each.iter().flat_map(|s| s.remarks.iter());
        let remarks: Vec<String> = remarks.filter(|r| known.insert(*r)).cloned().collect();
        let mut cells: BTreeMap<Factors, Vec<Replicates>> = BTreeMap::new();
        for (key, cell) in of_each.into_iter().flat_map(|side| side.cells) {
            cells.entry(key).or_default().push(cell);
        }
        let cells = cells.into_iter();
        Ok(Self {
            name: name.to_owned(),
            header,
            remarks: Arc::new(remarks),
            cells: cells
                .map(|(key, runs)| (key, Replicates::of_runs(&runs)))
                .collect(),
        })
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
        let levels: BTreeSet<String> = trials.iter().filter_map(|t| level_of(&t.factors)).collect();
        let mut levels = Vec::from_iter(levels);
        // What a load does is its difference from rest.
        levels.sort_by_key(|level| by != factor::LOAD || level != AT_REST);
        if levels.len() < 2 {
            return Err(Error::Wish(format!(
                "{}: {}",
                run.directory().path().display(),
                without_levels(by, levels.first().map(String::as_str), &varied(trials))
            )));
        }
        if levels.len() > MOST_LEVELS {
            return Err(Error::Wish(format!(
                "{}: factor `{by}` has {} levels here; at most {MOST_LEVELS} are compared with one another",
                run.directory().path().display(),
                levels.len()
            )));
        }
        let whole = Whole::of(run)?;
        let mut room = MOST_IN_SERIES;
        levels
            .into_iter()
            .map(|level| {
                Self::gather(&level, &whole, &mut room, |f| {
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
        let mut known = BTreeSet::new();
        let named = record
            .trials
            .iter()
            .filter_map(|t| t.factors.get(factor::PLATFORM));
        let levels: Vec<&str> = named.filter(|level| known.insert(*level)).collect();
        if levels.len() > MOST_LEVELS {
            // More than anybody compares.
            return Vec::new();
        }
        let key = |f: &Factors, level: &str| {
            let here = f.get(factor::PLATFORM) == Some(level);
            here.then(|| f.clone().without(factor::PLATFORM))
        };
        let header = Arc::new(record.header.clone());
        levels
            .into_iter()
            .map(|level| Self::without_series(level, record, &header, |f| key(f, level)).0)
            .collect()
    }

    /// `room` is left for values of series, of this side and of others of the run.
    fn gather(
        name: &str,
        whole: &Whole<'_>,
        room: &mut usize,
        key: impl Fn(&Factors) -> Option<Factors>,
    ) -> Result<Self> {
        let Whole {
            run,
            record,
            header,
            remarks,
        } = whole;
        let (mut side, trials) = Self::without_series(name, record, header, key);
        side.remarks = Arc::clone(remarks);
        let mut left_out = 0_u64;
        for (key, cell) in &mut side.cells {
            let trials = &trials[key];
            let values = values(run, trials)?;
            cell.whole = Some(Box::new(Replicate::of_several(0, &cell.trials, &values)));
            let trial = trials[0];
            if cell.trials.len() < FEW && trial.storage == Storage::Complete {
                let series = match *room {
                    0 => Vec::new(),
                    _ => series(run, trial)?,
                };
                if series.len() > *room || *room == 0 {
                    // The next ones have none either: which do is said by their keys alone.
                    (left_out, *room) = (left_out + 1, 0);
                    continue;
                }
                *room -= series.len();
                cell.series = series;
                cell.series_s = trial.duration_ns as f64 / 1e9;
            }
        }
        if left_out > 0 {
            Arc::make_mut(&mut side.remarks).push(format!(
                "{left_out} of its cells are not compared value by value: the run has more than {MOST_IN_SERIES} values of \
                 cells with few trials."
            ));
        }
        Ok(side)
    }

    /// The side, and the trials of each cell in the order of the record.
    fn without_series<'r>(
        name: &str,
        record: &'r RunRecord,
        header: &Arc<RunHeader>,
        key: impl Fn(&Factors) -> Option<Factors>,
    ) -> (Self, BTreeMap<Factors, Vec<&'r Trial>>) {
        let mut cells: BTreeMap<Factors, Replicates> = BTreeMap::new();
        let mut trials: BTreeMap<Factors, Vec<&Trial>> = BTreeMap::new();
        let started_ns = started_ns(&record.header);
        for trial in &record.trials {
            let Some(key) = key(&trial.factors) else {
                continue;
            };
            trials.entry(key.clone()).or_default().push(trial);
            let cell = cells.entry(key).or_default();
            cell.parameters.add(trial);
            cell.trials.push(Replicate::of(trial, started_ns));
        }
        cells
            .values_mut()
            .for_each(|cell| cell.trials.sort_by_key(|t| t.block));
        let side = Self {
            name: name.to_owned(),
            header: Arc::clone(header),
            remarks: Arc::default(),
            cells,
        };
        (side, trials)
    }
}

/// A run, with what all of its sides have in common.
struct Whole<'r> {
    run: &'r Run,
    record: Cow<'r, RunRecord>,
    header: Arc<RunHeader>,
    remarks: Arc<Vec<String>>,
}

impl<'r> Whole<'r> {
    fn of(run: &'r Run) -> Result<Self> {
        let record = believed(run)?;
        Ok(Self {
            run,
            header: Arc::new(record.header.clone()),
            remarks: Arc::new(remarks(&record)),
            record,
        })
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
    found.extend(record.mistakes());
    found.extend(record.notes.iter().map(|note| note.text.clone()));
    found
}

/// Factors that can be compared within a run.
pub(crate) fn varied<'a>(trials: impl IntoIterator<Item = &'a Trial>) -> Vec<&'a str> {
    let trials: Vec<&Trial> = trials.into_iter().collect();
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

/// Why levels of a factor cannot be held against one another: there is none, or but one. `known` are the
/// factors that have several; one of them may have been meant.
pub(crate) fn without_levels(name: &str, one: Option<&str>, known: &[&str]) -> String {
    let why = match one {
        None => format!("no trial has a factor `{name}`"),
        Some(one) => format!("the only level of `{name}` is `{one}`"),
    };
    let meant = |known: &&&str| !name.is_empty() && known.contains(name);
    match (known.iter().find(meant), known.len()) {
        (Some(meant), _) if one.is_none() => format!("{why}; did you mean `{meant}`?"),
        (_, 0) => format!("{why}, and no factor has several"),
        _ => format!("{why}; factors with several are {}", known.join(", ")),
    }
}

/// The record of a run with summaries that can be believed.
///
/// # Errors
/// Samples that cannot be read, where summaries have to be made anew.
pub fn believed(run: &Run) -> Result<Cow<'_, RunRecord>> {
    Ok(match run.summaries_are_checked() {
        true => Cow::Borrowed(run.record()),
        false => Cow::Owned(summarised_anew(run)?),
    })
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

/// When a run began, in nanoseconds since the Unix epoch.
fn started_ns(header: &RunHeader) -> Option<i128> {
    let since = header.started()?.duration_since(UNIX_EPOCH).ok()?;
    i128::try_from(since.as_nanos()).ok()
}

/// The values of a cell, a distribution a block. Several blocks take them from histograms, which
/// are within 0.05 %, where there are checked ones: samples may be many.
fn values(run: &Run, trials: &[&Trial]) -> Result<Values> {
    let mut all = Values::default();
    if trials.len() < 2 {
        return Ok(all);
    }
    for trial in trials {
        let histograms = match run.summaries_are_checked() {
            true => run.histograms(trial)?,
            false => None,
        };
        let (measured, filled): (Option<Distribution>, Option<Distribution>) = match histograms {
            Some(mut by_name) => (by_name.remove("measured"), by_name.remove("missed_filled")),
            None => {
                let data = run.data(trial)?;
                let of = |view| data.distribution(view).bounded(MANY_DISTINCT);
                let filled = trial.measurement.period_ns.map(|_| of(view(trial)));
                (Some(of(View::Measured)), filled)
            }
        };
        // A stranger's histograms may have any number of bins.
        let each = (MOST_IN_CELL / trials.len()).max(LEAST_IN_TRIAL);
        all.measured.extend(measured.map(|of| of.clustered(each)));
        all.filled.extend(filled.map(|of| of.clustered(each)));
    }
    Ok(all)
}

/// How the values of a trial follow one another: as its summary says, where that is believed, else by
/// its samples.
fn order(run: &Run, trial: &Trial) -> Result<Option<Order>> {
    let summary = match trial.measurement.period_ns {
        Some(_) => &trial.summary.missed_filled,
        None => &trial.summary.measured,
    };
    let stated = summary.as_ref().and_then(|s| s.order);
    if let (Some(order), true) = (stated, run.summaries_are_checked()) {
        return Ok(Some(order));
    }
    let within = run.data(trial)?.block(view(trial), u64::MAX, 0).within;
    Ok(within.as_ref().map(Order::of))
}

/// With missed periods filled in where there are periods.
fn view(trial: &Trial) -> View {
    match trial.measurement.period_ns {
        Some(period) => View::Filled {
            period_ps: period as i64 * 1000,
        },
        None => View::Measured,
    }
}

/// Values of single operations in time order, with missed periods filled in; empty where these are
/// too many.
fn series(run: &Run, trial: &Trial) -> Result<Vec<i64>> {
    Ok(run.data(trial)?.series(view(trial)).unwrap_or_default())
}
