//! What must agree before values may be compared.

use std::collections::BTreeSet;
use std::sync::Arc;

use tompion_model::{Factors, factor};

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

/// Leaves out what was measured differently where each cell is of a platform of its own and others are left to compare: one
/// that tells untruths of itself costs no other. Says so among the remarks of the last side; nothing is done, and `false`
/// returned, where cells are of no platform or all of them differ.
pub fn leave_out(sides: &mut [Side], found: &[Mismatch]) -> bool {
    let mixed: BTreeSet<&Factors> = found.iter().map(|m| &m.cell).collect();
    let is_of_platform = |cell: &&Factors| cell.get(factor::PLATFORM).is_some();
    let mut sound = sides.iter().flat_map(|s| s.cells.keys());
    let in_several =
        |cell: &Factors| sides.iter().filter(|s| s.cells.contains_key(cell)).count() > 1;
    let is_any = sound.any(|cell| !mixed.contains(cell) && in_several(cell));
    let Some(first) = found.first() else {
        return false;
    };
    if !is_any || !mixed.iter().all(is_of_platform) {
        return false;
    }
    for side in sides.iter_mut() {
        side.cells.retain(|cell, _| !mixed.contains(cell));
    }
    if let Some(side) = sides.last_mut() {
        Arc::make_mut(&mut side.remarks).push(format!(
            "{} left out, measured differently: {} for example ({}: {} in {}, {} in {}).",
            match mixed.len() {
                1 => "1 cell is".to_owned(),
                n => format!("{n} cells are"),
            },
            first.cell,
            first.what,
            first.values.0,
            first.sides.0,
            first.values.1,
            first.sides.1
        ));
    }
    true
}

#[cfg(test)]
mod tests {
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
    fn a_platform_that_was_measured_differently_costs_no_other() {
        let lab = |name: &str, pinned_guest: &str| {
            let mut side = side(name, &[1.0]);
            let (cell, found) = side.cells.pop_first().unwrap();
            for (platform, pinning) in [("host", "no"), ("guest", pinned_guest)] {
                let mut found = found.clone();
                let told = BTreeSet::from([pinning.to_owned()]);
                found.parameters.0.insert("pinned to a CPU", told);
                let cell = cell.clone().with(factor::PLATFORM, platform);
                side.cells.insert(cell, found);
            }
            side
        };
        let mut sides = [lab("a", "no"), lab("b", "yes")];
        let found = mismatches(&sides);
        assert_eq!(found.len(), 1);
        assert!(leave_out(&mut sides, &found));
        for side in &sides {
            let left: Vec<_> = side
                .cells
                .keys()
                .map(|c| c.level(factor::PLATFORM))
                .collect();
            assert_eq!(left, ["host"]);
        }
        let told = sides[1].remarks.last().unwrap();
        assert!(
            told.starts_with("1 cell is left out, measured differently: ")
                && told.contains("guest"),
            "{told}"
        );
        assert_eq!(mismatches(&sides), []);
        // Where nothing else is left, or it is of no platform, it is refused as ever.
        let mut alone = [lab("a", "no"), lab("b", "yes")];
        alone.iter_mut().for_each(|side| {
            side.cells
                .retain(|cell, _| cell.level(factor::PLATFORM) == "guest");
        });
        let found = mismatches(&alone);
        assert!(!leave_out(&mut alone, &found) && alone[0].cells.len() == 1);
        let mut plain = [
            pinned(side("a", &[1.0]), "no"),
            pinned(side("b", &[1.0]), "yes"),
        ];
        let found = mismatches(&plain);
        assert!(!found.is_empty() && !leave_out(&mut plain, &found));
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
