//! Machines other than the usual one, really booted: kernels, disks, networks, pinned
//! CPUs, virtual time, and the ELF kernel on virtio-mmio that microVMs boot. Run by `make
//! guest`. Two boots for all of it.

use std::net::UdpSocket;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use std::{fs, thread};

use nix::sched::sched_getaffinity;
use nix::unistd::Pid;
use tompion_guest::{Disk, GUEST_ADDRESS, Guest, HOST_ADDRESS, Kit, Outcome, Tap};

fn kit(kernel: &str) -> Kit {
    let kit = Kit::from_env().and_then(|kit| kit.with_kernel(kernel));
    kit.unwrap_or_else(|error| panic!("{error}"))
}

fn devices(kit: &Kit, arguments: [&str; 2]) -> Guest {
    let program = kit.program("guest_probe").expect("built by make guest");
    let arguments = [&["devices"], &arguments[..]].concat();
    Guest::new(kit).payload(program, arguments)
}

/// The line `KEY=...` of what the guest printed.
fn value(outcome: &Outcome, key: &str) -> String {
    let text = outcome.stdout_text();
    let value = |line: &str| Some(line.strip_prefix(key)?.strip_prefix('=')?.to_owned());
    text.lines()
        .find_map(value)
        .unwrap_or_else(|| panic!("no {key}: {text}"))
}

/// CPUs that this process may use.
fn cpus() -> Vec<usize> {
    let set = sched_getaffinity(Pid::from_raw(0)).expect("own affinity");
    (0..1024)
        .filter(|&cpu| set.is_set(cpu) == Ok(true))
        .collect()
}

/// What threads of the QEMU called `mark` may run on, as lists, once it is there.
fn threads_of(mark: &str) -> Option<Vec<String>> {
    let is_ours = |process: &PathBuf| {
        fs::read(process.join("cmdline")).is_ok_and(|line| {
            line.starts_with(b"qemu") && String::from_utf8_lossy(&line).contains(mark)
        })
    };
    let processes = fs::read_dir("/proc").expect("/proc").flatten();
    let process = processes.map(|entry| entry.path()).find(is_ours)?;
    let allowed = |status: String| {
        let line = status
            .lines()
            .find(|line| line.starts_with("Cpus_allowed_list:"))?;
        Some(line.split_whitespace().nth(1)?.to_owned())
    };
    let threads = fs::read_dir(process.join("task")).ok()?.flatten();
    let status = threads.filter_map(|task| fs::read_to_string(task.path().join("status")).ok());
    Some(status.filter_map(allowed).collect())
}

/// A tap with a socket at its host's end; none for whoever may not make one.
fn network() -> Option<(Arc<Tap>, UdpSocket)> {
    let tap = crate::common::tap()?;
    let socket = tap.inside(|| UdpSocket::bind((HOST_ADDRESS, 0)).expect("the host's end"));
    let socket = socket.expect("namespace");
    let limit = Some(Duration::from_millis(100));
    socket.set_read_timeout(limit).expect("limit");
    Some((tap, socket))
}

/// Answers what the guest sends until it has ended.
fn answer(socket: &UdpSocket, ended: &AtomicBool) {
    let mut words = [0; 100];
    while !ended.load(Ordering::Relaxed) {
        if let Ok((count, from)) = socket.recv_from(&mut words) {
            assert_eq!(from.ip(), GUEST_ADDRESS);
            let answer = [b"heard: ", &words[..count]].concat();
            socket.send_to(&answer, from).expect("answer");
        }
    }
}

#[test]
#[ignore = "boots a guest: make guest"]
fn a_real_time_kernel_with_sata_disks_a_network_and_pinned_cpus() {
    const MARK: &str = "tompion-pinned";
    let directory = tempfile::tempdir().expect("directory");
    let network = network();
    let address = |(_, socket): &(_, UdpSocket)| socket.local_addr().expect("address").to_string();
    let peer = network.as_ref().map(address).unwrap_or_default();
    let own = cpus();
    let (first, last) = (own[0], own[own.len() - 1]);
    let ended = AtomicBool::new(false);
    let mut guest = devices(&kit("rt"), [&peer, "0"])
        .cpus(2)
        .pin(vec![vec![last], vec![first]])
        .disk(Disk::Ahci)
        .scratch(directory.path(), 64)
        .qemu_args(["-name", MARK]);
    if let Some((tap, _)) = &network {
        guest = guest.tap(Arc::clone(tap));
    }
    let (outcome, seen) = thread::scope(|scope| {
        if let Some((_, socket)) = &network {
            scope.spawn(|| answer(socket, &ended));
        }
        let pinned = scope.spawn(|| {
            let want = [first.to_string(), last.to_string()];
            let start = Instant::now();
            let mut seen = Vec::new();
            while !ended.load(Ordering::Relaxed) && start.elapsed() < Duration::from_secs(120) {
                seen = threads_of(MARK).unwrap_or(seen);
                if want.iter().all(|cpu| seen.contains(cpu)) {
                    break;
                }
                thread::sleep(Duration::from_millis(20));
            }
            seen
        });
        let outcome = guest.run();
        ended.store(true, Ordering::Relaxed);
        (outcome, pinned.join().expect("looking"))
    });
    let outcome = outcome.unwrap_or_else(|error| panic!("{error}"));
    eprintln!(
        "{:.1} s, threads on {seen:?}\n{}",
        outcome.seconds,
        outcome.stdout_text()
    );
    for cpu in [first, last] {
        assert!(
            seen.contains(&cpu.to_string()),
            "no thread on CPU {cpu}: {seen:?}"
        );
    }
    assert!(value(&outcome, "release").ends_with("-rt-amd64"));
    assert!(value(&outcome, "version").contains("PREEMPT_RT"));
    assert_eq!(value(&outcome, "cpus"), "2");
    assert_eq!(value(&outcome, "disks"), "sda sdb");
    assert!(value(&outcome, "scratch").contains(" /scratch ext4 rw"));
    // The disk has no name, and the tap is nowhere but in its namespace.
    let left = fs::read_dir(directory.path()).expect("directory").count();
    assert_eq!(left, 0);
    if let Some((tap, _)) = network {
        let want = format!("heard: words on a disk from {peer}");
        assert_eq!(value(&outcome, "answer"), want);
        let interfaces = tap.inside(|| fs::read_to_string("/proc/thread-self/net/dev"));
        let interfaces = interfaces.expect("namespace").expect("interfaces");
        assert!(interfaces.contains("tap0:"), "{interfaces}");
    }
}

fn the_kernel_of_microvms_in_virtual_time() {
    // Without `pit=on` this machine hangs in some boots. The guest's clocks jump over
    // its sleep, which takes longer than it may take to run.
    let guest = devices(&kit("cloud"), ["", "600"])
        .machine("microvm,pit=on")
        // A processor without random numbers of its own.
        .cpu_model("Nehalem")
        .icount(1);
    let outcome = guest.run().unwrap_or_else(|error| panic!("{error}"));
    eprintln!("{:.1} s\n{}", outcome.seconds, outcome.stdout_text());
    assert!(value(&outcome, "release").ends_with("-cloud-amd64"));
    assert_eq!(value(&outcome, "disks"), "vda");
    assert_eq!(value(&outcome, "random"), "Ok(())");
    assert_eq!(value(&outcome, "scratch"), "none");
    assert!(value(&outcome, "slept_s").parse::<u64>().expect("seconds") >= 600);
}

/// In `make test-full`: the acceptance tests of the lab have virtual time in every run.
mod long {
    #[test]
    #[ignore = "boots a guest: make guest"]
    fn the_kernel_of_microvms_in_virtual_time() {
        super::the_kernel_of_microvms_in_virtual_time();
    }
}
