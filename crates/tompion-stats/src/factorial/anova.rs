//! Sums of squares of a balanced table.

use super::FactorTable;

/// The analysis of variance of one response over a balanced table.
///
/// Source: Sokal and Rohlf, Biometry (3rd ed., 1995), chapters 11 and 12. An effect
/// is a set of factors, given by its bits. With equal cells the effects are
/// orthogonal, so that sums of squares of type I, II and III are one.
pub(super) struct Anova {
    /// What each effect adds in each cell, by the effect's bits; 0 is the grand mean.
    parts: Vec<Vec<f64>>,
    /// What the model leaves of each value.
    pub(super) residuals: Vec<f64>,
    values_per_cell: f64,
    pub(super) error_df: u64,
    /// Sums of squares up to this are rounding.
    rounding: f64,
}

impl Anova {
    pub(super) fn of(table: &FactorTable, response: &[f64]) -> Self {
        let cells = table.cell_count();
        let effects = 1usize << table.factor_count();
        let grand = response.iter().sum::<f64>() / response.len() as f64;
        let per_cell = table.values_per_cell();
        let mut cell_means = vec![0.0; cells];
        for (&cell, y) in table.cells.iter().zip(response) {
            cell_means[cell] += (y - grand) / per_cell as f64;
        }
        let places: Vec<Vec<usize>> = (0..cells).map(|c| table.places(c)).collect();
        let mut parts: Vec<Vec<f64>> = Vec::with_capacity(effects);
        for effect in 0..effects {
            // The mean over all cells that agree in the effect's factors, less
            // the parts of the effects that it contains.
            let means = marginal_means(&cell_means, &places, effect);
            let part = (0..cells).map(|c| {
                let inner = (0..effect).filter(|inner| inner & !effect == 0);
                means[c] - inner.map(|inner| parts[inner][c]).sum::<f64>()
            });
            let part = part.collect();
            parts.push(part);
        }
        let highest = effects - 1;
        let saturated = per_cell == 1;
        let residuals = table
            .cells
            .iter()
            .zip(response)
            .map(|(&cell, y)| match saturated {
                // One value per cell: the highest interaction is all there is.
                true => parts[highest][cell],
                false => y - grand - cell_means[cell],
            })
            .collect();
        let model: u64 = tested(table).iter().map(|&e| df(table, e)).sum();
        Self {
            parts,
            residuals,
            values_per_cell: per_cell as f64,
            error_df: response.len() as u64 - 1 - model,
            rounding: 1e-24 * response.iter().map(|y| (y - grand).powi(2)).sum::<f64>(),
        }
    }

    fn cleaned(&self, squares: f64) -> f64 {
        if squares <= self.rounding {
            0.0
        } else {
            squares
        }
    }

    /// What the effect adds in a cell.
    pub(super) fn part(&self, effect: usize, cell: usize) -> f64 {
        self.parts[effect][cell]
    }

    pub(super) fn sum_of_squares(&self, effect: usize) -> f64 {
        self.cleaned(self.values_per_cell * squares(&self.parts[effect]))
    }

    pub(super) fn error_sum_of_squares(&self) -> f64 {
        self.cleaned(squares(&self.residuals))
    }

    /// F of an effect: 0 where it has no sum of squares at all, infinite where
    /// only the error has none.
    pub(super) fn f(&self, table: &FactorTable, effect: usize) -> f64 {
        let square = self.sum_of_squares(effect) / df(table, effect) as f64;
        let error = self.error_sum_of_squares() / self.error_df as f64;
        if square == 0.0 { 0.0 } else { square / error }
    }
}

fn squares(values: &[f64]) -> f64 {
    values.iter().map(|v| v * v).sum()
}

/// For each cell the mean of all cells that agree with it in `effect`'s factors.
fn marginal_means(cell_means: &[f64], places: &[Vec<usize>], effect: usize) -> Vec<f64> {
    let agree = |a: &[usize], b: &[usize]| {
        let both = a.iter().zip(b).enumerate();
        both.fold(true, |same, (i, (x, y))| {
            same && (effect >> i & 1 == 0 || x == y)
        })
    };
    places
        .iter()
        .map(|at| {
            let (mut sum, mut n) = (0.0, 0u64);
            for (other, mean) in places.iter().zip(cell_means) {
                if agree(at, other) {
                    sum += mean;
                    n += 1;
                }
            }
            sum / n as f64
        })
        .collect()
}

/// Degrees of freedom of an effect.
pub(super) fn df(table: &FactorTable, effect: usize) -> u64 {
    (0..table.factor_count())
        .filter(|i| effect >> i & 1 == 1)
        .map(|i| table.level_count(i) as u64 - 1)
        .product()
}

/// The effects that can be tested: main effects first; without the highest
/// interaction where it is needed as error.
pub(super) fn tested(table: &FactorTable) -> Vec<usize> {
    let highest = (1usize << table.factor_count()) - 1;
    let mut effects: Vec<usize> = (1..=highest)
        .filter(|&e| e != highest || table.values_per_cell() > 1)
        .collect();
    effects.sort_by_key(|e| (e.count_ones(), *e));
    effects
}

/// Mid-ranks (from 1); values closer than `tolerance` to their neighbour are ties.
pub(super) fn mid_ranks(values: &[f64], tolerance: f64) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|&a, &b| values[a].total_cmp(&values[b]));
    let mut ranks = vec![0.0; values.len()];
    let mut before = 0;
    for run in order.chunk_by(|&a, &b| values[b] - values[a] <= tolerance) {
        let rank = before as f64 + (run.len() + 1) as f64 / 2.0;
        for &i in run {
            ranks[i] = rank;
        }
        before += run.len();
    }
    ranks
}

/// The share of values that equal another.
pub(super) fn ties_share(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let runs = sorted.chunk_by(|a, b| a == b).map(<[f64]>::len);
    let tied: usize = runs.filter(|&n| n > 1).sum();
    tied as f64 / values.len() as f64
}
