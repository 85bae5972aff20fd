//! Whose turn it is in a run directory, and what a process that died has left there.

use std::fs::{self, File};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, Mode, OFlags, flock, open};
use rustix::io::Errno;
use tompion_time::os;

use super::atomic::TEMPORARY;
use super::{SAMPLES, gather, reader};
use crate::{Error, Result};
use tompion_model::RunRecord;

/// Held by whoever writes to a run directory; the system takes it back with the process.
#[derive(Debug)]
pub(super) struct Turn {
    /// The lock is this open directory's; nobody reads from it.
    _directory: File,
}

impl Turn {
    /// Takes it; `None` while another process has it, or where the file system knows no
    /// locks.
    pub(super) fn take(directory: &Path) -> Option<Self> {
        Self::ask(directory).ok()
    }

    /// Takes it for a new run, where nobody has anything to clear up. `None` where the file
    /// system knows no locks.
    ///
    /// # Errors
    /// [`Error::Taken`] while another process writes.
    pub(super) fn begin(directory: &Path) -> Result<Option<Self>> {
        Self::within(directory, Duration::ZERO)
    }

    /// Takes it for a run that goes on: waits for whoever only clears up. `None` where the
    /// file system knows no locks.
    ///
    /// # Errors
    /// [`Error::Taken`] while another process writes.
    pub(super) fn wait(directory: &Path) -> Result<Option<Self>> {
        Self::within(directory, LONGEST_CLEARING)
    }

    fn within(directory: &Path, longest: Duration) -> Result<Option<Self>> {
        let began = Instant::now();
        loop {
            match Self::ask(directory) {
                Ok(turn) => return Ok(Some(turn)),
                Err(Errno::WOULDBLOCK) if began.elapsed() < longest => {
                    os::sleep(Duration::from_millis(20));
                }
                Err(Errno::WOULDBLOCK) => {
                    return Err(Error::Taken {
                        path: directory.to_path_buf(),
                    });
                }
                Err(_) => return Ok(None),
            }
        }
    }

    fn ask(directory: &Path) -> std::result::Result<Self, Errno> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let file = File::from(open(directory, flags, Mode::empty())?);
        flock(&file, FlockOperation::NonBlockingLockExclusive)?;
        Ok(Self { _directory: file })
    }
}

/// Clearing up reads the whole run once.
const LONGEST_CLEARING: Duration = Duration::from_secs(5);

/// Removes from a run directory what a process that was killed there has left half done:
/// files under temporary names, and of bringing trials together the files that `run.json`
/// does not name, old or new. Does nothing in a directory of another user, and while the
/// run is being written.
///
/// # Errors
/// Whatever the system refuses. A run that cannot be opened is left as it is.
pub fn remove_leftovers(directory: &Path) -> Result<()> {
    let owner = fs::metadata(directory).map(|d| d.uid());
    if owner.ok() != Some(rustix::process::geteuid().as_raw()) {
        return Ok(());
    }
    // Of most runs nothing is left, and they are not read for it.
    let samples = directory.join(SAMPLES);
    if samples.is_symlink() {
        // Nothing of ours, and what it leads to is somebody else's.
        return Ok(());
    }
    let is_left = |name: &str| is_temporary(name) || name.ends_with(".parquet");
    let is_suspect = match samples.exists() {
        true => {
            has_any(&samples, |name| is_half_done(&samples, name)) || has_any(directory, is_left)
        }
        false => has_any(directory, is_temporary),
    };
    if !is_suspect {
        return Ok(());
    }
    let Some(_turn) = Turn::take(directory) else {
        return Ok(());
    };
    let Ok(run) = reader::Run::open(directory) else {
        return Ok(());
    };
    remove_unlisted(directory, run.record())
}

/// The same in a directory that is the caller's to write to.
pub(super) fn remove_unlisted(directory: &Path, record: &RunRecord) -> Result<()> {
    let samples = directory.join(SAMPLES);
    if samples.is_symlink() {
        return Err(Error::InTheWay { path: samples });
    }
    remove_from(directory, is_temporary)?;
    if record.files.is_empty() {
        let new = gather::file_names(&record.trials);
        remove_from(directory, |name| new.contains(name))?;
        // Nothing of a trial that is whole, even where one before it is missing.
        remove_from(&samples, |name| is_half_done(&samples, name))
    } else if samples.exists() {
        remove_from(&samples, |name| {
            is_temporary(name) || number(name).is_some()
        })?;
        // It stays with what somebody else has put there.
        match fs::remove_dir(&samples) {
            Err(e) if e.kind() != std::io::ErrorKind::DirectoryNotEmpty => {
                Err(Error::io(&samples, "removing")(e))
            }
            _ => Ok(()),
        }
    } else {
        let listed = |name: &str| record.files.iter().any(|f| f.file == name);
        let all = gather::file_names(&record.trials);
        remove_from(directory, |name| all.contains(name) && !listed(name))
    }
}

/// Which trial a file in `samples/` belongs to.
pub(super) fn number(name: &str) -> Option<usize> {
    let digits = name.find(|c: char| !c.is_ascii_digit());
    name[..digits?].parse().ok()
}

/// Whether a file in `samples/` was never written to its end, or is another table of a trial
/// whose samples, written last, are not there.
fn is_half_done(samples: &Path, name: &str) -> bool {
    let digits = name.split('.').next().unwrap_or(name);
    let has_samples = || samples.join(format!("{digits}.parquet")).exists();
    is_temporary(name) || (number(name).is_some() && !has_samples())
}

fn is_temporary(name: &str) -> bool {
    name.starts_with(TEMPORARY)
}

/// Whether a directory holds nothing, or only what a process left that was killed before it
/// had written a run.
pub(super) fn is_free(directory: &Path) -> bool {
    let samples = directory.join(SAMPLES);
    !samples.is_symlink()
        && !has_any(directory, |name| !is_temporary(name) && name != SAMPLES)
        && !has_any(&samples, |name| !is_temporary(name))
}

/// Removes what [`is_free`] takes for nothing.
pub(super) fn make_free(directory: &Path) -> Result<()> {
    let samples = directory.join(SAMPLES);
    remove_from(&samples, is_temporary)?;
    let _ = fs::remove_dir(&samples);
    remove_from(directory, is_temporary)
}

fn has_any(directory: &Path, which: impl Fn(&str) -> bool) -> bool {
    let mut entries = fs::read_dir(directory).into_iter().flatten().flatten();
    entries.any(|entry| which(&entry.file_name().to_string_lossy()))
}

/// Removes files of names that `which` picks; directories stay.
pub(super) fn remove_from(directory: &Path, which: impl Fn(&str) -> bool) -> Result<()> {
    let entries = match fs::read_dir(directory) {
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        entries => entries.map_err(Error::io(directory, "reading"))?,
    };
    for entry in entries.flatten() {
        let is_file = entry.file_type().is_ok_and(|t| !t.is_dir());
        if is_file && which(&entry.file_name().to_string_lossy()) {
            let path = entry.path();
            match fs::remove_file(&path) {
                Err(e) if e.kind() != std::io::ErrorKind::NotFound => {
                    return Err(Error::io(&path, "removing")(e));
                }
                _ => {}
            }
        }
    }
    Ok(())
}
