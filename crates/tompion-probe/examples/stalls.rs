//! What the stall loop costs and how much of the time it observes on this
//! machine: one loop, 5 s or as many as given, and the longest stalls.

use std::time::Duration;

use tompion_cause::{Counters, describe_ns};
use tompion_probe::stalls::{Row, Settings, measure, ring};
use tompion_time::Rate;

fn main() {
    let seconds = std::env::args().nth(1).map_or(5, |s| {
        s.parse().expect("the argument is a number of seconds")
    });
    let rate = Rate::measure(Duration::from_millis(50)).map(|m| m.1);
    let settings = Settings {
        time_ns: seconds * 1_000_000_000,
        counters_above_ns: u64::MAX,
        ..Settings::default()
    };
    let (mut producer, mut consumer) = ring(1 << 18);
    let outcome =
        measure(rate, Counters::default, &settings, &mut producer).expect("1 us is long enough");
    println!(
        "{}: {} intervals of {:.1} ns; {:.4} % of {} observed; own work {} in all, {} at most",
        outcome.measurement.clock,
        outcome.iterations,
        outcome.period_ns,
        100.0 * outcome.coverage(),
        describe_ns(outcome.wall_ns),
        describe_ns(outcome.own_ns),
        describe_ns(outcome.own_longest_ns),
    );
    println!(
        "{} stalls from {} on: {} in all; {} rows lost",
        outcome.stalls,
        describe_ns(settings.threshold_ns),
        describe_ns(outcome.stalled_ns),
        outcome.lost_rows
    );
    let mut rows: Vec<Row> = std::iter::from_fn(|| consumer.pop()).collect();
    rows.sort_by_key(|row| std::cmp::Reverse(row.length_ps));
    for row in rows.iter().take(10) {
        println!(
            "{:>8} after {:.6} s{}",
            describe_ns(row.length_ps / 1000),
            (row.stall.from_ns - outcome.began_ns) as f64 / 1e9,
            if row.own { " (in own work)" } else { "" }
        );
    }
}
