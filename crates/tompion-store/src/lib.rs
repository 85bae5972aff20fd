//! Runs as files.
//!
//! On disk a run is one directory: `run.json`, described by a checked-in JSON
//! Schema, and Parquet files: one a trial while the run is measured, one a probe
//! when it is finished. See [`RunWriter`] and [`Run`]; docs/run-format.md has the
//! format to the byte.
#![forbid(unsafe_code)]

mod atomic;
mod caught;
mod cells;
mod column;
mod constant;
mod directory;
mod error;
mod gather;
mod histograms;
mod inside;
mod limits;
mod magnitudes;
mod pages;
mod parquet_file;
mod printable;
mod reader;
mod reserve;
mod run_json;
mod samples;
mod trial_files;
mod version_1;
mod writer;

pub use directory::remove_leftovers;
pub use error::{Error, Result};
pub use inside::put;
pub use printable::printable;
pub use reader::Run;
pub use writer::RunWriter;

/// Writes a file whole or not at all: what stood there before survives a failure.
/// Symbolic links are followed; a device or a pipe is written to as it stands.
pub fn write_whole(path: &std::path::Path, content: &[u8]) -> Result<()> {
    atomic::write(path, |out| {
        out.write_all(content).map_err(Error::io(path, "writing"))
    })
}

/// Name of the run's description inside its directory.
pub const RUN_FILE: &str = "run.json";

/// Name of the directory of trials that have files of their own.
pub const SAMPLES: &str = "samples";

/// The error of writing a Parquet file.
fn cannot_write(path: &std::path::Path, error: &parquet::errors::ParquetError) -> Error {
    // What comes from the system goes without Parquet's word for it.
    match error {
        parquet::errors::ParquetError::External(cause) => {
            Error::invalid(path, format!("writing failed: {cause}"))
        }
        other => Error::invalid(path, format!("writing failed: {other}")),
    }
}
