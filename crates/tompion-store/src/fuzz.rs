//! What the fuzz targets try of this crate beside its public face; for nobody else.

use std::path::Path;

use tompion_model::table;

use super::column::{self, Column};
use super::parquet_file::ParquetFile;
use super::{limits, samples};
use crate::{Error, Result};

fn open(path: &Path) -> Result<ParquetFile> {
    let file = std::fs::File::open(path).map_err(Error::io(path, "opening"))?;
    ParquetFile::of_file(path, file)
}

/// Reads all tables of a Parquet file, within the limits of a run.
///
/// # Errors
/// Damage, in one line.
pub fn parquet_file(path: &Path) -> Result<()> {
    let file = open(path)?;
    for (group, rows) in file.rows_of_groups().into_iter().enumerate() {
        limits::OF_TABLE
            .check(rows, file.bytes())
            .map_err(|why| Error::invalid(path, why.to_string()))?;
        column::to_side_table(file.table(group as u32, rows)?)
            .map_err(|e| Error::invalid(path, e.to_string()))?;
    }
    Ok(())
}

/// The checksum that a table has, as `run.json` states it, so that a changed one can be made to
/// look sound.
///
/// # Errors
/// A table that cannot be read.
pub fn table_checksum(path: &Path, name: &str, group: u32, rows: u64) -> Result<String> {
    let file = open(path)?;
    limits::OF_TABLE
        .check(rows, file.bytes())
        .map_err(|why| Error::invalid(path, why.to_string()))?;
    let columns: Vec<Column> = match name {
        table::SAMPLES => file.columns(group, rows, &samples::SAMPLES)?,
        table::BINS => file.columns(group, rows, &samples::BINS)?,
        table::HISTOGRAMS => file.columns(group, rows, &samples::HISTOGRAMS)?,
        _ => file.table(group, rows)?,
    };
    Ok(column::checksum(rows as usize, &columns))
}
