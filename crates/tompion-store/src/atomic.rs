//! Files written whole or not at all.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use crate::{Error, Result};

/// Writes `path` through a temporary file in the same directory, which is
/// synced and then renamed; whatever stood there before survives a failure.
///
/// A symbolic link is followed. What is no regular file (a device, a pipe) has
/// nothing to survive and must not be replaced: it is written to as it stands.
pub(super) fn write(
    path: &Path,
    fill: impl FnOnce(&mut (dyn Write + Send)) -> Result<()>,
) -> Result<()> {
    match place(path).map_err(Error::io(path, "opening"))? {
        Place::File(file) => replace(&file, fill),
        Place::Special => {
            let mut out = OpenOptions::new()
                .write(true)
                .open(path)
                .map_err(Error::io(path, "opening"))?;
            fill(&mut out)
        }
    }
}

/// Where the content goes.
enum Place {
    /// A regular file, there or not yet, without links on the way.
    File(PathBuf),
    /// Something that is written to as it stands.
    Special,
}

fn place(path: &Path) -> io::Result<Place> {
    // As many links as Linux follows.
    const MOST_LINKS: u32 = 40;
    let mut path = path.to_path_buf();
    for _ in 0..MOST_LINKS {
        match fs::metadata(&path) {
            Ok(found) if found.is_file() => return fs::canonicalize(&path).map(Place::File),
            Ok(found) if found.is_dir() => return Err(io::ErrorKind::IsADirectory.into()),
            Ok(_) => return Ok(Place::Special),
            Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(e),
            // Nothing there, or a link to nothing.
            Err(_) => match fs::read_link(&path) {
                Ok(target) => path = directory_of(&path).join(target),
                Err(_) => return Ok(Place::File(path)),
            },
        }
    }
    Err(io::Error::other("too many symbolic links"))
}

/// The directory that holds `path`; that of a bare name is the current one.
fn directory_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

/// What was written.
pub(super) struct Written {
    pub(super) bytes: u64,
    pub(super) crc32: u32,
}

/// As [`replace`], and says how long the content is, with its CRC-32.
pub(super) fn write_checked(
    path: &Path,
    fill: impl FnOnce(&mut (dyn Write + Send)) -> Result<()>,
) -> Result<Written> {
    let mut written = None;
    replace(path, |out| {
        let mut counted = Counted {
            out,
            bytes: 0,
            hash: crc32fast::Hasher::new(),
        };
        fill(&mut counted)?;
        written = Some(Written {
            bytes: counted.bytes,
            crc32: counted.hash.finalize(),
        });
        Ok(())
    })?;
    Ok(written.expect("filled"))
}

struct Counted<'a> {
    out: &'a mut (dyn Write + Send),
    bytes: u64,
    hash: crc32fast::Hasher,
}

impl Write for Counted<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.out.write(bytes)?;
        self.bytes += written as u64;
        self.hash.update(&bytes[..written]);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// How the names of files begin that are being written.
pub(super) const TEMPORARY: &str = ".tmp-";

/// The same for a file of a run: a link that stands there is replaced, and not followed.
pub(super) fn replace(
    path: &Path,
    fill: impl FnOnce(&mut (dyn Write + Send)) -> Result<()>,
) -> Result<()> {
    let directory = directory_of(path);
    let mut temporary = tempfile::Builder::new()
        .prefix(TEMPORARY)
        .tempfile_in(directory)
        .map_err(|e| Error::io(path, "creating")(system_error(e)))?;
    {
        let mut buffered = BufWriter::new(temporary.as_file_mut());
        fill(&mut buffered)?;
        buffered.flush().map_err(Error::io(path, "writing"))?;
    }
    let file = temporary.as_file();
    // Temporary files are private; a run is for its user's usual readers.
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        file.set_permissions(fs::Permissions::from_mode(0o644))
            .map_err(Error::io(path, "setting permissions"))?;
    }
    file.sync_all().map_err(Error::io(path, "syncing"))?;
    temporary
        .persist(path)
        .map_err(|e| Error::io(path, "renaming")(e.error))?;
    File::open(directory)
        .and_then(|d| d.sync_all())
        .map_err(Error::io(directory, "syncing"))
}

/// The error of the system alone: `tempfile` adds the name of a file that
/// nobody has asked for, and keeps the cause to itself.
fn system_error(error: io::Error) -> io::Error {
    let text = error.to_string();
    match text.split_once(" at path ") {
        Some((cause, _)) => io::Error::new(error.kind(), cause.to_owned()),
        None => error,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{FileTypeExt, symlink};

    fn put(path: &Path, text: &str) -> Result<()> {
        write(path, |out| {
            out.write_all(text.as_bytes())
                .map_err(Error::io(path, "writing"))
        })
    }

    #[test]
    fn links_are_followed_and_stay() {
        let d = tempfile::tempdir().unwrap();
        let at = |name: &str| d.path().join(name);
        fs::create_dir(at("deep")).unwrap();
        symlink("deep/real", at("link")).unwrap();
        symlink("link", at("second")).unwrap();
        // First to nothing yet, then to a file.
        for text in ["one", "two"] {
            put(&at("second"), text).unwrap();
            assert_eq!(fs::read_to_string(at("deep/real")).unwrap(), text);
        }
        assert!(fs::symlink_metadata(at("second")).unwrap().is_symlink());
        symlink("round", at("round")).unwrap();
        let error = put(&at("round"), "x").unwrap_err().to_string();
        assert!(error.contains("symbolic link"), "{error}");
    }

    #[test]
    fn what_is_no_regular_file_is_never_replaced() {
        put(Path::new("/dev/null"), "x").unwrap();
        let found = fs::metadata("/dev/null").unwrap();
        assert!(found.file_type().is_char_device());
        let error = put(Path::new("/dev/full"), "x").unwrap_err().to_string();
        assert!(error.contains("No space left"), "{error}");
        let d = tempfile::tempdir().unwrap();
        assert!(put(d.path(), "x").is_err());
    }

    #[test]
    fn errors_name_the_file_asked_for_alone() {
        let d = tempfile::tempdir().unwrap();
        let path = d.path().join("absent/report.html");
        let error = put(&path, "x").unwrap_err().to_string();
        assert_eq!(
            error,
            format!(
                "{}: creating failed: No such file or directory (os error 2)",
                path.display()
            )
        );
    }

    #[test]
    fn a_bare_name_lies_in_the_current_directory() {
        assert_eq!(directory_of(Path::new("x.html")), Path::new("."));
        assert_eq!(directory_of(Path::new("a/x.html")), Path::new("a"));
        assert_eq!(directory_of(Path::new("/x.html")), Path::new("/"));
    }
}
