//! Files written whole or not at all.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::os::fd::AsFd;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{AtFlags, FileType, Mode, OFlags, fchmod, fstat, openat, statat, unlinkat};
use rustix::io::Errno;
use tompion_time::os;

use super::directory::Directory;
use super::draft::Draft;
use super::way::{Spot, Stopped, There, walk_to_file};
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
    write_whole_until(path, &|| false, fill)
}

/// The same, of which somebody may want the end: once that `is_over`, who reads a pipe has five seconds for each piece.
///
/// # Errors
/// As [`write_whole_by`].
pub fn write_whole_until<T, E: From<Error>>(
    path: &Path,
    is_over: &(dyn Fn() -> bool + Sync),
    fill: impl FnOnce(&mut (dyn Write + Send)) -> std::result::Result<T, E>,
) -> std::result::Result<T, E> {
    let spot = spot(path)?;
    match spot.there {
        There::Special(..) | There::Opened => {
            let file = open_special(&spot, LONGEST_WAIT).map_err(Error::io(path, "opening"))?;
            fill(&mut Patient { file, is_over })
        }
        _ => {
            let home = Directory::of(spot.directory, &spot.told);
            home.write_as(path, &spot.name, fill)
        }
    }
}

/// Whether [`write_whole`] could begin to: so that nobody measures for hours and has no place for
/// the outcome. Leaves nothing.
///
/// # Errors
/// Whatever the system refuses.
pub fn try_whole(path: &Path) -> Result<()> {
    let spot = spot(path)?;
    match spot.there {
        There::Special(..) | There::Opened => Ok(()),
        _ => {
            let home = Directory::of(spot.directory, &spot.told);
            home.nameless()
                .map(drop)
                .map_err(Error::io(path, "creating"))
        }
    }
}

/// Opens a file that is written while what it tells of goes on: it is made anew, in place of a regular file or of none.
/// What is no regular file is opened as it stands; nobody is waited for, now or in writing.
///
/// # Errors
/// Whatever the system refuses, and a pipe that nobody reads from.
pub fn open_anew(path: &Path) -> io::Result<File> {
    let spot = found(path).map_err(|(_, e)| e)?;
    match spot.there {
        There::Special(..) | There::Opened => open_special(&spot, Duration::ZERO),
        there => {
            let kept = mode_of(&spot.directory, &spot.name);
            if there == There::File {
                unlinkat(&spot.directory, &spot.name, AtFlags::empty())?;
            }
            let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
            let mode = Mode::from_raw_mode(kept.unwrap_or(USUAL));
            Ok(openat(&spot.directory, &spot.name, flags | OFlags::NOFOLLOW, mode)?.into())
        }
    }
}

fn fill(path: &Path, out: &mut (dyn Write + Send), content: &[u8]) -> Result<()> {
    out.write_all(content).map_err(Error::io(path, "writing"))
}

/// Where the content of a file goes that the user calls `path`.
fn spot(path: &Path) -> Result<Spot> {
    found(path).map_err(|(doing, e)| Error::io(path, doing)(e))
}

fn found(path: &Path) -> std::result::Result<Spot, (&'static str, io::Error)> {
    match walk_to_file(path) {
        Ok(spot) if spot.there == There::Directory => {
            Err(("opening", io::ErrorKind::IsADirectory.into()))
        }
        Ok(spot) => Ok(spot),
        Err(Stopped::Refused(e)) => Err(("opening", e)),
        Err(Stopped::Missing(_)) => Err(("creating", Errno::NOENT.into())),
        Err(Stopped::OthersLink(link)) => Err((
            "opening",
            io::Error::other(format!(
                "{} is a link of another user, and may lead anywhere",
                link.display()
            )),
        )),
    }
}

/// How long a pipe is waited for that nobody reads from.
const LONGEST_WAIT: Duration = Duration::from_secs(5);

/// Opens what is there and no regular file: it alone, whatever is put in its place meanwhile.
fn open_special(spot: &Spot, longest: Duration) -> io::Result<File> {
    let began = Instant::now();
    let flags = OFlags::WRONLY | OFlags::CLOEXEC | OFlags::NOCTTY | OFlags::NONBLOCK;
    let flags = match spot.there {
        There::Opened => flags,
        _ => flags | OFlags::NOFOLLOW,
    };
    loop {
        match openat(&spot.directory, &spot.name, flags, Mode::empty()) {
            Err(Errno::NXIO) if began.elapsed() < longest => {
                os::sleep(Duration::from_millis(20));
            }
            Err(Errno::NXIO) => return Err(io::Error::other("nobody reads from it")),
            Err(e) => return Err(e.into()),
            Ok(opened) => {
                let what = fstat(&opened)?;
                return match spot.there {
                    There::Special(device, inode)
                        if (device, inode) != (what.st_dev, what.st_ino) =>
                    {
                        Err(io::Error::other(
                            "somebody has put something else in its place",
                        ))
                    }
                    _ => Ok(opened.into()),
                };
            }
        }
    }
}

/// What is written to as it stands, as slowly as its reader likes.
struct Patient<'a> {
    file: File,
    is_over: &'a (dyn Fn() -> bool + Sync),
}

impl Write for Patient<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        const LOOK: Timespec = Timespec {
            tv_sec: 0,
            tv_nsec: 200_000_000,
        };
        let mut over_since = None;
        loop {
            match self.file.write(bytes) {
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => {}
                done => return done,
            }
            let mut room = [PollFd::new(&self.file, PollFlags::OUT)];
            match poll(&mut room, Some(&LOOK)) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(e) => return Err(e.into()),
            }
            if (self.is_over)() {
                let since = over_since.get_or_insert_with(Instant::now);
                if since.elapsed() > LONGEST_WAIT {
                    return Err(io::Error::other("nobody reads from it"));
                }
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
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
        // What its user made his alone stays that; others may change it in no case.
        let kept = mode_of(self, name);
        let mode = Mode::from_raw_mode(kept.map_or(USUAL, |mode| mode & 0o600));
        let mut draft = Draft::begin(self, mode).map_err(Error::io(path, "creating"))?;
        let filled = {
            let mut buffered = BufWriter::new(&mut draft.file);
            let filled = fill(&mut buffered)?;
            buffered.flush().map_err(Error::io(path, "writing"))?;
            filled
        };
        if let Some(mode) = kept {
            fchmod(&draft.file, Mode::from_raw_mode(mode))
                .map_err(|e| Error::io(path, "setting permissions")(e.into()))?;
        }
        draft.file.sync_all().map_err(Error::io(path, "syncing"))?;
        draft
            .take_its_name(name)
            .map_err(Error::io(path, "renaming"))?;
        self.sync()?;
        Ok(filled)
    }
}

/// The mode of a file, less what the process's mask takes.
const USUAL: u32 = 0o644;

/// What is kept of the mode of a regular file, if it is this user's own.
fn mode_of(home: impl AsFd, name: &OsStr) -> Option<u32> {
    let found = statat(home, name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
    let is_file = FileType::from_raw_mode(found.st_mode) == FileType::RegularFile;
    let is_own = found.st_uid == rustix::process::geteuid().as_raw();
    // What is new is this group's.
    let of_group = found.st_gid == rustix::process::getegid().as_raw();
    let mode = found.st_mode & if of_group { USUAL } else { USUAL & !0o070 };
    (is_file && is_own).then_some(mode)
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
    use std::fs;
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
    fn what_is_its_users_alone_stays_that() {
        let d = tempfile::tempdir().unwrap();
        let file = d.path().join("file");
        let mode = || fs::metadata(&file).unwrap().permissions().mode() & 0o777;
        for (before, after) in [
            (0o600, 0o600),
            (0o640, 0o640),
            (0o666, 0o644),
            (0o777, 0o644),
        ] {
            fs::write(&file, "old").unwrap();
            fs::set_permissions(&file, fs::Permissions::from_mode(before)).unwrap();
            put(&file, "new").unwrap();
            assert_eq!(mode(), after, "{before:o}");
            assert_eq!(fs::read_to_string(&file).unwrap(), "new");
        }
    }

    #[test]
    fn what_is_put_in_the_place_of_a_pipe_is_not_written_to() {
        let d = tempfile::tempdir().unwrap();
        let at = |name: &str| d.path().join(name);
        let private = Mode::from_raw_mode(0o600);
        rustix::fs::mknodat(rustix::fs::CWD, at("pipe"), FileType::Fifo, private, 0).unwrap();
        fs::write(at("keys"), "mine").unwrap();
        symlink(at("keys"), at("link")).unwrap();
        for instead in ["link", "keys"] {
            let spot = spot(&at("pipe")).unwrap();
            fs::rename(at("pipe"), at("kept")).unwrap();
            fs::hard_link(at(instead), at("pipe")).unwrap();
            assert!(open_special(&spot, Duration::ZERO).is_err(), "{instead}");
            fs::remove_file(at("pipe")).unwrap();
            fs::rename(at("kept"), at("pipe")).unwrap();
        }
        assert_eq!(fs::read_to_string(at("keys")).unwrap(), "mine");
        // What is there is made anew, and not written through.
        fs::hard_link(at("keys"), at("truth")).unwrap();
        open_anew(&at("truth")).unwrap().write_all(b"new").unwrap();
        assert_eq!(fs::read_to_string(at("keys")).unwrap(), "mine");
        assert_eq!(fs::read_to_string(at("truth")).unwrap(), "new");
    }

    #[test]
    fn a_reader_may_be_slow_until_somebody_wants_the_end() {
        let (reader, writer) = io::pipe().unwrap();
        let writer = std::os::fd::OwnedFd::from(writer);
        rustix::fs::fcntl_setfl(&writer, OFlags::NONBLOCK).unwrap();
        let began = Instant::now();
        let is_over = || began.elapsed() > Duration::from_millis(300);
        let file = File::from(writer);
        let error = Patient {
            file,
            is_over: &is_over,
        }
        .write_all(&vec![0; 1 << 20]);
        assert_eq!(error.unwrap_err().to_string(), "nobody reads from it");
        assert!(began.elapsed() > LONGEST_WAIT);
        drop(reader);
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
