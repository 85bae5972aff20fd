//! Two or three factors and their interactions, analysed on ranks.

mod aligned;
mod anova;
mod scheirer_ray_hare;
mod table;
#[cfg(test)]
mod tests;

use std::fmt;

pub use aligned::aligned_rank_transform;
pub use scheirer_ray_hare::scheirer_ray_hare;
pub use table::FactorTable;

/// One main effect or interaction of a factorial analysis on ranks.
#[derive(Clone, Debug, PartialEq)]
pub struct Effect {
    /// The factors that take part, in the table's order.
    pub factors: Vec<String>,
    /// The effect's sum of squares (of ranks).
    pub sum_of_squares: f64,
    /// Degrees of freedom.
    pub df: u64,
    /// F for aligned ranks, H for Scheirer-Ray-Hare.
    pub statistic: f64,
    /// P(F or chi-squared >= statistic); never below [`SMALLEST_P`](crate::SMALLEST_P)
    /// where the statistic is finite.
    pub p: f64,
    /// The sum of squares of the error it is held against; with aligned ranks
    /// each effect has its own.
    pub error_sum_of_squares: f64,
    /// Degrees of freedom of the error.
    pub error_df: u64,
}

impl Effect {
    /// The factors joined by ":", as R writes an interaction.
    pub fn name(&self) -> String {
        self.factors.join(":")
    }
}

/// A factorial analysis on ranks: its effects, and what it rests on.
#[derive(Clone, Debug, PartialEq)]
pub struct Factorial {
    /// Main effects first, then interactions of two, then of three.
    pub effects: Vec<Effect>,
    /// What was checked.
    pub assumptions: Assumptions,
}

impl Factorial {
    /// The effect of exactly these factors, in any order.
    pub fn effect(&self, factors: &[&str]) -> Option<&Effect> {
        self.effects.iter().find(|e| {
            e.factors.len() == factors.len() && e.factors.iter().all(|f| factors.contains(&&**f))
        })
    }
}

/// What a factorial analysis was checked for.
#[derive(Clone, Debug, PartialEq)]
pub struct Assumptions {
    /// How many values there are.
    pub values: u64,
    /// How many cells; each has as many values (anything else is refused).
    pub cells: u64,
    /// Values in each cell.
    pub values_per_cell: u64,
    /// The share of values that equal another value.
    pub ties_share: f64,
    /// The highest interaction where it serves as error, because one value per
    /// cell leaves nothing else to hold effects against.
    pub untested: Option<String>,
    /// Aligned ranks: the largest F of any other effect in data aligned for one;
    /// near 0 if aligning took the others out. `None` for Scheirer-Ray-Hare.
    pub largest_aligned_f: Option<f64>,
}

/// Above this an F of an effect that aligning should have taken out is no rounding.
const ALIGNED_LIMIT: f64 = 1e-6;

impl fmt::Display for Assumptions {
    /// One sentence a line.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "Balanced: {} cells of {} value{} each.",
            self.cells,
            self.values_per_cell,
            if self.values_per_cell == 1 { "" } else { "s" }
        )?;
        if let Some(name) = &self.untested {
            write!(
                f,
                "\nOne value per cell: the interaction {name} cannot be tested and serves as error, \
                 so the other effects are tested as if it did not exist."
            )?;
        } else if self.values_per_cell < 5 {
            write!(f, "\nFewer than five values per cell: p is approximate.")?;
        }
        if self.ties_share > 0.0 {
            let percent = 100.0 * self.ties_share;
            write!(
                f,
                "\n{percent:.1} % of the values equal another; equal values share their mean rank."
            )?;
        }
        match self.largest_aligned_f {
            Some(largest) if largest > ALIGNED_LIMIT => write!(
                f,
                "\nAligning left other effects in (F up to {largest:.2e}): do not trust these results."
            ),
            Some(_) => write!(f, "\nAligning took the other effects out."),
            None => Ok(()),
        }
    }
}

/// Why a table cannot be analysed.
#[derive(Clone, Debug, PartialEq)]
pub enum FactorialError {
    /// Neither two nor three factors.
    Factors(usize),
    /// The row at this place (from 0) has this many levels.
    RowLevels(usize, usize),
    /// The value of the row at this place (from 0) is not a finite number.
    BadValue(usize),
    /// The factor has fewer than two levels.
    OneLevel(String),
    /// This cell has no value.
    EmptyCell(String),
    /// Cells with different numbers of values: one cell, its number, another
    /// cell, its number.
    Unbalanced(String, u64, String, u64),
}

impl fmt::Display for FactorialError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Factors(n) => write!(f, "{n} factors: the analysis takes two or three"),
            Self::RowLevels(row, n) => write!(
                f,
                "row {row} (counted from 0) names {n} levels: one for each factor is wanted"
            ),
            Self::BadValue(row) => {
                write!(
                    f,
                    "row {row} (counted from 0): the value is not a finite number"
                )
            }
            Self::OneLevel(factor) => write!(
                f,
                "factor {factor} has fewer than two levels: leave it out or add a level"
            ),
            Self::EmptyCell(cell) => write!(
                f,
                "no value for {cell}: every combination of levels needs one"
            ),
            Self::Unbalanced(a, n, b, m) => write!(
                f,
                "unbalanced table: {n} for {a} but {m} for {b}; every combination of levels needs as many values"
            ),
        }
    }
}

impl std::error::Error for FactorialError {}
