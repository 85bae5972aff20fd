//! Where nothing differs, comparisons reject no more often than their level says,
//! although the samples depend on one another.
//!
//! Each draw compares two disjoint contiguous stretches of one series.

use crate::common::{
    DRAWS, LEVEL, Noise, ar, ar_with_stalls, draw, draws_of_machine, most_rejections, of_machine,
    recorded, recorded_ebbing, recorded_later,
};
use tompion_stats::{Outcome, Series, compare_series};

#[derive(Debug, Default)]
struct Tally {
    rejected: u64,
    decided: u64,
    refused: u64,
}

impl Tally {
    fn add(&mut self, a: Series<'_>, b: Series<'_>, q: f64) {
        match compare_series(a, b, q, LEVEL, 1).unwrap().outcome {
            Outcome::Decided(c) => {
                self.decided += 1;
                self.rejected += u64::from(c.p <= LEVEL);
                // Test and interval tell the same.
                assert_eq!(c.p <= LEVEL, !c.interval.contains(0.0), "{c:?}");
            }
            Outcome::NotDecidable { have, need } => {
                assert!(need > have);
                self.refused += 1;
            }
        }
    }

    /// All draws count as decidable by design: they have the samples for as many
    /// stretches as the level needs.
    fn assert_level_is_held(&self, name: &str) {
        println!(
            "{name}: {self:?}, at most {} rejections",
            most_rejections(self.decided)
        );
        assert!(
            self.rejected <= most_rejections(self.decided),
            "{name}: {self:?}"
        );
        let draws = self.decided + self.refused;
        assert!(self.refused <= draws / 10, "{name}: {self:?}");
    }
}

/// A length, all orders of magnitude alike. The shortest of the generated series,
/// 500 samples, are 26 of their autocorrelation times; the level needs 4 stretches
/// of 3.
fn length(noise: &mut Noise, shortest: f64, longest: f64) -> usize {
    (shortest * (longest / shortest).powf(noise.uniform())) as usize
}

fn generated(name: &str, q: f64, series: fn(&mut Noise, usize) -> Vec<i64>) {
    let mut tally = Tally::default();
    for seed in 0..DRAWS {
        let mut noise = Noise::new(seed);
        let n = length(&mut noise, 500.0, 5_000.0);
        let series = series(&mut noise, 3 * n);
        let (a, b) = draw(&mut noise, &series, n);
        tally.add(Series::timeless(a), Series::timeless(b), q);
    }
    tally.assert_level_is_held(name);
}

#[test]
fn an_autoregression_median() {
    generated("AR(1), median", 0.5, ar);
}

#[test]
fn an_autoregression_p95() {
    generated("AR(1), p95", 0.95, ar);
}

#[test]
fn an_autoregression_with_clustered_stalls_median() {
    generated("AR(1) with stalls, median", 0.5, ar_with_stalls);
}

#[test]
fn an_autoregression_with_clustered_stalls_p95() {
    generated("AR(1) with stalls, p95", 0.95, ar_with_stalls);
}

/// Samples in two minutes of a recording, below which nothing is decided.
const TWO_MINUTES: f64 = 12_000.0;

/// Stretches of a recorded machine that are decidable by design, of two to seven
/// minutes.
fn machine(name: &str, series: &[i64], q: f64) {
    let draws = draws_of_machine(DRAWS);
    drawn(series, q, draws, (TWO_MINUTES, 40_000.0), of_machine).assert_level_is_held(name);
}

fn drawn(
    series: &[i64],
    q: f64,
    draws: u64,
    (shortest, longest): (f64, f64),
    taken: fn(&[i64]) -> Series<'_>,
) -> Tally {
    let mut noise = Noise::new(1);
    let mut tally = Tally::default();
    for _ in 0..draws {
        let n = length(&mut noise, shortest, longest);
        let (a, b) = draw(&mut noise, series, n);
        tally.add(taken(a), taken(b), q);
    }
    tally
}

#[test]
fn a_recorded_machine_median() {
    machine("recorded machine, median", &recorded(), 0.5);
}

#[test]
fn a_recorded_machine_p99() {
    machine("recorded machine, p99", &recorded(), 0.99);
}

#[test]
fn a_recording_that_nobody_tuned_on_median() {
    machine("later recording, median", &recorded_later(), 0.5);
}

#[test]
fn a_recording_that_nobody_tuned_on_p99() {
    machine("later recording, p99", &recorded_later(), 0.99);
}

#[test]
fn a_machine_whose_load_ebbed_median() {
    machine("ebbing machine, median", &recorded_ebbing(), 0.5);
}

#[test]
fn a_machine_whose_load_ebbed_p99() {
    machine("ebbing machine, p99", &recorded_ebbing(), 0.99);
}

/// Why two minutes: where the load of a machine ebbs for minutes, series of less than
/// a minute differ more than they show of themselves. None of them is decided.
#[test]
fn series_shorter_than_the_tides_of_a_machine_are_refused() {
    let series = recorded_ebbing();
    for q in [0.5, 0.99] {
        let lengths = (2_000.0, 6_000.0);
        let untimed = drawn(&series, q, DRAWS / 4, lengths, |s| Series::timeless(s));
        println!("ebbing machine, {q}, up to a minute, were they decided: {untimed:?}");
        assert!(untimed.rejected > most_rejections(untimed.decided));
        let timed = drawn(&series, q, DRAWS / 4, lengths, of_machine);
        assert_eq!((timed.decided, timed.refused), (0, DRAWS / 4));
    }
}

/// The counter-example: the same draws of the autoregression, every sample taken
/// for independent, by the normal approximation of Mann and Whitney (1947).
#[test]
fn taking_every_sample_as_independent_fails() {
    let mut rejected = 0;
    for seed in 0..DRAWS {
        let mut noise = Noise::new(seed);
        let n = length(&mut noise, 500.0, 5_000.0);
        let series = ar(&mut noise, 3 * n);
        let (a, b) = draw(&mut noise, &series, n);
        rejected += u64::from(mann_whitney_z(a, b).abs() > 1.959_964);
    }
    println!("every sample independent: {rejected} of {DRAWS} rejected");
    assert!(rejected > most_rejections(DRAWS), "{rejected}");
}

/// How many standard deviations the rank sum is off; ties do not matter here.
fn mann_whitney_z(a: &[i64], b: &[i64]) -> f64 {
    let mut pooled: Vec<(i64, bool)> = a.iter().map(|v| (*v, false)).collect();
    pooled.extend(b.iter().map(|v| (*v, true)));
    pooled.sort_unstable();
    let ranks = pooled.iter().zip(1u64..);
    let sum: u64 = ranks
        .filter(|((_, of_b), _)| *of_b)
        .map(|(_, rank)| rank)
        .sum();
    let (n, m) = (a.len() as f64, b.len() as f64);
    let expected = m * (n + m + 1.0) / 2.0;
    (sum as f64 - expected) / (n * m * (n + m + 1.0) / 12.0).sqrt()
}
