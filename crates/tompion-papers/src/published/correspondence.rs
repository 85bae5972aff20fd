//! Which published figure corresponds to which cell and statistic of a run.
//!
//! The rules are data (`data/correspondence.toml`); here they are crossed with the
//! tables. The platform is no factor of a run: a run has one machine, and each
//! figure of each platform stands beside it.

mod counterpart;
mod rules;

use crate::published::{Table, tables_of};

pub use counterpart::{Absent, Counterpart, Fit, Statistic};

/// Every figure of a table with its counterparts in a run, and those without.
pub fn correspondences(table: &'static Table) -> (Vec<Counterpart>, Vec<Absent>) {
    let mut found = (Vec::new(), Vec::new());
    // A test holds every table to having rules.
    let Some(rules) = rules::of(table) else {
        return found;
    };
    for figure in table.figures() {
        match rules.counterparts(figure) {
            Ok(some) => found.0.extend(some),
            Err(why) => found.1.push(Absent { figure, why }),
        }
    }
    found
}

/// What to know before comparing anything of a table with a run.
pub fn comparison_notes(table: &Table) -> &'static [String] {
    rules::of(table).map_or(&[], |r| &r.notes)
}

/// The figures of a table that have counterparts, one entry for each kind of cell.
pub fn counterparts(table: &'static Table) -> Vec<Counterpart> {
    correspondences(table).0
}

/// The figures of the table or paper of that name beside which this cell may stand;
/// `level` tells its level of a factor.
pub fn counterparts_of_cell<'l>(
    name: &str,
    level: impl Fn(&str) -> Option<&'l str>,
) -> Vec<Counterpart> {
    tables_of(name)
        .into_iter()
        .flat_map(counterparts)
        .filter(|c| c.fits(&level))
        .collect()
}
