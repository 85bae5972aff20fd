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

/// Parameters in which sides differ from the first one that has the cell.
pub fn mismatches(sides: &[Side]) -> Vec<Mismatch> {
    let mut found = Vec::new();
    for (at, other) in sides.iter().enumerate() {
        for (cell, theirs) in &other.cells {
            let before = sides[..at].iter();
            let Some((first, ours)) = before.filter_map(|s| Some((s, s.cells.get(cell)?))).next()
            else {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::comparison::tests::side;

    fn pinned(mut side: Side, pinned: &str) -> Side {
        for cell in side.cells.values_mut() {
            let told = BTreeSet::from([pinned.to_owned()]);
            cell.parameters.0.insert("pinned to a CPU", told);
        }
        side
    }

    #[test]
    fn a_cell_that_the_first_side_lacks_is_held_against_the_first_that_has_it() {
        let mut first = side("a", &[1.0]);
        first.cells.clear();
        let (b, c) = (side("b", &[1.0]), side("c", &[1.0]));
        let alike = [
            first.clone(),
            pinned(b.clone(), "no"),
            pinned(c.clone(), "no"),
        ];
        assert_eq!(mismatches(&alike), []);
        let found = mismatches(&[first, pinned(b, "no"), pinned(c, "yes")]);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].sides, ("b".to_owned(), "c".to_owned()));
        assert_eq!(found[0].values, ("no".to_owned(), "yes".to_owned()));
    }
}
