//! Loads do what their names say, by the count of somebody else.

use std::fs;
use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use libtest_mimic::Trial;
use nix::sys::statfs::{TMPFS_MAGIC, statfs};
use procfs::process::Process;
use tempfile::tempdir;
use tompion_load::{LoadProcess, serve_peer};
use tompion_model::LoadEvidence;

use crate::support::*;

pub fn tests() -> Vec<Trial> {
    vec![
        test("a_quarter_of_a_cpu", || {
            level_is_kept("cpu:threads=1:level=25", 0.25);
        }),
        test("a_fifth_in_short_periods", || {
            level_is_kept("cpu:threads=1:level=20:period=1ms", 0.20);
        }),
        test("a_tenth_of_each_cpu", || {
            let cpus = thread::available_parallelism().unwrap().get();
            level_is_kept("cpu:level=10", 0.10 * cpus as f64);
        }),
        test("threads_run_on_their_cpus", threads_run_on_their_cpus),
        test("other_cpus_than_the_measured_one", other_cpus),
        test("disk_read_reads_the_device", disk_read_reads_the_device),
        test("disk_read_from_memory_says_so", disk_read_from_memory),
        test("file_server_writes", file_server_writes),
        test("file_server_of_a_peer", file_server_of_a_peer),
        test("udp_keeps_its_rate", || udp_keeps_its_rate("udp:rate=10M")),
        test("udp_of_even_gaps_keeps_its_rate", || {
            udp_keeps_its_rate("udp:rate=10M:gaps=even");
        }),
        test("udp_to_a_peer_keeps_its_rate", || {
            with_peer(None, |address| {
                udp_keeps_its_rate(&format!("udp:peer={address}:rate=10M"));
            });
        }),
        test("a_download_of_a_peer_arrives", download_of_a_peer),
        test("joined_loads_all_run", joined_loads_all_run),
    ]
}

/// What a load did in some seconds.
fn over(load: &mut LoadProcess, seconds: f64) -> LoadEvidence {
    load.resume().unwrap();
    // What happens at first only is left out.
    thread::sleep(Duration::from_millis(200));
    let before = load.observe().unwrap();
    thread::sleep(Duration::from_secs_f64(seconds));
    let evidence = load.evidence(&before).unwrap();
    load.pause().unwrap();
    evidence
}

/// Measures until one of a few measurements is as expected; others want the
/// machine too.
fn measured_once(load: &mut LoadProcess, as_expected: impl Fn(&LoadEvidence) -> bool) {
    let mut seen = Vec::new();
    for _ in 0..5 {
        let evidence = over(load, 1.5);
        if as_expected(&evidence) {
            return;
        }
        println!("not as expected: {evidence:?}");
        seen.push(evidence);
    }
    panic!("{seen:#?}");
}

fn level_is_kept(spec: &str, cpus: f64) {
    let directory = tempdir().unwrap();
    let mut load = start(spec, directory.path()).unwrap();
    // Five points of a CPU; a tenth where there are more of them.
    let tolerance = if cpus < 0.5 { 0.05 } else { cpus / 10.0 };
    let as_expected = |evidence: &LoadEvidence| {
        let busy = evidence.cpu_time_ns as f64 / evidence.observed_ns as f64;
        println!("{spec}: {busy:.4} CPUs");
        (busy - cpus).abs() < tolerance
    };
    measured_once(&mut load, as_expected);
    // A pause is not made up for.
    thread::sleep(Duration::from_millis(500));
    measured_once(&mut load, as_expected);
}

/// The CPUs that each thread of the one worker may use, without the first thread.
fn allowed_cpus() -> Vec<String> {
    let process = Process::new(own_descendants()[0].pid).unwrap();
    let tasks = process.tasks().unwrap().flatten();
    tasks
        .filter(|task| task.tid != task.pid)
        .map(|task| {
            let status = fs::read_to_string(format!("/proc/{}/task/{}/status", task.pid, task.tid));
            let status = status.unwrap();
            let line = status
                .lines()
                .find_map(|l| l.strip_prefix("Cpus_allowed_list:"));
            line.unwrap().trim().to_owned()
        })
        .collect()
}

fn threads_run_on_their_cpus() {
    let directory = tempdir().unwrap();
    for (spec, expected) in [
        ("cpu:threads=3:cpus=0", vec!["0", "0", "0"]),
        ("memory:size=64K:cpus=0", vec!["0"]),
        ("network:cpus=0", vec!["0"; 4]),
        ("disk-read:size=1M:cpus=0", vec!["0"]),
    ] {
        let mut load = start(spec, directory.path()).unwrap();
        let evidence = over(&mut load, 0.3);
        assert_eq!(allowed_cpus(), expected, "{spec}");
        assert!(
            evidence.cpu_time_ns as f64 <= 1.1 * evidence.observed_ns as f64,
            "one CPU"
        );
    }
    if thread::available_parallelism().unwrap().get() < 2 {
        println!("skipped: there is no second CPU");
        return;
    }
    let mut load = start("cpu:threads=3:cpus=0-1", directory.path()).unwrap();
    over(&mut load, 0.3);
    assert_eq!(allowed_cpus(), ["0", "1", "0"]);
    drop(load);
    let mut load = start("cpu:threads=1:cpus=0-1", directory.path()).unwrap();
    over(&mut load, 0.3);
    assert_eq!(allowed_cpus(), ["0-1"], "fewer threads than CPUs");
}

fn other_cpus() {
    if thread::available_parallelism().unwrap().get() < 2 {
        println!("skipped: there is no second CPU");
        return;
    }
    let directory = tempdir().unwrap();
    let mut config = config(directory.path());
    config.measured_cpu = Some(1);
    for (spec, expected) in [
        ("cpu:threads=1:cpus=measured", "1"),
        ("memory:size=64K:cpus=others", "0"),
    ] {
        let mut load = LoadProcess::start(&spec.parse().unwrap(), &config).unwrap();
        over(&mut load, 0.2);
        assert_eq!(allowed_cpus()[0], expected, "{spec}");
    }
}

/// A line of the worker's `/proc/PID/io`, by the kernel's count.
fn kernel_count(name: &str) -> Option<u64> {
    let worker = own_descendants()[0].pid;
    let text = fs::read_to_string(format!("/proc/{worker}/io")).ok()?;
    text.lines()
        .find_map(|line| line.strip_prefix(name)?.strip_prefix(": ")?.parse().ok())
}

fn is_on_disk(directory: &Path) -> bool {
    let on_disk = statfs(directory).unwrap().filesystem_type() != TMPFS_MAGIC;
    if !on_disk {
        println!("skipped: {} is in memory", directory.display());
    }
    on_disk
}

fn disk_read_reads_the_device() {
    let directory = tempdir().unwrap();
    if !is_on_disk(directory.path()) {
        return;
    }
    let mut load = start("disk-read:size=4M", directory.path()).unwrap();
    assert_eq!(
        load.notes().count(),
        0,
        "{:?}",
        load.notes().collect::<Vec<_>>()
    );
    let before = kernel_count("read_bytes").unwrap();
    load.resume().unwrap();
    let since = load.observe().unwrap();
    // Several passes over the file.
    until("32 MB are read", || {
        load.observe().unwrap().bytes.unwrap() > 32_000_000
    });
    load.pause().unwrap();
    let read = kernel_count("read_bytes").unwrap() - before;
    let counted = load.observe().unwrap().bytes.unwrap();
    println!("{counted} bytes counted, {read} read from the device");
    assert!(read as f64 > 0.95 * counted as f64 && (read as f64) < 1.1 * counted as f64);
    let evidence = load.evidence(&since).unwrap();
    assert_eq!(evidence.bytes.unwrap(), evidence.operations.unwrap() << 16);
    load.stop().unwrap();
    assert_empty(&directory);
}

fn disk_read_from_memory() {
    let memory = Path::new("/dev/shm");
    let Ok(directory) = tempfile::tempdir_in(memory) else {
        println!("skipped: /dev/shm cannot be written to");
        return;
    };
    let load = start("disk-read:size=1M", directory.path()).unwrap();
    let notes: Vec<_> = load.notes().collect();
    assert!(
        notes.iter().any(|note| note.contains("in memory")),
        "{notes:?}"
    );
}

fn file_server_writes() {
    let directory = tempdir().unwrap();
    if !is_on_disk(directory.path()) {
        return;
    }
    let mut load = start("file-server", directory.path()).unwrap();
    let before = kernel_count("write_bytes").unwrap();
    load.resume().unwrap();
    until("many files are written", || {
        load.observe().unwrap().operations.unwrap() >= 20
    });
    load.pause().unwrap();
    let seen = load.observe().unwrap();
    let written = kernel_count("write_bytes").unwrap() - before;
    // Each file goes there and comes back.
    let (operations, bytes) = (seen.operations.unwrap(), seen.bytes.unwrap());
    assert_eq!(
        bytes % (2 * 4096 * operations),
        0,
        "{bytes} bytes, {operations} files"
    );
    println!("{bytes} bytes moved, {written} written");
    assert!(written >= bytes / 2, "{written} of {bytes}");
    load.stop().unwrap();
    assert_empty(&directory);
}

/// Runs `talk` beside a far end.
fn with_peer(files: Option<&Path>, talk: impl FnOnce(SocketAddr)) {
    struct SetOnDrop<'a>(&'a AtomicBool);
    impl Drop for SetOnDrop<'_> {
        fn drop(&mut self) {
            self.0.store(true, Ordering::Relaxed);
        }
    }
    let free = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = free.local_addr().unwrap();
    drop(free);
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| serve_peer(&open_peer(address, files), &stop, || ()).unwrap());
        let _ended = SetOnDrop(&stop);
        until("the peer listens", || {
            std::net::TcpStream::connect(address).is_ok()
        });
        talk(address);
    });
}

fn file_server_of_a_peer() {
    let (here, there) = (tempdir().unwrap(), tempdir().unwrap());
    with_peer(Some(there.path()), |address| {
        let spec = format!("file-server:peer={address}");
        let mut load = start(&spec, here.path()).unwrap();
        load.resume().unwrap();
        until("files are written", || {
            load.observe().unwrap().operations.unwrap() > 5
        });
        load.pause().unwrap();
        assert_still(&mut load);
        load.stop().unwrap();
    });
    assert_empty(&here);
    assert_empty(&there);
}

fn udp_keeps_its_rate(spec: &str) {
    let directory = tempdir().unwrap();
    let mut load = start(spec, directory.path()).unwrap();
    measured_once(&mut load, |evidence| {
        let rate = |bytes: f64| bytes * 8e3 / evidence.observed_ns as f64;
        let arrived = rate(evidence.bytes.unwrap() as f64);
        let sent = rate(evidence.operations.unwrap() as f64 * 1400.0);
        println!("{spec}: {sent:.2} Mbit/s sent, {arrived:.2} arrived");
        (9.0..=11.0).contains(&arrived) && (9.0..=11.0).contains(&sent)
    });
}

fn download_of_a_peer() {
    let directory = tempdir().unwrap();
    with_peer(None, |address| {
        let mut load = start(&format!("download:peer={address}"), directory.path()).unwrap();
        let evidence = over(&mut load, 0.5);
        // More than socket buffers hold.
        assert!(evidence.bytes.unwrap() > 16 << 20, "{evidence:?}");
    });
}

fn joined_loads_all_run() {
    let directory = tempdir().unwrap();
    let mut load = start("network+cpu:threads=1+io", directory.path()).unwrap();
    assert_still(&mut load);
    let evidence = over(&mut load, 1.0);
    assert_still(&mut load);
    let parts: Vec<&str> = evidence
        .parts
        .iter()
        .map(|part| part.load.as_str())
        .collect();
    assert_eq!(parts, ["cpu:threads=1", "io", "network"]);
    assert_eq!(evidence.load, "cpu:threads=1+io+network");
    assert_eq!((evidence.operations, &evidence.operation), (None, &None));
    for part in &evidence.parts {
        assert!(
            part.operations.unwrap() > 0 && part.cpu_time_ns > 0,
            "{part:?}"
        );
        assert_eq!(part.observed_ns, evidence.observed_ns);
    }
    let cpu_time: u64 = evidence.parts.iter().map(|part| part.cpu_time_ns).sum();
    let bytes: u64 = evidence.parts.iter().filter_map(|part| part.bytes).sum();
    assert_eq!(
        (evidence.cpu_time_ns, evidence.bytes),
        (cpu_time, Some(bytes))
    );
    // One that ends takes the whole load with it, by name.
    load.resume().unwrap();
    send(own_descendants()[0].pid, nix::sys::signal::Signal::SIGKILL);
    let mut error = None;
    until("the load is dead", || {
        error = load.observe().err();
        error.is_some()
    });
    assert!(
        error
            .unwrap()
            .to_string()
            .contains("ended while it was needed")
    );
    drop(load);
    assert!(own_descendants().is_empty());
    assert_empty(&directory);
}
