//! The measuring loop driven by a planted clock: what goes in comes out.

use std::sync::Arc;

use tompion_model::{Storage, View};

use super::*;
use crate::{MeasuringThread, ThreadSettings};

/// A clock that stands still but for waits, which end late by planted amounts.
struct Planted<const GRID: bool> {
    now: u64,
    latencies: Vec<u64>,
    next: usize,
}

impl<const GRID: bool> Waiter for Planted<GRID> {
    const GRID: bool = GRID;

    fn now_ns(&mut self) -> u64 {
        self.now
    }

    fn wait(&mut self, target_ns: u64, _ahead_ns: u64) {
        self.now = target_ns + self.latencies[self.next % self.latencies.len()];
        self.next += 1;
    }
}

fn planted<const GRID: bool>(latencies: impl IntoIterator<Item = u64>) -> Planted<GRID> {
    // Warm-up samples come first and must not show.
    let mut all = vec![77; WARM_UP as usize];
    all.extend(latencies);
    Planted {
        now: 5_000_000,
        latencies: all,
        next: 0,
    }
}

fn limits(samples: u64) -> Limits {
    Limits {
        samples,
        time_ns: u64::MAX,
        rows: 1 << 20,
        least_samples: 0,
        patience_ns: 0,
        granularity: true,
        stop: Arc::default(),
    }
}

#[test]
fn planted_latencies_come_out_one_by_one() {
    let outcome = run(&mut planted::<false>(1..=1000), 100_000, &limits(1000)).unwrap();
    let d = outcome.data.distribution(View::Measured);
    assert_eq!(
        (d.len(), d.min(), d.max()),
        (1000, Some(1_000), Some(1_000_000))
    );
    assert_eq!(d.median(), Some(500_500.0));
    assert_eq!(outcome.missed_periods, None);
    assert!(!outcome.measurement.ended_by_time);
}

#[test]
fn a_late_wake_up_is_one_row_with_the_periods_it_missed() {
    let mut latencies = vec![1_000u64; 100];
    latencies[50] = 50_000_000;
    let outcome = run(&mut planted::<true>(latencies), 100_000, &limits(100)).unwrap();
    let late: Vec<_> = outcome
        .data
        .samples
        .iter()
        .filter(|s| s.missed > 0)
        .collect();
    assert_eq!(late.len(), 1);
    assert_eq!((late[0].value_ps, late[0].missed), (50_000_000_000, 500));
    assert_eq!(outcome.missed_periods, Some(500));
    // Filled in: 100 rows and 500 missed points, each 100 us earlier than the last.
    let filled = outcome.data.distribution(View::Filled {
        period_ps: 100_000_000,
    });
    assert_eq!(filled.len(), 600);
    assert_eq!(filled.count_above(1_000_000), 500);
}

#[test]
fn the_next_target_stays_on_the_grid_after_a_miss() {
    let outcome = run(
        &mut planted::<true>([250_000, 0, 0, 0]),
        100_000,
        &limits(4),
    )
    .unwrap();
    let at: Vec<u64> = outcome
        .data
        .samples
        .iter()
        .rev()
        .take(4)
        .map(|s| s.at_ns)
        .collect();
    // Differences between the last rows are whole periods.
    assert!(
        at.windows(2)
            .all(|w| (w[0] - w[1]) == 100_000 || (w[0] - w[1]) == 50_000),
        "{at:?}"
    );
}

#[test]
fn time_ends_a_trial_early_and_says_so() {
    let mut l = limits(1_000_000);
    l.time_ns = 5_000_000;
    let outcome = run(&mut planted::<true>([0]), 100_000, &l).unwrap();
    assert!(outcome.measurement.ended_by_time);
    assert!(
        (45..55).contains(&outcome.data.samples.len()),
        "{}",
        outcome.data.samples.len()
    );
}

#[test]
fn no_sleep_begins_that_would_outlast_the_trial() {
    let mut l = limits(100);
    l.time_ns = 10_000_000;
    for outcome in [
        run(&mut planted::<true>([0]), 4_000_000, &l).unwrap(),
        run(&mut planted::<false>([0]), 4_000_000, &l).unwrap(),
    ] {
        // The third would end after 12 ms.
        assert_eq!(outcome.data.samples.len(), 2);
        assert!(outcome.measurement.ended_by_time);
    }
    let outcome = run(&mut planted::<false>([0]), 3_600_000_000_000, &l).unwrap();
    assert!(outcome.data.samples.is_empty());
}

#[test]
fn a_trial_that_is_late_waits_for_its_least_samples_within_its_patience() {
    // Every wait ends 20 ms late: three of them are warm-up.
    let taken = |patience_ns| {
        let l = Limits {
            time_ns: 8_000_000,
            least_samples: 5,
            patience_ns,
            ..limits(1000)
        };
        let mut waiter = planted::<false>([]);
        waiter.latencies = vec![20_000_000];
        run(&mut waiter, 100_000, &l).unwrap().data.samples.len()
    };
    assert_eq!(taken(0), 1);
    assert_eq!(taken(1_000_000_000), 8);
    assert_eq!(taken(100_000_000), 6);
}

#[test]
fn a_stop_keeps_what_was_measured() {
    let stop = Arc::new(std::sync::atomic::AtomicBool::new(true));
    let l = Limits {
        stop,
        ..limits(100)
    };
    let outcome = run(&mut planted::<true>([0]), 100_000, &l).unwrap();
    assert!(outcome.measurement.ended_by_time && outcome.data.samples.is_empty());
}

#[test]
fn an_overlong_trial_keeps_bins_and_every_large_value() {
    let l = Limits {
        rows: 1000,
        ..limits(50_000)
    };
    // One in 1000 is large; the sizes tell them apart.
    let latencies = (0..50_000u64).map(|i| {
        if i % 1000 == 999 {
            1_000_000 + i
        } else {
            100 + i % 50
        }
    });
    let outcome = run(&mut planted::<false>(latencies), 100_000, &l).unwrap();
    assert!(matches!(outcome.storage, Storage::Tail { .. }));
    let d = outcome.data.distribution(View::Measured);
    assert_eq!(d.count_above(900_000_000), 50);
    assert_eq!(d.max(), Some(1_049_999_000));
    // Warm-up and the samples after a pause are marked, all others counted.
    let marked = outcome
        .data
        .samples
        .iter()
        .filter(|s| s.mark != Mark::None)
        .count() as u64;
    assert_eq!(d.len() + marked, 50_000 + WARM_UP);
}

#[test]
fn methods_are_found_by_name() {
    for m in Method::all() {
        assert_eq!(m.name().parse::<Method>(), Ok(m));
    }
    assert!("snooze".parse::<Method>().is_err());
}

/// A slack far above the wake-up latency delays what it acts on, and nothing else.
#[test]
fn slack_acts_on_the_methods_that_say_so() {
    const SLACK_NS: u64 = 20_000_000;
    let median_ns = |method, slack_ns| {
        let thread = MeasuringThread::start().unwrap();
        let settings = ThreadSettings {
            slack_ns: Some(slack_ns),
            ..ThreadSettings::default()
        };
        let outcome = thread.run(settings, move || measure(method, 1_000_000, &limits(3)));
        let samples = outcome.unwrap().data.samples;
        let mut values: Vec<i64> = samples.iter().map(|s| s.value_ps / 1000).collect();
        values.sort_unstable();
        values[values.len() / 2]
    };
    for method in Method::all() {
        // Other timers of the machine end some sleeps before their slack is over, and
        // it delays others by itself: a few tries.
        let mut tried = Vec::new();
        let as_said = (0..5).any(|_| {
            tried.push(median_ns(method, SLACK_NS));
            (tried[tried.len() - 1] > 2_000_000) == method.row().has_slack
        });
        assert!(as_said, "{method} is late by {tried:?} ns");
    }
}

#[test]
fn every_real_method_waits_at_least_its_target() {
    for method in Method::all() {
        let l = Limits {
            time_ns: 2_000_000_000,
            ..limits(20)
        };
        let outcome = measure(method, 200_000, &l).unwrap();
        assert!(!outcome.data.samples.is_empty(), "{method}");
        // What its row says is what the loop did.
        let has_grid = outcome.missed_periods.is_some();
        assert_eq!(has_grid, method.row().has_grid, "{method}");
        // Hybrid and timerfd wake on the kernel's clock too: none may be early.
        assert!(
            outcome
                .data
                .samples
                .iter()
                .all(|s| s.value_ps >= -1_000_000),
            "{method}"
        );
        assert!(
            outcome.measurement.cpu_per_operation_ns.unwrap() > 0.0,
            "{method}"
        );
    }
}
