//! A file before it is in its place.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Seek};
use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicU32, Ordering};

use rustix::fs::{AtFlags, CWD, Mode, OFlags, fchmod, fstat, linkat, openat, renameat, unlinkat};
use rustix::io::Errno;

use super::directory::Directory;

/// How the names of files begin that are being written.
pub(super) const TEMPORARY: &str = ".tmp-";

/// A file while it is written: without a name where the file system can, so that nothing is
/// left of it whatever becomes of this process; else under a temporary one.
pub(super) struct Draft<'a> {
    home: &'a Directory,
    pub(super) file: File,
    /// What it is called by now, if anything.
    temporary: Option<String>,
}

impl<'a> Draft<'a> {
    /// Of this mode, less what the process's mask takes.
    pub(super) fn begin(home: &'a Directory, mode: Mode) -> io::Result<Self> {
        let flags = OFlags::RDWR | OFlags::CLOEXEC;
        match openat(home, ".", flags | OFlags::TMPFILE, mode) {
            Ok(file) => Ok(Self {
                home,
                file: file.into(),
                temporary: None,
            }),
            // No such thing here: an old kernel, or a file system that cannot.
            Err(Errno::OPNOTSUPP | Errno::ISDIR | Errno::NOENT | Errno::INVAL) => {
                Self::named(home, mode)
            }
            Err(e) => Err(e.into()),
        }
    }

    fn named(home: &'a Directory, mode: Mode) -> io::Result<Self> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        const MOST: u32 = 1000;
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let mut opened = Err(Errno::EXIST);
        let mut name = String::new();
        // Killed processes of the same number may have left some.
        for _ in 0..MOST {
            let number = NUMBER.fetch_add(1, Ordering::Relaxed);
            name = format!("{TEMPORARY}{}-{number}", std::process::id());
            opened = openat(home, &*name, flags | OFlags::NOFOLLOW, mode);
            if !matches!(opened, Err(Errno::EXIST)) {
                break;
            }
        }
        Ok(Self {
            home,
            file: opened?.into(),
            temporary: Some(name),
        })
    }

    /// Puts it in the place of whatever is called `name`.
    pub(super) fn take_its_name(mut self, name: &OsStr) -> io::Result<()> {
        if self.temporary.is_some() {
            return self.rename(name);
        }
        match self.link(name) {
            Ok(()) => return Ok(()),
            Err(Errno::EXIST) => {}
            Err(_) => return self.copy()?.rename(name),
        }
        // The same one each time that this file is written: what a process has left there that
        // was killed before it could rename it goes now.
        let short = format!(
            "{TEMPORARY}{:08x}",
            crc32fast::hash(name.as_encoded_bytes())
        );
        let mut linked = self.link(OsStr::new(&short));
        if linked == Err(Errno::EXIST) {
            let _ = unlinkat(self.home, &*short, AtFlags::empty());
            linked = self.link(OsStr::new(&short));
        }
        if linked.is_err() {
            return self.copy()?.rename(name);
        }
        self.temporary = Some(short);
        match self.rename(name) {
            // Another process writes the same and took it for left.
            Err(e) if e.kind() == io::ErrorKind::NotFound => {
                self.temporary = None;
                self.copy()?.rename(name)
            }
            renamed => renamed,
        }
    }

    fn rename(&mut self, name: &OsStr) -> io::Result<()> {
        if let Some(temporary) = &self.temporary {
            renameat(self.home, &**temporary, self.home, name)?;
        }
        self.temporary = None;
        Ok(())
    }

    /// Gives a nameless file a name that is free.
    fn link(&self, name: &OsStr) -> std::result::Result<(), Errno> {
        match linkat(&self.file, "", self.home, name, AtFlags::EMPTY_PATH) {
            // Takes root, or a new kernel.
            Err(Errno::NOENT | Errno::PERM | Errno::INVAL) => {
                let own = format!("/proc/self/fd/{}", self.file.as_raw_fd());
                linkat(CWD, own, self.home, name, AtFlags::SYMLINK_FOLLOW)
            }
            linked => linked,
        }
    }

    /// The same content under a temporary name, where files cannot be named later.
    fn copy(&mut self) -> io::Result<Self> {
        let mode = Mode::from_raw_mode(fstat(&self.file)?.st_mode & 0o777);
        let mut named = Self::named(self.home, mode & Mode::from_raw_mode(0o600))?;
        self.file.rewind()?;
        io::copy(&mut self.file, &mut named.file)?;
        fchmod(&named.file, mode)?;
        named.file.sync_all()?;
        Ok(named)
    }
}

impl Drop for Draft<'_> {
    fn drop(&mut self) {
        if let Some(temporary) = &self.temporary {
            // Of no use to anybody.
            let _ = unlinkat(self.home, &**temporary, AtFlags::empty());
        }
    }
}

impl Directory {
    /// A file without a name: it vanishes with the process that has it open.
    pub(super) fn nameless(&self) -> io::Result<File> {
        let draft = Draft::begin(self, Mode::from_raw_mode(0o600))?;
        draft.file.try_clone()
    }
}

/// Files under temporary names that are left.
#[cfg(test)]
pub(super) fn left(directory: &std::path::Path) -> usize {
    let names = std::fs::read_dir(directory).unwrap().flatten();
    let left = names.filter(|e| e.file_name().to_string_lossy().starts_with(TEMPORARY));
    left.count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::io::Write;

    const USUAL: Mode = Mode::from_raw_mode(0o644);

    #[test]
    fn a_draft_is_whole_before_it_has_a_name_where_it_can_be_linked_or_not() {
        let d = tempfile::tempdir().unwrap();
        let home = Directory::open(d.path()).unwrap();
        let name = OsStr::new("file");
        for (number, begin) in [Draft::begin, Draft::named, Draft::begin, Draft::named]
            .into_iter()
            .enumerate()
        {
            let mut draft = begin(&home, USUAL).unwrap();
            draft.file.write_all(&[number as u8]).unwrap();
            drop(begin(&home, USUAL).unwrap());
            match number {
                2 => draft.copy().unwrap().take_its_name(name).unwrap(),
                _ => draft.take_its_name(name).unwrap(),
            }
            assert_eq!(fs::read(d.path().join("file")).unwrap(), [number as u8]);
            assert_eq!(left(d.path()), 0);
        }
        // Names that are taken are passed by.
        let taken = |n: u32| {
            d.path()
                .join(format!("{TEMPORARY}{}-{n}", std::process::id()))
        };
        (0..50).for_each(|n| fs::write(taken(n), "").unwrap());
        drop(Draft::named(&home, USUAL).unwrap());
        assert_eq!(left(d.path()), 50);
        (0..50).for_each(|n| fs::remove_file(taken(n)).unwrap());
        // What a process left that was killed between the two steps goes with the next.
        let short = format!("{TEMPORARY}{:08x}", crc32fast::hash(b"file"));
        fs::write(d.path().join(short), "left").unwrap();
        let mut draft = Draft::begin(&home, USUAL).unwrap();
        draft.file.write_all(b"new").unwrap();
        draft.take_its_name(name).unwrap();
        assert_eq!(fs::read(d.path().join("file")).unwrap(), b"new");
        assert_eq!(left(d.path()), 0);
    }
}
