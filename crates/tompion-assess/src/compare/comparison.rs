//! Sides held against each other, cell by cell.

use std::collections::{BTreeMap, BTreeSet};

use tompion_model::{Factors, factor};
use tompion_stats::Adjustment;

use crate::compare::found::{Basis, Found, Values, Verdict};
use crate::compare::pair::Pair;
use crate::compare::{Error, Figure, Replicates, Result, Side};

/// More than anybody reads; a run of a stranger may ask for millions.
const MOST_ROWS: usize = 100_000;
/// Additions that all rows together may take: some ten minutes.
const MOST_ADDITIONS: u64 = 1_000_000_000_000;

/// How to compare.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Figures compared; `None` for those that are usual for each probe.
    pub figures: Option<Vec<Figure>>,
    /// Level of the tests, and 1 minus the confidence of the intervals.
    pub level: f64,
    /// Whether the sides are levels of one run, measured in the same blocks.
    pub paired: bool,
    /// Whether gates may rest on one run a side, which cannot show how runs scatter.
    pub within_run: bool,
}

impl Settings {
    /// The usual figures at level 0.05 for runs of their own.
    pub fn usual() -> Self {
        Self {
            figures: None,
            level: 0.05,
            paired: false,
            within_run: false,
        }
    }

    /// The two of a cell, with how they are compared in a family of so many.
    pub(crate) fn pair<'a>(
        &self,
        (a, b): (&'a Replicates, &'a Replicates),
        figure: Figure,
        family: usize,
    ) -> Pair<'a> {
        Pair {
            a,
            b,
            figure,
            level: self.level,
            paired: self.paired,
            family,
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
    /// Whether replicates were runs.
    pub of_runs: bool,
    /// One row for each cell, figure and pair of sides.
    pub rows: Vec<Row>,
    /// Cells that not all sides have, with the names of those that do.
    pub partial: Vec<(Factors, Vec<String>)>,
}

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
    /// The figure on each side, in its unit: the cell's one figure, of the mean of its blocks, or
    /// that of the series that stretches were cut from; `None` where no trial has the figure.
    pub values: Values,
    /// Trials that each side has of the cell, with the figure or without.
    pub trials: (usize, usize),
    /// What that comes to.
    pub verdict: Verdict,
}

impl Row {
    /// Whether the row was decided and found a difference at `level`.
    pub fn differs(&self, level: f64) -> bool {
        matches!(&self.verdict, Verdict::Found(f) if f.p_adjusted <= level)
    }

    /// Whether trials of the cell were left out, because they have too few samples
    /// for the figure or no partner in their block.
    pub fn leaves_out_trials(&self) -> bool {
        matches!(&self.verdict, Verdict::Found(f) | Verdict::Drifts(_, f)
            if f.basis != Basis::Stretches && f.replicates != self.trials)
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
        let figures = figures(cell, settings);
        let pairs = having.len() * having.len().saturating_sub(1) / 2;
        if tasks.len() + pairs * figures.len() > MOST_ROWS {
            return Err(Error::Wish(format!(
                "more than {MOST_ROWS} comparisons, of {} sides two by two; compare fewer at once",
                sides.len()
            )));
        }
        for (at, &i) in having.iter().enumerate() {
            for &j in &having[at + 1..] {
                tasks.extend(figures.iter().map(|&f| (cell, f, (i, j))));
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
    let pair = |(cell, figure, (i, j)): (&Factors, Figure, (usize, usize))| {
        let size = sizes[&family(cell, figure)];
        let both = (&sides[i].cells[cell], &sides[j].cells[cell]);
        (settings.pair(both, figure, size), both)
    };
    let costs = tasks.iter().map(|task| pair(*task).0.cost());
    if costs.fold(0, u64::saturating_add) > MOST_ADDITIONS {
        return Err(Error::Wish(format!(
            "{} comparisons of so many trials each would take longer than ten minutes; compare fewer at once",
            tasks.len()
        )));
    }
    let mut rows: Vec<Row> = tasks
        .into_iter()
        .map(|(cell, figure, (i, j))| {
            let (pair, both) = pair((cell, figure, (i, j)));
            let (values, verdict) = pair.compare();
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
    adjust(&mut rows, settings.level);
    Ok(Comparison {
        sides: sides.iter().map(|s| s.name.clone()).collect(),
        level: settings.level,
        paired: settings.paired,
        of_runs: of_runs(sides),
        rows,
        partial,
    })
}

/// Whether any side is of several runs, so that runs are the replicates.
pub(crate) fn of_runs(sides: &[Side]) -> bool {
    let mut cells = sides.iter().flat_map(|side| side.cells.values());
    cells.any(|cell| cell.basis == Basis::Runs)
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

/// Holm's adjustment within each family, and what comes of each row by it. Rows without a p-value
/// count in the size of their family: they were meant to be tested.
fn adjust(rows: &mut [Row], level: f64) {
    let mut families: BTreeMap<_, Vec<usize>> = BTreeMap::new();
    for (i, row) in rows.iter().enumerate() {
        families
            .entry(family(&row.cell, row.figure))
            .or_default()
            .push(i);
    }
    for members in families.values() {
        let adjusted = |p: fn(&Found) -> f64| -> Vec<f64> {
            let of_row = |i: &usize| match &rows[*i].verdict {
                Verdict::Found(f) => p(f),
                _ => 1.0,
            };
            let all: Vec<f64> = members.iter().map(of_row).collect();
            Adjustment::Holm.apply(&all)
        };
        let (plain, allowing) = (adjusted(|f| f.p), adjusted(|f| f.p_adjusted));
        for ((&i, plain), allowing) in members.iter().zip(plain).zip(allowing) {
            if let Verdict::Found(mut found) = rows[i].verdict {
                found.p_adjusted = allowing;
                rows[i].verdict = found.settled(plain, level);
            }
        }
    }
}

#[cfg(test)]
pub(crate) mod tests;
