//! The files of one trial while its run is measured: `samples/NNNNN.parquet` with the
//! trial's own description, and beside it a file for each other table.

use parquet::file::metadata::KeyValue;

use super::column::{self, Column, form_of_checksum, hexadecimal};
use super::directory::Directory;
use super::json_size::JsonSize;
use super::parquet_file::{FileWriter, ParquetFile, Schema};
use super::printable::printable_json;
use super::samples::{self, BINS};
use super::{SAMPLES, cannot_write, version_1};
use crate::{Error, Result};
use tompion_model::{SCHEMA_VERSION, TableRef, Trial, TrialData, table};

/// Metadata of a sample file: the trial's own description as JSON, from which a run whose
/// process died is put together again, and the CRC-32 of this text.
const TRIAL_KEY: &str = "tompion.trial";
const TRIAL_CHECKSUM_KEY: &str = "tompion.trial_crc32";

/// Name of the sample file of a trial, relative to the run directory.
pub(super) fn sample_file(id: usize) -> String {
    format!("{SAMPLES}/{id:05}.parquet")
}

/// Trials with sample files of higher numbers than the first `trials`, which are whole by
/// themselves.
pub(super) fn behind(directory: &Directory, trials: usize) -> usize {
    let samples = directory.within(SAMPLES).ok().flatten();
    let names = samples.and_then(|samples| samples.names().ok());
    let of_samples = |name: &String| {
        let digits = name.strip_suffix(".parquet")?;
        digits.parse::<usize>().ok().filter(|id| *id > trials)
    };
    names.iter().flatten().filter_map(of_samples).count()
}

fn table_file(id: u32, name: &str) -> String {
    format!("{SAMPLES}/{id:05}.{name}.parquet")
}

/// Writes all tables of a trial, and its description with where they lie, unless that would be more
/// than a reader takes beside descriptions of this size; the size of all.
pub(super) fn write(
    directory: &Directory,
    trial: &mut Trial,
    data: &TrialData,
    others: JsonSize,
) -> Result<JsonSize> {
    trial.tables.clear();
    // The sample file commits the trial, so what it refers to comes first.
    if let (Some(bins), Some(filled)) = (&data.bins, &data.filled_bins) {
        let columns = samples::of_bins(bins, filled);
        write_one(directory, trial, table::BINS, &columns)?;
    }
    for (name, side_table) in &data.tables {
        let columns = column::of_side_table(side_table);
        write_one(directory, trial, name, &columns)?;
    }
    let columns = samples::of_samples(&data.samples);
    let file = sample_file(trial.id as usize);
    let samples = place(file.clone(), &columns);
    trial.tables.insert(table::SAMPLES.to_owned(), samples);
    let description = serde_json::to_string(trial)
        .map_err(|e| Error::io(&directory.path().join(&file), "writing")(e.into()))?;
    let all = others + JsonSize::of_gathered_trial(&description);
    all.check(SCHEMA_VERSION).map_err(|why| {
        Error::invalid(directory.path(), format!("no room for this trial: {why}"))
    })?;
    let crc32 = hexadecimal(crc32fast::hash(description.as_bytes()));
    let metadata = vec![
        KeyValue::new(TRIAL_KEY.to_owned(), description),
        KeyValue::new(TRIAL_CHECKSUM_KEY.to_owned(), crc32),
    ];
    let schema = Schema::new(samples::described().collect());
    write_file(directory, &file, table::SAMPLES, schema, metadata, &columns)?;
    Ok(all)
}

fn write_one(
    directory: &Directory,
    trial: &mut Trial,
    name: &str,
    columns: &[Column],
) -> Result<()> {
    let file = table_file(trial.id, name);
    let schema = Schema::of(columns);
    write_file(directory, &file, name, schema, Vec::new(), columns)?;
    trial.tables.insert(name.to_owned(), place(file, columns));
    Ok(())
}

fn place(file: String, columns: &[Column]) -> TableRef {
    let rows = columns.first().map_or(0, Column::rows);
    TableRef {
        file,
        row_group: 0,
        rows: rows as u64,
        crc32: column::checksum(rows, columns),
    }
}

fn write_file(
    directory: &Directory,
    file: &str,
    name: &str,
    schema: Schema,
    metadata: Vec<KeyValue>,
    columns: &[Column],
) -> Result<()> {
    directory.write(file, |out| {
        let failed = |e| cannot_write(&directory.path().join(file), &e);
        let mut writer = FileWriter::new(out, name, schema, metadata).map_err(failed)?;
        writer.table(&[], columns).map_err(failed)?;
        writer.finish().map(drop).map_err(failed)
    })
}

/// What a sample file describes itself as, in a run of that version, of whose description `size` is
/// known so far.
pub(super) fn description(file: &ParquetFile, version: u64, size: &mut JsonSize) -> Result<Trial> {
    let text = file
        .metadata(TRIAL_KEY)
        .ok_or_else(|| file.damaged("its trial description is missing"))?;
    *size = *size + JsonSize::of_trial(text);
    size.check(version)
        .map_err(|why| file.refused(&why.to_string()))?;
    let trial = match version {
        1 => version_1::trial(&printable_json(text.to_owned())),
        _ => {
            let stated = file.metadata(TRIAL_CHECKSUM_KEY).unwrap_or_default();
            if let Some(why) = form_of_checksum(stated) {
                return Err(file.damaged(&format!("{TRIAL_CHECKSUM_KEY}: {why}")));
            }
            if stated != hexadecimal(crc32fast::hash(text.as_bytes())) {
                return Err(file.damaged("its trial description does not match its checksum"));
            }
            serde_json::from_str(&printable_json(text.to_owned()))
        }
    };
    trial.map_err(|e| file.damaged(&e.to_string()))
}

/// The samples in a file.
pub(super) fn read_samples(
    file: &ParquetFile,
    at: &TableRef,
    version: u64,
) -> Result<Vec<tompion_model::Sample>> {
    let columns = file.columns(at.row_group, at.rows, &samples::SAMPLES)?;
    let mismatch = || file.damaged("the samples do not match their checksum");
    if version > 1 && column::checksum(at.rows as usize, &columns) != at.crc32 {
        return Err(mismatch());
    }
    let samples = samples::to_samples(&columns)
        .map_err(|e| file.damaged(&format!("unreadable samples ({e})")))?;
    if version == 1 {
        let stated = file.metadata(version_1::CHECKSUM_KEY);
        let found = version_1::checksum(&samples);
        if stated.is_none() || stated != found.as_deref() {
            return Err(mismatch());
        }
    }
    Ok(samples)
}

/// The columns of another table in a file: those of `wanted`, or all.
pub(super) fn read_table(
    file: &ParquetFile,
    name: &str,
    at: &TableRef,
    wanted: Option<&[(&str, column::Kind)]>,
) -> Result<Vec<Column>> {
    let rows = match at.rows {
        version_1::UNKNOWN_ROWS => file.rows(),
        rows => rows,
    };
    let columns = match wanted {
        Some(wanted) => file.columns(at.row_group, rows, wanted)?,
        None => file.table(at.row_group, rows)?,
    };
    if at.rows != version_1::UNKNOWN_ROWS && column::checksum(rows as usize, &columns) != at.crc32 {
        return Err(file.damaged(&format!("table `{name}` does not match its checksum")));
    }
    Ok(columns)
}

/// Both sets of bins in a file.
pub(super) fn read_bins(
    file: &ParquetFile,
    at: &TableRef,
) -> Result<(tompion_stats::Bins, tompion_stats::Bins)> {
    let columns = read_table(file, table::BINS, at, Some(&BINS))?;
    samples::to_bins(&columns).map_err(|e| file.damaged(&format!("unreadable bins ({e})")))
}
