//! A lab at work holds its directory: whoever cleans up behind dead ones sees that, whatever his namespace calls processes and
//! tells of their time.

use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::Path;

use rustix::fs::{FlockOperation, OFlags, flock};
use rustix::io::{Errno, retry_on_intr};

/// How often a directory is made anew that somebody takes away before it is held.
const TRIES: usize = 100;

/// A directory that is held until this is dropped, or the process ends.
#[derive(Debug)]
pub(super) struct Held(#[expect(dead_code, reason = "held as long as it is open")] File);

impl Held {
    /// Makes a directory that is the caller's alone, and holds it; one process may do so more than once.
    ///
    /// # Errors
    /// Whatever the system refuses.
    pub(super) fn make(path: &Path) -> io::Result<Self> {
        for _ in 0..TRIES {
            DirBuilder::new().recursive(true).mode(0o700).create(path)?;
            let directory = match open(path) {
                Err(e) if e.kind() == io::ErrorKind::NotFound => continue,
                opened => opened?,
            };
            // Where that is refused its process is known by its number.
            let _ = retry_on_intr(|| flock(&directory, FlockOperation::LockShared));
            // Who cleaned up may have held it before, and removed it.
            let (held, there) = (directory.metadata()?, fs::symlink_metadata(path));
            if there.is_ok_and(|there| (there.dev(), there.ino()) == (held.dev(), held.ino())) {
                return Ok(Self(directory));
            }
        }
        Err(io::Error::other("it is taken away again and again"))
    }

    /// Waits for everybody else who holds it.
    pub(super) fn wait(path: &Path) -> io::Result<Self> {
        let directory = open(path)?;
        let _ = retry_on_intr(|| flock(&directory, FlockOperation::LockExclusive));
        Ok(Self(directory))
    }
}

/// Who holds a directory.
pub(super) enum Holder {
    /// A lab.
    Lab,
    /// Nobody: it is held against labs now, where files can be locked.
    Nobody(Option<Held>),
    /// There is none any more.
    Gone,
}

impl Holder {
    pub(super) fn of(path: &Path) -> Self {
        let directory = match open(path) {
            Ok(directory) => directory,
            Err(e) => {
                return match Errno::from_io_error(&e) {
                    Some(Errno::NOENT) => Self::Gone,
                    // No lab's.
                    Some(Errno::NOTDIR | Errno::LOOP) => Self::Nobody(None),
                    // Nobody can tell.
                    _ => Self::Lab,
                };
            }
        };
        match flock(&directory, FlockOperation::NonBlockingLockExclusive) {
            Err(Errno::WOULDBLOCK) => Self::Lab,
            Ok(()) | Err(_) => Self::Nobody(Some(Held(directory))),
        }
    }
}

fn open(path: &Path) -> io::Result<File> {
    let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW;
    File::options()
        .read(true)
        .custom_flags(flags.bits().cast_signed())
        .open(path)
}
