//! A run as the rules see it: cells with one figure a replicate.

use std::collections::BTreeMap;

use tompion_record::{Factors, Summary, Trial, factor};
use tompion_stats::median_interval;

use crate::{Effect, Interval, rounded};

/// Confidence of the intervals that rules rest on.
const CONFIDENCE: f64 = 0.95;

/// One trial.
#[derive(Clone, Debug, Default)]
pub(super) struct Replicate {
    /// Its samples as measured.
    pub measured: Option<Summary>,
    /// The same without disturbed ones; as measured where nothing disturbed them.
    pub undisturbed: Option<Summary>,
    /// CPU time of one operation in nanoseconds.
    pub cpu_ns: Option<f64>,
}

/// Trials by cell and block.
#[derive(Clone, Debug, Default)]
pub(super) struct Observed {
    pub cells: BTreeMap<Factors, BTreeMap<u32, Replicate>>,
    /// Whether the machine is a guest of a hypervisor.
    pub is_guest: bool,
}

impl Observed {
    pub fn new<'a>(trials: impl Iterator<Item = &'a Trial>, is_guest: bool) -> Self {
        let mut cells: BTreeMap<Factors, BTreeMap<u32, Replicate>> = BTreeMap::new();
        for t in trials {
            let measured = t.summary.measured.clone();
            let undisturbed = t.summary.undisturbed.clone();
            let replicate = Replicate {
                undisturbed: undisturbed.or_else(|| measured.clone()),
                measured,
                cpu_ns: t.measurement.cpu_per_operation_ns,
            };
            let cell = cells.entry(t.factors.clone()).or_default();
            cell.insert(t.block, replicate);
        }
        Self { cells, is_guest }
    }

    /// Cells of a probe and method beside a load, in the order of their keys.
    pub fn cells_of<'a>(
        &'a self,
        probe: &'a str,
        method: &'a str,
        load: &'a str,
    ) -> impl Iterator<Item = &'a Factors> {
        let fits = move |f: &&Factors| {
            f.is(probe, method)
                && f.level(factor::LOAD) == load
                // Real-time threads are another matter.
                && f.get(factor::POLICY).is_none_or(|p| p == "other")
        };
        self.cells.keys().filter(fits)
    }

    /// One figure of each replicate of a cell.
    pub fn figures(&self, cell: &Factors, figure: impl Fn(&Replicate) -> Option<f64>) -> Vec<f64> {
        let replicates = self.cells.get(cell).into_iter().flat_map(BTreeMap::values);
        replicates.filter_map(figure).collect()
    }

    /// The figure of one cell over that of another, replicate by replicate.
    pub fn ratios(
        &self,
        over: &Factors,
        under: &Factors,
        figure: impl Fn(&Replicate) -> Option<f64>,
    ) -> Vec<f64> {
        let (Some(a), Some(b)) = (self.cells.get(over), self.cells.get(under)) else {
            return Vec::new();
        };
        a.iter()
            .filter_map(|(block, a)| Some(figure(a)? / figure(b.get(block)?)?))
            .filter(|r| r.is_finite())
            .collect()
    }
}

/// A median over replicates with its interval.
#[derive(Clone, Copy, Debug)]
pub(super) struct Median {
    pub value: f64,
    pub low: f64,
    pub high: f64,
    pub replicates: usize,
}

impl Median {
    /// `None` where replicates are too few for an interval.
    pub fn of(values: &[f64]) -> Option<Self> {
        let (value, interval) = median_interval(values, CONFIDENCE)?;
        let interval = interval?;
        Some(Self {
            value,
            low: interval.low,
            high: interval.high,
            replicates: values.len(),
        })
    }

    /// As evidence has it, times `scale`.
    pub fn effect(&self, what: impl Into<String>, unit: &str, scale: f64) -> Effect {
        Effect {
            what: what.into(),
            value: rounded(self.value * scale),
            unit: unit.to_owned(),
            interval: Some(Interval {
                low: rounded(self.low * scale),
                high: rounded(self.high * scale),
                confidence: CONFIDENCE,
            }),
            p: None,
            method: Some(format!(
                "median over {} replicates, order statistics",
                self.replicates
            )),
        }
    }
}
