//! Planted shifts are found with the power that the documentation states.

use crate::common::{
    LEVEL, Noise, ar, draw, draws_of_machine, least_findings, of_machine, recorded,
};
use tompion_stats::{Design, Outcome, Series, compare_replicates, compare_series};

/// Whether `outcome` rejects in the right direction.
fn found(outcome: Outcome) -> bool {
    matches!(outcome, Outcome::Decided(c) if c.p <= LEVEL && c.shift > 0.0)
}

fn assert_power(name: &str, stated: f64, rounds: u64, find: impl Fn(&mut Noise) -> bool) {
    let found = (0..rounds).filter(|s| find(&mut Noise::new(*s))).count() as u64;
    println!("{name}: {found} of {rounds}, stated {stated}");
    assert!(found >= least_findings(stated, rounds), "{name}: {found}");
    // Nor may the statement be too modest by more than five parts in a hundred.
    let most = rounds - least_findings(0.95 - stated, rounds);
    assert!(found <= most, "{name}: {found}");
}

fn replicates(noise: &mut Noise, n: usize, shift: f64, design: Design) -> bool {
    let mut figures = |by: f64| -> Vec<f64> { (0..n).map(|_| by + noise.normal()).collect() };
    let (a, b) = (figures(0.0), figures(shift));
    found(compare_replicates(&a, &b, design, LEVEL, 1).unwrap())
}

#[test]
fn six_replicates_find_two_standard_deviations() {
    assert_power("6 + 6, 2 sd", 0.82, 2000, |noise| {
        replicates(noise, 6, 2.0, Design::Independent)
    });
}

#[test]
fn ten_replicates_find_one_and_a_half() {
    assert_power("10 + 10, 1.5 sd", 0.85, 2000, |noise| {
        replicates(noise, 10, 1.5, Design::Independent)
    });
}

#[test]
fn ten_pairs_find_one_and_a_half() {
    // Differences of two such figures scatter by sqrt(2) standard deviations.
    assert_power("10 pairs, 1.5 sd", 0.82, 2000, |noise| {
        replicates(noise, 10, 1.5, Design::Paired)
    });
}

#[test]
fn a_series_finds_four_tenths_of_a_standard_deviation() {
    // 5000 samples of time 19 are worth 263 independent ones.
    assert_power("AR(1), 5000, 0.4 sd", 0.82, 400, |noise| {
        let series = ar(noise, 15_000);
        let (a, b) = draw(noise, &series, 5_000);
        let b: Vec<i64> = b.iter().map(|v| v + 400_000).collect();
        let (a, b) = (Series::timeless(a), Series::timeless(&b));
        found(compare_series(a, b, 0.5, LEVEL, 1).unwrap().outcome)
    });
}

/// As much as this takes on a machine that drifts, less is too little: the
/// documentation says so.
#[test]
fn on_the_recorded_machine_a_doubled_median_is_found() {
    let series = recorded();
    let shifted = |noise: &mut Noise, by: i64| {
        let (a, b) = draw(noise, &series, 20_000);
        let b: Vec<i64> = b.iter().map(|v| v + by).collect();
        let (a, b) = (of_machine(a), of_machine(&b));
        found(compare_series(a, b, 0.5, LEVEL, 1).unwrap().outcome)
    };
    let rounds = draws_of_machine(1000);
    assert_power("recorded, 109 us more", 0.84, rounds, |noise| {
        shifted(noise, 109_000)
    });
    assert_power("recorded, 22 us more", 0.13, rounds, |noise| {
        shifted(noise, 22_000)
    });
}
