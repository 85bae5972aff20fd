//! Where the tables of a trial lie.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The tables of a trial by name: `samples`, and where there are any `bins`,
/// `histograms`, and side tables by names of their own.
pub type TableRefs = BTreeMap<String, TableRef>;

/// Names of tables that every probe may have.
pub mod table {
    /// The samples in time order; every trial has it.
    pub const SAMPLES: &str = "samples";
    /// Counts of the samples that have no rows.
    pub const BINS: &str = "bins";
    /// The distribution behind each summary, in bins.
    pub const HISTOGRAMS: &str = "histograms";
}

/// A table within a Parquet file of the run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TableRef {
    /// The file, relative to the run directory.
    pub file: String,
    /// The row group that holds the table, and nothing else, from 0.
    pub row_group: u32,
    /// Its rows.
    pub rows: u64,
    /// CRC-32 of its content, eight hexadecimal digits; docs/run-format.md says of what.
    pub crc32: String,
}

/// A Parquet file of a finished run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FileRef {
    /// Its name in the run directory.
    pub file: String,
    /// Its length in bytes.
    pub bytes: u64,
    /// CRC-32 of all its bytes, eight hexadecimal digits.
    pub crc32: String,
}
