//! Turns that a thread had to wait for, against causes of known time and size.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::common::*;
use tompion_cause::{Cause, Disturbance, Source};
use tompion_observe::events::{self, CpuEvents, item};
use tompion_observe::observer::{Settings, Watch};

/// Absent where tracepoints are forbidden.
fn watch(tids: &[i32], cpus: &[u32]) -> Option<Watch> {
    let watch = Watch::begin(Settings {
        threads: tids.to_vec(),
        cpus: cpus.to_vec(),
        events: Some(events::Settings {
            cpu_events: CpuEvents::Turns,
            ..events::Settings::default()
        }),
        ..Settings::default()
    });
    let access = watch.access();
    let had = access.items.iter().find(|i| i.0 == item::TURNS).unwrap();
    if let Err(why) = &had.1 {
        skip(why);
        return None;
    }
    assert!(access.has_switches);
    Some(watch)
}

fn look_for(watch: &mut Watch, time: Duration) {
    let until_ns = monotonic_ns() + time.as_nanos() as u64;
    while monotonic_ns() < until_ns {
        std::thread::sleep(Duration::from_millis(50));
        watch.look();
    }
}

/// Sleeps 1 ms again and again, and notes when it woke.
fn sleeper(cpu: u32) -> (Busy, Arc<Mutex<Vec<u64>>>) {
    let ends = Arc::new(Mutex::new(Vec::new()));
    let noted = ends.clone();
    let busy = Busy::start("tompion-sleeper", cpu, move || {
        std::thread::sleep(Duration::from_millis(1));
        noted.lock().unwrap().push(monotonic_ns());
    });
    (busy, ends)
}

/// The sleeper wakes while the hog, of a higher class, has the CPU.
#[test]
fn a_sleep_that_ends_behind_a_hog_is_told_with_its_times() {
    let cpu = a_cpu();
    let Some(hog) = Hog::start(cpu) else {
        return skip("SCHED_FIFO is forbidden");
    };
    let (busy, ends) = sleeper(cpu);
    let Some(mut watch) = watch(&[busy.tid()], &[cpu]) else {
        return;
    };
    let from_ns = monotonic_ns();
    watch.begin_window();
    look_for(&mut watch, Duration::from_millis(1000));
    let until_ns = monotonic_ns();
    let ends = ends.lock().unwrap().clone();
    let all = watch.end_window(&[&ends]).remove(0);
    let by = format!("tompion-hog[{}]", hog.busy.tid());
    let turns = hog.turns(from_ns + 60_000_000, until_ns - 60_000_000);
    assert!(turns.len() >= 3, "{} turns of the hog", turns.len());
    // Woken within its first 1.1 ms, so at least 3 of 5 ms are told, up to its end.
    let told = |turn: &&(u64, u64)| {
        let right = |d: &Disturbance| {
            let shared = d.until_ns.min(turn.1).saturating_sub(d.from_ns.max(turn.0));
            d.cause == Cause::Preempted && shared > 3_000_000
        };
        all.iter().any(right)
    };
    let right = turns.iter().filter(told).count();
    assert!(
        10 * right >= 8 * turns.len(),
        "{right} of {turns:?}: {all:?}"
    );
    // Where others compete, one of them may have had the CPU last.
    let named = all.iter().filter(|d| d.by.as_ref() == Some(&by)).count();
    assert!(named > 0, "{all:?}");
    assert!(
        all.iter()
            .all(|d| d.source == Source::Event || d.cause != Cause::Preempted)
    );
    let longest = all.iter().map(|d| d.until_ns - d.from_ns).max().unwrap();
    assert!(longest < 300_000_000, "{all:?}");
}

/// Six sleepers, so that they are known to the kernel by the range of their numbers; the hog has one CPU of two.
#[test]
fn of_several_sleepers_each_is_told_its_own_turns() {
    let (cpu, other) = (a_cpu(), 0);
    if cpu == other {
        return skip("there is one CPU");
    }
    let sleepers: Vec<_> = [cpu, other, cpu, other, cpu, other].map(sleeper).into();
    let Some(hog) = Hog::start(cpu) else {
        return skip("SCHED_FIFO is forbidden");
    };
    let tids: Vec<i32> = sleepers.iter().map(|(busy, _)| busy.tid()).collect();
    let Some(mut watch) = watch(&tids, &[other, cpu]) else {
        return;
    };
    watch.begin_window();
    look_for(&mut watch, Duration::from_millis(1000));
    let ends: Vec<Vec<u64>> = sleepers
        .iter()
        .map(|(_, ends)| ends.lock().unwrap().clone())
        .collect();
    let ends: Vec<&[u64]> = ends.iter().map(Vec::as_slice).collect();
    let each = watch.end_window(&ends);
    let by = format!("tompion-hog[{}]", hog.busy.tid());
    let named: Vec<usize> = each
        .iter()
        .map(|all| all.iter().filter(|d| d.by.as_ref() == Some(&by)).count())
        .collect();
    // It has 5 ms in each 100 ms; where others compete, one of them may have had the CPU last.
    assert!(named.iter().step_by(2).all(|n| *n >= 2), "{named:?}");
    assert!(
        named.iter().skip(1).step_by(2).all(|n| *n == 0),
        "{named:?}"
    );
}

#[test]
fn a_stop_lasts_until_the_thread_is_seen_again() {
    let child = Spinner::start();
    // It may move about.
    let cpus: Vec<u32> = (0..=a_cpu()).collect();
    let Some(mut watch) = watch(&[child.pid()], &cpus) else {
        return;
    };
    watch.begin_window();
    std::thread::sleep(Duration::from_millis(20));
    let stopped_ns = monotonic_ns();
    child.signal(libc::SIGSTOP);
    std::thread::sleep(Duration::from_millis(40));
    child.signal(libc::SIGCONT);
    let seen_ns = monotonic_ns();
    std::thread::sleep(Duration::from_millis(20));
    let all = watch.end_window(&[&[stopped_ns, seen_ns]]).remove(0);
    let stops: Vec<_> = all.iter().filter(|d| d.cause == Cause::Stopped).collect();
    let [stop] = stops[..] else {
        panic!("one stop: {all:?}");
    };
    assert!(
        stop.from_ns >= stopped_ns && stop.until_ns <= seen_ns,
        "{stop:?}"
    );
    // The shell notices the signal at once, unless it waits for a CPU.
    assert!(stop.until_ns - stop.from_ns > 10_000_000, "{stop:?}");
}
