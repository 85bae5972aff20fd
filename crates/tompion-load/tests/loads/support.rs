//! What the tests share: loads, processes, and a parent to be killed.

use std::fs;
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use libtest_mimic::Trial;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use procfs::process::{Process, Stat};
use tempfile::TempDir;
use tompion_load::{LoadConfig, LoadError, LoadProcess, Observation, PeerSettings};

/// First argument that makes this program a parent of a load.
pub const PARENT_ROLE: &str = "be-a-parent";

/// Far more than anything here takes on a busy machine.
pub const LONG: Duration = Duration::from_secs(20);

pub fn test(name: &'static str, body: fn()) -> Trial {
    Trial::test(name, move || {
        body();
        Ok(())
    })
}

pub fn config(directory: &Path) -> LoadConfig {
    LoadConfig {
        executable: std::env::current_exe().unwrap(),
        directory: directory.to_owned(),
        write_budget_bytes: 50_000_000,
        planned_load_time: Duration::from_secs(20),
        measured_cpu: None,
    }
}

pub fn start(spec: &str, directory: &Path) -> Result<LoadProcess, LoadError> {
    LoadProcess::start(&spec.parse()?, &config(directory))
}

pub fn start_error(spec: &str, directory: &Path) -> String {
    let error = start(spec, directory)
        .err()
        .expect("should not start")
        .to_string();
    assert!(!error.contains('\n'), "one line: {error}");
    error
}

/// Waits for something that must happen.
pub fn until(what: &str, mut happened: impl FnMut() -> bool) {
    let deadline = Instant::now() + LONG;
    while !happened() {
        assert!(Instant::now() < deadline, "never happened: {what}");
        thread::sleep(Duration::from_millis(2));
    }
}

/// The load stands still: no operation, no CPU time.
pub fn assert_still(load: &mut LoadProcess) {
    let mut before = load.observe().unwrap();
    let operations = before.operations;
    // The last of its threads may still be on its way to sleep, where the host has its CPU.
    until("the load comes to rest", || {
        thread::sleep(Duration::from_millis(5));
        let now = load.observe().unwrap();
        let is_at_rest = now.cpu_time_ns == before.cpu_time_ns;
        before = now;
        is_at_rest
    });
    thread::sleep(Duration::from_millis(100));
    let after = load.observe().unwrap();
    assert_eq!(before.operations, operations);
    assert_eq!(after.operations, before.operations);
    assert_eq!(after.cpu_time_ns, before.cpu_time_ns);
    let error = load.evidence(&before).unwrap_err();
    assert!(matches!(error, LoadError::DidNothing { .. }), "{error}");
}

/// Waits until the load has done something since.
pub fn await_work(load: &mut LoadProcess, since: &Observation) {
    until("the load works", || {
        let now = load.observe().unwrap();
        now.operations.is_none_or(|n| n > since.operations.unwrap())
            && now.cpu_time_ns > since.cpu_time_ns
    });
}

pub fn assert_empty(directory: &TempDir) {
    let left: Vec<_> = fs::read_dir(directory.path()).unwrap().flatten().collect();
    assert!(left.is_empty(), "left behind: {left:?}");
}

/// Running descendants of a process.
pub fn descendants(root: u32) -> Vec<Stat> {
    let all: Vec<Stat> = procfs::process::all_processes()
        .unwrap()
        .filter_map(|process| process.ok()?.stat().ok())
        .collect();
    let mut found: Vec<Stat> = Vec::new();
    let mut parents = vec![root as i32];
    while let Some(parent) = parents.pop() {
        for stat in all.iter().filter(|s| s.ppid == parent && s.state != 'Z') {
            parents.push(stat.pid);
            found.push(stat.clone());
        }
    }
    found
}

/// Running descendants of this very process.
pub fn own_descendants() -> Vec<Stat> {
    descendants(std::process::id())
}

pub fn runs(process: &Stat) -> bool {
    match Process::new(process.pid).and_then(|p| p.stat()) {
        // A number can be given to another process, and the dead wait for burial.
        Ok(now) => now.starttime == process.starttime && now.state != 'Z' && now.state != 'X',
        Err(_) => false,
    }
}

pub fn send(pid: i32, signal: Signal) {
    kill(Pid::from_raw(pid), signal).unwrap();
}

/// The other role of this program: starts a load, says how that went, and waits
/// to be killed. Arguments: spec, directory, `on` or `off`.
pub fn be_parent(args: &[String]) -> ExitCode {
    let mut load = match start(&args[0], Path::new(&args[1])) {
        Ok(load) => load,
        Err(e) => {
            println!("{e}");
            return ExitCode::FAILURE;
        }
    };
    if args[2] == "on" {
        let before = load.observe().unwrap();
        load.resume().unwrap();
        await_work(&mut load, &before);
    }
    println!("ready");
    thread::sleep(Duration::from_secs(600));
    ExitCode::FAILURE
}

/// This program in the role of a parent.
pub fn parent(spec: &str, directory: &Path, switch: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args([PARENT_ROLE, spec]).arg(directory).arg(switch);
    command.stdin(Stdio::null()).stdout(Stdio::piped());
    command
}

/// Whether a program is there; says so where a test has to be skipped.
pub fn installed(program: &str) -> bool {
    let found = Command::new(program)
        .arg("--version")
        .stdout(Stdio::null())
        .status()
        .is_ok();
    if !found {
        println!("skipped: {program} is not installed");
    }
    found
}

/// A far end for whoever connects.
pub fn open_peer(listen: SocketAddr, files: Option<&Path>) -> PeerSettings<'_> {
    PeerSettings {
        listen,
        key: None,
        files,
    }
}
