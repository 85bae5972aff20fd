//! Files of a run directory, which may come from a stranger: below it no link is followed, and
//! what is no regular file is neither waited for nor written to.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Component, Path};
use std::sync::atomic::{AtomicU32, Ordering};

use rustix::fs::{
    AtFlags, FileType, Mode, OFlags, ResolveFlags, Stat, fstat, open as open_path, openat, openat2,
    renameat, statat, unlinkat,
};
use rustix::io::Errno;

use super::atomic::TEMPORARY;
use crate::{Error, Result};

/// Opens a file of the run in `directory` for reading. `name` is its path below that. The
/// directory itself may be named by a link: that is the user's own.
pub(super) fn open(directory: &Path, name: &Path) -> io::Result<File> {
    let top = open_directory(directory)?;
    // What is no file is opened without waiting for its other end.
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
    let within = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    let opened = match openat2(&top, name, flags, Mode::empty(), within) {
        // An old kernel, a sandbox, or a rename meanwhile.
        Err(Errno::NOSYS | Errno::PERM | Errno::AGAIN) => step_by_step(top, name, flags),
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

fn open_directory(directory: &Path) -> io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    Ok(open_path(directory, flags, Mode::empty())?)
}

fn step_by_step(top: OwnedFd, name: &Path, flags: OFlags) -> std::result::Result<OwnedFd, Errno> {
    let mut at = top;
    let mut parts = name.components().peekable();
    while let Some(part) = parts.next() {
        let Component::Normal(part) = part else {
            return Err(Errno::XDEV);
        };
        let more = match parts.peek() {
            Some(_) => OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC,
            None => flags,
        };
        at = openat(&at, part, more | OFlags::NOFOLLOW, Mode::empty())?;
    }
    Ok(at)
}

/// Refuses a directory in which somebody else may put a link or a file of his in our place:
/// one of another owner, or that others may write to.
pub(super) fn require_own(directory: &Path) -> Result<()> {
    let top = open_directory(directory).map_err(Error::io(directory, "opening"))?;
    let found = fstat(&top).map_err(|e| Error::io(directory, "looking at")(e.into()))?;
    match not_own(&found) {
        Some(why) => Err(Error::NotOwn {
            path: directory.to_path_buf(),
            why,
        }),
        None => Ok(()),
    }
}

fn not_own(found: &Stat) -> Option<String> {
    let mode = found.st_mode & 0o7777;
    if found.st_uid != rustix::process::geteuid().as_raw() {
        return Some(format!("it belongs to another user, {}", found.st_uid));
    }
    (mode & 0o022 != 0).then(|| format!("others may write to it (mode {mode:04o})"))
}

/// Puts a file into a run directory, whole or not at all, in place of a regular file or of
/// none: where anything else is there, or the directory is not the caller's own, nothing is
/// written.
///
/// # Errors
/// [`Error::NotOwn`], [`Error::InTheWay`], or what the system refuses.
pub fn put(directory: &Path, name: &str, content: &[u8]) -> Result<()> {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    require_own(directory)?;
    let path = directory.join(name);
    let failed = |action: &'static str| {
        let path = path.clone();
        move |e: Errno| Error::io(&path, action)(e.into())
    };
    let top = open_directory(directory).map_err(Error::io(directory, "opening"))?;
    match statat(&top, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(there) if FileType::from_raw_mode(there.st_mode) != FileType::RegularFile => {
            return Err(Error::InTheWay { path });
        }
        Ok(_) | Err(Errno::NOENT) => {}
        Err(e) => return Err(failed("looking at")(e)),
    }
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let temporary = format!("{TEMPORARY}{}-{number}", std::process::id());
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file =
        openat(&top, &*temporary, flags, Mode::from_raw_mode(0o644)).map_err(failed("creating"))?;
    let done = fill(file, content)
        .map_err(Error::io(&path, "writing"))
        .and_then(|()| renameat(&top, &*temporary, &top, name).map_err(failed("renaming")));
    if done.is_err() {
        // Of no use to anybody.
        let _ = unlinkat(&top, &*temporary, AtFlags::empty());
    }
    done?;
    rustix::fs::fsync(top.as_fd()).map_err(|e| Error::io(directory, "syncing")(e.into()))
}

fn fill(file: OwnedFd, content: &[u8]) -> io::Result<()> {
    let mut file = File::from(file);
    file.write_all(content)?;
    file.sync_all()
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    fn at(directory: &tempfile::TempDir, name: &str) -> std::path::PathBuf {
        directory.path().join(name)
    }

    #[test]
    fn a_page_replaces_nothing_but_a_file() {
        let (run, victim) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        fs::write(at(&victim, "keys"), "mine").unwrap();
        for text in ["first", "second"] {
            put(run.path(), "page", text.as_bytes()).unwrap();
            assert_eq!(fs::read_to_string(at(&run, "page")).unwrap(), text);
        }
        symlink(at(&victim, "keys"), at(&run, "link")).unwrap();
        symlink(at(&victim, "new"), at(&run, "dangling")).unwrap();
        fs::create_dir(at(&run, "directory")).unwrap();
        rustix::fs::mknodat(
            open_directory(run.path()).unwrap(),
            "pipe",
            FileType::Fifo,
            Mode::from_raw_mode(0o600),
            0,
        )
        .unwrap();
        for name in ["link", "dangling", "directory", "pipe"] {
            let error = put(run.path(), name, b"key of a stranger").unwrap_err();
            assert!(matches!(error, Error::InTheWay { .. }), "{name}: {error}");
            assert!(open(run.path(), Path::new(name)).is_err(), "{name}");
        }
        assert_eq!(fs::read_to_string(at(&victim, "keys")).unwrap(), "mine");
        assert!(!at(&victim, "new").exists());
        // Nothing half done is left.
        let names = fs::read_dir(run.path()).unwrap().flatten();
        let left = names.filter(|e| e.file_name().to_string_lossy().starts_with(TEMPORARY));
        assert_eq!(left.count(), 0);
    }

    #[test]
    fn a_directory_that_others_may_write_to_is_refused() {
        let run = tempfile::tempdir().unwrap();
        for (mode, fits) in [
            (0o755, true),
            (0o775, false),
            (0o757, false),
            (0o1777, false),
        ] {
            fs::set_permissions(run.path(), fs::Permissions::from_mode(mode)).unwrap();
            assert_eq!(put(run.path(), "page", b"x").is_ok(), fits, "{mode:o}");
        }
    }

    #[test]
    fn files_are_opened_below_the_directory_alone() {
        let run = tempfile::tempdir().unwrap();
        fs::create_dir(at(&run, "samples")).unwrap();
        fs::write(at(&run, "samples/0"), "x").unwrap();
        symlink("samples", at(&run, "other")).unwrap();
        symlink("/etc/hostname", at(&run, "samples/1")).unwrap();
        let flags = OFlags::RDONLY | OFlags::CLOEXEC;
        let both = |name: &str| {
            let name = Path::new(name);
            let stepped = step_by_step(open_directory(run.path()).unwrap(), name, flags);
            let opened = open(run.path(), name);
            assert_eq!(stepped.is_ok(), opened.is_ok(), "{name:?}");
            opened.is_ok()
        };
        assert!(both("samples/0"));
        for outside in ["other/0", "samples/1", "../x", "/etc/hostname"] {
            assert!(!both(outside), "{outside}");
        }
        // The user's own way to it may be a link.
        let elsewhere = tempfile::tempdir().unwrap();
        symlink(run.path(), at(&elsewhere, "run")).unwrap();
        assert!(open(&at(&elsewhere, "run"), Path::new("samples/0")).is_ok());
    }
}
