//! Runs as files.
//!
//! On disk a run is one directory: `run.json`, described by a checked-in JSON
//! Schema, and Parquet files: one a trial while the run is measured, one a probe
//! when it is finished. See [`RunWriter`] and [`Run`]; docs/run-format.md has the
//! format to the byte.
#![forbid(unsafe_code)]

mod caught;
mod cells;
mod column;
mod constant;
mod directory;
mod draft;
mod error;
mod footer;
#[doc(hidden)]
pub mod fuzz;
mod gather;
mod histograms;
mod holes;
mod json_size;
mod keys;
mod leftovers;
mod limits;
mod links;
mod magnitudes;
mod pages;
mod parquet_file;
mod places;
mod printable;
mod reader;
mod reserve;
mod run_json;
mod samples;
mod shapes;
mod share;
mod thrift;
mod trial_files;
mod turn;
mod user_runs;
mod version_1;
mod way;
mod whole;
mod writer;

pub use directory::Directory;
pub use error::{Error, Result};
pub use holes::are_mostly_holes;
pub use keys::Planned;
pub use reader::Run;
pub use share::Share;
pub use user_runs::{UserRuns, bytes_of};
pub use whole::{open_anew, try_whole, write_whole, write_whole_by, write_whole_until};
pub use writer::{RunWriter, canonical_id};

/// Name of the run's description inside its directory.
pub const RUN_FILE: &str = "run.json";

/// Name of the directory of trials that have files of their own.
pub const SAMPLES: &str = "samples";

/// What the system said, where that is why a Parquet file could not be read: then the file
/// may be whole.
fn by_system(path: &std::path::Path, error: &parquet::errors::ParquetError) -> Option<Error> {
    let parquet::errors::ParquetError::External(cause) = error else {
        return None;
    };
    let number = cause.downcast_ref::<std::io::Error>()?.raw_os_error()?;
    let source = std::io::Error::from_raw_os_error(number);
    Some(Error::io(path, "reading")(source))
}

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
