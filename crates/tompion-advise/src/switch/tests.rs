use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};

use super::*;
use crate::Leftover;

fn tree(values: &[(&str, &str)]) -> (tempfile::TempDir, Root) {
    let tree = tempfile::tempdir().unwrap();
    let root = Root::at(tree.path());
    for (path, value) in values {
        let path = root.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, value).unwrap();
    }
    (tree, root)
}

fn changing(paths: &[&str]) -> Ready {
    let change = |path: &&str| Change::new(*path, "old", "new");
    Ready {
        files: paths.iter().map(change).collect(),
        ..Ready::default()
    }
}

fn value(root: &Root, path: &str) -> String {
    root.text(path).unwrap_or_default()
}

#[test]
fn the_journal_is_written_before_and_empty_after() {
    const A: &str = "/proc/irq/1/smp_affinity_list";
    const B: &str = "/proc/irq/2/smp_affinity_list";
    let (_tree, root) = tree(&[(A, "old\n"), (B, "old\n")]);
    let journal = Journal::open(&root).unwrap();
    let mut switch = Switch::new(&root, Some(&journal));
    switch.on("knob", &changing(&[A, B])).unwrap();
    assert_eq!(
        (value(&root, A), value(&root, B)),
        ("new".into(), "new".into())
    );
    assert_eq!(Leftover::find(&root).unwrap().unwrap().changes(), 2);
    assert_eq!(switch.off().unwrap(), []);
    assert_eq!(
        (value(&root, A), value(&root, B)),
        ("old".into(), "old".into())
    );
    assert!(Leftover::find(&root).unwrap().is_none());
}

#[test]
fn a_panic_puts_everything_back() {
    let (_tree, root) = tree(&[("/a", "old\n"), ("/cgroup/free", ""), ("/cgroup/own", "")]);
    let journal = Journal::open(&root).unwrap();
    let mut ready = changing(&["/a"]);
    ready.joined = Some(("/cgroup/free".into(), "/cgroup/own".into()));
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        let mut switch = Switch::new(&root, Some(&journal));
        switch.on("knob", &ready).unwrap();
        assert_eq!(value(&root, "/cgroup/free"), own_pid());
        assert_eq!(value(&root, "/cgroup/own"), "");
        panic!("planted");
    }));
    assert!(panicked.is_err());
    assert_eq!(value(&root, "/a"), "old");
    assert_eq!(value(&root, "/cgroup/own"), own_pid());
    assert!(Leftover::find(&root).unwrap().is_none());
}

#[test]
fn a_value_changed_meanwhile_is_left_alone_and_named() {
    let (_tree, root) = tree(&[("/a", "old\n"), ("/b", "old\n")]);
    let journal = Journal::open(&root).unwrap();
    let mut switch = Switch::new(&root, Some(&journal));
    switch.on("knob", &changing(&["/a", "/b"])).unwrap();
    fs::write(root.path("/a"), "theirs\n").unwrap();
    let left = switch.off().unwrap();
    assert_eq!(left.len(), 1);
    assert!(
        left[0]
            .to_string()
            .starts_with("/a: someone else has set it to `theirs`")
    );
    assert_eq!(
        (value(&root, "/a"), value(&root, "/b")),
        ("theirs".into(), "old".into())
    );
    // And it is not tried again on top of that.
    let refused = switch.on("knob", &changing(&["/b", "/a"])).unwrap_err();
    assert!(matches!(refused, Refusal::Interfered(_)), "{refused:?}");
    assert_eq!(value(&root, "/b"), "old");
}

#[test]
fn without_a_journal_nothing_is_changed() {
    let (_tree, root) = tree(&[("/a", "old\n")]);
    let mut switch = Switch::new(&root, None);
    let refused = switch.on("knob", &changing(&["/a"])).unwrap_err();
    assert!(
        matches!(&refused, Refusal::NotAllowed(why) if why.contains("root")),
        "{refused:?}"
    );
    assert_eq!(value(&root, "/a"), "old");
}

#[test]
fn a_device_is_held_until_switched_off() {
    let (_tree, root) = tree(&[("/dev/latency", "")]);
    let ready = Ready {
        held: Some(("/dev/latency".into(), vec![1, 2, 3, 4])),
        ..Ready::default()
    };
    let mut switch = Switch::new(&root, None);
    switch.on("knob", &ready).unwrap();
    assert!(switch.held.is_some());
    assert_eq!(root.bytes("/dev/latency").unwrap(), [1, 2, 3, 4]);
    switch.off().unwrap();
    assert!(switch.held.is_none());
}

#[test]
fn a_value_that_the_kernel_does_not_take_is_a_refusal() {
    // A file without a value of its own stands for one that ignores what is written.
    let (_tree, root) = tree(&[("/zero", "")]);
    std::os::unix::fs::symlink("/dev/null", root.path("/null")).unwrap();
    let journal = Journal::open(&root).unwrap();
    let mut ready = changing(&["/null"]);
    ready.files[0].old.clear();
    let mut switch = Switch::new(&root, Some(&journal));
    let refused = switch.on("knob", &ready).unwrap_err();
    assert!(
        matches!(&refused, Refusal::NotAllowed(why) if why.contains("did not take `new`")),
        "{refused:?}"
    );
    assert!(Leftover::find(&root).unwrap().is_none());
}

#[test]
fn a_value_that_someone_sets_back_in_the_middle_is_named() {
    let (_tree, root) = tree(&[("/a", "old\n"), ("/b", "old\n")]);
    let journal = Journal::open(&root).unwrap();
    let mut switch = Switch::new(&root, Some(&journal));
    switch.on("knob", &changing(&["/a", "/b"])).unwrap();
    fs::write(root.path("/a"), "old\n").unwrap();
    let left = switch.off().unwrap();
    assert_eq!(left.len(), 1, "{left:?}");
    assert!(left[0].to_string().contains("set it back to `old`"));
    assert!(Leftover::find(&root).unwrap().is_none());
}

#[test]
fn an_interrupt_that_does_not_come_back_in_time_is_allowed_where_it_was_all_the_same() {
    let (_tree, root) = tree(&[("/list", "0-1\n"), ("/effective", "1\n")]);
    let journal = Journal::open(&root).unwrap();
    let mut ready = changing(&[]);
    ready.files = vec![Change {
        back: Some(crate::UndoStep {
            value: "1".to_owned(),
            seen_in: "/effective".into(),
            begun: false,
        }),
        ..Change::new("/list", "0-1", "0")
    }];
    let mut switch = Switch::new(&root, Some(&journal));
    switch.on("knob", &ready).unwrap();
    fs::write(root.path("/effective"), "0\n").unwrap();
    assert_eq!(switch.off().unwrap(), []);
    assert_eq!(value(&root, "/list"), "0-1");
    assert!(Leftover::find(&root).unwrap().is_none());
}

#[test]
fn what_takes_its_value_in_part_says_which_part_does_not() {
    let (_tree, root) = tree(&[("/a", "old\n")]);
    std::os::unix::fs::symlink("/dev/null", root.path("/null")).unwrap();
    let journal = Journal::open(&root).unwrap();
    let mut ready = changing(&["/a", "/null"]);
    ready.files[1].old.clear();
    let mut switch = Switch::new(&root, Some(&journal));
    let left_out = switch.on("knob", &ready).unwrap();
    assert_eq!(left_out.len(), 1, "{left_out:?}");
    assert!(left_out[0].starts_with("/null: "), "{left_out:?}");
    assert_eq!(value(&root, "/a"), "new");
    assert_eq!(switch.off().unwrap(), []);
}
