//! A load ends with its parent, however that ends.

use std::io::{BufRead, BufReader};

use libtest_mimic::Trial;
use tempfile::tempdir;

use crate::support::*;

pub fn tests() -> Vec<Trial> {
    vec![
        test("killed_beside_a_paused_cpu_load", || {
            leaves_nothing("cpu:threads=8", "off")
        }),
        test("killed_beside_a_running_cpu_load", || {
            leaves_nothing("cpu", "on")
        }),
        test("killed_beside_a_running_hd_load", || {
            leaves_nothing("hd", "on")
        }),
        test("killed_beside_a_running_io_load", || {
            leaves_nothing("io", "on")
        }),
        test("killed_beside_a_running_disk_read", || {
            leaves_nothing("disk-read:size=1M:irq=0", "on")
        }),
        test("killed_beside_a_running_file_server", || {
            leaves_nothing("file-server", "on")
        }),
        test("killed_beside_running_joined_loads", || {
            leaves_nothing("cpu:level=20+udp+download", "on")
        }),
        test("killed_beside_paused_joined_loads", || {
            leaves_nothing("io+memory:size=1M+network", "off")
        }),
        test("killed_beside_a_paused_network_load", || {
            leaves_nothing("network", "off")
        }),
        test("killed_beside_a_paused_stress_ng", || {
            driver_leaves_nothing("off")
        }),
        test("killed_beside_a_running_stress_ng", || {
            driver_leaves_nothing("on")
        }),
        test("killed_beside_a_running_iperf3", || {
            if installed("iperf3") {
                leaves_nothing("iperf3", "on");
            }
        }),
    ]
}

fn driver_leaves_nothing(switch: &str) {
    if installed("stress-ng") {
        leaves_nothing("stress-ng:cpu=2:vm=1:vm-bytes=32M", switch);
    }
}

fn leaves_nothing(spec: &str, switch: &str) {
    let directory = tempdir().unwrap();
    let mut parent = parent(spec, directory.path(), switch).spawn().unwrap();
    let mut answer = String::new();
    let mut output = BufReader::new(parent.stdout.take().unwrap());
    output.read_line(&mut answer).unwrap();
    assert_eq!(answer, "ready\n");
    let below = descendants(parent.id());
    assert!(!below.is_empty());
    let stopped = below.iter().filter(|stat| stat.state == 'T').count();
    assert_eq!(
        stopped > 0,
        switch == "off",
        "{stopped} of {} stopped",
        below.len()
    );
    parent.kill().unwrap();
    parent.wait().unwrap();
    until("all processes are gone", || !below.iter().any(runs));
    // A file that was between open and unlink is empty, and the only one.
    let left: Vec<_> = std::fs::read_dir(directory.path())
        .unwrap()
        .flatten()
        .collect();
    let empty = left
        .iter()
        .all(|entry| entry.metadata().is_ok_and(|m| m.is_file() && m.len() == 0));
    assert!(left.len() <= 1 && empty, "left behind: {left:?}");
}
