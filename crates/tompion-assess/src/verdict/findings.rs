//! What hurts most on this machine, and by how much.

use std::collections::{BTreeSet, HashMap};

use tompion_model::{AT_REST, Cell, Factors, factor};
use tompion_probe::{read_cost, timer_events, wake_up};
use tompion_stats::ratio_interval;

use crate::verdict::basis::{self, Comparison, LEVEL, name, times, under};
use crate::verdict::candidate::Candidate;
use crate::verdict::profile::quantity_name;
use crate::verdict::{Finding, clocks};

/// Findings shown; further ones are smaller.
const MOST: usize = 6;

/// Quantile at which loads are compared: the farthest that a block of a short
/// run still holds.
const TAIL: f64 = 0.99;

/// Share of missed periods that is worth a sentence.
const SMALLEST_MISSED_SHARE: f64 = 0.01;

/// What hurts, worst first, one finding for each cause and kind of method.
pub fn findings(cells: &[Cell]) -> Vec<Finding> {
    let mut all: Vec<Candidate> = load_effects(cells);
    all.extend(missed_periods(cells));
    all.extend(clocks::findings(cells));
    all.sort_by(|a, b| {
        b.wrong
            .cmp(&a.wrong)
            .then_with(|| b.finding.ratio.total_cmp(&a.finding.ratio))
            .then_with(|| a.finding.cell.cmp(&b.finding.cell))
    });
    let mut told = BTreeSet::new();
    all.retain(|c| told.insert(c.cause.clone()));
    all.truncate(MOST);
    all.into_iter().map(|c| c.finding).collect()
}

/// Methods that suffer from the same causes in the same way.
pub fn kind(factors: &Factors) -> &'static str {
    match factors.level(factor::PROBE) {
        wake_up::NAME | timer_events::NAME => match basis::way(factors) {
            Some(way) if way.spins() => "spinning",
            _ => "sleeping",
        },
        read_cost::NAME => "reading",
        _ => "other",
    }
}

/// Cells by their keys.
struct ByKey<'a>(HashMap<&'a Factors, &'a Cell>);

impl<'a> ByKey<'a> {
    fn of(cells: &'a [Cell]) -> Self {
        // The first of two.
        Self(cells.iter().rev().map(|c| (&c.factors, c)).collect())
    }

    /// The cell like `cell` at rest.
    fn at_rest(&self, cell: &Cell) -> Option<&'a Cell> {
        let rest = cell.factors.clone().with(factor::LOAD, AT_REST);
        self.0.get(&rest).copied()
    }
}

/// How much further out the tail lies under each load than at rest.
fn load_effects(cells: &[Cell]) -> Vec<Candidate> {
    let loaded = cells
        .iter()
        .filter(|c| c.factors.level(factor::LOAD) != AT_REST)
        // Of a busy loop's iterations few are stalls: their quantiles say nothing, and
        // the report has a section on them.
        .filter(|c| c.factors.level(factor::PROBE) != "stalls");
    let all = ByKey::of(cells);
    loaded
        .filter_map(|cell| {
            let rest = all.at_rest(cell)?;
            let (here, there) = (basis::numbered(cell), basis::numbered(rest));
            let c = Comparison::of(here, there, TAIL)?;
            if !c.is_notably_larger() {
                return None;
            }
            let load = cell.factors.level(factor::LOAD);
            let filled = if cell.missed_periods.is_some_and(|n| n > 0) {
                ", corrected for coordinated omission"
            } else {
                ""
            };
            let (here, there) = (c.a_in_words(), c.b_in_words());
            let change = match c.has_ranges() {
                true => format!("is {here}, at rest {there}"),
                false => format!("grows from {there} to {here}"),
            };
            let text = format!(
                "{} the p99 {} of {} {change} ({} times{filled})",
                under(load),
                quantity_name(cell.factors.level(factor::PROBE)),
                name(&cell.factors),
                c.times_in_words(c.whole_ratio()),
            );
            let cause = format!("{load} {}", kind(&cell.factors));
            Some(Candidate::of(
                cause,
                cell,
                &text,
                (c.whole_ratio(), c.ratio_range),
            ))
        })
        .collect()
}

/// Cells on a grid that wake up for noticeably fewer periods than there were.
fn missed_periods(cells: &[Cell]) -> Vec<Candidate> {
    let all = ByKey::of(cells);
    cells
        .iter()
        .filter_map(|cell| {
            let share = missed_share(cell)?;
            // Of n periods between two wake-ups, n - 1 were missed.
            let periods = 1.0 / (1.0 - share);
            let load = cell.factors.level(factor::LOAD);
            let compared = all
                .at_rest(cell)
                .filter(|_| load != AT_REST)
                .and_then(share_of)
                .map(|rest| format!(" (at rest {})", percent(rest)))
                .unwrap_or_default();
            let text = format!(
                "{} {} woke up once in {} periods: it missed {} of them{compared}",
                under(load),
                name(&cell.factors),
                times(periods),
                percent(share),
            );
            let cause = format!("missed {load} {}", kind(&cell.factors));
            Some(Candidate::of(cause, cell, &text, (periods, None)))
        })
        .collect()
}

/// Share of missed periods, where it is worth a sentence and exceeds the noise
/// between blocks.
fn missed_share(cell: &Cell) -> Option<f64> {
    let share = share_of(cell).filter(|s| *s >= SMALLEST_MISSED_SHARE)?;
    let periods_and_wake_ups: Vec<(f64, f64)> = cell
        .filled_blocks
        .iter()
        .zip(&cell.blocks)
        .map(|(filled, seen)| (filled.len() as f64, seen.len() as f64))
        .collect();
    let (_, interval) = ratio_interval(&periods_and_wake_ups, LEVEL)?;
    (interval.low > 1.0).then_some(share)
}

/// Missed periods among all periods, from the values filled in for them.
fn share_of(cell: &Cell) -> Option<f64> {
    let filled: u64 = cell.filled_blocks.iter().map(|b| b.len()).sum();
    let seen = basis::samples(cell);
    (filled >= seen && seen > 0).then(|| (filled - seen) as f64 / filled as f64)
}

fn percent(share: f64) -> String {
    match share * 100.0 {
        // Between 90 and 100 the rest is what tells.
        p if (9.95..90.0).contains(&p) => format!("{p:.0} %"),
        p => format!("{p:.1} %"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verdict::planted::{Planted, drifting_ns};
    use tompion_model::Blocks;

    fn wake_up(method: &str, load: &str, ns: i64) -> Cell {
        Planted::wake_up(method, "100us", load)
            .slack("default")
            .each_block(drifting_ns(ns, 8, 200))
    }

    #[test]
    fn a_planted_load_effect_is_found_with_its_size() {
        let cells = [
            wake_up("usleep", "idle", 60_000),
            wake_up("usleep", "cpu", 3_900_000),
        ];
        let found = findings(&cells);
        assert_eq!(found.len(), 1);
        assert!((found[0].ratio - 65.0).abs() < 0.1, "{}", found[0].ratio);
        insta::assert_snapshot!(found[0].sentence, @"Under cpu load the p99 wake-up latency of usleep (100 µs) grows from 62.4 µs to 4.06 ms (65.0 times).");
    }

    #[test]
    fn blocks_that_disagree_are_told_by_their_range_and_so_is_their_multiple() {
        // Seven blocks beside the load, one that it left alone.
        let latency = |block: i64| if block == 3 { 120_000 } else { 3_900_000 };
        let block = |b: i64| -> Vec<i64> { (0..200).map(|i| latency(b) + i % 7).collect() };
        let loaded = Planted::wake_up("usleep", "100us", "cpu").slack("default");
        let rest = Planted::wake_up("usleep", "100us", "idle").slack("default");
        let cells = [
            rest.blocks(8, &[60_000; 200]),
            loaded.each_block((0..8).map(block)),
        ];
        let found = findings(&cells).remove(0);
        insta::assert_snapshot!(found.sentence, @"Under cpu load the p99 wake-up latency of usleep (100 µs) is 120 µs to 3.90 ms (blocks), at rest 60.0 µs (2.00 to 65.0 (blocks) times).");
        let [low, high] = found.ratio_range.unwrap();
        assert!((low - 2.0).abs() < 1e-3 && (high - 65.0).abs() < 1e-3);
        assert!(found.ratio <= high && found.ratio >= low);
    }

    #[test]
    fn a_quantile_with_missed_periods_filled_in_says_so() {
        let grid = |load: &str, ns: i64, missed: u64| {
            let mut cell =
                Planted::wake_up("timerfd", "100us", load).each_block(drifting_ns(ns, 8, 200));
            cell.filled_blocks = cell.blocks.clone();
            cell.missed_periods = Some(missed);
            cell
        };
        let cells = [grid("idle", 60_000, 0), grid("cpu", 3_900_000, 7)];
        let found = findings(&cells);
        assert!(
            found[0]
                .sentence
                .ends_with("(65.0 times, corrected for coordinated omission)."),
            "{}",
            found[0].sentence
        );
    }

    #[test]
    fn noise_and_trifles_are_no_findings() {
        let noisy = [
            40_000, 90_000, 30_000, 200_000, 20_000, 70_000, 50_000, 10_000,
        ];
        let cell = |load: &str, values: [i64; 8]| {
            Planted::wake_up("usleep", "100us", load).each_block(values.map(|v| [v; 50]))
        };
        let mut turned = noisy;
        turned.rotate_left(3);
        assert!(findings(&[cell("idle", noisy), cell("cpu", turned)]).is_empty());
        let trifle = [
            wake_up("usleep", "idle", 60_000),
            wake_up("usleep", "cpu", 66_000),
        ];
        assert!(findings(&trifle).is_empty());
        let single = [
            Planted::wake_up("usleep", "100us", "idle").blocks(1, &[60_000; 500]),
            Planted::wake_up("usleep", "100us", "cpu").blocks(1, &[6_000_000; 500]),
        ];
        assert!(findings(&single).is_empty());
    }

    #[test]
    fn one_finding_a_load_and_kind_of_method_worst_first() {
        let mut cells = Vec::new();
        for method in ["usleep", "nanosleep", "timerfd", "tompion-hybrid"] {
            cells.push(wake_up(method, "idle", 10_000));
        }
        for (method, load, ns) in [
            ("usleep", "cpu", 100_000),
            ("nanosleep", "cpu", 300_000),
            ("timerfd", "network", 50_000),
            ("tompion-hybrid", "cpu", 800_000),
        ] {
            cells.push(wake_up(method, load, ns));
        }
        let found = findings(&cells);
        let told: Vec<(String, f64)> = found
            .iter()
            .map(|f| (f.cell.to_string(), f.ratio.round()))
            .collect();
        assert_eq!(
            told,
            [
                (
                    "wake-up/tompion-hybrid/100us/policy=other/timer-slack=default/cpu".to_owned(),
                    80.0
                ),
                (
                    "wake-up/nanosleep/100us/policy=other/timer-slack=default/cpu".to_owned(),
                    30.0
                ),
                (
                    "wake-up/timerfd/100us/policy=other/timer-slack=default/network".to_owned(),
                    5.0
                ),
            ]
        );
    }

    #[test]
    fn at_most_six_findings_are_told() {
        let mut cells = vec![wake_up("usleep", "idle", 1_000)];
        for i in 0..9 {
            cells.push(wake_up("usleep", &format!("load{i}"), 10_000 * (i + 1)));
        }
        let found = findings(&cells);
        assert_eq!(found.len(), MOST);
        assert!(found.is_sorted_by(|a, b| a.ratio >= b.ratio));
        assert!(found[0].sentence.starts_with("Under load8 load"));
    }

    #[test]
    fn missed_periods_are_counted_against_all_periods() {
        let grid = |load: &str, missed_of_hundred: usize| {
            let mut cell = Planted::wake_up("timerfd", "100us", load).blocks(8, &[5_000; 100]);
            let mut filled = vec![5_000_000; 100];
            filled.extend(vec![4_000_000; missed_of_hundred]);
            cell.filled_blocks = Blocks::from_iter(vec![filled; 8]);
            cell
        };
        let found = findings(&[grid("idle", 0), grid("cpu", 25)]);
        assert_eq!(found.len(), 1);
        assert!((found[0].ratio - 1.25).abs() < 1e-9);
        insta::assert_snapshot!(found[0].sentence, @"Under cpu load timerfd (100 µs) woke up once in 1.25 periods: it missed 20 % of them (at rest 0.0 %).");
    }

    #[test]
    fn a_run_without_rest_or_samples_has_no_findings() {
        assert!(findings(&[wake_up("usleep", "cpu", 60_000)]).is_empty());
        let empty = Planted::wake_up("usleep", "100us", "idle").blocks(8, &[]);
        assert!(findings(&[empty, wake_up("usleep", "cpu", 60_000)]).is_empty());
    }
}
