//! Cells with planted values, for tests.

use tompion_model::{Blocks, Cell, Factors, Measurement, factor};

/// Builds a cell from values in nanoseconds.
pub struct Planted {
    factors: Factors,
    cpu_ns: Option<f64>,
}

impl Planted {
    pub fn wake_up(method: &str, target: &str, load: &str) -> Self {
        let factors = Factors::new()
            .with(factor::PROBE, "wake-up")
            .with(factor::METHOD, method)
            .with(factor::TARGET, target)
            .with(factor::POLICY, "other")
            .with(factor::LOAD, load);
        Self {
            factors,
            cpu_ns: None,
        }
    }

    pub fn read_cost(method: &str, load: &str) -> Self {
        let factors = Factors::new()
            .with(factor::PROBE, "read-cost")
            .with(factor::METHOD, method)
            .with(factor::LOAD, load);
        Self {
            factors,
            cpu_ns: None,
        }
    }

    pub fn slack(mut self, level: &str) -> Self {
        self.factors = self.factors.with(factor::SLACK, level);
        self
    }

    pub fn cpu(mut self, ns: f64) -> Self {
        self.cpu_ns = Some(ns);
        self
    }

    /// The same values in every block.
    pub fn blocks(self, blocks: usize, values_ns: &[i64]) -> Cell {
        self.each_block(vec![values_ns; blocks])
    }

    /// Given values for each block.
    pub fn each_block<B: AsRef<[i64]>>(self, blocks: impl IntoIterator<Item = B>) -> Cell {
        // In disorder, as samples that do not depend on one another are.
        let ps = |block: B| -> Vec<i64> {
            let values = block.as_ref();
            let place = |i: usize| (i * 7919 + 13) % values.len().max(1);
            match values.len().is_multiple_of(7919) {
                true => values.iter().map(|ns| ns * 1000).collect(),
                false => (0..values.len()).map(|i| values[place(i)] * 1000).collect(),
            }
        };
        let blocks: Blocks = blocks.into_iter().map(ps).collect();
        const GRID: [&str; 4] = [
            "clock-nanosleep-abs",
            "timerfd",
            "busy-wait",
            "tompion-hybrid",
        ];
        let missed_periods = GRID
            .contains(&self.factors.level(factor::METHOD))
            .then_some(0);
        let measurement = Measurement {
            cpu_per_operation_ns: self.cpu_ns,
            ..Measurement::default()
        };
        Cell {
            factors: self.factors,
            measurements: vec![measurement; blocks.len()],
            blocks,
            missed_periods,
            watched: true,
            ..Cell::default()
        }
    }
}

/// `n` values from 0 to `to` at equal distances, whose quantiles are exact.
pub fn ramp_ns(to: i64, n: i64) -> Vec<i64> {
    (0..n).map(|i| i * to / (n - 1)).collect()
}

/// Blocks around `centre` that drift by up to 5 % from one to the next, so that
/// paired ratios have some spread.
pub fn drifting_ns(centre: i64, blocks: i64, n: usize) -> Vec<Vec<i64>> {
    (0..blocks)
        .map(|b| vec![centre * (100 + (b * 7) % 5) / 100; n])
        .collect()
}
