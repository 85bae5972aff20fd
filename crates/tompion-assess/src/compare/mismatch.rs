//! What must agree before values may be compared.

use tompion_model::Factors;

use crate::compare::Side;

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
    use std::collections::BTreeSet;

    use super::*;
    use crate::compare::comparison::tests::side;

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
