//! Interrupts are moved, and put back whatever happens.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::thread;

use libtest_mimic::Trial;
use nix::sys::signal::Signal;
use tempfile::tempdir;
use tompion_load::WORKER_ARG;

use crate::support::*;

/// First argument that makes this program the parent of a guard of interrupts.
pub const GUARDED_ROLE: &str = "be-a-guarded-parent";

pub fn tests() -> Vec<Trial> {
    vec![
        test("interrupts_are_moved_and_put_back", moved_and_put_back),
        test(
            "interrupts_are_put_back_after_sigkill",
            put_back_after_sigkill,
        ),
        test("disk_read_tells_what_became_of_its_interrupts", told),
    ]
}

/// An interrupt that may be moved and hardly ever happens: of a virtio device's
/// configuration, or else of a serial line.
fn movable() -> Option<(String, PathBuf)> {
    let directories = fs::read_dir("/proc/irq").ok()?.flatten();
    let found = directories.map(|entry| entry.path()).find(|directory| {
        let list = directory.join("smp_affinity_list");
        let actions = fs::read_dir(directory).into_iter().flatten().flatten();
        let is_quiet = actions.map(|a| a.file_name()).any(|name| {
            let name = name.to_string_lossy();
            name.ends_with("-config") || name.starts_with("ttyS")
        });
        // Writing what stands there shows whether writing is allowed.
        is_quiet && fs::read(&list).is_ok_and(|now| fs::write(&list, now).is_ok())
    });
    let several = thread::available_parallelism().ok()?.get() > 1;
    let usable = found.filter(|_| several).and_then(|directory| {
        let number = directory.file_name()?.to_str()?.to_owned();
        Some((number, directory.join("smp_affinity_list")))
    });
    if usable.is_none() {
        println!("skipped: no quiet interrupt can be moved here (that takes root and two CPUs)");
    }
    usable
}

fn cpus(list: &Path) -> String {
    fs::read_to_string(list).unwrap().trim().to_owned()
}

/// A CPU to which moving changes something.
fn target(list: &Path) -> &'static str {
    if cpus(list) == "0" { "1" } else { "0" }
}

fn guard(irq: &str, cpu: &str) -> Child {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args([WORKER_ARG, "interrupts", "/proc/irq", cpu, irq]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    command.spawn().unwrap()
}

/// Gives an order; the answer tells problems, none of them here.
fn order(guard: &mut Child, order: &str) {
    writeln!(guard.stdin.as_mut().unwrap(), "{order}").unwrap();
    let mut answer = String::new();
    let output = guard.stdout.as_mut().unwrap();
    BufReader::new(output).read_line(&mut answer).unwrap();
    assert_eq!(answer, "\n");
}

fn moved_and_put_back() {
    let Some((irq, list)) = movable() else { return };
    let (before, cpu) = (cpus(&list), target(&list));
    let mut guard = guard(&irq, cpu);
    for _ in 0..2 {
        order(&mut guard, "on");
        assert_eq!(cpus(&list), cpu);
        order(&mut guard, "off");
        assert_eq!(cpus(&list), before);
    }
    order(&mut guard, "on");
    // Its duty comes first.
    send(guard.id() as i32, Signal::SIGTERM);
    send(guard.id() as i32, Signal::SIGINT);
    order(&mut guard, "on");
    assert_eq!(cpus(&list), cpu);
    drop(guard.stdin.take());
    assert!(guard.wait().unwrap().success());
    assert_eq!(cpus(&list), before);
}

/// The other role: starts a guard, has it move an interrupt, and waits to be killed.
pub fn be_guarded_parent(args: &[String]) -> ExitCode {
    let mut guard = guard(&args[0], &args[1]);
    order(&mut guard, "on");
    println!("ready");
    thread::sleep(LONG * 10);
    ExitCode::FAILURE
}

fn put_back_after_sigkill() {
    let Some((irq, list)) = movable() else { return };
    let (before, cpu) = (cpus(&list), target(&list));
    let mut parent = Command::new(std::env::current_exe().unwrap())
        .args([GUARDED_ROLE, &irq, cpu])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut answer = String::new();
    BufReader::new(parent.stdout.take().unwrap())
        .read_line(&mut answer)
        .unwrap();
    assert_eq!((answer.as_str(), cpus(&list).as_str()), ("ready\n", cpu));
    parent.kill().unwrap();
    parent.wait().unwrap();
    until("the interrupt is back", || cpus(&list) == before);
}

/// On a disk whose interrupts may be moved they are; elsewhere the evidence says
/// why not. Either way nothing is changed in the end.
fn told() {
    let masks = || -> Vec<(PathBuf, String)> {
        let directories = fs::read_dir("/proc/irq").into_iter().flatten().flatten();
        let lists = directories.map(|entry| entry.path().join("smp_affinity_list"));
        lists
            .filter_map(|list| Some((list.clone(), fs::read_to_string(&list).ok()?)))
            .collect()
    };
    let before = masks();
    let directory = tempdir().unwrap();
    let mut load = start("disk-read:size=1M:irq=0", directory.path()).unwrap();
    let since = load.observe().unwrap();
    load.resume().unwrap();
    let while_on = masks();
    await_work(&mut load, &since);
    let notes = load.evidence(&since).unwrap().notes;
    println!("{notes:?}");
    assert!(!notes.is_empty() && notes.iter().all(|note| note.contains("interrupt")));
    let moved = notes
        .iter()
        .any(|note| note.ends_with("arrives on CPU 0 while the load is on"));
    let changed = while_on.iter().any(|(_, cpus)| cpus.trim() == "0") && while_on != before;
    let already = before.iter().any(|(_, cpus)| cpus.trim() == "0");
    assert!(moved == changed || already, "{before:?} {while_on:?}");
    load.pause().unwrap();
    assert_eq!(masks(), before, "paused");
    load.resume().unwrap();
    load.stop().unwrap();
    assert_eq!(masks(), before, "ended");
}
