//! Where the level of a cell jumps: across its blocks, and within long trials; of stalls, how many
//! there are.

use tompion_model::{Sample, Trial, TrialData};
use tompion_stats::{ChangePoint, ChangePointError, Figures, Interval, change_points};

/// The level of all series of a run together.
pub(crate) const LEVEL: f64 = 0.05;

/// Trials of this length and more are looked into, in nanoseconds.
pub(crate) const LONG_NS: u64 = 10_000_000_000;

/// Stretches that a long trial is looked at by.
const STRETCHES: usize = 60;

/// Samples of a stretch whose median is worth telling.
const LEAST_EACH: usize = 32;

/// Stalls of a trial in whose rate a change could be found.
const LEAST_STALLS: usize = 2 * STRETCHES;

/// What is followed over time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Quantity {
    /// The median, in nanoseconds.
    Median,
    /// Stalls per second.
    StallRate,
}

/// Figures of one cell in time order.
#[derive(Clone, Debug)]
pub(crate) struct Series {
    /// What they are.
    pub quantity: Quantity,
    /// The block that they lie in; absent where each is of a block.
    pub block: Option<u32>,
    /// When each begins, in nanoseconds since the run did.
    at_ns: Vec<u64>,
    values: Vec<f64>,
    /// Events that the unit of `values` stands for: rates are counts of that many seconds.
    per_s: f64,
}

/// The series of one cell, as its trials come in.
#[derive(Clone, Debug, Default)]
pub(crate) struct Track {
    blocks: Vec<Block>,
    within: Vec<Series>,
}

/// One block of a cell.
#[derive(Clone, Copy, Debug)]
struct Block {
    at_ns: u64,
    median_ns: Option<f64>,
    /// Stalls, and the nanoseconds in which they were seen.
    stalls: Option<(u64, u64)>,
}

/// What came of one series.
#[derive(Clone, Debug)]
pub(crate) struct Looked {
    /// Number of its cell in the run.
    pub cell: usize,
    /// What was followed.
    pub quantity: Quantity,
    /// The block that was looked into; absent where all were.
    pub block: Option<u32>,
    /// Figures of the series.
    pub figures: usize,
    /// The changes, or why none were looked for.
    pub found: Result<Vec<Change>, ChangePointError>,
}

/// One jump.
#[derive(Clone, Debug)]
pub(crate) struct Change {
    /// When the new level begins, in nanoseconds since the run did,
    pub at_ns: u64,
    /// and from when to when that may be.
    pub between_ns: (u64, u64),
    /// The level before, in the unit of the quantity.
    pub before: f64,
    /// The level after.
    pub after: f64,
    /// `after / before` and its interval, where both are above 0.
    pub ratio: Option<(f64, Option<Interval>)>,
    /// p where nothing wanders below the noise,
    pub p: f64,
    /// and where something may.
    pub p_wander: f64,
}

impl Track {
    /// Takes in one trial, in the order of execution.
    pub(crate) fn add(&mut self, trial: &Trial, data: &TrialData) {
        let summary = &trial.summary;
        let plotted = summary.measured.as_ref().or(summary.batched.as_ref());
        let stalls = trial.findings.stalls.as_ref();
        self.blocks.push(Block {
            at_ns: trial.started_ns,
            median_ns: plotted.map(|s| s.median_ns),
            stalls: stalls.map(|s| (s.stalls, s.observed_ns)),
        });
        if trial.duration_ns >= LONG_NS {
            self.within.extend(match stalls {
                Some(found) if found.rows_lost == 0 => {
                    let least_ps = found.threshold_ns.saturating_mul(1000);
                    let span_ns = found.wall_ns.max(trial.duration_ns);
                    rate_within(
                        trial,
                        data,
                        least_ps.try_into().unwrap_or(i64::MAX),
                        span_ns,
                    )
                }
                Some(_) => None,
                None => level_within(trial, data),
            });
        }
    }

    /// All of its series that have a figure.
    fn series(self) -> impl Iterator<Item = Series> {
        let over_blocks = match self.blocks.iter().all(|b| b.stalls.is_some()) {
            true => rates(&self.blocks),
            false => medians(&self.blocks),
        };
        let all = over_blocks.into_iter().chain(self.within);
        all.filter(|s| !s.values.is_empty())
    }
}

/// The medians of blocks.
fn medians(blocks: &[Block]) -> Option<Series> {
    let told = blocks.iter().filter_map(|b| Some((b.at_ns, b.median_ns?)));
    let (at_ns, values) = told.unzip();
    Some(Series {
        quantity: Quantity::Median,
        block: None,
        at_ns,
        values,
        per_s: 1.0,
    })
}

/// The stalls of blocks, as many as there would be in blocks of equal length.
fn rates(blocks: &[Block]) -> Option<Series> {
    let seen: Vec<(u64, (u64, u64))> = blocks
        .iter()
        .filter_map(|b| Some((b.at_ns, b.stalls.filter(|s| s.1 > 0)?)))
        .collect();
    let mean_ns = seen.iter().map(|b| b.1.1 as f64).sum::<f64>() / seen.len().max(1) as f64;
    let scaled = |b: &(u64, (u64, u64))| (b.0, b.1.0 as f64 * mean_ns / b.1.1 as f64);
    let (at_ns, values) = seen.iter().map(scaled).unzip();
    Some(Series {
        quantity: Quantity::StallRate,
        block: None,
        at_ns,
        values,
        per_s: mean_ns / 1e9,
    })
}

/// Samples that count, one operation each.
fn counting(data: &TrialData) -> impl Iterator<Item = &Sample> {
    let counts = |s: &&Sample| s.n == 1 && !s.mark.is_left_out();
    data.samples.iter().filter(counts)
}

/// Medians of stretches with equal numbers of samples.
fn level_within(trial: &Trial, data: &TrialData) -> Option<Series> {
    let each = counting(data).count() / STRETCHES;
    if each < LEAST_EACH || data.bins.is_some() {
        return None;
    }
    let mut samples = counting(data);
    let (mut at_ns, mut values) = (Vec::new(), Vec::new());
    let mut stretch = Vec::with_capacity(each);
    for _ in 0..STRETCHES {
        stretch.clear();
        let first = samples.next()?;
        at_ns.push(trial.started_ns.saturating_add(first.at_ns));
        stretch.push(first.value_ps);
        stretch.extend(samples.by_ref().take(each - 1).map(|s| s.value_ps));
        let (_, middle, _) = stretch.select_nth_unstable(each / 2);
        values.push(*middle as f64 / 1e3);
    }
    Some(Series {
        quantity: Quantity::Median,
        block: Some(trial.block),
        at_ns,
        values,
        per_s: 1.0,
    })
}

/// Numbers of samples of `least_ps` or more in stretches of equal time.
fn rate_within(trial: &Trial, data: &TrialData, least_ps: i64, span_ns: u64) -> Option<Series> {
    let mut counts = vec![0.0; STRETCHES];
    let mut all = 0;
    for sample in counting(data).filter(|s| s.value_ps >= least_ps) {
        let place = u128::from(sample.at_ns) * STRETCHES as u128 / u128::from(span_ns.max(1));
        counts[(place as usize).min(STRETCHES - 1)] += 1.0;
        all += 1;
    }
    let each_ns = span_ns / STRETCHES as u64;
    let at_ns = (0..STRETCHES as u64).map(|i| trial.started_ns.saturating_add(i * each_ns));
    (all >= LEAST_STALLS).then(|| Series {
        quantity: Quantity::StallRate,
        block: Some(trial.block),
        at_ns: at_ns.collect(),
        values: counts,
        per_s: each_ns as f64 / 1e9,
    })
}

/// Looks for changes in all series of a run, of which the tracks are the cells: so that one is
/// found by chance in [`LEVEL`] of runs.
pub(crate) fn look(tracks: Vec<Track>) -> Vec<Looked> {
    let all: Vec<(usize, Series)> = tracks
        .into_iter()
        .enumerate()
        .flat_map(|(cell, track)| track.series().map(move |s| (cell, s)))
        .collect();
    let long = |s: &(usize, Series)| s.1.values.len() >= tompion_stats::LEAST_FIGURES;
    let level = LEVEL / all.iter().filter(|s| long(s)).count().max(1) as f64;
    let looked = all.into_iter().map(|(cell, series)| Looked {
        cell,
        quantity: series.quantity,
        block: series.block,
        figures: series.values.len(),
        found: series.changes(level),
    });
    looked.collect()
}

impl Series {
    fn changes(&self, level: f64) -> Result<Vec<Change>, ChangePointError> {
        let kind = match self.quantity {
            Quantity::StallRate => Figures::Counts,
            Quantity::Median if self.values.iter().all(|v| *v > 0.0) => Figures::Positive,
            Quantity::Median => Figures::Signed,
        };
        let found = change_points(&self.values, kind, level)?;
        Ok(found.into_iter().map(|c| self.change(c)).collect())
    }

    fn change(&self, found: ChangePoint) -> Change {
        let at = |index: usize| {
            let last = self.at_ns.len() - 1;
            self.at_ns[index.min(last)]
        };
        Change {
            at_ns: at(found.index),
            between_ns: (at(found.between.0), at(found.between.1)),
            before: found.before / self.per_s,
            after: found.after / self.per_s,
            ratio: found.ratio.map(|ratio| (ratio, found.ratio_interval)),
            p: found.p,
            p_wander: found.p_wander,
        }
    }
}
