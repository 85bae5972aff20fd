//! The aligned rank transform.

use super::anova::{self, Anova};
use super::{Assumptions, Effect, FactorTable, Factorial};
use crate::tails::{as_p, f_upper};

/// Tests every main effect and interaction on ranks: for each effect the values
/// are stripped of all other effects (aligned), ranked, and analysed as a full
/// factorial, of which only that effect is read.
///
/// Source: Wobbrock, Findlater, Gergle and Higgins, "The Aligned Rank Transform for
/// Nonparametric Factorial Analyses Using Only ANOVA Procedures", CHI 2011, steps 1
/// to 5, and its check of the other effects. Aligned values closer than 10^-11 of
/// the values' range are ties, since aligning rounds. With one value per cell the
/// paper's residuals are all 0; here the highest interaction then serves as residual,
/// in aligning and as error, and the result says so. No error variance at all makes F
/// infinite, no effect either makes it 0. It supposes independent values whose scale is the
/// same in all cells.
pub fn aligned_rank_transform(table: &FactorTable) -> Factorial {
    let raw = Anova::of(table, &table.values);
    let tested = anova::tested(table);
    let tolerance = rounding(&table.values);
    let mut largest_aligned_f = 0f64;
    let mut effects = Vec::with_capacity(tested.len());
    for &effect in &tested {
        let aligned: Vec<f64> = table
            .cells
            .iter()
            .zip(&raw.residuals)
            .map(|(&cell, residual)| residual + raw.part(effect, cell))
            .collect();
        let check = Anova::of(table, &aligned);
        for &other in tested.iter().filter(|&&o| o != effect) {
            largest_aligned_f = largest_aligned_f.max(check.f(table, other));
        }
        let ranks = anova::mid_ranks(&aligned, tolerance);
        let found = Anova::of(table, &ranks);
        let (df, f) = (anova::df(table, effect), found.f(table, effect));
        effects.push(Effect {
            factors: table.names_of(effect),
            sum_of_squares: found.sum_of_squares(effect),
            df,
            statistic: f,
            p: as_p(f, f_upper(f, df as f64, found.error_df as f64)),
            error_sum_of_squares: found.error_sum_of_squares(),
            error_df: found.error_df,
        });
    }
    Factorial {
        effects,
        assumptions: Assumptions {
            largest_aligned_f: Some(largest_aligned_f),
            ..checked(table)
        },
    }
}

/// How far apart aligning may put equal values.
fn rounding(values: &[f64]) -> f64 {
    let most = values.iter().copied().fold(f64::MIN, f64::max);
    let least = values.iter().copied().fold(f64::MAX, f64::min);
    1e-11 * (most - least) + 1e-15 * most.abs().max(least.abs())
}

/// What holds for every analysis of this table.
pub(super) fn checked(table: &FactorTable) -> Assumptions {
    let highest = (1usize << table.factor_count()) - 1;
    let single = table.values_per_cell() == 1;
    Assumptions {
        values: table.values.len() as u64,
        cells: table.cell_count() as u64,
        values_per_cell: table.values_per_cell() as u64,
        ties_share: anova::ties_share(&table.values),
        untested: single.then(|| table.names_of(highest).join(":")),
        largest_aligned_f: None,
    }
}
