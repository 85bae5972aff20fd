//! Trials of the same cell brought together, block by block.

use std::collections::BTreeMap;

use tompion_stats::Distribution;

use crate::{Blocks, Factors, LoadEvidence, Measurement, Summary, Trial, TrialData, View};

/// Everything a run knows about one cell.
#[derive(Clone, Debug)]
pub struct Cell {
    /// The cell's key.
    pub factors: Factors,
    /// Values of single operations as measured, one distribution a block, in
    /// picoseconds, without warm-up.
    pub blocks: Blocks,
    /// The same without disturbed samples.
    pub undisturbed_blocks: Blocks,
    /// The same with missed periods filled in; empty without a grid.
    pub filled_blocks: Blocks,
    /// Values of operations timed in batches; empty where none were taken.
    pub batched_blocks: Blocks,
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

    /// Summary over all blocks, each of which weighs the same; `None` when no sample was taken.
    pub fn summary(&self) -> Option<Summary> {
        self.blocks.summary()
    }

    /// Summary without the samples that something disturbed.
    pub fn undisturbed_summary(&self) -> Option<Summary> {
        self.undisturbed_blocks.summary()
    }

    /// Summary with missed periods filled in; `None` without a grid.
    pub fn filled_summary(&self) -> Option<Summary> {
        self.filled_blocks.summary()
    }

    /// Summary of the operations timed in batches; `None` where there are none.
    pub fn batched_summary(&self) -> Option<Summary> {
        self.batched_blocks.summary()
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
            blocks: Blocks::default(),
            undisturbed_blocks: Blocks::default(),
            filled_blocks: Blocks::default(),
            batched_blocks: Blocks::default(),
            missed_periods: None,
            measurements: Vec::new(),
            loads: Vec::new(),
        }
    }

    fn add(&mut self, data: &TrialData, measurement: &Measurement) {
        let (measured, within) = data.block(View::Measured);
        // What is the same is neither counted nor kept twice.
        let same = || (measured.clone(), within.clone());
        let (undisturbed, order) = match data.is_disturbed() {
            true => data.block(View::Undisturbed),
            false => same(),
        };
        self.undisturbed_blocks.push(undisturbed, order);
        if let Some(period) = measurement.period_ns {
            let period_ps = period as i64 * 1000;
            let (filled, order) = match data.misses_periods() {
                true => data.block(View::Filled { period_ps }),
                false => same(),
            };
            self.filled_blocks.push(filled, order);
        }
        self.blocks.push(measured, within);
        let (batched, order) = data.block(View::Batched);
        if !batched.is_empty() {
            self.batched_blocks.push(batched, order);
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
