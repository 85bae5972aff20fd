//! The extension of Kruskal and Wallis to several factors.

use super::anova::{self, Anova};
use super::{Effect, FactorTable, Factorial};
use crate::tails::{as_p, chi_squared_upper};

/// Tests every main effect and interaction on the ranks of all values: H is the
/// effect's sum of squares over the total mean square, held against chi-squared.
///
/// Source: Scheirer, Ray and Hare, Biometrics 32 (1976); Sokal and Rohlf, Biometry
/// (3rd ed., 1995), chapter 13. The total mean square is that of the mid-ranks, which
/// corrects for ties. The larger the main effects are, the more seldom it finds an
/// interaction, since those swell the total; the aligned rank transform does not
/// suffer from that. All values equal: every H is 0. It supposes independent values.
pub fn scheirer_ray_hare(table: &FactorTable) -> Factorial {
    let ranks = anova::mid_ranks(&table.values, 0.0);
    let found = Anova::of(table, &ranks);
    let middle = (ranks.len() + 1) as f64 / 2.0;
    let total: f64 = ranks.iter().map(|r| (r - middle).powi(2)).sum();
    let mean_square = total / (ranks.len() - 1) as f64;
    let effects = anova::tested(table).into_iter().map(|effect| {
        let df = anova::df(table, effect);
        let sum_of_squares = found.sum_of_squares(effect);
        let h = if sum_of_squares == 0.0 {
            0.0
        } else {
            sum_of_squares / mean_square
        };
        Effect {
            factors: table.names_of(effect),
            sum_of_squares,
            df,
            statistic: h,
            p: as_p(h, chi_squared_upper(h, df as f64)),
            error_sum_of_squares: found.error_sum_of_squares(),
            error_df: found.error_df,
        }
    });
    Factorial {
        effects: effects.collect(),
        assumptions: super::aligned::checked(table),
    }
}
