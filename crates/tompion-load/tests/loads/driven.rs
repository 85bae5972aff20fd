//! Loads that another program drives, where it is installed.

use libtest_mimic::Trial;
use nix::sys::signal::Signal;
use tempfile::tempdir;
use tompion_load::LoadError;

use crate::support::*;

pub fn tests() -> Vec<Trial> {
    vec![
        test("stress_ng", || {
            switches_on_and_off("stress-ng:cpu=2:vm=1:vm-bytes=32M", "stress-ng", 4);
        }),
        test("iperf3", || switches_on_and_off("iperf3", "iperf3", 2)),
        test("stress_ng_refuses_an_option", stress_ng_refuses_an_option),
        test("iperf3_without_a_server", iperf3_without_a_server),
        test("a_driver_that_dies_says_so", a_driver_that_dies_says_so),
        test(
            "a_killed_supervisor_takes_its_driver_along",
            a_killed_supervisor,
        ),
    ]
}

/// Processes of the driver: descendants without the supervisor.
fn driven() -> Vec<procfs::process::Stat> {
    let mut all = own_descendants();
    all.retain(|stat| stat.ppid != std::process::id() as i32);
    all
}

fn switches_on_and_off(spec: &str, program: &str, processes: usize) {
    if !installed(program) {
        return;
    }
    let directory = tempdir().unwrap();
    let mut load = start(spec, directory.path()).unwrap();
    assert!(driven().len() >= processes, "{} processes", driven().len());
    assert!(driven().iter().all(|stat| stat.state == 'T'));
    assert_still(&mut load);
    for _ in 0..3 {
        let before = load.observe().unwrap();
        load.resume().unwrap();
        await_work(&mut load, &before);
        let evidence = load.evidence(&before).unwrap();
        assert!(evidence.cpu_time_ns > 0);
        assert_eq!((evidence.operations, evidence.operation), (None, None));
        let version = evidence.driver.strip_prefix(program).unwrap();
        assert!(
            version.starts_with(" ") && version.contains('.'),
            "{version}"
        );
        assert_eq!(evidence.load, spec);
        load.pause().unwrap();
        assert_still(&mut load);
    }
    load.stop().unwrap();
    assert!(own_descendants().is_empty());
    assert_empty(&directory);
}

fn stress_ng_refuses_an_option() {
    if !installed("stress-ng") {
        return;
    }
    let directory = tempdir().unwrap();
    let error = start_error("stress-ng:no-such-stressor=1", directory.path());
    assert!(error.contains("no-such-stressor"), "{error}");
    assert!(own_descendants().is_empty());
    assert_empty(&directory);
}

fn iperf3_without_a_server() {
    if !installed("iperf3") {
        return;
    }
    let directory = tempdir().unwrap();
    let error = start_error("iperf3:peer=127.0.0.1:1", directory.path());
    assert!(error.contains("unable to connect"), "{error}");
    assert_empty(&directory);
}

fn a_driver_that_dies_says_so() {
    if !installed("iperf3") {
        return;
    }
    let directory = tempdir().unwrap();
    let mut load = start("iperf3", directory.path()).unwrap();
    load.resume().unwrap();
    let before = load.observe().unwrap();
    send(driven()[0].pid, Signal::SIGKILL);
    let mut error = None;
    until("the load is dead", || {
        error = load.evidence(&before).err();
        matches!(error, Some(LoadError::Died { .. }))
    });
    let error = error.unwrap().to_string();
    assert!(error.contains("iperf3 ended with"), "{error}");
    load.stop().unwrap();
    assert!(own_descendants().is_empty());
    assert_empty(&directory);
}

fn a_killed_supervisor() {
    if !installed("iperf3") {
        return;
    }
    let directory = tempdir().unwrap();
    // A running one: a stopped group that loses its parent is sent SIGHUP anyway.
    let mut load = start("iperf3", directory.path()).unwrap();
    load.resume().unwrap();
    let driver = driven();
    send(driver[0].ppid, Signal::SIGKILL);
    until("the driver is gone", || !driver.iter().any(runs));
    drop(load);
}
