//! Whose turn it is in a run directory: a lock on it, which the system takes back with its process.

use std::fs::File;
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, Mode, OFlags, flock, openat};
use rustix::io::Errno;
use tompion_time::os;

use super::directory::Directory;
use crate::{Error, Result};

/// Held by whoever writes to a run directory; the system takes it back with the process.
#[derive(Debug)]
pub(super) struct Turn {
    /// The lock is this open directory's; nobody reads from it.
    _directory: File,
}

impl Turn {
    /// Takes it; `None` while another process has it, or where the file system knows no
    /// locks.
    pub(super) fn take(directory: &Directory) -> Option<Self> {
        Self::ask(directory).ok()
    }

    /// Takes it for a new run, where nobody has anything to clear up. `None` where the file
    /// system knows no locks.
    ///
    /// # Errors
    /// [`Error::Taken`] while another process writes.
    pub(super) fn begin(directory: &Directory) -> Result<Option<Self>> {
        Self::within(directory, Duration::ZERO)
    }

    /// Takes it for a run that goes on: waits for whoever only clears up. `None` where the
    /// file system knows no locks.
    ///
    /// # Errors
    /// [`Error::Taken`] while another process writes.
    pub(super) fn wait(directory: &Directory) -> Result<Option<Self>> {
        Self::within(directory, LONGEST_CLEARING)
    }

    /// Whether a process has it just now; `None` where the file system knows no locks.
    pub(super) fn is_taken(directory: &Directory) -> Option<bool> {
        // Shared, so that two who look at once do not take each other for a writer.
        match Self::lock(directory, FlockOperation::NonBlockingLockShared) {
            Ok(_) => Some(false),
            Err(Errno::WOULDBLOCK) => Some(true),
            Err(_) => None,
        }
    }

    fn within(directory: &Directory, longest: Duration) -> Result<Option<Self>> {
        let began = Instant::now();
        loop {
            match Self::ask(directory) {
                Ok(turn) => return Ok(Some(turn)),
                Err(Errno::WOULDBLOCK) if began.elapsed() < longest => {
                    os::sleep(Duration::from_millis(20));
                }
                Err(Errno::WOULDBLOCK) => {
                    return Err(Error::Taken {
                        path: directory.path().to_path_buf(),
                    });
                }
                Err(_) => return Ok(None),
            }
        }
    }

    fn ask(directory: &Directory) -> std::result::Result<Self, Errno> {
        Self::lock(directory, FlockOperation::NonBlockingLockExclusive)
    }

    fn lock(directory: &Directory, how: FlockOperation) -> std::result::Result<Self, Errno> {
        // Opened once more: the lock is to end with this, whoever else has the directory open.
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let file = File::from(openat(directory, ".", flags, Mode::empty())?);
        flock(&file, how)?;
        Ok(Self { _directory: file })
    }
}

/// Clearing up reads the whole run once.
const LONGEST_CLEARING: Duration = Duration::from_secs(5);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_looks_sees_a_writer_and_nobody_else_who_looks() {
        let place = tempfile::tempdir().unwrap();
        let directory = Directory::open(place.path()).unwrap();
        let looks = Turn::lock(&directory, FlockOperation::NonBlockingLockShared).unwrap();
        assert_eq!(Turn::is_taken(&directory), Some(false));
        drop(looks);
        let writes = Turn::take(&directory).unwrap();
        assert_eq!(Turn::is_taken(&directory), Some(true));
        drop(writes);
        assert_eq!(Turn::is_taken(&directory), Some(false));
    }
}
