//! Trials brought into tables of factors: every block of a table has one value for each cell.

use std::collections::{BTreeMap, BTreeSet};

use tompion_model::{Cell, Factors, RunRecord, Trial, factor};

use crate::compare::{Error, Figure, Replicate, Result, level_of, varied, without_levels};

/// The factor that tells several runs apart; no trial has it.
pub const RUN: &str = "run";

/// A run whose trials are analysed.
#[derive(Clone, Copy, Debug)]
pub struct FactorRun<'a> {
    /// What the user calls it: the level of the factor `run`.
    pub name: &'a str,
    /// Its record, whose summaries are believed.
    pub record: &'a RunRecord,
    /// Its cells, for the papers' own form; none where that is not wanted.
    pub cells: &'a [Cell],
}

/// What a run of any origin may have a reader compute.
const MOST_LEVELS: usize = 40;
const MOST_CELLS: usize = 600;

/// A block: the run's place where several are taken together, and the number within it.
type Block = (usize, u32);

/// Trials that differ in the named factors and their blocks alone.
pub(super) struct Group {
    /// What they have in common.
    pub common: Factors,
    /// Levels of each factor, sorted.
    pub levels: Vec<Vec<String>>,
    /// By place of the level of each factor.
    cells: BTreeMap<Vec<usize>, BTreeMap<Block, Replicate>>,
}

/// One figure in a table in which every cell has as many values.
pub(super) struct Values {
    /// Places of levels, and the value; cell by cell.
    pub rows: Vec<(Vec<usize>, f64)>,
    /// Blocks in it.
    pub blocks: usize,
    /// Blocks that lack the figure in a cell.
    pub blocks_left_out: usize,
}

/// Refuses factors that cannot be analysed.
pub(super) fn require(runs: &[FactorRun<'_>], names: &[String]) -> Result<()> {
    let wish = |text: String| Err(Error::Wish(text));
    if !(2..=3).contains(&names.len()) {
        return wish(format!(
            "{} given: two or three factors are analysed together, such as method,load",
            match names.len() {
                1 => "1 factor is".to_owned(),
                n => format!("{n} factors are"),
            }
        ));
    }
    if let Some((at, twice)) = names
        .iter()
        .enumerate()
        .find(|(i, n)| names[..*i].contains(n))
    {
        debug_assert!(at > 0);
        return wish(format!("factor `{twice}` is named twice"));
    }
    let trials: Vec<&Trial> = runs.iter().flat_map(|run| &run.record.trials).collect();
    for name in names {
        let levels: BTreeSet<String> = match name.as_str() {
            RUN => runs.iter().map(|run| run.name.to_owned()).collect(),
            _ => trials
                .iter()
                .filter_map(|t| level_of(&t.factors, name))
                .map(str::to_owned)
                .collect(),
        };
        if levels.len() < 2 {
            let mut known = varied(trials.iter().copied());
            if runs.len() > 1 {
                known.push(RUN);
            }
            return wish(without_levels(
                name,
                levels.first().map(String::as_str),
                &known,
            ));
        }
    }
    Ok(())
}

/// The level of a factor in a trial of this run.
pub(super) fn level<'a>(run: &FactorRun<'a>, factors: &'a Factors, name: &str) -> Option<&'a str> {
    match name {
        RUN => Some(run.name),
        _ => level_of(factors, name),
    }
}

/// A key without the named factors. Methods on which timer slack does not act stand beside others
/// with the usual one.
pub(super) fn without(factors: &Factors, names: &[String]) -> Factors {
    let without = |key: Factors, name: &String| key.without(name);
    let key = names.iter().fold(factors.clone(), without);
    match key.get(factor::SLACK) {
        Some("default") => key.without(factor::SLACK),
        _ => key,
    }
}

/// All trials that have the named factors, by what else they are.
pub(super) fn groups(runs: &[FactorRun<'_>], names: &[String]) -> Vec<Group> {
    type Found = BTreeMap<Vec<String>, BTreeMap<Block, Replicate>>;
    let mut all: BTreeMap<Factors, Found> = BTreeMap::new();
    let by_run = names.iter().any(|name| name == RUN);
    for (place, run) in runs.iter().enumerate() {
        for trial in &run.record.trials {
            let levels: Option<Vec<String>> = names
                .iter()
                .map(|name| level(run, &trial.factors, name).map(str::to_owned))
                .collect();
            let Some(levels) = levels else { continue };
            let block = (if by_run { 0 } else { place }, trial.block);
            let group = all.entry(without(&trial.factors, names)).or_default();
            let cell = group.entry(levels).or_default();
            cell.insert(block, Replicate::of(trial, None));
        }
    }
    let groups = all.into_iter().map(|(common, found)| {
        let levels: Vec<Vec<String>> = (0..names.len())
            .map(|at| {
                let of: BTreeSet<&String> = found.keys().map(|levels| &levels[at]).collect();
                of.into_iter().cloned().collect()
            })
            .collect();
        let place = |named: &[String]| -> Vec<usize> {
            let each = named.iter().zip(&levels);
            each.map(|(level, all)| all.binary_search(level).unwrap_or_default())
                .collect()
        };
        let cells = found.into_iter().map(|(named, of)| (place(&named), of));
        Group {
            common,
            cells: cells.collect(),
            levels,
        }
    });
    groups.collect()
}

impl Group {
    /// Why these trials are not analysed by the factors, where they are not.
    pub(super) fn unsuited(&self, names: &[String]) -> Option<String> {
        let cells: usize = self.levels.iter().map(Vec::len).product();
        let mut each = names.iter().zip(&self.levels);
        each.find_map(|(name, levels)| match levels.len() {
            1 => Some(format!("of {name} these trials have one level, {}", levels[0])),
            n if n > MOST_LEVELS => Some(format!(
                "{name} has {n} levels, and pairs of at most {MOST_LEVELS} are tested"
            )),
            _ => None,
        })
        .or_else(|| {
            (cells > MOST_CELLS).then(|| {
                format!("there are {cells} combinations of levels, and at most {MOST_CELLS} are analysed")
            })
        })
    }

    /// The figure in all blocks in which every cell has it.
    pub(super) fn values(&self, figure: Figure) -> std::result::Result<Values, String> {
        let wanted: usize = self.levels.iter().map(Vec::len).product();
        if self.cells.len() < wanted {
            return Err(format!(
                "{} of {wanted} combinations of levels were measured: name factors, or measure, so \
                 that all are",
                self.cells.len()
            ));
        }
        let figures: Vec<(&Vec<usize>, BTreeMap<Block, f64>)> = self
            .cells
            .iter()
            .map(|(at, blocks)| {
                let has = |(block, trial): (&Block, &Replicate)| {
                    let value = figure.of(trial).filter(|v| v.is_finite());
                    Some((*block, value?))
                };
                (at, blocks.iter().filter_map(has).collect())
            })
            .collect();
        let all: BTreeSet<Block> = self
            .cells
            .values()
            .flat_map(|c| c.keys().copied())
            .collect();
        let whole: Vec<Block> = all
            .iter()
            .filter(|block| figures.iter().all(|(_, of)| of.contains_key(block)))
            .copied()
            .collect();
        if whole.is_empty() {
            return Err("no block has this figure in every cell".to_owned());
        }
        let rows = figures.iter().flat_map(|(at, of)| {
            let whole = whole.iter();
            whole.map(|block| ((*at).clone(), of[block]))
        });
        Ok(Values {
            rows: rows.collect(),
            blocks: whole.len(),
            blocks_left_out: all.len() - whole.len(),
        })
    }
}

impl Values {
    /// Values by the level of one factor that has so many.
    pub(super) fn by_level(&self, factor: usize, levels: usize) -> Vec<Vec<f64>> {
        let mut groups = vec![Vec::new(); levels];
        for (at, value) in &self.rows {
            groups[at[factor]].push(*value);
        }
        groups
    }

    /// Values of each cell.
    pub(super) fn by_cell(&self) -> Vec<Vec<f64>> {
        let of_cell = self.rows.chunks(self.blocks);
        of_cell
            .map(|rows| rows.iter().map(|(_, value)| *value).collect())
            .collect()
    }
}
