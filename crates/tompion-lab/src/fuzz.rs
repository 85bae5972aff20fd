//! What the fuzz targets try of this crate beside its public face; for nobody else.

use std::path::Path;

use tompion_store::Directory;

use crate::ledger::Ledger;
use crate::{ArchiveError, Error, archive};

/// Length of the header of a result's frame, in bytes.
pub const HEADER_BYTES: usize = archive::HEADER_BYTES;

/// The result of a cell with an archive as it stands, whatever that holds.
pub fn framed(archive: &[u8]) -> Vec<u8> {
    archive::framed(archive)
}

/// Puts the result of a cell below a directory.
///
/// # Errors
/// What is no result, and nothing is left of it.
pub fn unpack(bytes: &[u8], directory: &Path) -> Result<(), ArchiveError> {
    archive::unpack(bytes.to_vec(), directory)
}

/// Goes on with the lab in a directory: the text of its plan, and of each cell in its ledger
/// its name and how many trials were saved by then.
///
/// # Errors
/// As `tompion lab run --resume` tells them.
pub fn ledger(directory: &Path) -> Result<(String, Vec<(String, usize)>), Error> {
    let ledger = Ledger::open(&Directory::open(directory)?)?;
    let entries = ledger.entries();
    let entries = entries.map(|e| (e.name.clone(), e.trials)).collect();
    Ok((ledger.head.plan.clone(), entries))
}
