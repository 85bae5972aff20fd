//! Leading the kernel back to where it was within an old value.
//!
//! An interrupt that two CPUs may take arrives at one of them, and stays where it was
//! moved to when both are allowed again: x86 kernels see no point in moving it. Its old
//! value alone would undo the remedy in name only, for the trials that follow and for
//! good.

use std::time::{Duration, Instant};

use tompion_host::Root;
use tompion_time::os;

use crate::{Change, UndoStep, files};

/// The kernel moves an interrupt when it comes next; one that takes longer is rare, and
/// disturbs few trials wherever it arrives.
const PATIENCE: Duration = Duration::from_millis(30);
const LOOK_EVERY: Duration = Duration::from_millis(1);

/// Whether what is to be led back has come to the value of `back`.
fn has_arrived(back: &UndoStep, root: &Root) -> bool {
    files::read(root, &back.seen_in).is_ok_and(|now| files::same(&now, &back.value))
}

/// Whether `found` is what we wrote there.
pub fn is_ours(change: &Change, found: &str) -> bool {
    let led = change.back.as_ref().filter(|back| back.begun);
    files::same(found, &change.new) || led.is_some_and(|back| files::same(found, &back.value))
}

/// Marks those that have to be led back as begun; whether there are any.
pub fn begin(root: &Root, changes: &mut [Change]) -> bool {
    let mut any = false;
    for change in changes {
        let has_ours = files::read(root, &change.path).is_ok_and(|now| is_ours(change, &now));
        if let Some(back) = change.back.as_mut().filter(|back| !has_arrived(back, root)) {
            back.begun |= has_ours;
            any |= has_ours;
        }
    }
    any
}

/// Leads back what was begun, and waits a moment for it.
pub fn lead(root: &Root, changes: &[Change]) {
    let led: Vec<&UndoStep> = changes
        .iter()
        .filter_map(|change| {
            let back = change.back.as_ref().filter(|back| back.begun)?;
            let now = files::read(root, &change.path).ok()?;
            let written =
                is_ours(change, &now) && files::write(root, &change.path, &back.value).is_ok();
            written.then_some(back)
        })
        .collect();
    let end = Instant::now() + PATIENCE;
    while led.iter().any(|back| !has_arrived(back, root)) && Instant::now() < end {
        os::sleep(LOOK_EVERY);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    /// An interrupt at CPU 1 of 0-1 that has been moved to CPU 0.
    fn moved(list: &str) -> (tempfile::TempDir, Root, [Change; 1]) {
        let tree = tempfile::tempdir().unwrap();
        let root = Root::at(tree.path());
        fs::write(root.path("/list"), list).unwrap();
        // A kernel that does at once what it is told.
        std::os::unix::fs::symlink("list", root.path("/effective")).unwrap();
        let back = Some(UndoStep {
            value: "1".to_owned(),
            seen_in: "/effective".into(),
            begun: false,
        });
        let change = Change::new("/list", "0-1", "0");
        (tree, root, [Change { back, ..change }])
    }

    #[test]
    fn an_interrupt_is_led_to_its_cpu_before_all_are_allowed_again() {
        let (_tree, root, mut changes) = moved("0\n");
        assert!(begin(&root, &mut changes));
        assert!(changes[0].back.as_ref().is_some_and(|back| back.begun));
        lead(&root, &changes);
        assert_eq!(root.text("/list").as_deref(), Some("1"));
        assert!(is_ours(&changes[0], "1") && is_ours(&changes[0], "0"));
    }

    #[test]
    fn one_that_has_not_moved_or_is_someone_elses_is_not_led() {
        for list in ["1\n", "2\n"] {
            let (_tree, root, mut changes) = moved(list);
            assert!(!begin(&root, &mut changes));
            lead(&root, &changes);
            assert_eq!(root.text("/list").as_deref(), Some(list.trim()));
            assert!(!is_ours(&changes[0], list));
        }
    }
}
