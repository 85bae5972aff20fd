//! A run's trials of the same cell brought together, block by block.

use tompion_model::{Cell, Cells, Trial, TrialData, filling_work};

use crate::{Error, Result, Run, limits};

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
        let mut filling = 0_u64;
        for trial in &self.record().trials {
            let data = self.data(trial)?;
            if trial.measurement.period_ns.is_some() {
                filling = filling.saturating_add(filling_work(data.samples.iter()));
                limits::OF_FILLING
                    .check(filling, self.bytes())
                    .map_err(|why| {
                        let why = format!("trials 0 to {}: {why}", trial.id);
                        Error::invalid(self.directory().path(), why)
                    })?;
            }
            visit(trial, &data);
        }
        Ok(())
    }
}
