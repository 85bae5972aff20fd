//! Time that goes where it is still needed, while a plan is carried out.

use tompion_model::{TrialData, TrialDraft};

use crate::PlannedCell;

/// Somebody who sees each trial, and says before each block which cells matter more than others.
pub trait Attention {
    /// A trial has been saved.
    fn saw(&mut self, trial: &TrialDraft, data: &TrialData);

    /// How much of its share of the time each cell gets from now on, 0 to 1, in the order of `cells`. One that
    /// gets little has the least time that is worth making a trial for; an optional one that gets nothing has no trial.
    fn shares(&mut self, cells: &[PlannedCell]) -> Vec<f64>;
}

/// Nobody who would say: each cell has what it asks for, but for those that are optional.
pub(crate) struct Even;

impl Attention for Even {
    fn saw(&mut self, _: &TrialDraft, _: &TrialData) {}

    fn shares(&mut self, cells: &[PlannedCell]) -> Vec<f64> {
        let asked = |cell: &PlannedCell| if cell.is_optional { 0.0 } else { 1.0 };
        cells.iter().map(asked).collect()
    }
}

/// Who does what while a plan is carried out.
#[derive(Default)]
pub struct Guides<'a> {
    /// Sets the levels of a plan by turns.
    pub switch: Option<&'a mut dyn crate::Switch>,
    /// Says where time is needed.
    pub attention: Option<&'a mut dyn Attention>,
}
