//! The limits on planted figures.

use super::*;

/// Twenty blocks around the figures given; a hundredth of spread.
fn cell(method: Method, median_us: f64, p95_us: f64, cpu_share: f64) -> Cell {
    let block = |i: u32| {
        let wobble = 1.0 + 0.01 * (f64::from(i) * 1.7).sin();
        Figures {
            sleeps: 100,
            median_us: median_us * wobble,
            p95_us: p95_us * wobble,
            p99_us: 2.0 * p95_us * wobble,
            p99_9_us: 4.0 * p95_us * wobble,
            max_us: 5000.0,
            over_100_us_share: 0.0,
            early_share: 0.0,
            cpu_share: cpu_share * wobble,
            limited_share: 0.0,
        }
    };
    Cell {
        load: Load::Hogs,
        target_ns: JUDGED.as_nanos() as u64,
        method,
        all: block(0),
        blocks: (0..20).map(block).collect(),
    }
}

/// Peers as in the field, and ours as given.
fn planted(median_us: f64, p95_us: f64, cpu_share: f64) -> Vec<Cell> {
    vec![
        cell(Method::Std, 56.0, 64.0, 0.004),
        cell(Method::SpinSleep, 2_000.0, 3_000.0, 0.05),
        cell(Method::SpinSleepHint, 0.11, 0.30, 0.074),
        cell(Method::BusyWait, 0.10, 4_000.0, 0.67),
        cell(Method::HighPerTimer, 0.13, 4_000.0, 0.69),
        cell(Method::Hybrid, median_us, p95_us, cpu_share),
        cell(Method::HybridAgain, median_us, p95_us, cpu_share),
    ]
}

fn verdicts(median_us: f64, p95_us: f64, cpu_share: f64) -> Vec<Verdict> {
    let rows = limits(&planted(median_us, p95_us, cpu_share));
    rows.iter().filter_map(|row| row.verdict).collect()
}

#[test]
fn three_limits_are_judged_each_by_its_own_figure() {
    use Verdict::{Met, NotMet};
    assert_eq!(verdicts(0.11, 0.31, 0.012), [Met, Met, Met]);
    assert_eq!(verdicts(0.25, 0.31, 0.012), [NotMet, Met, Met]);
    assert_eq!(verdicts(0.11, 0.45, 0.012), [Met, NotMet, Met]);
    assert_eq!(verdicts(0.11, 0.31, 0.040), [Met, Met, NotMet]);
}

#[test]
fn peers_are_chosen_by_what_they_are_good_at() {
    let rows = limits(&planted(0.11, 0.31, 0.012));
    let row = |start: &str| rows.iter().find(|r| r.what.starts_with(start)).unwrap();
    // The default spin_sleep is cheaper still, but 2 ms late.
    assert!(row("CPU").what.contains("SpinLoopHint"));
    assert!(row("p95").what.contains("SpinLoopHint"));
    let ratio = row("CPU").estimate.unwrap().mean;
    assert!((ratio - 0.012 / 0.074).abs() < 1e-9, "{ratio}");
}

#[test]
fn every_row_is_followed_by_ours_against_ours() {
    let rows = limits(&planted(0.11, 0.31, 0.012));
    assert_eq!(rows.len() % 2, 0);
    for pair in rows.chunks(2) {
        assert!(!pair[0].what.contains("A/A"));
        assert!(pair[1].what.contains("A/A") && pair[1].verdict.is_none());
        let same = if pair[1].unit == "ratio" { 1.0 } else { 0.0 };
        assert_eq!(pair[1].estimate.unwrap().mean, same, "{:?}", pair[1]);
    }
}

#[test]
fn without_a_precise_peer_the_cpu_limit_is_undecided() {
    let mut cells = planted(0.11, 0.31, 0.012);
    cells.retain(|c| c.all.median_us > 1.0 || c.method == Method::Hybrid);
    let rows = limits(&cells);
    let cpu = rows.iter().find(|r| r.what.starts_with("CPU")).unwrap();
    assert_eq!(cpu.verdict, Some(Verdict::Inconclusive));
}

#[test]
fn the_claim_is_tested_for_both_rules_everywhere() {
    let claims = claims(&planted(0.11, 0.31, 0.012));
    assert_eq!(claims.len(), Load::ALL.len() * TARGETS.len() * 2);
    let at = |method| {
        let judged = JUDGED.as_nanos() as u64;
        let found = claims
            .iter()
            .find(|c| c.method == method && c.load == Load::Hogs && c.target_ns == judged);
        found.unwrap().verdict
    };
    assert_eq!(at(Method::HighPerTimer), Verdict::NotMet);
    assert_eq!(at(Method::Hybrid), Verdict::Met);
    // What was not measured is not claimed.
    assert_eq!(claims[0].verdict, Verdict::Inconclusive);
}
