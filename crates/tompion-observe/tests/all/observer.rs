//! The observer against causes of known time and size.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use crate::common::*;
use tompion_cause::{Cause, Disturbance, Source};
use tompion_observe::marks::marks;
use tompion_observe::observer::Settings;
use tompion_observe::{Observations, Observer, ThreadCounters};

fn observe(settings: Settings, time: Duration) -> Observations {
    let observer = Observer::start(settings).unwrap();
    std::thread::sleep(time);
    observer.finish()
}

#[test]
fn a_preempted_thread_is_marked_by_microseconds_with_events_and_by_windows_without() {
    let cpu = a_cpu();
    let Some(hog) = Hog::start(cpu) else {
        return skip("SCHED_FIFO is forbidden");
    };
    let busy = Busy::start("tompion-busy", cpu, || spin(Duration::from_millis(1)));
    let settings = || Settings {
        threads: vec![busy.tid()],
        cpus: vec![cpu],
        ..Settings::default()
    };

    let with = observe(settings(), Duration::from_millis(1000));
    let turns = hog.turns(with.window_ns.0 + 60_000_000, with.window_ns.1 - 60_000_000);
    assert!(turns.len() >= 3, "{} turns of the hog", turns.len());
    if with.access.has_switches {
        // Samples in the middle of the hog's turns, each 1 ms.
        let samples: Vec<_> = turns
            .iter()
            .map(|t| (t.0 + 2_000_000, t.0 + 3_000_000))
            .collect();
        let marks = marks(&samples, &with.disturbances);
        let preempted = Some((Cause::Preempted, Source::Event));
        let right = marks.iter().filter(|m| **m == preempted).count();
        assert!(10 * right >= 8 * marks.len(), "{marks:?}");
        let polled = |d: &&Disturbance| d.cause == Cause::Preempted && d.source == Source::Polled;
        assert_eq!(
            with.disturbances.iter().find(polled),
            None,
            "events cover it"
        );
        if with.access.has_cpu_events {
            let by = format!("tompion-hog[{}]", hog.busy.tid());
            let named = with
                .disturbances
                .iter()
                .filter(|d| d.by.as_ref() == Some(&by))
                .count();
            assert!(10 * named >= 8 * turns.len(), "{named} of {}", turns.len());
        }
    } else {
        skip(&format!("no switch records: {:?}", with.access));
    }

    let without = observe(
        Settings {
            events: None,
            ..settings()
        },
        Duration::from_millis(1000),
    );
    let polled: Vec<_> = without
        .disturbances
        .iter()
        .filter(|d| d.cause == Cause::Preempted)
        .collect();
    // The hog takes 5 ms of each 50, hence of every window.
    assert!(polled.len() >= 5, "{polled:?}");
    assert!(polled.iter().all(|d| d.source == Source::Polled));
    // A window is as long as the observer's round, longer where the machine is busy; the
    // round after a late one is shorter.
    let long = |d: &&&Disturbance| d.until_ns - d.from_ns > 1_000_000;
    let rounds = polled.iter().filter(long).count();
    assert!(2 * rounds > polled.len(), "{polled:?}");
    let delay = without
        .series
        .growth(&format!("run_delay.thread{}", busy.tid()))
        .unwrap();
    let turns = hog.turns(without.window_ns.0, without.window_ns.1);
    let hogged: u64 = turns.iter().map(|t| t.1 - t.0).sum();
    assert!(
        delay as u64 > hogged / 2,
        "{delay} ns of delay, {hogged} ns of the hog"
    );
}

#[test]
fn the_series_is_regular_and_the_observer_says_what_it_costs() {
    let settings = Settings {
        threads: vec![own_tid()],
        cpus: vec![a_cpu()],
        rate_hz: 50.0,
        ..Settings::default()
    };
    let observed = observe(settings, Duration::from_millis(1000));
    let rows = observed.series.at_ns.len();
    assert!(
        (10..=60).contains(&rows),
        "{rows} rows in a second at 50 Hz"
    );
    assert!(observed.series.at_ns.is_sorted());
    assert!(observed.own_cpu_share > 0.0 && observed.own_cpu_share < 0.5);
    assert!(observed.series.growth("context_switches").unwrap() > 0);
    assert!(observed.disturbances.is_sorted_by_key(|d| d.from_ns));
    assert!(
        observed
            .access
            .items
            .iter()
            .any(|i| i.0 == "steps of the system clock" && i.1.is_ok())
    );
    let steps = observed
        .disturbances
        .iter()
        .filter(|d| d.cause == Cause::ClockStep)
        .count();
    assert_eq!(steps, 0, "nobody set the clock");
}

#[test]
fn when_there_are_too_many_disturbances_it_says_until_when_it_took_events() {
    let cpu = a_cpu();
    let busy = Busy::start("tompion-busy", cpu, || spin(Duration::from_millis(1)));
    let settings = Settings {
        threads: vec![busy.tid()],
        cpus: vec![cpu],
        most_disturbances: 10,
        ..Settings::default()
    };
    let observed = observe(settings, Duration::from_millis(600));
    if observed.records < 200 {
        return skip("too few events are recorded here");
    }
    assert!(!observed.access.has_cpu_events);
    let full = observed
        .access
        .items
        .iter()
        .find(|i| i.0 == "room for disturbances")
        .unwrap();
    assert!(
        full.1.as_ref().unwrap_err().contains("more than 10"),
        "{full:?}"
    );
}

/// A control group of its own with 5 ms of CPU time each 100 ms, little enough to
/// be used up even where many compete for the CPUs.
struct Group(PathBuf);

impl Group {
    fn make() -> Result<Self, String> {
        let v1 = PathBuf::from("/sys/fs/cgroup/cpu");
        let is_v1 = v1.join("cpu.cfs_quota_us").exists();
        let top = if is_v1 {
            v1
        } else {
            PathBuf::from("/sys/fs/cgroup")
        };
        let dir = top.join(format!("tompion-observe-{}", std::process::id()));
        fs::create_dir(&dir).map_err(|e| format!("{}: {e}", dir.display()))?;
        let group = Self(dir);
        let set = |file: &str, value: &str| {
            fs::write(group.0.join(file), value).map_err(|e| format!("{file}: {e}"))
        };
        if is_v1 {
            set("cpu.cfs_period_us", "100000")?;
            set("cpu.cfs_quota_us", "5000")?;
        } else {
            set("cpu.max", "5000 100000")?;
        }
        Ok(group)
    }

    fn take(&self, pid: i32) {
        fs::write(self.0.join("cgroup.procs"), pid.to_string()).unwrap();
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // Refused as long as the child has not quite gone.
        for _ in 0..100 {
            if fs::remove_dir(&self.0).is_ok() {
                return;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

#[test]
fn a_quota_throttles_and_is_marked() {
    let group = match Group::make() {
        Ok(group) => group,
        Err(why) => return skip(&why),
    };
    let child = Spinner::start();
    group.take(child.pid());
    let mut counters = ThreadCounters::open(child.pid()).unwrap();
    let settings = Settings {
        threads: vec![child.pid()],
        ..Settings::default()
    };
    let observer = Observer::start(settings).unwrap();
    let before = counters.read();
    std::thread::sleep(Duration::from_millis(1000));
    let after = counters.read();
    let observed = observer.finish();
    let throttled_ns = after.throttled_ns.unwrap() - before.throttled_ns.unwrap();
    let cpu_ns = after.cpu_time_ns - before.cpu_time_ns;
    // It gets 50 ms of the second; the window, and slices of the quota handed out
    // to CPUs, may stretch.
    assert!(cpu_ns < 200_000_000, "{cpu_ns} ns of CPU time");
    assert!(throttled_ns > 200_000_000, "{throttled_ns} ns throttled");
    assert!(after.run_delay_ns.unwrap() - before.run_delay_ns.unwrap() > 200_000_000);
    let marked = observed
        .disturbances
        .iter()
        .filter(|d| d.cause == Cause::Throttled);
    assert!(marked.clone().count() >= 3);
    assert!(marked.into_iter().any(|d| d.source == Source::Polled));
    let seen_ns = observed.series.growth("throttled").unwrap();
    assert!(
        (seen_ns as u64).abs_diff(throttled_ns) < 250_000_000,
        "{seen_ns} {throttled_ns}"
    );
    drop(child);
}
