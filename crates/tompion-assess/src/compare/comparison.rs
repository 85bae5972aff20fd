//! Sides held against each other, cell by cell.

use std::collections::{BTreeMap, BTreeSet};

use tompion_model::{Factors, factor};
use tompion_stats::{
    Adjustment, Comparison as Statistics, Design, Distribution, Interval, LEAST_SPAN_S, Outcome,
    Series, compare_replicates, compare_series,
};

use crate::compare::{Error, Figure, Replicates, Result, Side};

/// How to compare.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Figures compared; `None` for those that are usual for each probe.
    pub figures: Option<Vec<Figure>>,
    /// Level of the tests, and 1 minus the confidence of the intervals.
    pub level: f64,
    /// Whether the sides are levels of one run, measured in the same blocks.
    pub paired: bool,
}

impl Settings {
    /// The usual figures at level 0.05 for runs of their own.
    pub fn usual() -> Self {
        Self {
            figures: None,
            level: 0.05,
            paired: false,
        }
    }

    fn design(&self) -> Design {
        match self.paired {
            true => Design::Paired,
            false => Design::Independent,
        }
    }
}

/// Sides held against each other.
#[derive(Clone, Debug)]
pub struct Comparison {
    /// Names of the sides in their order.
    pub sides: Vec<String>,
    /// The level.
    pub level: f64,
    /// Whether replicates were paired by block.
    pub paired: bool,
    /// One row for each cell, figure and pair of sides.
    pub rows: Vec<Row>,
    /// Cells that not all sides have, with the names of those that do.
    pub partial: Vec<(Factors, Vec<String>)>,
}

/// A figure on each side.
pub type Values = (Option<f64>, Option<f64>);

/// One cell and figure on two sides.
#[derive(Clone, Debug)]
pub struct Row {
    /// The cell.
    pub cell: Factors,
    /// What is compared.
    pub figure: Figure,
    /// Places of the two sides in [`Comparison::sides`]; the second is held against
    /// the first.
    pub sides: (usize, usize),
    /// The figure on each side, in its unit: the median over the trials that are
    /// compared, or that of the series that stretches were cut from; `None` where
    /// no trial has the figure.
    pub values: Values,
    /// Trials that each side has of the cell, with the figure or without.
    pub trials: (usize, usize),
    /// What that comes to.
    pub verdict: Verdict,
}

/// What became of a row.
#[derive(Clone, Debug)]
pub enum Verdict {
    /// There was enough to decide on.
    Found(Found),
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
    /// Stretches of one trial on each side, each longer than the measured
    /// autocorrelation time.
    Stretches,
}

/// A decided comparison of the second side with the first.
#[derive(Clone, Copy, Debug)]
pub struct Found {
    /// How much larger the second is, in the figure's unit, with its interval.
    pub shift: f64,
    /// Interval of the shift at confidence 1 - level.
    pub interval: Interval,
    /// How many times larger, with its interval; `None` where a figure is not above 0.
    pub ratio: Option<(f64, Interval)>,
    /// Vargha and Delaney's A: the share of pairs of replicates in which the second
    /// is the larger.
    pub a_hat: f64,
    /// p-value of this test alone.
    pub p: f64,
    /// p-value adjusted for the family by Holm's method.
    pub p_adjusted: f64,
    /// Tests in the family.
    pub family: usize,
    /// What the replicates were, and how many there were on each side.
    pub basis: Basis,
    /// Replicates of each side.
    pub replicates: (usize, usize),
}

impl Row {
    /// Whether the row was decided and found a difference at `level`.
    pub fn differs(&self, level: f64) -> bool {
        matches!(&self.verdict, Verdict::Found(f) if f.p_adjusted <= level)
    }

    /// Whether trials of the cell were left out, because they have too few samples
    /// for the figure or no partner in their block.
    pub fn leaves_out_trials(&self) -> bool {
        matches!(&self.verdict, Verdict::Found(f)
            if f.basis == Basis::Trials && f.replicates != self.trials)
    }
}

/// Compares every cell that at least two sides have.
pub fn compare(sides: &[Side], settings: &Settings) -> Result<Comparison> {
    if sides.len() < 2 {
        return Err(Error::Wish("a comparison takes two sides or more".into()));
    }
    let cells: BTreeSet<&Factors> = sides.iter().flat_map(|s| s.cells.keys()).collect();
    let mut tasks = Vec::new();
    let mut partial = Vec::new();
    for cell in cells {
        let having: Vec<usize> = (0..sides.len())
            .filter(|&i| sides[i].cells.contains_key(cell))
            .collect();
        if having.len() < sides.len() {
            let names = having.iter().map(|&i| sides[i].name.clone()).collect();
            partial.push((cell.clone(), names));
        }
        for (at, &i) in having.iter().enumerate() {
            for &j in &having[at + 1..] {
                tasks.extend(figures(cell, settings).iter().map(|&f| (cell, f, (i, j))));
            }
        }
    }
    if tasks.is_empty() {
        return Err(Error::Wish(
            "these runs have no cell in common: they measured different things".into(),
        ));
    }
    let mut sizes: BTreeMap<_, usize> = BTreeMap::new();
    for (cell, figure, _) in &tasks {
        *sizes.entry(family(cell, *figure)).or_default() += 1;
    }
    let mut rows: Vec<Row> = tasks
        .into_iter()
        .map(|(cell, figure, (i, j))| {
            let size = sizes[&family(cell, figure)];
            let both = (&sides[i].cells[cell], &sides[j].cells[cell]);
            let (values, verdict) = one(both, figure, settings, size);
            Row {
                cell: cell.clone(),
                figure,
                sides: (i, j),
                values,
                trials: (both.0.trials.len(), both.1.trials.len()),
                verdict,
            }
        })
        .collect();
    adjust(&mut rows);
    Ok(Comparison {
        sides: sides.iter().map(|s| s.name.clone()).collect(),
        level: settings.level,
        paired: settings.paired,
        rows,
        partial,
    })
}

fn figures<'a>(cell: &Factors, settings: &'a Settings) -> &'a [Figure] {
    match &settings.figures {
        Some(figures) => figures,
        None => Figure::usual(cell.level(factor::PROBE)),
    }
}

/// Tests that share a family: those of one figure within one probe, method and load.
fn family(cell: &Factors, figure: Figure) -> ([String; 3], Figure) {
    let level = |name| cell.level(name).to_owned();
    let names = [factor::PROBE, factor::METHOD, factor::LOAD];
    (names.map(level), figure)
}

/// One figure of one cell on two sides; `p_adjusted` is still that of the test alone.
pub(crate) fn one(
    (a, b): (&Replicates, &Replicates),
    figure: Figure,
    settings: &Settings,
    family: usize,
) -> (Values, Verdict) {
    let (x, y) = match settings.paired {
        true => in_common_blocks(a, b, figure),
        false => (of_all(a, figure), of_all(b, figure)),
    };
    let values = (median(&x), median(&y));
    if x.is_empty() || y.is_empty() {
        return (values, Verdict::NoFigure);
    }
    let verdict = by_trials(&x, &y, settings, family);
    match verdict {
        Verdict::TooFew { need, .. } if !a.series.is_empty() && !b.series.is_empty() => {
            by_stretches(a, b, figure, settings, family, need).unwrap_or((values, verdict))
        }
        verdict => (values, verdict),
    }
}

fn by_trials(x: &[f64], y: &[f64], settings: &Settings, family: usize) -> Verdict {
    let test = |x: &[f64], y: &[f64]| {
        compare_replicates(x, y, settings.design(), settings.level, family)
            .expect("finite figures, paired where they have to be")
    };
    match test(x, y) {
        Outcome::NotDecidable { need, .. } => Verdict::TooFew {
            basis: Basis::Trials,
            have: (x.len(), y.len()),
            need,
            instead: None,
        },
        Outcome::Decided(found) => {
            let positive = x.iter().chain(y).all(|v| *v > 0.0);
            let logs = |v: &[f64]| v.iter().map(|v| v.ln()).collect::<Vec<f64>>();
            let ratio =
                positive
                    .then(|| test(&logs(x), &logs(y)))
                    .and_then(|outcome| match outcome {
                        Outcome::Decided(d) => Some((d.shift.exp(), exp(d.interval))),
                        Outcome::NotDecidable { .. } => None,
                    });
            found_by(found, ratio, Basis::Trials, (x.len(), y.len()), family)
        }
    }
}

/// Stretches of one trial on each side, where `trials` would be needed; `None` where
/// the figure is no quantile.
fn by_stretches(
    a: &Replicates,
    b: &Replicates,
    figure: Figure,
    settings: &Settings,
    family: usize,
    trials: usize,
) -> Option<(Values, Verdict)> {
    let q = figure.quantile()?;
    let [x, y] = [a, b].map(|of| Series::lasting(&of.series, of.series_s));
    let found = compare_series(x, y, q, settings.level, family)?;
    // Values are in picoseconds.
    let of = |series: &[i64]| {
        let all = Distribution::from_values(series.iter().copied());
        all.quantile(q).map(|ps| ps / 1000.0)
    };
    let verdict = match found.outcome {
        Outcome::NotDecidable { need, .. } => {
            let lasting = |of: &Replicates| of.series_s * need as f64 / of.series.len() as f64;
            Verdict::TooFew {
                basis: Basis::Stretches,
                have: (a.series.len(), b.series.len()),
                need,
                instead: Some(Instead {
                    seconds: lasting(a).max(lasting(b)).max(LEAST_SPAN_S),
                    trials,
                }),
            }
        }
        Outcome::Decided(mut d) => {
            d.shift /= 1000.0;
            d.interval.low /= 1000.0;
            d.interval.high /= 1000.0;
            found_by(d, found.ratio, Basis::Stretches, found.stretches, family)
        }
    };
    Some(((of(&a.series), of(&b.series)), verdict))
}

fn found_by(
    d: Statistics,
    ratio: Option<(f64, Interval)>,
    basis: Basis,
    replicates: (usize, usize),
    family: usize,
) -> Verdict {
    Verdict::Found(Found {
        shift: d.shift,
        interval: d.interval,
        ratio,
        a_hat: d.a_hat,
        p: d.p,
        p_adjusted: d.p,
        family,
        basis,
        replicates,
    })
}

fn exp(interval: Interval) -> Interval {
    Interval {
        low: interval.low.exp(),
        high: interval.high.exp(),
        ..interval
    }
}

fn of_all(cell: &Replicates, figure: Figure) -> Vec<f64> {
    cell.trials.iter().filter_map(|t| figure.of(t)).collect()
}

pub(crate) fn in_common_blocks(
    a: &Replicates,
    b: &Replicates,
    figure: Figure,
) -> (Vec<f64>, Vec<f64>) {
    let theirs: BTreeMap<u32, f64> = b
        .trials
        .iter()
        .filter_map(|t| Some((t.block, figure.of(t)?)))
        .collect();
    a.trials
        .iter()
        .filter_map(|t| Some((figure.of(t)?, *theirs.get(&t.block)?)))
        .unzip()
}

pub(crate) fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let n = sorted.len();
    (n > 0).then(|| 0.5 * (sorted[(n - 1) / 2] + sorted[n / 2]))
}

/// Holm's adjustment within each family. Rows without a p-value count in the size of
/// their family: they were meant to be tested.
fn adjust(rows: &mut [Row]) {
    let mut families: BTreeMap<_, Vec<usize>> = BTreeMap::new();
    for (i, row) in rows.iter().enumerate() {
        families
            .entry(family(&row.cell, row.figure))
            .or_default()
            .push(i);
    }
    for members in families.values() {
        let p: Vec<f64> = members
            .iter()
            .map(|&i| match &rows[i].verdict {
                Verdict::Found(f) => f.p,
                _ => 1.0,
            })
            .collect();
        for (&i, adjusted) in members.iter().zip(Adjustment::Holm.apply(&p)) {
            if let Verdict::Found(f) = &mut rows[i].verdict {
                f.p_adjusted = adjusted;
            }
        }
    }
}

#[cfg(test)]
pub(crate) mod tests;
