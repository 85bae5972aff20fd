//! Programs at the places of a testbed.

use std::ffi::OsString;
use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use tompion_testbed::{Outcome, Programs, Settings, TestbedError, Verdict, run};
use tompion_time::os;

use crate::common::{alone, can_be_made, testbed};

fn words(words: &[&str]) -> Vec<OsString> {
    words.iter().map(OsString::from).collect()
}

fn sh(script: &str) -> Programs {
    Programs {
        command: Some(words(&["sh", "-c", script])),
        far_end: Vec::new(),
    }
}

fn run_there(programs: &Programs) -> Result<Outcome, TestbedError> {
    let settings = Settings::symmetric(Duration::from_millis(2), None);
    run(&settings, programs, &mut |_, _| {}, &AtomicBool::new(false))
}

/// Processes with this word in their command lines.
pub fn processes(word: &str) -> Vec<String> {
    let entries = fs::read_dir("/proc").unwrap().flatten();
    let lines = entries.filter_map(|entry| fs::read_to_string(entry.path().join("cmdline")).ok());
    lines.filter(|line| line.contains(word)).collect()
}

#[test]
fn a_commands_exit_status_is_passed_on() {
    let _alone = alone();
    if !can_be_made() {
        return;
    }
    let told = tempfile::NamedTempFile::new().unwrap();
    let script = format!(
        "echo $FAR_END $FAR_END_6 $SENDER > {}; ls /sys/class/net >> {0}; exit 7",
        told.path().display()
    );
    let outcome = run_there(&sh(&script)).unwrap();
    assert_eq!(outcome.status.and_then(|s| s.code()), Some(7));
    assert_eq!(outcome.verdict(), Verdict::AsPlanned, "{outcome:?}");
    assert!(outcome.after.is_some() && outcome.summary.is_some() && !outcome.stopped);
    let told = fs::read_to_string(told.path()).unwrap();
    assert!(
        told.starts_with("198.18.") && told.contains("fd74:"),
        "{told}"
    );
    assert!(told.ends_with("\nlo\ns0\n"), "{told}");
}

#[test]
fn a_command_that_is_not_there_is_named() {
    let _alone = alone();
    if !can_be_made() {
        return;
    }
    let programs = Programs {
        command: Some(words(&["/no/such/program"])),
        far_end: Vec::new(),
    };
    let told = run_there(&programs).unwrap_err();
    let line = told.to_string();
    assert!(matches!(told, TestbedError::Start { .. }));
    assert!(line.contains("/no/such/program: No such file"), "{line}");
}

#[test]
fn a_command_that_is_killed_takes_its_children_along() {
    let _alone = alone();
    if !can_be_made() {
        return;
    }
    let outcome = run_there(&sh("setsid sleep 987001 & kill -9 $$")).unwrap();
    assert_eq!(outcome.status.and_then(|s| s.signal()), Some(9));
    assert_eq!(processes("987001"), Vec::<String>::new());
    // And so where its guardian is killed, by whoever can see it.
    let Some(testbed) = testbed(&Settings::default()) else {
        return;
    };
    let mut sleep = Command::new("sh");
    sleep.args(["-c", "setsid sleep 987002 & exec sleep 987002"]);
    let mut sleep = testbed.start_at_sender(sleep).unwrap();
    os::sleep(Duration::from_millis(100));
    let guardian = nix::unistd::Pid::from_raw(sleep.guardian().cast_signed());
    nix::sys::signal::kill(guardian, nix::sys::signal::Signal::SIGKILL).unwrap();
    let status = sleep.wait_for(Duration::from_secs(5)).unwrap().unwrap();
    assert_eq!(status.signal(), Some(9));
    assert_eq!(processes("987002"), Vec::<String>::new());
}

#[test]
fn a_run_that_is_stopped_ends_its_command() {
    let _alone = alone();
    if !can_be_made() {
        return;
    }
    let stop = Arc::new(AtomicBool::new(false));
    let started = tempfile::NamedTempFile::new().unwrap();
    let script = format!(
        "trap 'exit 9' TERM; echo > {}; while :; do sleep 0.05; done",
        started.path().display()
    );
    let over = Arc::new(AtomicBool::new(false));
    let set = {
        let (stop, over, path) = (
            Arc::clone(&stop),
            Arc::clone(&over),
            started.path().to_owned(),
        );
        thread::spawn(move || {
            // On a path that is not as planned the command never begins.
            while fs::read_to_string(&path).unwrap().is_empty() && !over.load(Ordering::Relaxed) {
                os::sleep(Duration::from_millis(10));
            }
            stop.store(true, Ordering::Relaxed);
        })
    };
    let settings = Settings::default();
    let outcome = run(&settings, &sh(&script), &mut |_, _| {}, &stop);
    over.store(true, Ordering::Relaxed);
    set.join().unwrap();
    let outcome = outcome.unwrap();
    // It was asked, and could end in its own way.
    assert_eq!(
        outcome.status.and_then(|s| s.code()),
        Some(9),
        "{outcome:?}"
    );
    assert!(outcome.stopped && outcome.after.is_none());
}

#[test]
fn a_command_that_does_not_listen_is_ended_all_the_same() {
    let _alone = alone();
    let Some(testbed) = testbed(&Settings::default()) else {
        return;
    };
    let mut deaf = Command::new("sh");
    deaf.args(["-c", "trap '' TERM; while :; do sleep 0.05; done"]);
    let mut deaf = testbed.start_at_sender(deaf).unwrap();
    os::sleep(Duration::from_millis(100));
    let begun = Instant::now();
    let status = deaf.end(Duration::from_millis(200)).unwrap();
    assert_eq!(status.signal(), Some(9));
    assert!(begun.elapsed() < Duration::from_secs(5));
}

/// A server of the far end answers the command, and ends after it.
#[test]
fn a_program_at_the_far_end_is_there_before_the_command() {
    let _alone = alone();
    if !can_be_made() {
        return;
    }
    if !Path::new("/usr/bin/python3").exists() {
        eprintln!("NOT RUN: no python3 here");
        return;
    }
    let server = "import socket as s; l=s.create_server(('', 7)); c,_=l.accept(); c.sendall(b'987003'); l.accept()";
    let client = "import os,socket as s; c=s.create_connection((os.environ['FAR_END'],7),2); exit(c.recv(9)!=b'987003')";
    let programs = Programs {
        command: Some(words(&["python3", "-c", client])),
        far_end: vec![words(&["python3", "-c", server])],
    };
    let outcome = run_there(&programs).unwrap();
    assert_eq!(outcome.status.and_then(|s| s.code()), Some(0));
    assert_eq!(processes("987003"), Vec::<String>::new());
}

#[test]
fn a_program_at_the_far_end_that_ends_early_is_told() {
    let _alone = alone();
    if !can_be_made() {
        return;
    }
    let programs = Programs {
        far_end: vec![words(&["false"])],
        ..sh("sleep 987004")
    };
    let told = run_there(&programs).unwrap_err();
    assert!(matches!(told, TestbedError::FarEnd { .. }), "{told}");
    assert_eq!(processes("987004"), Vec::<String>::new());
}
