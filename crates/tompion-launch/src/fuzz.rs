//! What the fuzz targets try of this crate beside its public face; for nobody else.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use crate::bounded::Allowance;
use crate::elf::{self, NotAnImage};
use crate::ld_cache::Cache;

/// Reads an ELF file: how many libraries it needs.
///
/// # Errors
/// Why it is none for this machine.
pub fn image(path: &Path) -> Result<usize, String> {
    let image = elf::read(path, &Allowance::new()).map_err(|e| match e {
        NotAnImage::Unreadable(e) => e.to_string(),
        NotAnImage::NotElf => "no ELF file".to_owned(),
        NotAnImage::Foreign(of) => of,
        NotAnImage::Broken => "broken".to_owned(),
    })?;
    Ok(image.needed.len())
}

/// The files that a loader's cache lists under a name.
pub fn libraries(cache: &[u8], name: &OsStr) -> Vec<PathBuf> {
    Cache::of(cache.to_vec()).lookup(name)
}
