//! The record of old values that `tompion advise` keeps, and values put back by it.

use std::fs;
use std::path::Path;

use tompion_advise::{Journal, Leftover};
use tompion_host::Root;

use crate::{Target, one_line, scratch};

pub static ENTRY: Target = Target {
    name: "journal-advise",
    about: "the record by which `advise --restore` puts values back",
    parser: &[
        "tompion-advise/src/journal.rs",
        "tompion-advise/src/recovery.rs",
        "tompion-advise/src/undo_step.rs",
        "tompion-advise/src/files.rs",
    ],
    most_bytes: 2048,
    run,
};

/// Files that remedies change, and some that they do not.
const KNOBS: [&str; 3] = [
    "proc/irq/1/smp_affinity_list",
    "proc/irq/36/smp_affinity_list",
    "sys/devices/system/cpu/cpufreq/policy0/scaling_governor",
];
const OTHERS: [&str; 4] = [
    "etc/passwd",
    "proc/sys/kernel/core_pattern",
    "sys/kernel/uevent_helper",
    "proc/sys/kernel/random/boot_id",
];

fn run(bytes: &[u8]) {
    let place = scratch::directory();
    let top = place.path().join("root");
    for name in KNOBS.iter().chain(&OTHERS) {
        put(&top.join(name), b"new\n");
    }
    // One that cannot be read as a file.
    fs::create_dir_all(top.join("proc/irq/7/smp_affinity_list")).expect("a directory");
    let root = Root::at(&top);
    let journal = Journal::open(&root)
        .map_err(|e| e.to_string())
        .expect("a journal");
    put(&top.join("run/tompion/advise.json"), bytes);
    match Leftover::find(&root) {
        Err(error) => one_line(&error.to_string()),
        Ok(None) => panic!("a record that is there is not found"),
        Ok(Some(leftover)) => match leftover.restore(&root, &journal) {
            Err(error) => one_line(&error.to_string()),
            Ok(restored) => restored.failed.iter().for_each(|why| one_line(why)),
        },
    }
    for name in OTHERS {
        let found = fs::read(top.join(name)).expect("a file");
        assert_eq!(found, b"new\n", "{name} was written to");
    }
    let beside = fs::read_dir(place.path()).expect("a directory").count();
    assert_eq!(beside, 1, "something lies outside");
}

fn put(path: &Path, content: &[u8]) {
    fs::create_dir_all(path.parent().expect("below something")).expect("a directory");
    fs::write(path, content).expect("a file");
}
