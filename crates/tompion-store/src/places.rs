//! Which places of a run's files its tables take: each has its own.

use std::collections::BTreeSet;

use tompion_model::Trial;

use crate::error::Fault;

/// The places that tables have taken so far.
#[derive(Debug)]
pub(super) struct Places {
    /// Whether each table has a file, as long as a run is not finished; else a row group of one.
    are_files: bool,
    taken: BTreeSet<(String, u32)>,
}

impl Places {
    /// Nothing is taken yet.
    pub(super) fn new(are_files: bool) -> Self {
        Self {
            are_files,
            taken: BTreeSet::new(),
        }
    }

    /// Takes those of a trial's tables; says which of them another has.
    ///
    /// One without rows is in no row group, so that many may name the same; but a file of its own
    /// it has all the same. Each is opened with its footer for each table in it, and that of one
    /// file for all of thousands of trials would be gone through thousands of times.
    pub(super) fn take(&mut self, trial: &Trial) -> Result<(), Fault> {
        for (name, at) in &trial.tables {
            let group = if self.are_files { 0 } else { at.row_group };
            if (self.are_files || at.rows > 0) && !self.taken.insert((at.file.clone(), group)) {
                let file = at.file.escape_debug();
                let place = match self.are_files {
                    true => file.to_string(),
                    false => format!("row group {group} of {file}"),
                };
                return Err(format!("tables.{name}: {place} is another table's").into());
            }
        }
        Ok(())
    }
}
