//! The papers' own form: one figure of each cell, over all of its samples.
//!
//! Kirova 2019 (sections 3.1.4 and 3.2.4) takes the median, the MAD (half the interquartile range),
//! the greatest and the least value of all samples of a cell, and tests each factor on these by
//! Kruskal and Wallis and by Dunn. A cell is one value then, whatever its blocks would have said.

use tompion_model::{Cell, Summary};
use tompion_stats::{Adjustment, KruskalWallis, PairComparison, dunn, kruskal_wallis};

use super::trials::{FactorRun, Group, level, without};
use super::{FactorSettings, ranked};

/// One of the papers' figures by each factor alone.
#[derive(Clone, Debug)]
pub struct PaperFigure {
    /// What the paper calls it.
    pub name: &'static str,
    /// Cells, each of which is one value.
    pub cells: usize,
    /// Each factor that has several levels.
    pub factors: Vec<PaperFactor>,
}

/// A factor in the papers' own form.
#[derive(Clone, Debug)]
pub struct PaperFactor {
    /// Its name.
    pub name: String,
    /// All levels together.
    pub test: KruskalWallis,
    /// Every two of them by Dunn's test, adjusted by Holm's method; places are those in
    /// [`FactorGroup::levels`](super::FactorGroup::levels).
    pub pairs: Vec<PairComparison>,
}

/// A figure of a cell, with its name.
type Named = (&'static str, fn(&Summary) -> f64);

/// The figures, in the paper's order.
const FIGURES: [Named; 4] = [
    ("median", |s| s.median_ns),
    ("MAD", |s| s.half_interquartile_range_ns),
    ("max", |s| s.max_ns),
    ("min", |s| s.min_ns),
];

/// The papers' figures of a group; empty where its cells are not at hand.
pub(super) fn figures(
    runs: &[FactorRun<'_>],
    group: &Group,
    settings: &FactorSettings<'_>,
) -> Vec<PaperFigure> {
    let mut cells: Vec<(Vec<usize>, Summary)> = Vec::new();
    for run in runs {
        let of_group = |cell: &&Cell| without(&cell.factors, settings.factors) == group.common;
        for cell in run.cells.iter().filter(of_group) {
            let places = settings.factors.iter().zip(&group.levels);
            let places: Option<Vec<usize>> = places
                .map(|(name, levels)| {
                    let own = level(run, &cell.factors, name)?;
                    levels.iter().position(|l| l == own)
                })
                .collect();
            cells.extend(places.zip(cell.summary()));
        }
    }
    let figures = FIGURES.iter().map(|(name, of)| {
        let factors = (0..settings.factors.len()).filter_map(|at| {
            let mut by_level = vec![Vec::new(); group.levels[at].len()];
            for (places, summary) in &cells {
                by_level[places[at]].push(of(summary));
            }
            let (_, ranks) = ranked(&by_level).ok()?;
            Some(PaperFactor {
                name: settings.factors[at].clone(),
                test: kruskal_wallis(&ranks),
                pairs: dunn(&ranks, Adjustment::Holm),
            })
        });
        PaperFigure {
            name,
            cells: cells.len(),
            factors: factors.collect(),
        }
    });
    figures
        .filter(|figure| !figure.factors.is_empty())
        .collect()
}
