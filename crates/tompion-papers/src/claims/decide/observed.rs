//! A run as the rules see it: cells with one figure a replicate.

use std::collections::BTreeMap;

use tompion_model::{
    CauseTotal, Environment, Factors, PlatformRecord, RunRecord, Stalls, Summary, Trial, factor,
};
use tompion_stats::median_interval;

use crate::claims::{Effect, Interval, rounded};

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
    /// Periods missed; absent without a grid.
    pub missed: Option<f64>,
    /// Share of the time lost in stalls whose cause is named.
    pub named: Option<f64>,
}

/// A platform of a lab.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Place {
    /// `host`, `oci`, `qemu`.
    pub kind: String,
    /// Whether its kernel is another than the machine's.
    pub has_own_kernel: bool,
}

impl Place {
    pub fn of(platform: &PlatformRecord, machine: &Environment) -> Self {
        let own = platform.environment.as_ref();
        let own = own.and_then(|e| e.kernel.release.as_ref());
        let machines = machine.kernel.release.as_ref();
        let is_shared = matches!(platform.kind.as_str(), "host" | "oci")
            && own.is_none_or(|own| Some(own) == machines);
        Self {
            kind: platform.kind.clone(),
            has_own_kernel: !is_shared,
        }
    }
}

/// Share of the time lost whose cause evidence names; `None` where none was lost. Stalls
/// that found no room have no cause.
fn named_share(stalls: &Stalls) -> Option<f64> {
    let is_named = |c: &&CauseTotal| !matches!(c.cause.name(), "unknown" | "unseen");
    let named: u64 = stalls.causes.iter().filter(is_named).map(|c| c.ns).sum();
    (stalls.lost_ns > 0).then(|| named as f64 / stalls.lost_ns as f64)
}

/// Trials by cell and block.
#[derive(Clone, Debug, Default)]
pub(super) struct Observed {
    pub cells: BTreeMap<Factors, BTreeMap<u32, Replicate>>,
    /// Whether the machine is a guest of a hypervisor.
    pub is_guest: bool,
    /// Platforms of a lab by their levels.
    pub places: BTreeMap<String, Place>,
}

impl Observed {
    /// Some trials of a run.
    pub fn new<'a>(trials: impl Iterator<Item = &'a Trial>, record: &RunRecord) -> Self {
        let machine = &record.header.environment;
        let mut cells: BTreeMap<Factors, BTreeMap<u32, Replicate>> = BTreeMap::new();
        for t in trials {
            let measured = t.summary.measured.clone();
            let undisturbed = t.summary.undisturbed.clone();
            let replicate = Replicate {
                undisturbed: undisturbed.or_else(|| measured.clone()),
                measured,
                cpu_ns: t.measurement.cpu_per_operation_ns,
                missed: t.summary.missed_periods.map(|n| n as f64),
                named: t.findings.stalls.as_ref().and_then(named_share),
            };
            let cell = cells.entry(t.factors.clone()).or_default();
            cell.insert(t.block, replicate);
        }
        let place = |p: &PlatformRecord| (p.level.clone(), Place::of(p, machine));
        Self {
            cells,
            is_guest: machine.virtualization.hypervisor.is_some(),
            places: record.platforms.iter().map(place).collect(),
        }
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
        // The middle of two figures at the end of all numbers is none that evidence can hold.
        value.is_finite().then_some(Self {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn causes_and_kernels_are_read_from_the_record() {
        let stalls = |lost_ns: u64| Stalls {
            lost_ns,
            causes: serde_json::from_str(
                r#"[{"cause": "preempted", "by": "hog[7]", "ns": 60, "parts": 1, "longest_ns": 60},
                    {"cause": "unseen", "by": null, "ns": 30, "parts": 1, "longest_ns": 30},
                    {"cause": "unknown", "by": null, "ns": 10, "parts": 1, "longest_ns": 10}]"#,
            )
            .unwrap(),
            ..Stalls::default()
        };
        // Of 20 ns nothing is known, for their stalls found no room.
        assert_eq!(named_share(&stalls(120)), Some(0.5));
        assert_eq!(named_share(&Stalls::default()), None);

        let on = |kernel: &str| {
            let mut seen = Environment::default();
            seen.kernel.release = Some(kernel.to_owned());
            seen
        };
        let machine = on("6.1");
        let place = |kind: &str, seen: &Environment| {
            let platform = PlatformRecord {
                kind: kind.to_owned(),
                environment: Some(seen.clone()),
                ..PlatformRecord::default()
            };
            Place::of(&platform, &machine).has_own_kernel
        };
        assert!(!place("oci", &machine));
        assert!(place("oci", &on("4.4.0")), "gVisor");
        assert!(place("qemu", &machine));
    }
}
