use tompion_stats::{Distribution, Moments};

use super::*;
use crate::Way;
use crate::model::chance::Decides;

const DRAWS: usize = 400_000;

fn drawn(delay_ns: u64, jitter: Option<Jitter>) -> (Vec<i64>, usize) {
    let plan = WayPlan {
        delay_ns,
        jitter,
        ..WayPlan::default()
    };
    let mut delay = Delay::new(&plan, Chance::new(9, Way::Outward, Decides::Delay));
    let draws: Vec<DelayDrawn> = (0..DRAWS).map(|_| delay.next()).collect();
    let cut = draws.iter().filter(|d| d.is_cut).count();
    (draws.iter().map(|d| d.ns).collect(), cut)
}

fn mean_and_deviation(values: &[i64]) -> (f64, f64) {
    let moments = Moments::of(values.iter().map(|&v| v as f64));
    (
        moments.mean().unwrap(),
        moments.standard_deviation().unwrap(),
    )
}

#[test]
fn fixed_delays_up_to_a_hundred_seconds() {
    for ns in [0, 20_000_000, MOST_DELAY_NS] {
        let (values, cut) = drawn(ns, None);
        assert!(values.iter().all(|&v| v == ns as i64));
        assert_eq!(cut, 0);
    }
}

#[test]
fn normal_jitter_is_around_the_fixed_delay() {
    let deviation_ns = 500_000;
    let (values, cut) = drawn(10_000_000, Some(Jitter::Normal { deviation_ns }));
    let (mean, deviation) = mean_and_deviation(&values);
    assert!((mean - 1e7).abs() < 5_000.0, "{mean}");
    assert!((deviation / 5e5 - 1.0).abs() < 0.01, "{deviation}");
    assert_eq!(cut, 0);
    // Without a fixed delay half of it would be negative.
    let (values, cut) = drawn(0, Some(Jitter::Normal { deviation_ns }));
    assert!(values.iter().all(|&v| v >= 0));
    assert!((cut as f64 / DRAWS as f64 - 0.5).abs() < 0.01, "{cut}");
}

#[test]
fn exponential_and_uniform_jitter_have_their_moments() {
    let mean_ns = 2_000_000;
    let (values, _) = drawn(1_000_000, Some(Jitter::Exponential { mean_ns }));
    let (mean, deviation) = mean_and_deviation(&values);
    assert!((mean / 3e6 - 1.0).abs() < 0.01, "{mean}");
    assert!((deviation / 2e6 - 1.0).abs() < 0.02, "{deviation}");
    assert!(values.iter().all(|&v| v >= 1_000_000));
    let most_ns = 600_000;
    let (values, _) = drawn(1_000_000, Some(Jitter::Uniform { most_ns }));
    let (mean, deviation) = mean_and_deviation(&values);
    assert!((mean / 1.3e6 - 1.0).abs() < 0.01, "{mean}");
    assert!(
        (deviation / (6e5 / 12f64.sqrt()) - 1.0).abs() < 0.01,
        "{deviation}"
    );
    assert!(values.iter().all(|v| (1_000_000..=1_600_000).contains(v)));
}

/// Above x with probability (least / x)^shape.
#[test]
fn pareto_jitter_has_its_tail() {
    let jitter = Jitter::Pareto {
        least_ns: 100_000,
        shape: 1.5,
    };
    let (values, _) = drawn(0, Some(jitter));
    let values = Distribution::from_values(values);
    assert!(values.min() >= Some(100_000));
    for (times, tolerance) in [(2.0f64, 0.01), (10.0, 0.04), (100.0, 0.2)] {
        let theory = times.powf(-1.5);
        let limit = (times * 100_000.0) as i64;
        let share = values.count_above(limit) as f64 / DRAWS as f64;
        assert!(
            (share / theory - 1.0).abs() < tolerance,
            "{times}: {share}, not {theory}"
        );
    }
}

#[test]
fn a_tail_beyond_a_hundred_seconds_is_cut_and_counted() {
    let jitter = Jitter::Pareto {
        least_ns: 1_000_000_000,
        shape: 0.5,
    };
    let (values, cut) = drawn(0, Some(jitter));
    // A tenth of it lies beyond 100 times the least.
    assert!((cut as f64 / DRAWS as f64 - 0.1).abs() < 0.01, "{cut}");
    assert_eq!(values.iter().max(), Some(&(MOST_DELAY_NS as i64)));
}

#[test]
fn a_spread_of_nothing_is_no_jitter() {
    for jitter in [
        Jitter::Normal { deviation_ns: 0 },
        Jitter::Exponential { mean_ns: 0 },
        Jitter::Uniform { most_ns: 0 },
    ] {
        assert!(drawn(7, Some(jitter)).0.iter().all(|&v| v == 7));
    }
}
