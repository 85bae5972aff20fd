//! From a file for each table of each trial to a few files of a finished run.
//!
//! | file | rows of |
//! |---|---|
//! | `PROBE.parquet` | samples, with the trial's factors beside them |
//! | `PROBE.TABLE.parquet` | a side table |
//! | `bins.parquet`, `histograms.parquet` | bins and histograms of all probes |
//!
//! Each has a row group for each trial. Nothing is removed here: until `run.json` names the
//! new files, the run is what its old ones say.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use parquet::data_type::ByteArray;

use super::column::{self, Column, Data, Kind, hexadecimal};
use super::parquet_file::{FileWriter, Schema};
use super::reader::{Tables, side_tables};
use super::{atomic, cannot_write, samples, trial_files};
use crate::side_table::TRIAL_COLUMN;
use crate::{FileRef, Result, TableRef, TableRefs, Trial, factor, table};

/// The new files, and where each trial's tables lie in them.
pub(super) struct Gathered {
    pub(super) files: Vec<FileRef>,
    pub(super) tables: Vec<TableRefs>,
}

/// Names that files of finished runs have but for side tables and samples, and that no
/// probe may therefore have.
pub(super) const TAKEN: [&str; 2] = [table::BINS, table::HISTOGRAMS];

/// Names of the files that [`gather`] makes of these trials.
pub(super) fn file_names(trials: &[Trial]) -> BTreeSet<String> {
    let mut names: BTreeSet<String> = TAKEN.iter().map(|name| format!("{name}.parquet")).collect();
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

/// Brings the tables of `trials`, which lie in files of their own, together.
///
/// # Errors
/// Damage of one of them, and whatever the system refuses. New files may be left.
pub(super) fn gather(directory: &Path, old: &Tables, trials: &[Trial]) -> Result<Gathered> {
    let mut gathered = Gathered {
        files: Vec::new(),
        tables: vec![TableRefs::new(); trials.len()],
    };
    let mut by_probe: BTreeMap<&str, Vec<(usize, &Trial)>> = BTreeMap::new();
    for (i, trial) in trials.iter().enumerate() {
        by_probe
            .entry(probe_of(trial))
            .or_default()
            .push((i, trial));
    }
    let mut histograms: Vec<(usize, Vec<Column>)> = Vec::new();
    for (probe, trials) in &by_probe {
        let factors: BTreeSet<&str> = trials
            .iter()
            .flat_map(|(_, trial)| trial.factors.iter().map(|(name, _)| name))
            .filter(|name| !is_own_column(name))
            .collect();
        let file = format!("{probe}.parquet");
        let schema = sample_schema(&factors);
        let of_trial = |(i, trial): &(usize, &Trial)| {
            let data = old.data(trial)?;
            let columns = samples::of_histograms(&data, trial.measurement.period_ns);
            histograms.push((*i, columns));
            let columns = samples::of_samples(&data.samples);
            Ok((*i, with_factors(trial, &factors, columns)))
        };
        let tables = trials.iter().map(of_trial);
        gathered.write(directory, &file, table::SAMPLES, schema, tables)?;
    }
    let all = || by_probe.values().flatten().copied();
    let binned: Vec<_> = all()
        .filter(|(_, t)| t.tables.contains_key(table::BINS))
        .collect();
    if !binned.is_empty() {
        let file = format!("{}.parquet", table::BINS);
        let schema = plain_schema(&samples::BINS);
        let of_trial = |(i, trial): &(usize, &Trial)| {
            let columns = old.columns(trial, table::BINS, Some(&samples::BINS))?;
            Ok((*i, with_trial(trial, columns)))
        };
        let tables = binned.iter().map(of_trial);
        gathered.write(directory, &file, table::BINS, schema, tables)?;
    }
    let file = format!("{}.parquet", table::HISTOGRAMS);
    let schema = plain_schema(&samples::HISTOGRAMS);
    let tables = histograms
        .into_iter()
        .map(|(i, columns)| Ok((i, with_trial(&trials[i], columns))));
    gathered.write(directory, &file, table::HISTOGRAMS, schema, tables)?;
    for (probe, trials) in &by_probe {
        let names: BTreeSet<&str> = trials
            .iter()
            .flat_map(|(_, trial)| side_tables(trial).map(|(name, _)| name))
            .collect();
        for name in names {
            let with_it: Vec<_> = trials
                .iter()
                .filter(|(_, trial)| trial.tables.contains_key(name))
                .collect();
            let first = old.columns(with_it[0].1, name, None)?;
            let schema = Schema::of(&with_trial(with_it[0].1, first));
            let file = format!("{probe}.{name}.parquet");
            let of_trial = |(i, trial): &&(usize, &Trial)| {
                Ok((*i, with_trial(trial, old.columns(trial, name, None)?)))
            };
            let tables = with_it.iter().map(of_trial);
            gathered.write(directory, &file, name, schema, tables)?;
        }
    }
    Ok(gathered)
}

impl Gathered {
    /// Writes a file of one table for each of some trials. What a checksum covers are the
    /// columns that are the table's own.
    fn write(
        &mut self,
        directory: &Path,
        file: &str,
        name: &str,
        schema: Schema,
        tables: impl Iterator<Item = Result<(usize, Vec<Column>)>>,
    ) -> Result<()> {
        let path = directory.join(file);
        let written = atomic::write_checked(&path, |out| {
            let mut writer = FileWriter::new(out, name, schema, Vec::new())
                .map_err(|e| cannot_write(&path, &e))?;
            for table in tables {
                let (i, columns) = table?;
                let row_group = writer
                    .table(&columns)
                    .map_err(|e| cannot_write(&path, &e))?;
                let own = own_columns(name, &columns);
                let rows = own.first().map_or(0, Column::rows);
                let at = TableRef {
                    file: file.to_owned(),
                    row_group,
                    rows: rows as u64,
                    crc32: column::checksum(rows, own),
                };
                self.tables[i].insert(name.to_owned(), at);
            }
            writer.finish().map_err(|e| cannot_write(&path, &e))
        })?;
        self.files.push(FileRef {
            file: file.to_owned(),
            bytes: written.bytes,
            crc32: hexadecimal(written.crc32),
        });
        Ok(())
    }
}

/// Without the trial and its factors, which stand before them.
fn own_columns<'a>(name: &str, columns: &'a [Column]) -> &'a [Column] {
    match name {
        table::SAMPLES => &columns[columns.len() - samples::SAMPLES.len()..],
        _ => &columns[1..],
    }
}

const BLOCK_COLUMN: &str = "block";

/// Whether a factor of that name would be taken for something else. It stands in
/// `run.json` alone.
fn is_own_column(name: &str) -> bool {
    [TRIAL_COLUMN, BLOCK_COLUMN].contains(&name) || samples::SAMPLES.iter().any(|c| c.0 == name)
}

fn sample_schema(factors: &BTreeSet<&str>) -> Schema {
    let mut columns = vec![
        (TRIAL_COLUMN.to_owned(), Kind::UInt32, true),
        (BLOCK_COLUMN.to_owned(), Kind::UInt32, true),
    ];
    columns.extend(
        factors
            .iter()
            .map(|name| ((*name).to_owned(), Kind::Text, false)),
    );
    let own = samples::SAMPLES.map(|(name, kind)| (name.to_owned(), kind, name != "mark"));
    columns.extend(own);
    Schema::new(columns)
}

fn plain_schema(columns: &[(&str, Kind)]) -> Schema {
    let trial = [(TRIAL_COLUMN.to_owned(), Kind::UInt32, true)];
    let own = columns
        .iter()
        .map(|&(name, kind)| (name.to_owned(), kind, true));
    Schema::new(trial.into_iter().chain(own).collect())
}

/// A column of which every row has one value.
fn same(name: &str, value: u32, rows: usize) -> Column {
    Column::whole(name, Data::UInt32(vec![value.cast_signed(); rows]))
}

fn with_trial(trial: &Trial, columns: Vec<Column>) -> Vec<Column> {
    let rows = columns.first().map_or(0, Column::rows);
    let trial = same(TRIAL_COLUMN, trial.id, rows);
    [vec![trial], columns].concat()
}

fn with_factors(trial: &Trial, factors: &BTreeSet<&str>, columns: Vec<Column>) -> Vec<Column> {
    let rows = columns.first().map_or(0, Column::rows);
    let mut all = vec![
        same(TRIAL_COLUMN, trial.id, rows),
        same(BLOCK_COLUMN, trial.block, rows),
    ];
    all.extend(factors.iter().map(|name| match trial.factors.get(name) {
        Some(level) => Column::whole(name, Data::Repeated(ByteArray::from(level), rows)),
        None => Column::with_levels(name, vec![0; rows], Data::Text(Vec::new())),
    }));
    all.extend(columns);
    all
}

impl Tables {
    /// The columns of one table of a trial.
    fn columns(
        &self,
        trial: &Trial,
        name: &str,
        wanted: Option<&[(&str, Kind)]>,
    ) -> Result<Vec<Column>> {
        let at = &trial.tables[name];
        trial_files::read_table(&*self.file(at)?, name, at, wanted)
    }
}
