//! Putting values back: after a trial, and after a run that was killed.

use std::path::PathBuf;

use tompion_platform::Root;

use crate::journal::{self, Journal, JournalError, Record};
use crate::switch::LeftAlone;
use crate::{Change, files};

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
        Ok(journal::read(root)?.map(|record| Self {
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
        let restored = put_back(root, &self.record.changes);
        if restored.failed.is_empty() {
            journal.clear()?;
        }
        Ok(restored)
    }
}

/// What came of putting values back.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Restored {
    /// Files that have their old value again, and that value.
    pub put_back: Vec<(PathBuf, String)>,
    /// Files that had not been changed yet.
    pub unchanged: Vec<PathBuf>,
    /// Files that someone else has changed since.
    pub left_alone: Vec<LeftAlone>,
    /// Files that took no value, and why.
    pub failed: Vec<String>,
}

/// Puts back what still has the value that it was given, the last first.
pub(crate) fn put_back(root: &Root, changes: &[Change]) -> Restored {
    let mut restored = Restored::default();
    for change in changes.iter().rev() {
        let found = match files::read(root, &change.path) {
            Ok(found) => found,
            Err(e) => {
                restored.failed.push(files::why(&change.path, &e));
                continue;
            }
        };
        if files::same(&found, &change.old) {
            restored.unchanged.push(change.path.clone());
        } else if files::same(&found, &change.new) {
            match files::write(root, &change.path, &change.old) {
                Ok(()) => {
                    let old = (change.path.clone(), change.old.clone());
                    restored.put_back.push(old);
                }
                Err(e) => restored.failed.push(files::why(&change.path, &e)),
            }
        } else {
            restored.left_alone.push(LeftAlone {
                path: change.path.clone(),
                found,
                old: change.old.clone(),
            });
        }
    }
    restored
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

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

    fn change(path: &str, old: &str, new: &str) -> Change {
        let [path, old, new] = [path, old, new].map(str::to_owned);
        let path = path.into();
        Change { path, old, new }
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
        let (_tree, root) = tree(&[("/a", "new\n"), ("/b", "other\n"), ("/c", "old\n")]);
        let changes = ["/a", "/b", "/c"].map(|p| change(p, "old", "new"));
        let journal = killed(&root, &changes);
        let leftover = Leftover::find(&root).unwrap().unwrap();
        assert!(!leftover.of_another_boot);
        assert_eq!((leftover.knob(), leftover.changes()), ("knob", 3));
        let restored = leftover.restore(&root, &journal).unwrap();
        assert_eq!(restored.put_back, [("/a".into(), "old".to_owned())]);
        assert_eq!(restored.unchanged, [PathBuf::from("/c")]);
        let told = restored.left_alone[0].to_string();
        assert!(
            told.contains("/b") && told.contains("`other`") && told.contains("`old`"),
            "{told}"
        );
        assert_eq!(root.text("/a").as_deref(), Some("old"));
        assert_eq!(root.text("/b").as_deref(), Some("other"));
        assert!(Leftover::find(&root).unwrap().is_none());
    }

    #[test]
    fn a_record_of_another_boot_is_known_as_such_and_discarded() {
        let (_tree, root) = tree(&[("/a", "new\n")]);
        let journal = killed(&root, &[change("/a", "old", "new")]);
        fs::write(root.path(BOOT), "boot-2\n").unwrap();
        let leftover = Leftover::find(&root).unwrap().unwrap();
        assert!(leftover.of_another_boot);
        leftover.discard(&journal).unwrap();
        assert_eq!(root.text("/a").as_deref(), Some("new"), "untouched");
        assert!(Leftover::find(&root).unwrap().is_none());
    }

    #[test]
    fn the_record_stays_while_a_value_is_not_back() {
        let (_tree, root) = tree(&[("/a", "new\n")]);
        let changes = [change("/a", "old", "new"), change("/gone", "old", "new")];
        let journal = killed(&root, &changes);
        let leftover = Leftover::find(&root).unwrap().unwrap();
        let restored = leftover.restore(&root, &journal).unwrap();
        assert_eq!(restored.failed.len(), 1, "{restored:?}");
        assert_eq!(root.text("/a").as_deref(), Some("old"), "the rest is back");
        assert!(Leftover::find(&root).unwrap().is_some());
    }
}
