//! From a file for each table of each trial to a few files of a finished run.
//!
//! | file | rows of |
//! |---|---|
//! | `PROBE.parquet` | samples, with the trial's factors beside them |
//! | `PROBE.TABLE.parquet` | a side table |
//! | `bins.parquet`, `histograms.parquet` | bins and histograms of all probes |
//!
//! Each has a row group for each trial. What a trial's own file holds is copied byte by
//! byte, under the checksum that was made when it was written. Nothing is removed here:
//! until `run.json` names the new files, the run is what its old ones say.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;

use super::column::{self, Column, Kind, hexadecimal};
use super::constant::Constant;
use super::directory::Directory;
use super::histograms::{Histograms, TrialHistograms};
use super::parquet_file::{FileWriter, Schema};
use super::reader::{Tables, side_tables};
use super::{cannot_write, limits, samples, trial_files};
use crate::{Error, Result};
use tompion_model::SideTable;
use tompion_model::{FileRef, TableRef, TableRefs, Trial, factor, table};

/// The new files, and where each trial's tables lie in them.
pub(super) struct Gathered {
    pub(super) files: Vec<FileRef>,
    pub(super) tables: Vec<TableRefs>,
}

/// Names of the files that [`gather`] makes of these trials.
pub(super) fn file_names(trials: &[Trial]) -> BTreeSet<String> {
    let mut names: BTreeSet<String> = limits::TAKEN
        .iter()
        .map(|name| format!("{name}.parquet"))
        .collect();
    for trial in trials {
        let probe = probe_of(trial);
        names.insert(format!("{probe}.parquet"));
        names.extend(side_tables(trial).map(|(name, _)| format!("{probe}.{name}.parquet")));
    }
    names
}

fn probe_of(trial: &Trial) -> &str {
    trial.factors.level(factor::PROBE)
}

/// Brings the tables of `trials`, which lie in files of their own, together. `histograms`
/// are theirs, if they are known already.
///
/// # Errors
/// Damage of one of them, and whatever the system refuses. New files may be left.
pub(super) fn gather(
    directory: &Directory,
    old: &Tables,
    trials: &[Trial],
    histograms: Option<Histograms>,
) -> Result<Gathered> {
    let mut gathered = Gathered {
        files: Vec::new(),
        tables: vec![TableRefs::new(); trials.len()],
    };
    let mut by_probe: BTreeMap<&str, Vec<&Trial>> = BTreeMap::new();
    for trial in trials {
        by_probe.entry(probe_of(trial)).or_default().push(trial);
    }
    for (probe, trials) in &by_probe {
        let factors: BTreeSet<&str> = trials
            .iter()
            .flat_map(|trial| trial.factors.iter().map(|(name, _)| name))
            .filter(|name| !is_own_column(name))
            .collect();
        let new = NewFile {
            directory,
            file: format!("{probe}.parquet"),
            name: table::SAMPLES,
            schema: sample_schema(&factors),
        };
        gathered.take(new, old, trials, |trial| with_factors(trial, &factors))?;
    }
    let binned: Vec<_> = trials
        .iter()
        .filter(|trial| trial.tables.contains_key(table::BINS))
        .collect();
    if !binned.is_empty() {
        let new = NewFile {
            directory,
            file: format!("{}.parquet", table::BINS),
            name: table::BINS,
            schema: Schema::of_trial(&samples::BINS),
        };
        gathered.take(new, old, &binned, with_trial)?;
    }
    for (probe, trials) in &by_probe {
        let names: BTreeSet<&str> = trials
            .iter()
            .flat_map(|trial| side_tables(trial).map(|(name, _)| name))
            .collect();
        for name in names {
            let with_it: Vec<&Trial> = trials
                .iter()
                .copied()
                .filter(|trial| trial.tables.contains_key(name))
                .collect();
            let first = old.columns(with_it[0], name)?;
            let new = NewFile {
                directory,
                file: format!("{probe}.{name}.parquet"),
                name,
                schema: Schema::of(&first).of_each_trial(),
            };
            gathered.take(new, old, &with_it, with_trial)?;
        }
    }
    let histograms = histograms.filter(|known| known.trials() == trials.len());
    gathered.put_histograms(directory, old, trials, histograms)?;
    Ok(gathered)
}

/// A file of one table for each of some trials.
struct NewFile<'a> {
    directory: &'a Directory,
    file: String,
    /// What the table is called.
    name: &'a str,
    schema: Schema,
}

impl Gathered {
    fn take(
        &mut self,
        new: NewFile<'_>,
        old: &Tables,
        trials: &[&Trial],
        constants: impl Fn(&Trial) -> Vec<Constant>,
    ) -> Result<()> {
        let (directory, name, schema) = (new.directory, new.name, new.schema);
        let path = directory.path().join(&new.file);
        self.write(directory, new.file.clone(), |all, out| {
            let failed = |e| cannot_write(&path, &e);
            let mut writer = FileWriter::new(out, name, schema, Vec::new()).map_err(failed)?;
            for trial in trials {
                let (at, constants) = (&trial.tables[name], constants(trial));
                let file = old.file(at)?;
                let copied = old.has_checksums() && writer.takes(&constants, &file);
                let (row_group, rows, crc32) = if copied {
                    let row_group = writer.copy(&path, &constants, &file, at.row_group, at.rows)?;
                    (row_group, at.rows, at.crc32.clone())
                } else {
                    let columns = old.columns(trial, name)?;
                    let rows = columns.first().map_or(0, Column::rows);
                    let row_group = writer.table(&constants, &columns).map_err(failed)?;
                    (row_group, rows as u64, column::checksum(rows, &columns))
                };
                let at = TableRef {
                    file: new.file.clone(),
                    row_group,
                    rows,
                    crc32,
                };
                all.tables[trial.id as usize].insert(name.to_owned(), at);
            }
            writer.finish().map(drop).map_err(failed)
        })
    }

    fn put_histograms(
        &mut self,
        directory: &Directory,
        old: &Tables,
        trials: &[Trial],
        known: Option<Histograms>,
    ) -> Result<()> {
        let path = directory.path().join(Histograms::file());
        let failed = |e| cannot_write(&path, &e);
        let histograms = match known {
            Some(known) => known,
            None => {
                let mut made = Histograms::new().map_err(failed)?;
                for trial in trials {
                    let data = old.data(trial)?;
                    let bins = TrialHistograms::of(&data, trial.measurement.period_ns);
                    made.add(trial.id, &bins).map_err(failed)?;
                }
                made
            }
        };
        let (bytes, tables) = histograms.finish().map_err(failed)?;
        for (all, at) in self.tables.iter_mut().zip(tables) {
            all.insert(table::HISTOGRAMS.to_owned(), at);
        }
        self.write(directory, Histograms::file(), |_, out| {
            out.write_all(&bytes).map_err(Error::io(&path, "writing"))
        })
    }

    fn write(
        &mut self,
        directory: &Directory,
        file: String,
        fill: impl FnOnce(&mut Self, &mut (dyn Write + Send)) -> Result<()>,
    ) -> Result<()> {
        let written = directory.write_checked(&file, |out| fill(self, out))?;
        self.files.push(FileRef {
            file,
            bytes: written.bytes,
            crc32: hexadecimal(written.crc32),
        });
        Ok(())
    }
}

const BLOCK_COLUMN: &str = "block";

/// Whether a factor of that name would be taken for something else. It stands in
/// `run.json` alone.
fn is_own_column(name: &str) -> bool {
    [SideTable::TRIAL_COLUMN, BLOCK_COLUMN].contains(&name)
        || samples::SAMPLES.iter().any(|c| c.0 == name)
}

fn sample_schema(factors: &BTreeSet<&str>) -> Schema {
    let mut columns = vec![
        (SideTable::TRIAL_COLUMN.to_owned(), Kind::UInt32, true),
        (BLOCK_COLUMN.to_owned(), Kind::UInt32, true),
    ];
    columns.extend(
        factors
            .iter()
            .map(|name| ((*name).to_owned(), Kind::Text, false)),
    );
    columns.extend(samples::described());
    Schema::new(columns)
}

fn with_trial(trial: &Trial) -> Vec<Constant> {
    vec![Constant::number(SideTable::TRIAL_COLUMN, trial.id)]
}

fn with_factors(trial: &Trial, factors: &BTreeSet<&str>) -> Vec<Constant> {
    let mut all = with_trial(trial);
    all.push(Constant::number(BLOCK_COLUMN, trial.block));
    let factors = factors.iter();
    all.extend(factors.map(|name| Constant::text(name, trial.factors.get(name))));
    all
}

impl Tables {
    /// The columns of one table of a trial, checked.
    fn columns(&self, trial: &Trial, name: &str) -> Result<Vec<Column>> {
        let at = &trial.tables[name];
        let file = self.file(at)?;
        match name {
            table::SAMPLES => self.samples(&file, at).map(|s| samples::of_samples(&s)),
            table::BINS => trial_files::read_table(&file, name, at, Some(&samples::BINS)),
            _ => trial_files::read_table(&file, name, at, None),
        }
    }
}
