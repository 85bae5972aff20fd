//! The very loop driven by a planted clock: what goes in comes out.

use std::cell::Cell;
use std::rc::Rc;

use super::*;

mod real;

/// A clock of one tick a nanosecond that advances at each read: by 20 ns, and at
/// planted reads by more.
struct Planted {
    now: Rc<Cell<u64>>,
    reads: u64,
    /// Stamps that come late: which reads, by how much.
    late: fn(u64) -> i64,
    anchor_ns: u64,
}

/// The planted `CLOCK_MONOTONIC` is ahead of the counter by this.
const OFFSET: u64 = 5_000_000_000;
const STEP: u64 = 20;
/// Reads before the loop's first stamp: two readings of the counters.
const BEFORE: u64 = 4;

fn planted(late: fn(u64) -> i64) -> Planted {
    Planted {
        now: Rc::new(Cell::new(1 << 50)),
        reads: 0,
        late,
        anchor_ns: 0,
    }
}

impl Stamps for Planted {
    fn now(&mut self) -> u64 {
        self.reads += 1;
        let late = if self.reads > BEFORE + 1 {
            (self.late)(self.reads - BEFORE - 1)
        } else {
            0
        };
        self.now
            .set((self.now.get() + STEP).wrapping_add_signed(late));
        self.now.get()
    }

    fn ps(&self, ticks: u64) -> u64 {
        ticks * 1000
    }

    fn ticks(&self, ns: u64) -> u64 {
        ns
    }

    fn anchor(&mut self) -> (u64, u64) {
        self.now.set(self.now.get() + self.anchor_ns);
        (self.now.get(), self.now.get() + OFFSET)
    }

    fn cpu(&mut self) -> Option<u32> {
        // Moves to CPU 1 after the first stalls.
        Some(u32::from(self.reads > 5_000))
    }

    fn hz(&self) -> f64 {
        1e9
    }

    fn name(&self) -> &'static str {
        "planted"
    }
}

/// Counters that take 3 us and count up.
fn counters(now: &Rc<Cell<u64>>) -> impl FnMut() -> Counters + use<> {
    let now = Rc::clone(now);
    move || {
        now.set(now.get() + 3_000);
        Counters {
            at_ns: now.get() + OFFSET,
            ..Counters::default()
        }
    }
}

fn settings(time_ns: u64) -> Settings {
    Settings {
        time_ns,
        ..Settings::default()
    }
}

fn rows(consumer: &mut Consumer) -> Vec<Row> {
    std::iter::from_fn(|| consumer.pop()).collect()
}

/// Every interval, stall and own time is where it belongs.
fn check_sums(outcome: &StallsOutcome) {
    assert_eq!(outcome.observed_ns + outcome.own_ns, outcome.wall_ns);
    assert_eq!(outcome.bins().len(), outcome.iterations);
    assert_eq!(outcome.above.len(), outcome.stalls);
}

#[test]
fn a_million_iterations_are_all_counted() {
    let mut stamps = planted(|_| 0);
    let (mut producer, mut consumer) = ring(8);
    let l = Settings {
        counters_above_ns: u64::MAX,
        ..settings(20_000_000)
    };
    // No reading of counters, hence none of their stamps.
    stamps.reads = BEFORE;
    let outcome = run(&mut stamps, Counters::default, &l, &mut producer);
    check_sums(&outcome);
    // The two looks up, at 10 ms and the end, take a stamp each.
    assert_eq!(outcome.iterations, 999_999);
    assert_eq!(outcome.wall_ns, 20_000_000 + STEP);
    assert_eq!(outcome.own_ns, 2 * STEP);
    assert_eq!((outcome.period_ns, outcome.stalls), (20.0, 0));
    assert!(outcome.coverage() > 0.99999 && outcome.measurement.ended_by_time);
    assert!(rows(&mut consumer).is_empty());
}

#[test]
fn planted_stalls_come_out_exactly() {
    fn late(read: u64) -> i64 {
        match read {
            1_000 => 979,
            2_000 => 980,
            3_000 => 4_000_000,
            7_000 => 30_000,
            8_000 => 100_000_000,
            _ => 0,
        }
    }
    let mut stamps = planted(late);
    let (mut producer, mut consumer) = ring(64);
    let counters = counters(&stamps.now);
    let outcome = run(&mut stamps, counters, &settings(200_000_000), &mut producer);
    check_sums(&outcome);
    let rows = rows(&mut consumer);
    let lengths: Vec<u64> = rows.iter().map(|r| r.length_ps / 1000).collect();
    // 999 ns are below the threshold, 1000 ns are not.
    assert_eq!(lengths, [1_000, 4_000_020, 30_020, 100_000_020]);
    assert_eq!(outcome.stalls, 4);
    assert_eq!(outcome.stalled_ns, lengths.iter().sum::<u64>());
    assert_eq!(outcome.longest_ps, 100_000_020_000);
    // Whence the times come: 2000 reads of 20 ns and what came late.
    let first = rows[0].stall;
    assert_eq!(first.until_ns, outcome.began_ns + 2_000 * STEP + 979 + 980);
    for row in &rows {
        assert_eq!(row.stall.until_ns - row.stall.from_ns, row.length_ps / 1000);
        assert_eq!(row.after.is_some(), row.length_ps >= 20_000_000);
        assert!(!row.own && row.before.unwrap().at_ns <= row.stall.from_ns);
    }
    let cpus: Vec<_> = rows.iter().map(|r| (r.cpu_before, r.cpu_after)).collect();
    let (zero, one) = (Some(0), Some(1));
    assert_eq!(cpus, [(zero, zero), (zero, zero), (zero, one), (one, one)]);
    // Since the counters before it: the first stall, none, none, none.
    let elsewhere: Vec<u64> = rows.iter().map(|r| r.elsewhere_ns).collect();
    assert_eq!(elsewhere, [0, 1_000, 0, 0]);
    assert_eq!(rows[2].before, rows[1].after);
}

#[test]
fn own_time_is_told_apart_and_a_stall_in_it_is_a_row() {
    // Each anchor takes 50 us once a stall was met: own work held up.
    let mut stamps = planted(|read| if read == 100_000 { 2_000 } else { 0 });
    stamps.anchor_ns = 50_000;
    let (mut producer, mut consumer) = ring(8);
    let counters = counters(&stamps.now);
    let outcome = run(&mut stamps, counters, &settings(5_000_000), &mut producer);
    check_sums(&outcome);
    let rows = rows(&mut consumer);
    assert_eq!(rows.len(), 2);
    assert!(!rows[0].own && rows[1].own);
    assert_eq!(rows[1].stall.from_ns, rows[0].stall.until_ns);
    // The anchor and two stamps; then the counters are read.
    assert_eq!(rows[1].length_ps, 50_040_000);
    assert!(rows[1].after.unwrap().at_ns >= rows[1].stall.until_ns);
    assert!(outcome.own_longest_ns >= 100_000);
    assert_eq!(rows[1].elsewhere_ns, 2_020);
    assert!(rows[1].after.unwrap().at_ns > rows[1].before.unwrap().at_ns);
    // It is no stall of the loop.
    assert_eq!((outcome.stalls, outcome.above.len()), (1, 1));
}

#[test]
fn counters_read_in_the_middle_of_a_disturbance_are_read_again() {
    // The reading after the stall is held up for 7 ms, once.
    let mut stamps = planted(|read| if read == 100_000 { 90_000 } else { 0 });
    let (mut producer, mut consumer) = ring(8);
    let (now, mut readings) = (Rc::clone(&stamps.now), 0);
    let counters = || {
        readings += 1;
        // Two before the loop.
        now.set(now.get() + if readings == 3 { 7_000_000 } else { 3_000 });
        Counters {
            at_ns: now.get() + OFFSET,
            cpu_time_ns: readings,
            ..Counters::default()
        }
    };
    let outcome = run(&mut stamps, counters, &settings(15_000_000), &mut producer);
    check_sums(&outcome);
    let rows = rows(&mut consumer);
    assert_eq!(
        rows.iter().map(|r| r.own).collect::<Vec<_>>(),
        [false, true]
    );
    // The fourth reading counts, and what came between is not this stall's.
    assert_eq!(rows[0].after.unwrap().cpu_time_ns, 4);
    assert!((7_000_000..7_001_000).contains(&rows[0].elsewhere_ns));
    // It is a row of its own, between the same counters and fresh ones.
    assert_eq!(rows[1].before, rows[0].before);
    assert_eq!(rows[1].elsewhere_ns, 90_020);
    assert!((7_000_000_000..7_010_000_000).contains(&rows[1].length_ps));
    assert_eq!(rows[1].after.unwrap().cpu_time_ns, 5);
}

#[test]
fn a_full_ring_loses_rows_and_says_so_and_the_bins_lose_nothing() {
    let mut stamps = planted(|read| if read % 100 == 0 { 5_000 } else { 0 });
    let (mut producer, mut consumer) = ring(10);
    let counters = counters(&stamps.now);
    let outcome = run(&mut stamps, counters, &settings(5_000_000), &mut producer);
    check_sums(&outcome);
    assert_eq!(rows(&mut consumer).len(), 10);
    assert!(outcome.stalls > 600, "{}", outcome.stalls);
    assert_eq!(outcome.lost_rows, outcome.stalls - 10);
}

#[test]
fn counters_are_refreshed_so_that_the_reading_before_a_stall_is_not_old() {
    let mut stamps = planted(|read| if read == 4_000_000 { 90_000 } else { 0 });
    let (mut producer, mut consumer) = ring(8);
    let counters = counters(&stamps.now);
    let l = Settings {
        refresh_ns: 1_000_000,
        ..settings(100_000_000)
    };
    let outcome = run(&mut stamps, counters, &l, &mut producer);
    check_sums(&outcome);
    let row = rows(&mut consumer)[0];
    let age_ns = row.stall.from_ns - row.before.unwrap().at_ns;
    // A reading takes 3.02 us with its stamps: 0.02 % of 15.1 ms.
    assert!(age_ns < 17_000_000, "{age_ns}");
    assert!(outcome.coverage() > 0.999, "{}", outcome.coverage());
    assert!(
        (6..=12).contains(&outcome.counter_reads),
        "{}",
        outcome.counter_reads
    );
}

#[test]
fn a_clock_that_goes_back_is_counted_and_ends_all_the_same() {
    fn late(read: u64) -> i64 {
        match read {
            // Once a little, once before the beginning.
            1_000 => -500,
            2_000 => -300_000,
            _ => 0,
        }
    }
    let mut stamps = planted(late);
    let (mut producer, mut consumer) = ring(8);
    let counters = counters(&stamps.now);
    let outcome = run(&mut stamps, counters, &settings(5_000_000), &mut producer);
    check_sums(&outcome);
    assert_eq!(outcome.backward_steps, 2);
    let furthest_ps = outcome.bins().distribution().min().unwrap();
    assert!((furthest_ps + 299_980_000).abs() < 300_000, "{furthest_ps}");
    assert!(rows(&mut consumer).is_empty());
}

#[test]
fn a_stall_beyond_every_bin_is_still_a_row() {
    let mut stamps = planted(|read| if read == 100 { 10_000_000_000_000 } else { 0 });
    let (mut producer, mut consumer) = ring(8);
    let counters = counters(&stamps.now);
    let outcome = run(
        &mut stamps,
        counters,
        &settings(11_000_000_000),
        &mut producer,
    );
    assert_eq!(outcome.beyond_bins, 1);
    assert_eq!(rows(&mut consumer)[0].length_ps, 10_000_000_000_020_000);
    assert_eq!(outcome.longest_ps, 10_000_000_000_020_000);
}

#[test]
fn a_high_threshold_leaves_what_is_below_to_the_bins() {
    let mut stamps = planted(|read| if read % 10 == 0 { 200_000 } else { 0 });
    let (mut producer, mut consumer) = ring(8);
    let counters = counters(&stamps.now);
    let l = Settings {
        threshold_ns: 1_000_000,
        ..settings(50_000_000)
    };
    let outcome = run(&mut stamps, counters, &l, &mut producer);
    check_sums(&outcome);
    assert!(rows(&mut consumer).is_empty());
    let long = outcome.below.distribution().count_above(199_000_000);
    assert!((200..300).contains(&long), "{long}");
}

#[test]
fn a_row_becomes_a_sample_with_its_length() {
    let row = Row {
        stall: Stall {
            from_ns: 4_000,
            until_ns: 9_000,
        },
        length_ps: 5_000_000,
        ..Row::default()
    };
    let sample = row.sample(1_000);
    assert_eq!(
        (sample.at_ns, sample.value_ps, sample.mark),
        (8_000, 5_000_000, Mark::None)
    );
    let own = Row { own: true, ..row };
    assert_eq!(own.sample(1_000).mark, Mark::Recorder);
}

#[test]
fn a_threshold_below_the_loop_is_one_clear_line() {
    let (mut producer, _consumer) = ring(8);
    let l = Settings {
        threshold_ns: 1,
        ..settings(1_000_000)
    };
    let error = measure(None, Counters::default, &l, &mut producer)
        .unwrap_err()
        .to_string();
    assert!(
        error.starts_with("stalls from 1 ns on: one iteration"),
        "{error}"
    );
    assert_eq!(error.lines().count(), 1);
}
