//! A run's trials of the same cell brought together, block by block.

use tompion_model::{Cell, Cells, Trial, TrialData};

use crate::{Result, Run};

impl Run {
    /// The cells of the run in the order of their keys, each with the blocks
    /// that were measured. `visit` sees the samples of every trial once, in the
    /// order of execution, for whoever wants more than distributions.
    ///
    /// # Errors
    /// A file of samples that cannot be read or is damaged; more missed periods than a reader
    /// fills in.
    pub fn cells(&self, mut visit: impl FnMut(&Trial, &TrialData)) -> Result<Vec<Cell>> {
        let mut cells = Cells::of_bytes(self.bytes());
        self.each_trial(|trial, data| {
            visit(trial, data);
            cells.add(trial, data);
        })?;
        Ok(cells.into_vec())
    }

    /// Has `visit` see the samples of every trial once, in the order of execution.
    ///
    /// # Errors
    /// As [`Run::cells`].
    pub fn each_trial(&self, mut visit: impl FnMut(&Trial, &TrialData)) -> Result<()> {
        for trial in &self.record().trials {
            visit(trial, &self.data(trial)?);
        }
        Ok(())
    }
}
