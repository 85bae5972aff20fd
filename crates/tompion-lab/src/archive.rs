//! A cell's run directory on its way out of an instance: a header, then a tar archive.
//!
//! | bytes | content (little endian) |
//! |---|---|
//! | 0..8 | magic |
//! | 8..12 | version of this layout |
//! | 12..20 | length of the archive |
//! | 20..24 | CRC-32 of the archive |

use std::io;
use std::path::Path;

const MAGIC: &[u8; 8] = b"TOMPCEL\n";
/// Raised when an archive, or the job that leads to it, changes its meaning.
pub(crate) const LAYOUT: u32 = 2;
const HEADER_BYTES: usize = 24;

/// Why what came back is no result.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ArchiveError {
    /// Nothing came.
    #[error("it wrote no result")]
    Missing,
    /// Something else came.
    #[error("what it wrote is no result of tompion")]
    Foreign,
    /// Another version wrote it.
    #[error(
        "its result has layout {found}, this program reads {LAYOUT}: use the same version in \
         all places"
    )]
    Version {
        /// Layout that was found.
        found: u32,
    },
    /// The end is missing.
    #[error("its result is truncated: {found} of {expected} bytes")]
    Truncated {
        /// Bytes that are there.
        found: u64,
        /// Bytes that the header announces.
        expected: u64,
    },
    /// More came than was announced.
    #[error("its result is followed by {0} bytes that are none of it")]
    TooLong(u64),
    /// A bit has flipped.
    #[error("its result is damaged: checksum {found:08x} instead of {expected:08x}")]
    Damaged {
        /// Of what is there.
        found: u32,
        /// In the header.
        expected: u32,
    },
    /// The system refused something.
    #[error("unpacking its result: {0}")]
    Io(#[from] io::Error),
}

/// The directory as bytes.
pub(crate) fn pack(directory: &Path) -> io::Result<Vec<u8>> {
    let mut tar = tar::Builder::new(Vec::new());
    tar.mode(tar::HeaderMode::Deterministic);
    tar.append_dir_all(".", directory)?;
    let content = tar.into_inner()?;
    let mut bytes = Vec::with_capacity(HEADER_BYTES + content.len());
    bytes.extend_from_slice(MAGIC);
    bytes.extend_from_slice(&LAYOUT.to_le_bytes());
    bytes.extend_from_slice(&(content.len() as u64).to_le_bytes());
    bytes.extend_from_slice(&crc32fast::hash(&content).to_le_bytes());
    bytes.extend_from_slice(&content);
    Ok(bytes)
}

/// Puts what [`pack`] made below `directory`, whole or not at all.
///
/// # Errors
/// Anything that is not exactly one archive of this version.
pub(crate) fn unpack(bytes: &[u8], directory: &Path) -> Result<(), ArchiveError> {
    if bytes.is_empty() {
        return Err(ArchiveError::Missing);
    }
    let begun = bytes.len().min(MAGIC.len());
    if bytes[..begun] != MAGIC[..begun] {
        return Err(ArchiveError::Foreign);
    }
    let header: &[u8; HEADER_BYTES] = bytes.first_chunk().ok_or(ArchiveError::Truncated {
        found: bytes.len() as u64,
        expected: HEADER_BYTES as u64,
    })?;
    let word = |at: usize| u32::from_le_bytes(header[at..at + 4].try_into().expect("4 bytes"));
    if word(8) != LAYOUT {
        return Err(ArchiveError::Version { found: word(8) });
    }
    let expected = u64::from_le_bytes(header[12..20].try_into().expect("8 bytes"));
    let content = &bytes[HEADER_BYTES..];
    let found = content.len() as u64;
    if found < expected {
        return Err(ArchiveError::Truncated { found, expected });
    }
    if found > expected {
        return Err(ArchiveError::TooLong(found - expected));
    }
    let (found, expected) = (crc32fast::hash(content), word(20));
    if found != expected {
        return Err(ArchiveError::Damaged { found, expected });
    }
    // Never writes outside of `directory`.
    Ok(tar::Archive::new(content).unpack(directory)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn packed() -> Vec<u8> {
        let from = tempfile::tempdir().unwrap();
        fs::create_dir(from.path().join("samples")).unwrap();
        fs::write(from.path().join("run.json"), "{}").unwrap();
        fs::write(from.path().join("samples/00000.parquet"), [7; 5000]).unwrap();
        pack(from.path()).unwrap()
    }

    fn unpacked(bytes: &[u8]) -> Result<tempfile::TempDir, String> {
        let to = tempfile::tempdir().unwrap();
        match unpack(bytes, to.path()) {
            Ok(()) => Ok(to),
            Err(error) => {
                assert_eq!(fs::read_dir(to.path()).unwrap().count(), 0, "{error}");
                Err(error.to_string())
            }
        }
    }

    #[test]
    fn what_was_packed_comes_back() {
        let to = unpacked(&packed()).unwrap();
        assert_eq!(fs::read(to.path().join("run.json")).unwrap(), b"{}");
        let samples = fs::read(to.path().join("samples/00000.parquet")).unwrap();
        assert_eq!(samples, [7; 5000]);
    }

    #[test]
    fn every_shortened_result_is_refused() {
        let whole = packed();
        assert!(unpacked(&[]).unwrap_err().contains("no result"));
        for length in (1..whole.len()).step_by(97).chain([whole.len() - 1]) {
            let error = unpacked(&whole[..length]).unwrap_err();
            assert!(error.contains("truncated"), "{length}: {error}");
        }
    }

    #[test]
    fn other_versions_other_things_and_flipped_bits_are_refused() {
        let whole = packed();
        let with = |at: usize, byte: u8| {
            let mut bytes = whole.clone();
            bytes[at] ^= byte;
            unpacked(&bytes).unwrap_err()
        };
        assert_eq!(
            with(8, 1),
            "its result has layout 3, this program reads 2: use the same version in all places"
        );
        assert!(with(0, 1).contains("no result of tompion"));
        assert!(with(HEADER_BYTES + 600, 4).contains("damaged"));
        assert!(with(21, 4).contains("damaged"));
        let longer = [whole.as_slice(), b"more"].concat();
        assert!(unpacked(&longer).unwrap_err().contains("4 bytes"));
        assert!(
            unpacked(b"Segmentation fault")
                .unwrap_err()
                .contains("no result of tompion")
        );
    }
}
