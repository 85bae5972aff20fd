//! Built-in loads: work when on, stand still when off, keep their budget.

use std::fs;
use std::net::TcpListener;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use libtest_mimic::Trial;
use nix::sys::signal::Signal;
use tempfile::tempdir;
use tompion_load::{LoadError, LoadProcess, serve_peer};

use crate::support::*;

pub fn tests() -> Vec<Trial> {
    vec![
        test("cpu", || switches_on_and_off("cpu")),
        test("cpu_of_three_threads", || {
            switches_on_and_off("cpu:threads=3")
        }),
        test("io", || switches_on_and_off("io")),
        test("hd", || switches_on_and_off("hd")),
        test("memory", || switches_on_and_off("memory")),
        test("memory_of_a_size", || {
            switches_on_and_off("memory:threads=3:size=1M")
        }),
        test("memory_bus", || switches_on_and_off("memory-bus")),
        test("network", || switches_on_and_off("network")),
        test("download", || switches_on_and_off("download")),
        test("udp", || switches_on_and_off("udp")),
        test("disk_read", || switches_on_and_off("disk-read:size=1M")),
        test("file_server", || switches_on_and_off("file-server")),
        test("cpu_of_a_level", || switches_on_and_off("cpu:level=30")),
        test("network_with_a_peer", network_with_a_peer),
        test("cpu_has_its_threads", cpu_has_its_threads),
        test("a_load_that_dies_says_so", a_load_that_dies_says_so),
        test("the_write_budget_of_io_is_kept", || {
            write_budget_is_kept("io")
        }),
        test("the_write_budget_of_hd_is_kept", || {
            write_budget_is_kept("hd")
        }),
        test("joined_loads_share_the_write_budget", || {
            let error = start_error_with_budget("io+hd", 1_000_000, Duration::from_secs(1));
            assert!(error.contains("need a budget of 0.6 MB"), "{error}");
        }),
        test("switching_twice_is_harmless", switching_twice_is_harmless),
    ]
}

fn switches_on_and_off(spec: &str) {
    let directory = tempdir().unwrap();
    let mut load = start(spec, directory.path()).unwrap();
    assert_eq!(
        load.observe().unwrap().operations,
        Some(0),
        "nothing before resume"
    );
    assert_still(&mut load);
    for _ in 0..3 {
        let before = load.observe().unwrap();
        load.resume().unwrap();
        await_work(&mut load, &before);
        let evidence = load.evidence(&before).unwrap();
        assert!(evidence.operations.unwrap() > 0);
        assert!(evidence.cpu_time_ns > 0);
        assert!(evidence.observed_ns > 0);
        assert!(evidence.context_switches_per_second > 0.0);
        assert_eq!(evidence.driver, "built-in");
        assert!(!evidence.operation.unwrap().is_empty());
        assert!(evidence.load.starts_with(spec), "{}", evidence.load);
        load.pause().unwrap();
        assert_still(&mut load);
    }
    load.stop().unwrap();
    assert!(own_descendants().is_empty());
    assert_empty(&directory);
}

fn network_with_a_peer() {
    let free = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = free.local_addr().unwrap();
    drop(free);
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        let peer = scope.spawn(|| serve_peer(&open_peer(address, None), &stop, || ()));
        let directory = tempdir().unwrap();
        let spec = format!("network:peer={address}");
        let mut load: Option<LoadProcess> = None;
        until("the peer listens", || {
            load = start(&spec, directory.path()).ok();
            load.is_some()
        });
        let mut load = load.unwrap();
        assert_still(&mut load);
        let before = load.observe().unwrap();
        load.resume().unwrap();
        until("more than the socket buffers hold has moved", || {
            // 64 KiB each: half a gigabyte.
            load.observe().unwrap().operations.unwrap() > 8192
        });
        assert_eq!(load.evidence(&before).unwrap().load, spec);
        load.pause().unwrap();
        load.resume().unwrap();
        stop.store(true, Ordering::Relaxed);
        peer.join().unwrap().unwrap();
        let mut error = None;
        until("the load notices that its peer is gone", || {
            error = load.observe().err();
            error.is_some()
        });
        let error = error.unwrap();
        assert!(matches!(error, LoadError::Died { .. }), "{error}");
        assert!(error.to_string().contains("TCP"), "{error}");
    });
}

fn cpu_has_its_threads() {
    let directory = tempdir().unwrap();
    for (spec, threads) in [("cpu", 100), ("cpu:threads=3", 3)] {
        let load = start(spec, directory.path()).unwrap();
        let [worker] = &own_descendants()[..] else {
            panic!("one child");
        };
        assert_eq!(worker.num_threads, threads + 1, "and the one that waits");
        assert_eq!(worker.state, 'T');
        assert_eq!(worker.policy, Some(0), "SCHED_OTHER");
        assert!(worker.nice >= 0);
        drop(load);
        assert!(own_descendants().is_empty());
    }
}

fn a_load_that_dies_says_so() {
    let directory = tempdir().unwrap();
    let mut load = start("cpu:threads=1", directory.path()).unwrap();
    load.resume().unwrap();
    let before = load.observe().unwrap();
    send(own_descendants()[0].pid, Signal::SIGTERM);
    until("the load is dead", || load.observe().is_err());
    for error in [
        load.evidence(&before).unwrap_err(),
        load.pause().unwrap_err(),
        load.resume().unwrap_err(),
    ] {
        assert!(matches!(error, LoadError::Died { .. }), "{error}");
    }
    load.stop().unwrap();
}

/// Runs a load far beyond its planned time.
fn write_budget_is_kept(spec: &str) {
    let directory = tempdir().unwrap();
    let mut config = config(directory.path());
    config.write_budget_bytes = 1_000_000;
    config.planned_load_time = Duration::from_millis(500);
    let mut load = LoadProcess::start(&spec.parse().unwrap(), &config).unwrap();
    let worker = own_descendants()[0].pid;
    // Bytes passed to write calls, by the kernel's count.
    let written = || -> Option<u64> {
        let text = fs::read_to_string(format!("/proc/{worker}/io")).ok()?;
        text.lines()
            .find_map(|l| l.strip_prefix("wchar: ")?.parse().ok())
    };
    let before = written().unwrap();
    let start = Instant::now();
    load.resume().unwrap();
    let mut most = 0;
    let mut error = None;
    until("the budget is used up", || {
        most = written().map_or(most, |now| most.max(now - before));
        error = load.observe().err();
        error.is_some()
    });
    let error = error.unwrap().to_string();
    assert!(
        error.contains("write budget of 1000000 bytes is used up"),
        "{error}"
    );
    assert!(
        start.elapsed() >= config.planned_load_time,
        "it lasts as planned"
    );
    // The counter is read every few milliseconds, so the end is missing; the
    // last words (some hundred bytes) may be in it.
    assert!(most > 500_000, "{most} bytes");
    assert!(most < 1_000_000 + 1000, "{most} bytes");
    load.stop().unwrap();
    assert_empty(&directory);
}

fn start_error_with_budget(spec: &str, bytes: u64, time: Duration) -> String {
    let directory = tempdir().unwrap();
    let mut config = config(directory.path());
    config.write_budget_bytes = bytes;
    config.planned_load_time = time;
    let result = LoadProcess::start(&spec.parse().unwrap(), &config);
    result.err().expect("should not start").to_string()
}

fn switching_twice_is_harmless() {
    let directory = tempdir().unwrap();
    let mut load = start("cpu:threads=2", directory.path()).unwrap();
    load.pause().unwrap();
    load.resume().unwrap();
    load.resume().unwrap();
    // Random orders switch often; a switch must not cost a trial's time.
    let start = Instant::now();
    for _ in 0..50 {
        load.pause().unwrap();
        load.resume().unwrap();
    }
    let each = start.elapsed() / 50;
    println!("off and on again takes {each:?}");
    load.pause().unwrap();
    assert_still(&mut load);
}
