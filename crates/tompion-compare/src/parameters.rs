//! How values came about: what must agree before they may be compared.

use std::collections::{BTreeMap, BTreeSet};

use tompion_record::{Factors, Trial};

use crate::Side;

/// What the probe was told and how it measured: by name, every value that a trial of
/// the cell had.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Parameters(BTreeMap<&'static str, BTreeSet<String>>);

impl Parameters {
    pub(crate) fn add(&mut self, trial: &Trial) {
        let m = &trial.measurement;
        let ns = |ns: Option<u64>| ns.map_or_else(|| "none".to_owned(), |ns| ns.to_string());
        let pinned = if m.pinned_cpu.is_some() { "yes" } else { "no" };
        let threshold = trial.stalls.as_ref().map(|s| s.threshold_ns);
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

    fn told(&self, name: &str) -> String {
        let values = self.0.get(name).into_iter().flatten();
        values.cloned().collect::<Vec<_>>().join(" and ")
    }
}

/// A parameter of a probe that two sides have different.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mismatch {
    /// The cell.
    pub cell: Factors,
    /// What differs, for example `pinned to a CPU`.
    pub what: &'static str,
    /// Names of the two sides.
    pub sides: (String, String),
    /// What each has.
    pub values: (String, String),
}

/// Parameters in which later sides differ from the first, cell by cell.
pub fn mismatches(sides: &[Side]) -> Vec<Mismatch> {
    let Some((first, others)) = sides.split_first() else {
        return Vec::new();
    };
    let mut found = Vec::new();
    for other in others {
        for (cell, ours) in &first.cells {
            let Some(theirs) = other.cells.get(cell) else {
                continue;
            };
            let (ours, theirs) = (&ours.parameters, &theirs.parameters);
            for (name, values) in &ours.0 {
                if theirs.0.get(name) != Some(values) {
                    found.push(Mismatch {
                        cell: cell.clone(),
                        what: name,
                        sides: (first.name.clone(), other.name.clone()),
                        values: (ours.told(name), theirs.told(name)),
                    });
                }
            }
        }
    }
    found
}
