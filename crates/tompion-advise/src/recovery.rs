//! Putting values back: after a trial, and after a run that was killed.

use std::io;
use std::path::PathBuf;

use serde::Serialize;
use tompion_host::Root;
use tompion_model::printable;

use crate::journal::{self, Journal, JournalError, Record};
use crate::{Change, LeftAlone, files, knobs, undo_step};

/// What an earlier run left behind.
#[derive(Debug)]
pub struct Leftover {
    record: Record,
    /// Whether the machine has been started anew since.
    pub of_another_boot: bool,
}

impl Leftover {
    /// Looks for a record; it belongs to a run that is over only while this process
    /// has the journal.
    ///
    /// # Errors
    /// If there is one that cannot be read.
    pub fn find(root: &Root) -> Result<Option<Self>, JournalError> {
        let Some(record) = journal::read(root)? else {
            return Ok(None);
        };
        // Whoever put it there, as root: no other file is written to.
        if let Some(change) = record.changes.iter().find(|c| !knobs::writes(&c.path)) {
            let why = format!("it names {:?}, which no remedy changes", change.path);
            return Err(journal::distrusted(root, why));
        }
        let mut looks = record
            .changes
            .iter()
            .filter_map(|c| Some((&c.path, c.back.as_ref()?)));
        if let Some((_, back)) = looks.find(|(path, back)| !knobs::shows(path, &back.seen_in)) {
            let why = format!("it names {:?}, which no remedy looks at", back.seen_in);
            return Err(journal::distrusted(root, why));
        }
        Ok(Some(Self {
            of_another_boot: !journal::is_of_this_boot(root, &record),
            record,
        }))
    }

    /// The remedy that was on.
    pub fn knob(&self) -> &str {
        &self.record.knob
    }

    /// How many values it had changed.
    pub fn changes(&self) -> usize {
        self.record.changes.len()
    }

    /// Forgets it: the boot that it changed is over.
    ///
    /// # Errors
    /// If the record cannot be removed.
    pub fn discard(self, journal: &Journal) -> Result<(), JournalError> {
        journal.clear()
    }

    /// Puts its values back. The record stays while one of them could not be.
    ///
    /// # Errors
    /// If the record cannot be removed.
    pub fn restore(self, root: &Root, journal: &Journal) -> Result<Restored, JournalError> {
        let restored = undo(root, journal, &self.record.knob, self.record.changes);
        if restored.failed.is_empty() {
            journal.clear()?;
        }
        Ok(restored)
    }
}

/// A file that has its old value again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PutBack {
    /// The file.
    pub path: PathBuf,
    /// What it says again.
    pub value: String,
}

/// What came of putting values back.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Restored {
    /// Files that have their old value again.
    pub put_back: Vec<PutBack>,
    /// Files that had not been changed yet.
    pub unchanged: Vec<PathBuf>,
    /// Files that someone else has changed since.
    pub left_alone: Vec<LeftAlone>,
    /// Files that are there no more.
    pub gone: Vec<PathBuf>,
    /// Files that took no value, and why.
    pub failed: Vec<String>,
}

/// Puts back what still has the value that it was given, the last first.
pub(crate) fn undo(
    root: &Root,
    journal: &Journal,
    knob: &str,
    mut changes: Vec<Change>,
) -> Restored {
    // A kill in between must not make our own value someone else's.
    if undo_step::begin(root, &mut changes) && journal.save(knob, &changes).is_ok() {
        undo_step::lead(root, &changes);
    }
    let mut restored = Restored::default();
    for change in changes.iter().rev() {
        let path = change.path.clone();
        let found = match files::read(root, &path) {
            Ok(found) => found,
            // A CPU or a module that is gone has taken its settings along.
            Err(e) if e.kind() == io::ErrorKind::NotFound => {
                restored.gone.push(path);
                continue;
            }
            Err(e) => {
                restored.failed.push(files::why(&path, &e));
                continue;
            }
        };
        let old = change.old.clone();
        if files::same(&found, &old) {
            restored.unchanged.push(path);
        } else if undo_step::is_ours(change, &found) {
            let written = files::write(root, &path, &old);
            match written.and_then(|()| files::read(root, &path)) {
                Ok(now) if files::same(&now, &old) => {
                    restored.put_back.push(PutBack { path, value: old });
                }
                // Some take any value without a word, and do as they will.
                Ok(now) => {
                    let (path, now, old) = (path.display(), printable(&now), printable(&old));
                    let why = format!("{path}: the kernel did not take `{old}`, it says `{now}`");
                    restored.failed.push(why);
                }
                Err(e) => restored.failed.push(files::why(&path, &e)),
            }
        } else {
            restored.left_alone.push(LeftAlone { path, found, old });
        }
    }
    restored
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::UndoStep;
    use std::fs;

    const A: &str = "/proc/irq/1/smp_affinity_list";
    const B: &str = "/proc/irq/2/smp_affinity_list";
    const C: &str = "/proc/irq/3/smp_affinity_list";
    const GONE: &str = "/sys/devices/system/cpu/cpu9/cpuidle/state1/disable";
    const STUCK: &str = "/sys/devices/system/cpu/cpufreq/policy0/scaling_governor";
    const STUCK_FILE: &str = "/sys/devices/system/cpu/cpufreq/policy0/scaling_governor/file";
    const LIST: &str = "/proc/irq/36/smp_affinity_list";
    const EFFECTIVE: &str = "/proc/irq/36/effective_affinity_list";
    const BOOT: &str = "/proc/sys/kernel/random/boot_id";

    fn tree(values: &[(&str, &str)]) -> (tempfile::TempDir, Root) {
        let tree = tempfile::tempdir().unwrap();
        let root = Root::at(tree.path());
        for (path, value) in values.iter().chain(&[(BOOT, "boot-1\n")]) {
            let path = root.path(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, value).unwrap();
        }
        (tree, root)
    }

    /// As a run that is killed leaves it.
    fn killed(root: &Root, changes: &[Change]) -> Journal {
        let journal = Journal::open(root).unwrap();
        journal.save("knob", changes).unwrap();
        drop(journal);
        Journal::open(root).unwrap()
    }

    #[test]
    fn what_a_killed_run_changed_is_put_back_and_what_others_changed_is_named() {
        let (_tree, root) = tree(&[(A, "new\n"), (B, "other\n"), (C, "old\n")]);
        let changes = [A, B, C].map(|p| Change::new(p, "old", "new"));
        let journal = killed(&root, &changes);
        let leftover = Leftover::find(&root).unwrap().unwrap();
        assert!(!leftover.of_another_boot);
        assert_eq!((leftover.knob(), leftover.changes()), ("knob", 3));
        let restored = leftover.restore(&root, &journal).unwrap();
        let (path, value) = (A.into(), "old".to_owned());
        assert_eq!(restored.put_back, [PutBack { path, value }]);
        assert_eq!(restored.unchanged, [PathBuf::from(C)]);
        let told = restored.left_alone[0].to_string();
        assert!(
            told.contains(B) && told.contains("`other`") && told.contains("`old`"),
            "{told}"
        );
        assert_eq!(root.text(A).as_deref(), Some("old"));
        assert_eq!(root.text(B).as_deref(), Some("other"));
        assert!(Leftover::find(&root).unwrap().is_none());
    }

    #[test]
    fn a_record_of_another_boot_is_known_as_such_and_discarded() {
        let (_tree, root) = tree(&[(A, "new\n")]);
        let journal = killed(&root, &[Change::new(A, "old", "new")]);
        fs::write(root.path(BOOT), "boot-2\n").unwrap();
        let leftover = Leftover::find(&root).unwrap().unwrap();
        assert!(leftover.of_another_boot);
        leftover.discard(&journal).unwrap();
        assert_eq!(root.text(A).as_deref(), Some("new"), "untouched");
        assert!(Leftover::find(&root).unwrap().is_none());
    }

    #[test]
    fn the_record_stays_while_a_value_is_not_back() {
        let (_tree, root) = tree(&[(A, "new\n"), (STUCK_FILE, "")]);
        let changes = [A, STUCK].map(|p| Change::new(p, "old", "new"));
        let journal = killed(&root, &changes);
        let leftover = Leftover::find(&root).unwrap().unwrap();
        let restored = leftover.restore(&root, &journal).unwrap();
        assert_eq!(restored.failed.len(), 1, "{restored:?}");
        assert_eq!(root.text(A).as_deref(), Some("old"), "the rest is back");
        assert!(Leftover::find(&root).unwrap().is_some());
    }

    /// The name of a thread, which keeps fifteen bytes of any other and says nothing.
    #[test]
    fn a_value_that_is_not_taken_is_not_told_to_be_back() {
        let (_tree, root) = tree(&[]);
        let path = root.path(A);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::os::unix::fs::symlink("/proc/thread-self/comm", &path).unwrap();
        fs::write(&path, "new").unwrap();
        let journal = killed(&root, &[Change::new(A, "longer than fifteen", "new")]);
        let leftover = Leftover::find(&root).unwrap().unwrap();
        let restored = leftover.restore(&root, &journal).unwrap();
        assert_eq!(restored.put_back, []);
        let why = &restored.failed[0];
        assert!(why.contains("did not take `longer than fifteen`"), "{why}");
        assert!(Leftover::find(&root).unwrap().is_some(), "the record stays");
    }

    #[test]
    fn what_is_there_no_more_keeps_nobody_waiting() {
        let (_tree, root) = tree(&[(A, "new\n")]);
        let changes = [A, GONE].map(|p| Change::new(p, "old", "new"));
        let journal = killed(&root, &changes);
        let leftover = Leftover::find(&root).unwrap().unwrap();
        let restored = leftover.restore(&root, &journal).unwrap();
        assert_eq!(restored.gone, [PathBuf::from(GONE)]);
        assert_eq!(root.text(A).as_deref(), Some("old"));
        assert!(Leftover::find(&root).unwrap().is_none());
    }

    /// An interrupt that was at CPU 1 of 0-1, has been moved to 0, and is found at `now`.
    fn moved(root: &Root, begun: bool) -> Change {
        fs::write(root.path(LIST), "1\n").unwrap();
        Change {
            back: Some(UndoStep {
                value: "1".to_owned(),
                seen_in: EFFECTIVE.into(),
                begun,
            }),
            ..Change::new(LIST, "0-1", "0")
        }
    }

    #[test]
    fn a_kill_on_the_way_back_does_not_make_our_value_someone_elses() {
        let (_tree, root) = tree(&[(LIST, "1\n"), (EFFECTIVE, "0\n")]);
        let journal = killed(&root, &[moved(&root, true)]);
        let leftover = Leftover::find(&root).unwrap().unwrap();
        let restored = leftover.restore(&root, &journal).unwrap();
        assert_eq!(restored.put_back.len(), 1, "{restored:?}");
        assert_eq!(root.text(LIST).as_deref(), Some("0-1"));
        // Before, it is someone else's.
        let journal = {
            drop(journal);
            killed(&root, &[moved(&root, false)])
        };
        let leftover = Leftover::find(&root).unwrap().unwrap();
        let restored = leftover.restore(&root, &journal).unwrap();
        assert_eq!(restored.left_alone.len(), 1, "{restored:?}");
        assert_eq!(root.text(LIST).as_deref(), Some("1"));
    }

    #[test]
    fn a_record_that_names_another_file_than_remedies_change_is_not_believed() {
        for path in [
            "/etc/passwd",
            "/sys/kernel/uevent_helper",
            "/proc/irq/36/../../sys/kernel/core_pattern",
            "/proc/irq/x/smp_affinity_list",
            "/proc/irq/36/smp_affinity_list/x",
            "proc/irq/36/smp_affinity_list",
            "",
        ] {
            let (_tree, root) = tree(&[]);
            let changes = [A, path].map(|p| Change::new(p, "old", "new"));
            let _journal = killed(&root, &changes);
            let error = Leftover::find(&root).unwrap_err().to_string();
            assert!(error.contains("which no remedy changes"), "{error}");
            assert!(!error.contains('\n'), "{error}");
        }
    }
}
