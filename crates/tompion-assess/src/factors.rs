//! Which factors of runs make a difference: method, load, platform and others, two or three at a
//! time, by tests on ranks.
//!
//! The values are figures of trials, one each: samples of one trial share its disturbances and are
//! no replicates. Each factor alone is tested by Kruskal and Wallis, its levels pair by pair by Dunn
//! and by Tukey on ranks; all factors with their interactions by aligned ranks and by Scheirer, Ray
//! and Hare. Cells that differ in other factors, such as the target, are analysed by themselves.
//! Beside that stands what Kirova 2019 does with one figure of each cell ([`PaperFigure`]).

mod papers;
mod trials;

use tompion_model::Factors;
use tompion_stats::{
    Adjustment, Distribution, EqualSpread, FactorTable, Factorial, KruskalWallis, PairComparison,
    PooledRanks, Superiority, aligned_rank_transform, dunn, equal_spread, kruskal_wallis,
    scheirer_ray_hare, superiority, tukey_on_ranks,
};

use crate::compare::{Error, Figure, Result};
pub use papers::{PaperFactor, PaperFigure};
pub use trials::{FactorRun, RUN};
use trials::{Group, Values};

/// What is analysed.
#[derive(Clone, Copy, Debug)]
pub struct FactorSettings<'a> {
    /// Names of two or three factors.
    pub factors: &'a [String],
    /// Figures of trials; `None` for those that are usual for each probe.
    pub figures: Option<&'a [Figure]>,
    /// Level of the tests, and 1 minus the confidence of the intervals.
    pub level: f64,
}

/// What factors come to.
#[derive(Clone, Debug)]
pub struct FactorAnalysis {
    /// Names of the factors.
    pub factors: Vec<String>,
    /// Names of the runs whose trials were taken together.
    pub runs: Vec<String>,
    /// The level.
    pub level: f64,
    /// One for each combination of all other factors.
    pub groups: Vec<FactorGroup>,
    /// Combinations, or figures of them, that were left out, each with the reason.
    pub left_out: Vec<(Factors, Option<Figure>, String)>,
}

/// Cells that differ in the named factors alone.
#[derive(Clone, Debug)]
pub struct FactorGroup {
    /// What they have in common.
    pub common: Factors,
    /// Levels of each factor.
    pub levels: Vec<Vec<String>>,
    /// Figures of trials.
    pub figures: Vec<FactorFigure>,
    /// The same by one figure of each cell, as Kirova 2019 does it; empty without cells.
    pub papers: Vec<PaperFigure>,
}

/// One figure of trials by all factors.
#[derive(Clone, Debug)]
pub struct FactorFigure {
    /// The figure.
    pub figure: Figure,
    /// Blocks that have it in every cell; each gives one value a cell.
    pub blocks: usize,
    /// Blocks left out, because a cell of them has no trial with the figure.
    pub blocks_left_out: usize,
    /// Each factor alone.
    pub factors: Vec<OneFactor>,
    /// All of them with interactions, on aligned ranks.
    pub aligned: Factorial,
    /// The same after Scheirer, Ray and Hare.
    pub scheirer_ray_hare: Factorial,
    /// Whether the cells scatter alike; `None` where that cannot be told.
    pub spread: Option<EqualSpread>,
}

/// One factor alone; what the others do is scatter to it.
#[derive(Clone, Debug)]
pub struct OneFactor {
    /// Its name.
    pub name: String,
    /// Its levels.
    pub levels: Vec<String>,
    /// The middle of the figures at each level, in the figure's unit.
    pub middles: Vec<f64>,
    /// All levels together.
    pub test: KruskalWallis,
    /// Every two of them.
    pub pairs: Vec<LevelPair>,
}

/// Two levels of a factor.
#[derive(Clone, Debug)]
pub struct LevelPair {
    /// Dunn's test, adjusted over the pairs of the factor by Holm's method; places are those in
    /// [`OneFactor::levels`].
    pub dunn: PairComparison,
    /// Tukey's test on ranks; `None` where values show no scatter.
    pub tukey: Option<PairComparison>,
    /// How often a figure at the second level is above one at the first.
    pub second_above_first: Superiority,
}

/// Analyses the trials of runs by two or three factors.
///
/// # Errors
/// Factors that are not there, have one level or are not two or three; runs in which nothing can be
/// analysed, with the first reason.
pub fn analyse(runs: &[FactorRun<'_>], settings: &FactorSettings<'_>) -> Result<FactorAnalysis> {
    trials::require(runs, settings.factors)?;
    let mut left_out = Vec::new();
    let mut groups = Vec::new();
    for group in trials::groups(runs, settings.factors) {
        let probe = group.common.level(tompion_model::factor::PROBE);
        let figures = settings.figures.unwrap_or_else(|| Figure::usual(probe));
        if let Some(why) = group.unsuited(settings.factors) {
            left_out.push((group.common, None, why));
            continue;
        }
        let mut found = Vec::new();
        for &figure in figures {
            match one_figure(&group, figure, settings) {
                Ok(one) => found.push(one),
                Err(why) => left_out.push((group.common.clone(), Some(figure), why)),
            }
        }
        if found.is_empty() {
            continue;
        }
        let papers = papers::figures(runs, &group, settings);
        groups.push(FactorGroup {
            common: group.common,
            levels: group.levels,
            figures: found,
            papers,
        });
    }
    match left_out.first() {
        Some((cell, _, why)) if groups.is_empty() => Err(Error::Wish(format!(
            "nothing can be analysed by {}: {cell}: {why}",
            settings.factors.join(", ")
        ))),
        _ => Ok(FactorAnalysis {
            factors: settings.factors.to_vec(),
            runs: runs.iter().map(|run| run.name.to_owned()).collect(),
            level: settings.level,
            groups,
            left_out,
        }),
    }
}

fn one_figure(
    group: &Group,
    figure: Figure,
    settings: &FactorSettings<'_>,
) -> std::result::Result<FactorFigure, String> {
    let values = group.values(figure)?;
    let rows = values.rows.iter().map(|(at, value)| {
        let levels = at.iter().zip(&group.levels).map(|(i, l)| l[*i].clone());
        (levels.collect(), *value)
    });
    let table = FactorTable::new(settings.factors, rows).map_err(|why| why.to_string())?;
    let factors = (0..settings.factors.len()).map(|at| {
        let levels = group.levels[at].clone();
        one_factor(
            settings.factors[at].clone(),
            levels,
            &values,
            at,
            settings.level,
        )
    });
    let factors = factors.collect::<std::result::Result<_, _>>()?;
    Ok(FactorFigure {
        figure,
        blocks: values.blocks,
        blocks_left_out: values.blocks_left_out,
        factors,
        aligned: aligned_rank_transform(&table),
        scheirer_ray_hare: scheirer_ray_hare(&table),
        spread: equal_spread(&values.by_cell()),
    })
}

fn one_factor(
    name: String,
    levels: Vec<String>,
    values: &Values,
    at: usize,
    level: f64,
) -> std::result::Result<OneFactor, String> {
    let by_level = values.by_level(at, levels.len());
    let (groups, ranks) = ranked(&by_level)?;
    let tukey = tukey_on_ranks(&ranks).ok();
    let pairs = dunn(&ranks, Adjustment::Holm).into_iter().enumerate();
    let pairs = pairs.map(|(i, dunn)| {
        let (first, second) = (&groups[dunn.first], &groups[dunn.second]);
        let above = superiority(second, first, 1.0 - level).map_err(|why| why.to_string())?;
        Ok(LevelPair {
            tukey: tukey.as_ref().map(|pairs| pairs[i]),
            dunn,
            second_above_first: above,
        })
    });
    let pairs = pairs.collect::<std::result::Result<_, String>>()?;
    Ok(OneFactor {
        middles: by_level.iter().map(|v| middle(v)).collect(),
        test: kruskal_wallis(&ranks),
        name,
        levels,
        pairs,
    })
}

/// The places of values among all distinct ones, group by group: all that tests on ranks need,
/// without rounding.
fn ranked(groups: &[Vec<f64>]) -> std::result::Result<(Vec<Distribution>, PooledRanks), String> {
    let mut distinct: Vec<f64> = groups.iter().flatten().copied().collect();
    distinct.sort_unstable_by(f64::total_cmp);
    distinct.dedup();
    let place = |v: &f64| distinct.partition_point(|d| d < v) as i64;
    let of = |group: &Vec<f64>| Distribution::from_values(group.iter().map(place));
    let groups: Vec<Distribution> = groups.iter().map(of).collect();
    let ranks = PooledRanks::of(&groups).map_err(|why| why.to_string())?;
    Ok((groups, ranks))
}

fn middle(values: &[f64]) -> f64 {
    crate::compare::median(values).unwrap_or(f64::NAN)
}
