//! Loads that cannot run here say why in one line.

use std::path::Path;
use std::time::Duration;

use libtest_mimic::Trial;
use tempfile::tempdir;
use tompion_load::LoadProcess;

use crate::support::*;

pub fn tests() -> Vec<Trial> {
    vec![
        test("idle_is_never_started", || {
            refused("idle", "absence of load")
        }),
        test("too_much_memory", || {
            refused("memory:threads=1:size=100000G", "leaves a fifth")
        }),
        test("a_peer_that_is_not_there", || {
            refused("network:peer=127.0.0.1:1", "far end")
        }),
        test("a_udp_peer_that_is_not_there", || {
            refused("udp:peer=127.0.0.1:1", "far end")
        }),
        test("nfs_on_another_file_system", || {
            refused("nfs:dir=/proc", "not on an NFS mount")
        }),
        test("a_cpu_that_is_not_there", || {
            refused(
                "memory:cpus=0,1023",
                "CPU 1023 does not exist; this machine has",
            );
            refused("disk-read:size=1M:irq=1023", "CPU 1023 does not exist");
        }),
        test("no_measured_cpu", || {
            refused("memory:cpus=others", "pin it to one");
            refused("disk-read:size=1M:irq=measured", "pin it to one");
        }),
        test("a_file_larger_than_the_budget", || {
            refused("disk-read:size=1G", "write budget")
        }),
        test("no_directory", no_directory),
        test("a_budget_too_small", a_budget_too_small),
        test(
            "a_driver_that_is_not_installed",
            a_driver_that_is_not_installed,
        ),
    ]
}

fn refused(spec: &str, why: &str) {
    let directory = tempdir().unwrap();
    let error = start_error(spec, directory.path());
    assert!(error.contains(why) && error.contains(spec), "{error}");
    assert!(own_descendants().is_empty());
}

fn no_directory() {
    for spec in ["io", "hd", "disk-read:size=16M", "file-server"] {
        let error = start_error(spec, Path::new("/nonexistent/directory"));
        assert!(
            error.contains("/nonexistent/directory is not an existing directory"),
            "{error}"
        );
    }
}

fn a_budget_too_small() {
    let directory = tempdir().unwrap();
    for spec in ["io", "hd"] {
        let mut config = config(directory.path());
        config.write_budget_bytes = 1_000_000;
        config.planned_load_time = Duration::from_secs(10);
        let error = LoadProcess::start(&spec.parse().unwrap(), &config)
            .err()
            .unwrap()
            .to_string();
        assert!(error.contains("1 MB of writing in 10.0 s is too little: 100 writes of 4K a second need a budget of 5.2 MB"), "{error}");
    }
    assert_empty(&directory);
}

fn a_driver_that_is_not_installed() {
    let directory = tempdir().unwrap();
    for (spec, program) in [("stress-ng:cpu=1", "stress-ng"), ("iperf3", "iperf3")] {
        let mut parent = parent(spec, directory.path(), "off");
        let output = parent.env("PATH", directory.path()).output().unwrap();
        let said = String::from_utf8(output.stdout).unwrap();
        let expected = format!("needs the program {program}, which is not installed");
        assert!(
            said.contains(&expected) && said.lines().count() == 1,
            "{said}"
        );
    }
}
