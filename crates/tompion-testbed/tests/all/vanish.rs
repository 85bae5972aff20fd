//! What is left of a testbed whose process is killed: nothing.

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tompion_time::os;

use crate::commands::processes;
use crate::common::{alone, can_be_made};

/// The example that holds a testbed.
fn example() -> PathBuf {
    let own = std::env::current_exe().unwrap();
    let target = own.parent().and_then(Path::parent).unwrap();
    target.join("examples/testbed")
}

/// Devices and named namespaces of this machine.
fn outside() -> (BTreeSet<String>, BTreeSet<String>) {
    let devices = fs::read_to_string("/proc/net/dev").unwrap();
    let devices = devices.lines().filter_map(|l| l.split_once(':'));
    let named = fs::read_dir("/run/netns").into_iter().flatten().flatten();
    (
        devices.map(|(name, _)| name.trim().to_owned()).collect(),
        named
            .map(|n| n.file_name().to_string_lossy().into())
            .collect(),
    )
}

/// Processes that are in this network namespace, or hold it.
fn holders(namespace: &Path) -> Vec<PathBuf> {
    let threads = fs::read_dir("/proc")
        .unwrap()
        .flatten()
        .flat_map(|process| {
            let path = process.path();
            let fds = fs::read_dir(path.join("fd"))
                .into_iter()
                .flatten()
                .flatten();
            let fds = fds.map(|fd| fd.path());
            std::iter::once(path.join("ns/net"))
                .chain(fds)
                .collect::<Vec<_>>()
        });
    let holds = |path: &PathBuf| fs::read_link(path).is_ok_and(|to| to == namespace);
    threads.filter(holds).collect()
}

fn killed(arguments: &[&str]) {
    // On a busy machine the path may not be as planned, and then nothing begins on it.
    let is_killed = (0..3).any(|_| is_killed(arguments));
    assert!(is_killed, "the testbed ended by itself three times");
}

/// Whether it was there to be killed.
fn is_killed(arguments: &[&str]) -> bool {
    let mut child: Child = Command::new(example())
        .args(arguments)
        .args(["--", "sh", "-c", "setsid sleep 987005 & exec sleep 987005"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap())
        .read_line(&mut line)
        .unwrap();
    let places: Vec<PathBuf> = line
        .split_whitespace()
        .map(|path| fs::read_link(path).unwrap())
        .collect();
    let begun = Instant::now();
    // The example, its guardian, and both sleeps. Whoever just begins a program has no words for a moment.
    while processes("987005").len() != 4 {
        if let Some(status) = child.try_wait().unwrap() {
            eprintln!("it ended by itself: {status}");
            return false;
        }
        assert!(
            begun.elapsed() < Duration::from_secs(10),
            "{:?}",
            processes("987005")
        );
        os::sleep(Duration::from_millis(20));
    }
    assert_eq!(places.len(), 2);
    assert!(places.iter().all(|place| !holders(place).is_empty()));

    child.kill().unwrap();
    child.wait().unwrap();
    let gone = || {
        let mut places = places.iter();
        processes("987005").is_empty() && places.all(|place| holders(place).is_empty())
    };
    let begun = Instant::now();
    while !gone() {
        assert!(
            begun.elapsed() < Duration::from_secs(10),
            "{:?}",
            processes("987005")
        );
        os::sleep(Duration::from_millis(20));
    }
    true
}

#[test]
fn nothing_is_left_of_a_testbed_that_is_killed() {
    let _alone = alone();
    if !can_be_made() {
        return;
    }
    let before = outside();
    killed(&["2", "0"]);
    killed(&["2", "300", "--kernel"]);
    assert_eq!(outside(), before);
}
