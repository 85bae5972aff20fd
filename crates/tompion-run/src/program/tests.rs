//! Programs in a known state, watched for a fraction of a second.

use std::process::{Child, Command};

use tompion_cause::Cause;

use super::*;

fn watch(pid: u32, ms: u64) -> ProgramStalls {
    let stop = Arc::new(AtomicBool::new(false));
    let mut told = Duration::ZERO;
    let found = watch_program(pid as i32, Duration::from_millis(ms), &stop, |elapsed| {
        assert!(elapsed >= told, "{elapsed:?} after {told:?}");
        told = elapsed;
    })
    .unwrap();
    assert!(told.as_nanos() <= u128::from(found.wall_ns));
    found
}

fn end(mut child: Child) {
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn a_program_that_is_stopped_throughout_loses_all_of_its_time() {
    let child = Command::new("sh")
        .args(["-c", "kill -STOP $$"])
        .spawn()
        .unwrap();
    let state = || std::fs::read_to_string(format!("/proc/{}/stat", child.id())).unwrap();
    while !state().contains(") T ") {
        std::thread::sleep(Duration::from_millis(1));
    }
    let found = watch(child.id(), 250);
    end(child);
    let Some(lost_ns) = found.lost_ns else {
        eprintln!("skipped: {:?}", found.evidence);
        return;
    };
    assert!(!found.ended);
    // From the first moment to the last.
    assert_eq!((lost_ns, found.stalls), (found.wall_ns, Some(1)));
    assert_eq!(found.causes.len(), 1);
    assert_eq!(found.causes[0].cause, Cause::Stopped);
    assert_eq!(found.longest[0].at_ns, 0);
    assert!(found.wall_ns < 2_000_000_000);
}

#[test]
fn a_program_that_ends_is_said_to_have_ended() {
    let mut child = Command::new("sleep").arg("0.15").spawn().unwrap();
    let pid = child.id();
    let waiting = std::thread::spawn(move || child.wait());
    let found = watch(pid, 20_000);
    waiting.join().unwrap().unwrap();
    assert!(found.ended && found.wall_ns < 15_000_000_000);
}

/// In a process of its own, which may open few files.
#[test]
fn out_of_descriptors_a_living_program_has_not_ended() {
    const NAME: &str = "out_of_descriptors_a_living_program_has_not_ended";
    if std::env::var_os("TOMPION_TEST_FEW_FILES").is_none() {
        let own = std::env::current_exe().unwrap();
        let again = Command::new("sh")
            .args(["-c", "ulimit -n 64; exec \"$0\" --exact \"$1\" --nocapture"])
            .arg(own)
            .arg(format!("program::tests::{NAME}"))
            .env("TOMPION_TEST_FEW_FILES", "1")
            .output()
            .unwrap();
        let told = String::from_utf8_lossy(&again.stdout);
        assert!(
            again.status.success() && told.contains("1 passed"),
            "{again:?}"
        );
        return;
    }
    let stop = Arc::new(AtomicBool::new(false));
    let threads: Vec<_> = (0..60)
        .map(|_| {
            let stop = stop.clone();
            std::thread::spawn(move || {
                while !stop.load(Ordering::Relaxed) {
                    std::thread::park_timeout(Duration::from_millis(20));
                }
            })
        })
        .collect();
    let found = watch(std::process::id(), 250);
    stop.store(true, Ordering::Relaxed);
    threads.into_iter().for_each(|t| t.join().unwrap());
    assert!(!found.ended && found.wall_ns >= 250_000_000);
    assert!(found.threads.len() > 60);
    let mut evidence = found.evidence.iter();
    let switches = evidence.find(|e| e.name == tompion_observe::events::item::THREAD_SWITCHES);
    let missing = switches.unwrap().missing.as_deref().unwrap();
    let told = missing.contains("too many open files, for ") || missing.contains("not permitted");
    assert!(told, "{missing}");
}
