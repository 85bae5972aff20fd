//! An opened directory: that of a run, or another that files are put into. All that is done in
//! it goes by its descriptor, so that whoever owns a directory above it puts nothing else in
//! its place; and no link in it is followed, since it may come from a stranger.

use std::borrow::Cow;
use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{
    Access, AtFlags, Dir, FileType, Mode, OFlags, ResolveFlags, Stat, accessat, fstat, mkdirat,
    openat, openat2, stat, statat, unlinkat,
};
use rustix::io::Errno;

use super::way::{Others, Stopped, walk};
use crate::{Error, Result};

/// An opened directory.
#[derive(Clone, Debug)]
pub struct Directory {
    opened: Arc<OwnedFd>,
    /// For messages: by now another one may be there.
    path: PathBuf,
    /// The link of another user that led here, if one did.
    by: Option<PathBuf>,
}

/// How a directory is opened.
const DIRECTORY: OFlags = OFlags::RDONLY
    .union(OFlags::DIRECTORY)
    .union(OFlags::CLOEXEC);

impl Directory {
    /// Opens the directory that the user names, by a link too.
    ///
    /// # Errors
    /// Whatever the system refuses.
    pub fn open(path: &Path) -> Result<Self> {
        Self::at(path).map_err(Error::io(path, "opening"))
    }

    pub(super) fn at(path: &Path) -> io::Result<Self> {
        match walk(path, Others::Told, false) {
            Ok(reached) => Ok(Self {
                by: reached.by,
                ..Self::of(reached.directory, path)
            }),
            Err(Stopped::Refused(e)) => Err(e),
            Err(Stopped::Missing(_) | Stopped::OthersLink(_)) => Err(Errno::NOENT.into()),
        }
    }

    pub(super) fn of(opened: OwnedFd, path: &Path) -> Self {
        Self {
            opened: Arc::new(opened),
            path: path.to_path_buf(),
            by: None,
        }
    }

    /// The same, and makes it where nothing is there, with the directories above it: not through a
    /// link then.
    ///
    /// # Errors
    /// [`Error::NotDirectory`], and whatever the system refuses.
    pub fn make(path: &Path) -> Result<Self> {
        match Self::looked_for(path)? {
            Ok(there) => Ok(there),
            Err(_) => {
                let made = walk(path, Others::Refused, true);
                let made = made.map_err(|stopped| stopped_at(path, "creating", stopped))?;
                Ok(Self::of(made.directory, path))
            }
        }
    }

    /// The directory, or the one above it in which it is not.
    fn looked_for(path: &Path) -> Result<std::result::Result<Self, OwnedFd>> {
        match walk(path, Others::Refused, false) {
            Ok(reached) => Ok(Ok(Self::of(reached.directory, path))),
            Err(Stopped::Missing(above)) => Ok(Err(above)),
            Err(Stopped::Refused(e)) if e.kind() == io::ErrorKind::NotFound => {
                Err(Error::io(path, "creating")(e))
            }
            Err(stopped) => Err(stopped_at(path, "opening", stopped)),
        }
    }

    /// What [`Directory::make`] would open; `None` where it would make it, as far as permissions tell. Makes
    /// nothing.
    ///
    /// # Errors
    /// As there.
    pub fn try_make(path: &Path) -> Result<Option<Self>> {
        let above = match Self::looked_for(path)? {
            Ok(there) => return Ok(Some(there)),
            Err(above) => above,
        };
        let access = Access::WRITE_OK | Access::EXEC_OK;
        match accessat(above, ".", access, AtFlags::EACCESS) {
            Err(e @ (Errno::ACCESS | Errno::ROFS)) => Err(Error::io(path, "creating")(e.into())),
            // Whatever else is in the way is told when it is made.
            _ => Ok(None),
        }
    }

    /// What the user called it.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// A way to it that leads there whatever its name is by now, for this process and those that
    /// it begins in it; its name where the system has no such way.
    pub fn lasting_path(&self) -> PathBuf {
        let lasting = PathBuf::from(format!("/proc/self/fd/{}", self.opened.as_raw_fd()));
        let is_there = stat(&lasting).is_ok_and(|found| self.is(&found));
        if is_there { lasting } else { self.path.clone() }
    }

    /// Whether a name leads to it.
    pub(super) fn is_at(&self, path: &Path) -> bool {
        stat(path).is_ok_and(|found| self.is(&found))
    }

    fn is(&self, other: &Stat) -> bool {
        fstat(self).is_ok_and(|own| (own.st_dev, own.st_ino) == (other.st_dev, other.st_ino))
    }

    /// Whether it belongs to the caller.
    pub(super) fn is_own(&self) -> bool {
        fstat(self).is_ok_and(|found| found.st_uid == rustix::process::geteuid().as_raw())
    }

    /// Refuses a directory in which somebody else may put a link or a file of his in our place:
    /// one of another owner, or that others may write to; and one to which a link of his has led.
    ///
    /// # Errors
    /// [`Error::NotOwn`].
    pub fn require_own(&self) -> Result<()> {
        let found = fstat(self).map_err(|e| Error::io(&self.path, "looking at")(e.into()))?;
        let mode = found.st_mode & 0o7777;
        let why = match self.is_own() {
            false => format!("it belongs to another user, {}", found.st_uid),
            true if mode & 0o022 != 0 => format!("others may write to it (mode {mode:04o})"),
            true => match &self.by {
                None => return Ok(()),
                Some(link) => format!("a link of another user, {}, leads there", link.display()),
            },
        };
        Err(Error::NotOwn {
            path: self.path.clone(),
            why,
        })
    }

    /// A directory in this one; `None` where nothing is there.
    pub(super) fn within(&self, name: impl AsRef<OsStr>) -> io::Result<Option<Self>> {
        let name = name.as_ref();
        match openat(self, name, DIRECTORY | OFlags::NOFOLLOW, Mode::empty()) {
            Ok(opened) => Ok(Some(Self::of(opened, &self.path.join(name)))),
            Err(Errno::NOENT) => Ok(None),
            Err(e) => Err(e.into()),
        }
    }

    /// The directory that a file below this one is in, and what it is called there.
    pub(super) fn home_of<'a>(
        &self,
        name: &'a Path,
    ) -> io::Result<(Cow<'_, Directory>, &'a OsStr)> {
        let none = || io::Error::from(io::ErrorKind::NotFound);
        let file = name.file_name().ok_or_else(none)?;
        match name.parent().map(Path::as_os_str) {
            None => Ok((Cow::Borrowed(self), file)),
            Some(own) if own.is_empty() => Ok((Cow::Borrowed(self), file)),
            Some(other) => {
                let home = self.within(other)?.ok_or_else(none)?;
                Ok((Cow::Owned(home), file))
            }
        }
    }

    /// Makes a directory in this one.
    pub(super) fn make_within(&self, name: &str) -> io::Result<()> {
        Ok(mkdirat(self, name, Mode::from_raw_mode(0o755))?)
    }

    /// Opens a regular file for reading. `name` is its path below this directory.
    pub(super) fn read(&self, name: impl AsRef<Path>) -> io::Result<File> {
        self.regular(name.as_ref(), OFlags::RDONLY, Mode::empty())
    }

    /// Opens a regular file to read it and to write at its end; makes it where `is_new`.
    ///
    /// # Errors
    /// A file that is there where it is to be new, one that is not there where it is not, and
    /// whatever the system refuses.
    pub fn append(&self, name: &str, is_new: bool) -> io::Result<File> {
        let (how, mode) = match is_new {
            true => (OFlags::CREATE | OFlags::EXCL, Mode::from_raw_mode(0o644)),
            false => (OFlags::empty(), Mode::empty()),
        };
        let flags = OFlags::RDWR | OFlags::APPEND | how;
        self.regular(Path::new(name), flags, mode)
    }

    fn regular(&self, name: &Path, flags: OFlags, mode: Mode) -> io::Result<File> {
        // What is no file is opened without waiting for its other end.
        let flags = flags | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
        let within =
            ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
        let opened = match openat2(self, name, flags, mode, within) {
            // An old kernel, a sandbox, or a rename meanwhile.
            Err(Errno::NOSYS | Errno::PERM | Errno::AGAIN) => self.step_by_step(name, flags, mode),
            opened => opened,
        };
        let file = File::from(opened.map_err(|errno| match errno {
            Errno::LOOP | Errno::XDEV => io::Error::other("a link, which is not followed in a run"),
            other => other.into(),
        })?);
        match file.metadata()?.is_file() {
            true => Ok(file),
            false => Err(io::Error::other("not a regular file")),
        }
    }

    fn step_by_step(
        &self,
        name: &Path,
        flags: OFlags,
        mode: Mode,
    ) -> std::result::Result<OwnedFd, Errno> {
        let mut at = openat(self, ".", DIRECTORY, Mode::empty())?;
        let mut parts = name.components().peekable();
        while let Some(part) = parts.next() {
            let Component::Normal(part) = part else {
                return Err(Errno::XDEV);
            };
            let (more, mode) = match parts.peek() {
                Some(_) => (DIRECTORY, Mode::empty()),
                None => (flags, mode),
            };
            at = openat(&at, part, more | OFlags::NOFOLLOW, mode)?;
        }
        Ok(at)
    }

    /// What is there by that name, if anything; of a link, the link.
    pub(super) fn find(&self, name: impl AsRef<Path>) -> io::Result<Option<Stat>> {
        match statat(self, name.as_ref(), AtFlags::SYMLINK_NOFOLLOW) {
            Ok(found) => Ok(Some(found)),
            Err(Errno::NOENT) => Ok(None),
            Err(e) => Err(e.into()),
        }
    }

    pub(super) fn has(&self, name: impl AsRef<Path>) -> bool {
        self.find(name).is_ok_and(|found| found.is_some())
    }

    /// Names of all that it holds; what of them is no text is replaced.
    ///
    /// # Errors
    /// Whatever the system refuses.
    pub fn names(&self) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in Dir::read_from(self)? {
            let entry = entry?;
            names.push(entry.file_name().to_string_lossy().into_owned());
        }
        names.retain(|name| name != "." && name != "..");
        Ok(names)
    }

    pub(super) fn has_any(&self, which: impl Fn(&str) -> bool) -> bool {
        self.names()
            .is_ok_and(|names| names.iter().any(|n| which(n)))
    }

    /// Removes a file; one that is not there is none.
    pub(super) fn remove(&self, name: &str) -> Result<()> {
        match unlinkat(self, name, AtFlags::empty()) {
            Err(e) if e != Errno::NOENT => {
                Err(Error::io(&self.path.join(name), "removing")(e.into()))
            }
            _ => Ok(()),
        }
    }

    /// Removes the caller's files of names that `which` picks; directories stay, and what others have put there.
    pub(super) fn remove_from(&self, which: impl Fn(&str) -> bool) -> Result<()> {
        let names = self.names().map_err(Error::io(&self.path, "reading"))?;
        for name in names.iter().filter(|name| which(name)) {
            let is_ours = |found: Stat| {
                let is_directory = FileType::from_raw_mode(found.st_mode) == FileType::Directory;
                !is_directory && found.st_uid == rustix::process::geteuid().as_raw()
            };
            if self.find(name).ok().flatten().is_some_and(is_ours) {
                self.remove(name)?;
            }
        }
        Ok(())
    }

    /// Removes a directory in this one, if it is empty.
    pub(super) fn remove_directory(&self, name: &str) -> io::Result<()> {
        Ok(unlinkat(self, name, AtFlags::REMOVEDIR)?)
    }

    /// Has what was made and renamed in it on the disk.
    pub(super) fn sync(&self) -> Result<()> {
        rustix::fs::fsync(self).map_err(|e| Error::io(&self.path, "syncing")(e.into()))
    }
}

impl AsFd for Directory {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.opened.as_fd()
    }
}

/// Why a directory cannot be had, of which this was done.
fn stopped_at(path: &Path, doing: &'static str, stopped: Stopped) -> Error {
    match stopped {
        Stopped::OthersLink(link) => Error::NotOwn {
            path: link,
            why: "it is a link of another user, and may lead anywhere".to_owned(),
        },
        Stopped::Refused(e) if e.kind() == io::ErrorKind::NotADirectory && path.exists() => {
            Error::NotDirectory {
                path: path.to_path_buf(),
            }
        }
        Stopped::Refused(e) => Error::io(path, doing)(e),
        Stopped::Missing(_) => Error::io(path, doing)(Errno::NOENT.into()),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn files_are_opened_below_the_directory_alone() {
        let run = tempfile::tempdir().unwrap();
        let at = |name: &str| run.path().join(name);
        fs::create_dir(at("samples")).unwrap();
        fs::write(at("samples/0"), "x").unwrap();
        symlink("samples", at("other")).unwrap();
        symlink("/etc/hostname", at("samples/1")).unwrap();
        let flags = OFlags::RDONLY | OFlags::CLOEXEC;
        let directory = Directory::open(run.path()).unwrap();
        let both = |name: &str| {
            let stepped = directory.step_by_step(Path::new(name), flags, Mode::empty());
            let opened = directory.read(name);
            assert_eq!(stepped.is_ok(), opened.is_ok(), "{name:?}");
            opened.is_ok()
        };
        assert!(both("samples/0"));
        for outside in ["other/0", "samples/1", "../x", "/etc/hostname"] {
            assert!(!both(outside), "{outside}");
        }
        // The user's own way to it may be a link.
        let elsewhere = tempfile::tempdir().unwrap();
        symlink(run.path(), elsewhere.path().join("run")).unwrap();
        let run = Directory::open(&elsewhere.path().join("run")).unwrap();
        assert!(run.read("samples/0").is_ok());
    }

    #[test]
    fn it_stays_itself_whatever_its_name_leads_to() {
        let place = tempfile::tempdir().unwrap();
        let (path, away) = (place.path().join("a/run"), place.path().join("away"));
        let run = Directory::make(&path).unwrap();
        fs::rename(&path, &away).unwrap();
        fs::create_dir(&path).unwrap();
        run.append("lab.jsonl", true).unwrap();
        assert!(away.join("lab.jsonl").exists() && !run.is_at(&path) && run.is_at(&away));
        assert_eq!(run.names().unwrap(), ["lab.jsonl"]);
        assert!(run.lasting_path().join("lab.jsonl").exists());
        assert_eq!(run.path(), path);
    }

    #[test]
    fn what_would_be_made_is_not_made_by_trying() {
        let place = tempfile::tempdir().unwrap();
        let at = |name: &str| place.path().join(name);
        assert!(Directory::try_make(place.path()).unwrap().is_some());
        assert!(Directory::try_make(&at("a/b/c")).unwrap().is_none());
        fs::write(at("file"), "").unwrap();
        let error = Directory::try_make(&at("file")).unwrap_err();
        assert!(matches!(error, Error::NotDirectory { .. }), "{error}");
        let error = Directory::try_make(&at("file/run")).unwrap_err();
        assert!(error.to_string().contains("Not a directory"), "{error}");
        assert_eq!(fs::read_dir(place.path()).unwrap().count(), 1);
    }
}
