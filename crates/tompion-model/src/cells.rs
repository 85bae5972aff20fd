//! Trials of the same cell brought together, block by block.

use std::collections::BTreeMap;

use tompion_stats::Distribution;

use crate::{Factors, LoadEvidence, Measurement, Summary, Trial, TrialData, View};

/// Everything a run knows about one cell.
#[derive(Clone, Debug)]
pub struct Cell {
    /// The cell's key.
    pub factors: Factors,
    /// Values of single operations as measured, one distribution a block, in
    /// picoseconds, without warm-up.
    pub blocks: Vec<Distribution>,
    /// The same without disturbed samples.
    pub undisturbed_blocks: Vec<Distribution>,
    /// The same with missed periods filled in; empty without a grid.
    pub filled_blocks: Vec<Distribution>,
    /// Values of operations timed in batches; empty where none were taken.
    pub batched_blocks: Vec<Distribution>,
    /// Grid periods missed before samples that count, over all blocks; absent without a grid.
    pub missed_periods: Option<u64>,
    /// How the values came about, one entry a block.
    pub measurements: Vec<Measurement>,
    /// Proof that the load ran, one entry a block; empty at rest.
    pub loads: Vec<LoadEvidence>,
}

impl Cell {
    /// All blocks together.
    pub fn pooled(&self) -> Distribution {
        Distribution::merged(&self.blocks)
    }

    /// Summary over all blocks; `None` when no sample was taken.
    pub fn summary(&self) -> Option<Summary> {
        Summary::of_ps(&self.pooled())
    }

    /// Summary without the samples that something disturbed.
    pub fn undisturbed_summary(&self) -> Option<Summary> {
        Summary::of_ps(&Distribution::merged(&self.undisturbed_blocks))
    }

    /// Summary with missed periods filled in; `None` without a grid.
    pub fn filled_summary(&self) -> Option<Summary> {
        Summary::of_ps(&Distribution::merged(&self.filled_blocks))
    }

    /// Summary of the operations timed in batches; `None` where there are none.
    pub fn batched_summary(&self) -> Option<Summary> {
        Summary::of_ps(&Distribution::merged(&self.batched_blocks))
    }

    /// CPU time per operation, averaged over blocks, in nanoseconds.
    pub fn cpu_per_operation_ns(&self) -> Option<f64> {
        mean(
            self.measurements
                .iter()
                .filter_map(|m| m.cpu_per_operation_ns),
        )
    }

    /// The probe's own cost, averaged over blocks, in nanoseconds.
    pub fn floor_ns(&self) -> Option<f64> {
        mean(self.measurements.iter().filter_map(|m| m.floor_ns))
    }

    fn empty(factors: Factors) -> Self {
        Self {
            factors,
            blocks: Vec::new(),
            undisturbed_blocks: Vec::new(),
            filled_blocks: Vec::new(),
            batched_blocks: Vec::new(),
            missed_periods: None,
            measurements: Vec::new(),
            loads: Vec::new(),
        }
    }

    fn add(&mut self, data: &TrialData, measurement: &Measurement) {
        let measured = data.distribution(View::Measured);
        // What is the same is neither counted nor kept twice.
        self.undisturbed_blocks.push(match data.is_disturbed() {
            true => data.distribution(View::Undisturbed),
            false => measured.clone(),
        });
        if let Some(period) = measurement.period_ns {
            let period_ps = period as i64 * 1000;
            self.filled_blocks.push(match data.misses_periods() {
                true => data.distribution(View::Filled { period_ps }),
                false => measured.clone(),
            });
        }
        self.blocks.push(measured);
        let batched = data.distribution(View::Batched);
        if !batched.is_empty() {
            self.batched_blocks.push(batched);
        }
        self.measurements.push(measurement.clone());
    }
}

fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (sum, n) = values.fold((0.0, 0u32), |(s, n), v| (s + v, n + 1));
    (n > 0).then(|| sum / f64::from(n))
}

/// Trials gathered by cell, in the order of the cells' keys.
#[derive(Debug, Default)]
pub struct Cells(BTreeMap<Factors, Cell>);

impl Cells {
    /// Adds a trial with its samples; trials are added in the order of execution.
    pub fn add(&mut self, trial: &Trial, data: &TrialData) {
        let cell = self.0.entry(trial.factors.clone());
        let cell = cell.or_insert_with(|| Cell::empty(trial.factors.clone()));
        cell.add(data, &trial.measurement);
        cell.loads.extend(trial.load.clone());
        if let Some(missed) = trial.summary.missed_periods {
            *cell.missed_periods.get_or_insert(0) += missed;
        }
    }

    /// All cells.
    pub fn into_vec(self) -> Vec<Cell> {
        self.0.into_values().collect()
    }
}
