//! How values came about.

use std::collections::{BTreeMap, BTreeSet};

use tompion_model::{Trial, shortened};

/// Values of a parameter that are told.
const MOST_TOLD: usize = 20;

/// What the probe was told and how it measured: by name, every value that a trial of
/// the cell had.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Parameters(pub(crate) BTreeMap<&'static str, BTreeSet<String>>);

impl Parameters {
    pub(crate) fn add(&mut self, trial: &Trial) {
        let m = &trial.measurement;
        let ns = |ns: Option<u64>| ns.map_or_else(|| "none".to_owned(), |ns| ns.to_string());
        let pinned = if m.pinned_cpu.is_some() { "yes" } else { "no" };
        let threshold = trial.findings.stalls.as_ref().map(|s| s.threshold_ns);
        for (name, value) in [
            ("technique", m.technique.clone()),
            ("clock behind the values", m.clock.clone()),
            ("period of the grid in ns", ns(m.period_ns)),
            ("pinned to a CPU", pinned.to_owned()),
            ("threshold of a stall in ns", ns(threshold)),
        ] {
            self.0.entry(name).or_default().insert(value);
        }
    }

    /// All that either has.
    pub(crate) fn merge(&mut self, other: &Self) {
        for (name, values) in &other.0 {
            self.0
                .entry(name)
                .or_default()
                .extend(values.iter().cloned());
        }
    }

    /// The values of one parameter, in words.
    pub(crate) fn told(&self, name: &str) -> String {
        let values = self.0.get(name).into_iter().flatten();
        let values: Vec<String> = values
            .take(MOST_TOLD)
            .map(|value| shortened(value))
            .collect();
        values.join(" and ")
    }
}
