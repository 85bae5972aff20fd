//! A cell's run directory on its way out of an instance: a tar archive in a frame. Whoever
//! runs in the instance may send something else: of an archive nothing is taken but
//! `run.json` and `samples/*.parquet`, as regular files.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io::{self, Write};
use std::ops::Range;
use std::path::{Component, Path, PathBuf};

use tompion_frame::{Format, FrameError};
use tompion_store::{RUN_FILE, SAMPLES};

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
    /// It holds what no result holds.
    #[error("its result holds {name}, {why}")]
    Stranger {
        /// The entry's path.
        name: String,
        /// What is wrong with it.
        why: &'static str,
    },
    /// The system refused something.
    // What reads archives quotes them.
    #[error("unpacking its result: {}", .0.to_string().escape_debug())]
    Io(#[from] io::Error),
}

/// The directory as bytes.
pub(crate) fn pack(directory: &Path) -> io::Result<Vec<u8>> {
    let mut tar = tar::Builder::new(Vec::new());
    tar.mode(tar::HeaderMode::Deterministic);
    tar.append_dir_all(".", directory)?;
    Ok(framed(&tar.into_inner()?))
}

/// Length of the header of a result, in bytes.
pub(crate) const HEADER_BYTES: usize = Format::<1>::HEADER_BYTES;

/// An archive in its frame.
pub(crate) fn framed(archive: &[u8]) -> Vec<u8> {
    FORMAT.encode(0, 0, [archive])
}

/// Puts what [`pack`] made below `directory`, whole or not at all.
///
/// # Errors
/// Anything that is not exactly one archive of this version.
pub(crate) fn unpack(bytes: Vec<u8>, directory: &Path) -> Result<(), ArchiveError> {
    let mut rest = bytes.as_slice();
    // Here already, however much it is.
    let frame = FORMAT.decode(&mut rest, u64::MAX)?;
    if !rest.is_empty() {
        return Err(FrameError::TooLong(rest.len() as u64).into());
    }
    // Once is enough from here on.
    drop(bytes);
    let archive = frame.parts[0].as_slice();
    let files = files(archive)?;
    fs::create_dir_all(directory.join(SAMPLES))?;
    for (name, content) in files {
        File::create_new(directory.join(name))?.write_all(&archive[content])?;
    }
    Ok(())
}

/// Where the files of a result lie in an archive that holds nothing else.
fn files(archive: &[u8]) -> Result<Vec<(PathBuf, Range<usize>)>, ArchiveError> {
    let mut files = Vec::new();
    let mut names = HashSet::new();
    // As they stand: no long names, no sparse files put together.
    for entry in tar::Archive::new(archive).entries()?.raw(true) {
        let entry = entry?;
        let path = entry.path()?.into_owned();
        let stranger = |why| ArchiveError::Stranger {
            name: path.display().to_string().escape_debug().to_string(),
            why,
        };
        let parts: Vec<_> = path.components().collect();
        let kind = entry.header().entry_type();
        match parts.as_slice() {
            [Component::CurDir] if kind.is_dir() => continue,
            [Component::Normal(name)] if kind.is_dir() && *name == SAMPLES => continue,
            [Component::Normal(name)] if *name == RUN_FILE => {}
            [Component::Normal(directory), Component::Normal(name)]
                if *directory == SAMPLES
                    && Path::new(name).extension() == Some("parquet".as_ref()) => {}
            _ => return Err(stranger("which no result holds")),
        }
        if !kind.is_file() {
            return Err(stranger("which is no regular file"));
        }
        if !names.insert(path.clone()) {
            return Err(stranger("twice"));
        }
        let begin = usize::try_from(entry.raw_file_position()).ok();
        let length = usize::try_from(entry.size()).ok();
        let end = begin.zip(length).and_then(|(b, l)| b.checked_add(l));
        match begin.zip(end).filter(|(_, end)| *end <= archive.len()) {
            Some((begin, end)) => files.push((path, begin..end)),
            None => return Err(stranger("of which the end is missing")),
        }
    }
    Ok(files)
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
        match unpack(bytes.to_vec(), to.path()) {
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
    /// An archive with one more entry, as somebody else would make it.
    fn with(more: impl FnOnce(&mut tar::Builder<Vec<u8>>)) -> Vec<u8> {
        let mut tar = tar::Builder::new(Vec::new());
        let mut header = header(tar::EntryType::Regular, 2);
        tar.append_data(&mut header, "run.json", &b"{}"[..])
            .unwrap();
        more(&mut tar);
        FORMAT.encode(0, 0, [&tar.into_inner().unwrap()])
    }

    fn header(kind: tar::EntryType, size: u64) -> tar::Header {
        let mut header = tar::Header::new_gnu();
        header.set_entry_type(kind);
        header.set_size(size);
        header.set_mode(0o644);
        header
    }

    #[test]
    fn nothing_but_the_regular_files_of_a_run_is_taken() {
        use tar::EntryType;
        unpacked(&with(|_| ())).unwrap();
        let link = |kind, name: &'static str, to: &'static str| {
            with(move |tar| tar.append_link(&mut header(kind, 0), name, to).unwrap())
        };
        let put = |name: &'static str| {
            with(move |tar| {
                let mut header = header(EntryType::Regular, 1);
                // As it stands: the builder would refuse `..`.
                let bytes = &mut header.as_old_mut().name;
                bytes[..name.len()].copy_from_slice(name.as_bytes());
                header.set_cksum();
                tar.append(&header, &b"x"[..]).unwrap();
            })
        };
        let special = |kind| {
            with(move |tar| {
                let mut header = header(kind, 0);
                header.as_gnu_mut().unwrap().set_real_size(1 << 40);
                tar.append_data(&mut header, "samples/0.parquet", io::empty())
                    .unwrap();
            })
        };
        for (hostile, why) in [
            (
                link(EntryType::Symlink, "samples/0.parquet", "/etc/passwd"),
                "no regular file",
            ),
            (
                link(EntryType::Link, "samples/0.parquet", "run.json"),
                "no regular file",
            ),
            (
                link(EntryType::Symlink, "samples", "/etc"),
                "no result holds",
            ),
            (special(EntryType::Fifo), "no regular file"),
            (special(EntryType::Char), "no regular file"),
            (special(EntryType::GNUSparse), "no regular file"),
            (put("run.json"), "twice"),
            (put("wake-up.html"), "no result holds"),
            (put("samples/x"), "no result holds"),
            (put("samples/../../x.parquet"), "no result holds"),
            (put("/samples/x.parquet"), "no result holds"),
            (put("samples/a/x.parquet"), "no result holds"),
            (put("\u{1b}[2J\u{202e}x"), "\\u{1b}[2J\\u{202e}x, which"),
        ] {
            let error = unpacked(&hostile).unwrap_err();
            assert!(
                error.contains(why) && !error.contains('\n'),
                "{why}: {error}"
            );
        }
        // More than there is.
        let mut tar = tar::Builder::new(Vec::new());
        let mut header = header(EntryType::Regular, 1 << 40);
        header.set_path("run.json").unwrap();
        header.set_cksum();
        tar.append(&header, &b"{}"[..]).unwrap();
        let bomb = FORMAT.encode(0, 0, [&tar.into_inner().unwrap()]);
        unpacked(&bomb).unwrap_err();
    }
}
