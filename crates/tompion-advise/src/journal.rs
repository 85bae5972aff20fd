//! The record of what is changed, written before it is changed.
//!
//! It lies under `/run`, which a reboot empties, and names the boot all the same: in
//! a container `/run` may be a directory that stays.

use std::fs::{self, File, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use tompion_host::Root;

use crate::Change;
use crate::safe_files::{self, Problem};

const DIRECTORY: &str = "/run/tompion";
const RECORD: &str = "/run/tompion/advise.json";
const LOCK: &str = "/run/tompion/advise.lock";
const BOOT_ID: &str = "/proc/sys/kernel/random/boot_id";
const FORMAT: u32 = 1;

/// Why there is no journal, or none that can be read.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// Another one works.
    #[error(
        "another `tompion advise` is at work on this machine; wait for it, since the two would \
         measure each other"
    )]
    Busy,
    /// Only root writes there.
    #[error("{0} cannot be written, where old values are kept: it needs root")]
    Denied(PathBuf),
    /// It is not what this program writes.
    #[error(
        "{path} is damaged ({why}); look into it for values to put back by hand, then remove it"
    )]
    Damaged {
        /// The record.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// Someone else may have written it.
    #[error(
        "{path} is not to be trusted: {why}; look who made it, and remove it: nothing is put \
         back by it"
    )]
    Distrusted {
        /// The record, or what it lies in.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// Anything else.
    #[error("{path}: {source}")]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

/// What is changed just now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Record {
    format: u32,
    pub boot_id: String,
    pid: u32,
    /// The remedy that is on.
    pub knob: String,
    pub changes: Vec<Change>,
}

/// The record and the right to write it, held by one process at a time.
pub struct Journal {
    directory: PathBuf,
    record: PathBuf,
    boot_id: String,
    _lock: File,
}

impl Journal {
    /// Takes the journal for this process.
    ///
    /// # Errors
    /// If another process has it, or this one may not write there.
    pub fn open(root: &Root) -> Result<Self, JournalError> {
        let directory = root.path(DIRECTORY);
        safe_files::directory(&directory).map_err(|e| unusable(&directory, e))?;
        let path = root.path(LOCK);
        let lock = safe_files::lock(&path).map_err(|e| unusable(&path, e))?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(JournalError::Busy),
            Err(TryLockError::Error(e)) => return Err(not_written(&path, e)),
        }
        let journal = Self {
            directory,
            record: root.path(RECORD),
            boot_id: boot_id(root),
            _lock: lock,
        };
        // Left by one that was killed while it wrote: never anything but a part.
        let _ = fs::remove_file(journal.unfinished());
        Ok(journal)
    }

    /// Whether [`Journal::open`] would be allowed, without trying.
    pub fn may_open(root: &Root) -> bool {
        let mut place = root.path(DIRECTORY);
        // Not made yet, as a rule.
        while !place.exists() && place.pop() {}
        rustix::fs::access(&place, rustix::fs::Access::WRITE_OK).is_ok()
    }

    /// Whether a process was killed while it wrote a record, before it changed anything.
    pub fn has_half_a_record(root: &Root) -> bool {
        unfinished(&root.path(RECORD)).exists()
    }

    fn unfinished(&self) -> PathBuf {
        unfinished(&self.record)
    }

    /// Says what is about to change. On return it is on the disk, whole.
    pub(crate) fn save(&self, knob: &str, changes: &[Change]) -> Result<(), JournalError> {
        let record = Record {
            format: FORMAT,
            boot_id: self.boot_id.clone(),
            pid: std::process::id(),
            knob: knob.to_owned(),
            changes: changes.to_vec(),
        };
        let text = serde_json::to_string_pretty(&record).expect("plain text") + "\n";
        let new = self.unfinished();
        let _ = fs::remove_file(&new);
        let written = || -> io::Result<()> {
            let mut file = safe_files::create(&new)?;
            file.write_all(text.as_bytes())?;
            file.sync_all()?;
            fs::rename(&new, &self.record)?;
            File::open(&self.directory)?.sync_all()
        };
        written().map_err(|e| not_written(&self.record, e))
    }

    /// Says that nothing is changed any more.
    pub(crate) fn clear(&self) -> Result<(), JournalError> {
        match fs::remove_file(&self.record) {
            Err(e) if e.kind() != io::ErrorKind::NotFound => Err(not_written(&self.record, e)),
            _ => Ok(()),
        }
    }
}

/// The record while it is written.
fn unfinished(record: &Path) -> PathBuf {
    record.with_extension("json.new")
}

/// The record that lies there, whoever wrote it.
pub(crate) fn read(root: &Root) -> Result<Option<Record>, JournalError> {
    let path = root.path(RECORD);
    let text = match safe_files::read(&path) {
        Ok(text) => text,
        Err(Problem::Io(e)) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(Problem::Io(source)) => return Err(JournalError::Io { path, source }),
        Err(Problem::Distrust(why)) => return Err(JournalError::Distrusted { path, why }),
    };
    let damaged = |why: String| JournalError::Damaged {
        path: path.clone(),
        why,
    };
    let record: Record = serde_json::from_slice(&text).map_err(|e| damaged(e.to_string()))?;
    match record.format {
        FORMAT => Ok(Some(record)),
        other => Err(damaged(format!(
            "format {other}, this program knows {FORMAT}"
        ))),
    }
}

/// Why the record that lies there is not to be believed.
pub(crate) fn distrusted(root: &Root, why: String) -> JournalError {
    let path = root.path(RECORD);
    JournalError::Distrusted { path, why }
}

/// Whether a record is of the boot that goes on.
pub(crate) fn is_of_this_boot(root: &Root, record: &Record) -> bool {
    record.boot_id == boot_id(root)
}

fn boot_id(root: &Root) -> String {
    root.text(BOOT_ID).unwrap_or_default()
}

fn unusable(path: &Path, problem: Problem) -> JournalError {
    match problem {
        Problem::Io(source) => not_written(path, source),
        Problem::Distrust(why) => JournalError::Distrusted {
            path: path.to_owned(),
            why,
        },
    }
}

fn not_written(path: &Path, source: io::Error) -> JournalError {
    let path = path.to_owned();
    match source.kind() {
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
            JournalError::Denied(path)
        }
        _ => JournalError::Io { path, source },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_process_has_it_at_a_time() {
        let tree = tempfile::tempdir().unwrap();
        let root = Root::at(tree.path());
        let first = Journal::open(&root).unwrap();
        assert!(matches!(Journal::open(&root), Err(JournalError::Busy)));
        drop(first);
        assert!(Journal::open(&root).is_ok());
        assert!(Journal::may_open(&root));
    }

    #[test]
    fn a_record_is_whole_or_not_there_and_goes_when_cleared() {
        let tree = tempfile::tempdir().unwrap();
        let root = Root::at(tree.path());
        fs::create_dir_all(root.path("/run/tompion")).unwrap();
        fs::write(root.path("/run/tompion/advise.json.new"), "{ half").unwrap();
        let journal = Journal::open(&root).unwrap();
        assert_eq!(read(&root).unwrap(), None);
        let change = Change::new("/sys/knob", "a", "b");
        journal.save("knob", std::slice::from_ref(&change)).unwrap();
        let record = read(&root).unwrap().unwrap();
        assert_eq!(
            (record.knob.as_str(), &record.changes[0]),
            ("knob", &change)
        );
        assert!(!root.has("/run/tompion/advise.json.new"));
        journal.clear().unwrap();
        journal.clear().unwrap();
        assert_eq!(read(&root).unwrap(), None);
    }

    #[test]
    fn a_damaged_record_is_named_with_what_to_do() {
        let tree = tempfile::tempdir().unwrap();
        let root = Root::at(tree.path());
        let _journal = Journal::open(&root).unwrap();
        for text in [
            "{",
            "{\"format\":2,\"boot_id\":\"\",\"pid\":1,\"knob\":\"k\",\"changes\":[]}",
        ] {
            fs::write(root.path(RECORD), text).unwrap();
            let told = read(&root).unwrap_err().to_string();
            assert!(told.contains("advise.json is damaged"), "{told}");
        }
    }
}
