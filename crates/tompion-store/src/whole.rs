//! Files written whole or not at all.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::{FileType, Mode, OFlags, fchmod, fcntl_getfl, fcntl_setfl, open};
use rustix::io::Errno;
use tompion_time::os;

use super::directory::{Directory, above};
use super::draft::Draft;
use super::way::{Others, Stopped, walk};
use crate::{Error, Result};

/// Writes a file whole or not at all: what stood there before survives a failure.
///
/// The user names the file, so a symbolic link is followed. What is no regular file (a device,
/// a pipe) has nothing to survive and must not be replaced: it is written to as it stands.
///
/// # Errors
/// Whatever the system refuses, and a pipe that nobody reads from.
pub fn write_whole(path: &Path, content: &[u8]) -> Result<()> {
    write_whole_by(path, |out| fill(path, out, content))
}

/// The same with content that comes bit by bit: `fill` writes it, as long as it takes, and has
/// the file only where it succeeds.
///
/// # Errors
/// As [`write_whole`], and those of `fill`.
pub fn write_whole_by<T, E: From<Error>>(
    path: &Path,
    fill: impl FnOnce(&mut (dyn Write + Send)) -> std::result::Result<T, E>,
) -> std::result::Result<T, E> {
    match place(path).map_err(Error::io(path, "opening"))? {
        Place::File(file) => {
            let home = home(path, &file)?;
            let name = file.file_name().unwrap_or_default();
            home.write_as(path, name, fill)
        }
        Place::Special => {
            let mut out = open_special(path).map_err(Error::io(path, "opening"))?;
            fill(&mut out)
        }
    }
}

/// Whether [`write_whole`] could begin to: so that nobody measures for hours and has no place for
/// the outcome. Leaves nothing.
///
/// # Errors
/// Whatever the system refuses.
pub fn try_whole(path: &Path) -> Result<()> {
    match place(path).map_err(Error::io(path, "opening"))? {
        Place::File(file) => {
            let home = home(path, &file)?;
            home.nameless()
                .map(drop)
                .map_err(Error::io(path, "creating"))
        }
        Place::Special => Ok(()),
    }
}

fn fill(path: &Path, out: &mut (dyn Write + Send), content: &[u8]) -> Result<()> {
    out.write_all(content).map_err(Error::io(path, "writing"))
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
        if let Some(link) = others_link(&path) {
            return Err(io::Error::other(format!(
                "{} is a link of another user, and may lead anywhere",
                link.display()
            )));
        }
        match fs::metadata(&path) {
            Ok(found) if found.is_file() => return fs::canonicalize(&path).map(Place::File),
            Ok(found) if found.is_dir() => return Err(io::ErrorKind::IsADirectory.into()),
            Ok(_) => return Ok(Place::Special),
            Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(e),
            // Nothing there, or a link to nothing.
            Err(_) => match fs::read_link(&path) {
                Ok(target) => path = above(&path).join(target),
                Err(_) => return Ok(Place::File(path)),
            },
        }
    }
    Err(io::Error::other("too many symbolic links"))
}

/// The directory of a file whose place has no links on the way, called `path` by the user.
fn home(path: &Path, file: &Path) -> Result<Directory> {
    match walk(above(file), Others::Refused, false) {
        Ok(reached) => Ok(Directory::of(reached.directory, above(file))),
        Err(Stopped::Refused(e)) => Err(Error::io(path, "creating")(e)),
        Err(Stopped::Missing(_)) => Err(Error::io(path, "creating")(Errno::NOENT.into())),
        // Put there since the place was looked for.
        Err(Stopped::OthersLink(link)) => Err(Error::io(path, "creating")(io::Error::other(
            format!("{} is a link of another user", link.display()),
        ))),
    }
}

/// The link of another user by which a file would be reached.
fn others_link(path: &Path) -> Option<PathBuf> {
    match walk(path, Others::Refused, false) {
        Err(Stopped::OthersLink(link)) => Some(link),
        _ => None,
    }
}

/// How long a pipe is waited for that nobody reads from.
const LONGEST_WAIT: Duration = Duration::from_secs(5);

fn open_special(path: &Path) -> io::Result<File> {
    let began = Instant::now();
    let flags = OFlags::WRONLY | OFlags::CLOEXEC | OFlags::NOCTTY | OFlags::NONBLOCK;
    let opened = loop {
        match open(path, flags, Mode::empty()) {
            Err(Errno::NXIO) if began.elapsed() < LONGEST_WAIT => {
                os::sleep(Duration::from_millis(20));
            }
            Err(Errno::NXIO) => return Err(io::Error::other("nobody reads from it")),
            opened => break opened?,
        }
    };
    // Whoever reads may be as slow as he likes.
    fcntl_setfl(&opened, fcntl_getfl(&opened)? - OFlags::NONBLOCK)?;
    Ok(opened.into())
}

/// What was written.
pub(super) struct Written {
    pub(super) bytes: u64,
    pub(super) crc32: u32,
}

impl Directory {
    /// Puts a file here, whole or not at all, in place of a regular file or of none.
    ///
    /// # Errors
    /// [`Error::InTheWay`] where anything else is there, and whatever the system refuses.
    pub fn put(&self, name: &str, content: &[u8]) -> Result<()> {
        let path = self.path().join(name);
        let found = self.find(name).map_err(Error::io(&path, "looking at"))?;
        if found.is_some_and(|f| FileType::from_raw_mode(f.st_mode) != FileType::RegularFile) {
            return Err(Error::InTheWay { path });
        }
        self.write(name, |out| fill(&path, out, content))
    }

    /// Writes a file of a run, whole or not at all. `name` is its path below the run's
    /// directory. A link that stands there is replaced, and not followed.
    pub(super) fn write(
        &self,
        name: &str,
        fill: impl FnOnce(&mut (dyn Write + Send)) -> Result<()>,
    ) -> Result<()> {
        let path = self.path().join(name);
        let home = self.home_of(Path::new(name));
        let (home, name) = home.map_err(Error::io(&path, "creating"))?;
        home.write_as(&path, name, fill)
    }

    /// The same, and says how long the content is, with its CRC-32.
    pub(super) fn write_checked(
        &self,
        name: &str,
        fill: impl FnOnce(&mut (dyn Write + Send)) -> Result<()>,
    ) -> Result<Written> {
        let mut written = None;
        self.write(name, |out| {
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

    /// Writes the file `name` of this directory, which messages call `path`.
    fn write_as<T, E: From<Error>>(
        &self,
        path: &Path,
        name: &OsStr,
        fill: impl FnOnce(&mut (dyn Write + Send)) -> std::result::Result<T, E>,
    ) -> std::result::Result<T, E> {
        let mut draft = Draft::begin(self).map_err(Error::io(path, "creating"))?;
        let filled = {
            let mut buffered = BufWriter::new(&mut draft.file);
            let filled = fill(&mut buffered)?;
            buffered.flush().map_err(Error::io(path, "writing"))?;
            filled
        };
        // A run is for its user's usual readers, whatever the umask.
        fchmod(&draft.file, Mode::from_raw_mode(0o644))
            .map_err(|e| Error::io(path, "setting permissions")(e.into()))?;
        draft.file.sync_all().map_err(Error::io(path, "syncing"))?;
        draft
            .take_its_name(name)
            .map_err(Error::io(path, "renaming"))?;
        self.sync()?;
        Ok(filled)
    }
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

#[cfg(test)]
mod tests {
    use super::super::draft::left;
    use super::*;
    use std::os::unix::fs::{FileTypeExt, PermissionsExt, symlink};

    fn put(path: &Path, text: &str) -> Result<()> {
        write_whole(path, text.as_bytes())
    }

    #[test]
    fn links_that_the_user_names_are_followed_and_stay() {
        let d = tempfile::tempdir().unwrap();
        let at = |name: &str| d.path().join(name);
        fs::create_dir(at("deep")).unwrap();
        symlink("deep/real", at("link")).unwrap();
        symlink("link", at("second")).unwrap();
        // First to nothing yet, then to a file.
        for text in ["one", "two"] {
            try_whole(&at("second")).unwrap();
            put(&at("second"), text).unwrap();
            assert_eq!(fs::read_to_string(at("deep/real")).unwrap(), text);
        }
        assert!(fs::symlink_metadata(at("second")).unwrap().is_symlink());
        symlink("round", at("round")).unwrap();
        let error = put(&at("round"), "x").unwrap_err().to_string();
        assert!(error.contains("symbolic link"), "{error}");
    }

    #[test]
    fn what_comes_bit_by_bit_is_whole_or_not_there() {
        let d = tempfile::tempdir().unwrap();
        let path = d.path().join("capture");
        let failed = write_whole_by(&path, |out| {
            out.write_all(b"half")
                .map_err(Error::io(&path, "writing"))?;
            Err::<(), Error>(Error::io(&path, "writing")(io::Error::other("no more")))
        });
        assert!(failed.is_err() && !path.exists());
        let count = write_whole_by(&path, |out| {
            for part in ["one ", "two"] {
                out.write_all(part.as_bytes())
                    .map_err(Error::io(&path, "writing"))?;
                out.flush().map_err(Error::io(&path, "writing"))?;
                assert!(!path.exists());
            }
            Ok::<_, Error>(2)
        });
        assert_eq!(count.unwrap(), 2);
        assert_eq!(fs::read_to_string(&path).unwrap(), "one two");
        assert_eq!(left(d.path()), 0);
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
    fn a_page_replaces_nothing_but_a_file() {
        let (run, victim) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let at = |directory: &tempfile::TempDir, name: &str| directory.path().join(name);
        let directory = Directory::open(run.path()).unwrap();
        fs::write(at(&victim, "keys"), "mine").unwrap();
        for text in ["first", "second"] {
            directory.put("page", text.as_bytes()).unwrap();
            assert_eq!(fs::read_to_string(at(&run, "page")).unwrap(), text);
        }
        symlink(at(&victim, "keys"), at(&run, "link")).unwrap();
        symlink(at(&victim, "new"), at(&run, "dangling")).unwrap();
        fs::create_dir(at(&run, "directory")).unwrap();
        let private = Mode::from_raw_mode(0o600);
        rustix::fs::mknodat(&directory, "pipe", FileType::Fifo, private, 0).unwrap();
        for name in ["link", "dangling", "directory", "pipe"] {
            let error = directory.put(name, b"key of a stranger").unwrap_err();
            assert!(matches!(error, Error::InTheWay { .. }), "{name}: {error}");
            assert!(directory.read(name).is_err(), "{name}");
        }
        assert_eq!(fs::read_to_string(at(&victim, "keys")).unwrap(), "mine");
        assert!(!at(&victim, "new").exists());
        // Nothing half done is left.
        assert_eq!(left(run.path()), 0);
    }

    #[test]
    fn a_directory_that_others_may_write_to_is_not_ones_own() {
        let run = tempfile::tempdir().unwrap();
        for (mode, fits) in [
            (0o755, true),
            (0o775, false),
            (0o757, false),
            (0o1777, false),
        ] {
            fs::set_permissions(run.path(), fs::Permissions::from_mode(mode)).unwrap();
            let own = Directory::open(run.path()).unwrap().require_own();
            assert_eq!(own.is_ok(), fits, "{mode:o}");
        }
    }

    #[test]
    fn many_that_write_one_file_leave_one_of_them_whole() {
        let d = tempfile::tempdir().unwrap();
        let path = d.path().join("page");
        std::thread::scope(|all| {
            for byte in 0..8_u8 {
                let path = &path;
                all.spawn(move || (0..20).for_each(|_| write_whole(path, &[byte; 5000]).unwrap()));
            }
        });
        let found = fs::read(&path).unwrap();
        assert!(found.len() == 5000 && found.iter().all(|byte| *byte == found[0]));
        assert_eq!(left(d.path()), 0);
    }
}
