//! How values came about: what must agree before they may be compared.

use std::collections::BTreeSet;

use tompion_record::{Factors, Trial};

use crate::Side;

/// What the probe was told and how it measured; one entry of each kind where all
/// trials of the cell agree.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Parameters {
    technique: BTreeSet<String>,
    clock: BTreeSet<String>,
    period_ns: BTreeSet<Option<u64>>,
    pinned: BTreeSet<bool>,
    stall_threshold_ns: BTreeSet<Option<u64>>,
}

impl Parameters {
    pub(crate) fn add(&mut self, trial: &Trial) {
        let m = &trial.measurement;
        self.technique.insert(m.technique.clone());
        self.clock.insert(m.clock.clone());
        self.period_ns.insert(m.period_ns);
        self.pinned.insert(m.pinned_cpu.is_some());
        let stalls = trial.stalls.as_ref();
        self.stall_threshold_ns
            .insert(stalls.map(|s| s.threshold_ns));
    }

    /// Names and values of what differs.
    fn differences(&self, other: &Self) -> Vec<(&'static str, String, String)> {
        fn told<T: std::fmt::Debug + Ord>(set: &BTreeSet<T>) -> String {
            let all: Vec<String> = set
                .iter()
                .map(|v| {
                    let text = match format!("{v:?}").as_str() {
                        "true" => "yes".to_owned(),
                        "false" => "no".to_owned(),
                        other => other.to_owned(),
                    };
                    let inner = text.strip_prefix("Some(").and_then(|t| t.strip_suffix(')'));
                    inner.unwrap_or(&text).trim_matches('"').to_owned()
                })
                .collect();
            all.join(" and ")
        }
        let mut found = Vec::new();
        let mut hold = |name, same: bool, a: String, b: String| {
            if !same {
                found.push((name, a, b));
            }
        };
        macro_rules! field {
            ($field:ident, $name:literal) => {
                hold(
                    $name,
                    self.$field == other.$field,
                    told(&self.$field),
                    told(&other.$field),
                );
            };
        }
        field!(technique, "technique");
        field!(clock, "clock behind the values");
        field!(period_ns, "period of the grid in ns");
        field!(pinned, "pinned to a CPU");
        field!(stall_threshold_ns, "threshold of a stall in ns");
        found
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
            for (what, a, b) in ours.parameters.differences(&theirs.parameters) {
                found.push(Mismatch {
                    cell: cell.clone(),
                    what,
                    sides: (first.name.clone(), other.name.clone()),
                    values: (a, b),
                });
            }
        }
    }
    found
}
