//! A cell's run directory on its way out of an instance: a tar archive in a frame.

use std::io;
use std::path::Path;

use tompion_frame::{Format, FrameError};

const FORMAT: Format<1> = Format {
    magic: b"TOMPCEL\n",
    layout: LAYOUT,
};
/// Raised when an archive, or the job that leads to it, changes its meaning.
pub(crate) const LAYOUT: u32 = 3;

/// Why what came back is no result.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ArchiveError {
    /// It is no frame, or a damaged one.
    #[error(transparent)]
    Frame(#[from] FrameError),
    /// The system refused something.
    #[error("unpacking its result: {0}")]
    Io(#[from] io::Error),
}

/// The directory as bytes.
pub(crate) fn pack(directory: &Path) -> io::Result<Vec<u8>> {
    let mut tar = tar::Builder::new(Vec::new());
    tar.mode(tar::HeaderMode::Deterministic);
    tar.append_dir_all(".", directory)?;
    Ok(FORMAT.encode(0, 0, [&tar.into_inner()?]))
}

/// Puts what [`pack`] made below `directory`, whole or not at all.
///
/// # Errors
/// Anything that is not exactly one archive of this version.
pub(crate) fn unpack(bytes: &[u8], directory: &Path) -> Result<(), ArchiveError> {
    let mut rest = bytes;
    // Here already, however much it is.
    let frame = FORMAT.decode(&mut rest, u64::MAX)?;
    if !rest.is_empty() {
        return Err(FrameError::TooLong(rest.len() as u64).into());
    }
    // Never writes outside of `directory`.
    Ok(tar::Archive::new(frame.parts[0].as_slice()).unpack(directory)?)
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
        assert!(
            unpacked(&[])
                .unwrap_err()
                .contains("without writing a result")
        );
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
            "its result has layout 2, this program reads 3: use the same version in all places"
        );
        assert!(with(0, 1).contains("no result of tompion"));
        assert!(with(Format::<1>::HEADER_BYTES + 600, 4).contains("damaged"));
        assert!(with(29, 4).contains("damaged"));
        let longer = [whole.as_slice(), b"more"].concat();
        assert!(unpacked(&longer).unwrap_err().contains("4 bytes"));
        assert!(
            unpacked(b"Segmentation fault")
                .unwrap_err()
                .contains("no result of tompion")
        );
    }
}
