//! What the fuzz targets try of this crate beside its public face; for nobody else.

use std::io::{Read, Seek};

pub use crate::frame::{HEADER_BYTES, MARK, RESULT_AT};
use crate::frame::{Report, read};

/// Reads the report on a result's disk; how many bytes it holds.
///
/// # Errors
/// Why there is none, in one line.
pub fn report(disk: impl Read + Seek) -> Result<usize, String> {
    match read(disk).map_err(|e| e.to_string())? {
        Report::Ran { stdout, stderr, .. } => Ok(stdout.len() + stderr.len()),
        // Where bytes are no UTF-8 three stand for one.
        Report::Refused { problem } => Ok(problem.chars().count()),
    }
}
