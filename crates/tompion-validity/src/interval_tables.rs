//! The tables of intervals and verdicts.

use std::collections::BTreeMap;
use std::fmt::Write;

use tompion_model::Blocks;

use crate::due::{DUE, Late};
use crate::intervals::{Counting, Row};
use crate::table::{Bound, Counted, Part, in_threads, joined, missed};
use crate::truth::{Shape, Truth};
use crate::verdicts::{Outcomes, is_to_decide, verdict};

const QUANTILES: [(&str, f64); 3] = [("median", 0.5), ("p99", 0.99), ("p99.9", 0.999)];

/// True quantiles over the limit: two where a pass is wrong, one where a fail is, and two that
/// are to be decided.
const TIMES: [f64; 5] = [1.1, 1.5, 0.9, 0.5, 2.0];

/// Wrong verdicts of all draws, at most.
const WRONG: f64 = 0.025;

/// Methods that are measured at once.
const METHODS: [usize; 2] = [1, 5];

/// One truth in one shape: intervals and verdicts of each quantile.
struct Found {
    rows: Vec<Row>,
    /// Clusters beyond a limit at each quantile that are due.
    due: Vec<f64>,
    /// For each quantile, number of methods and limit.
    outcomes: Vec<[[Outcomes; TIMES.len()]; METHODS.len()]>,
}

fn found(truth: Truth, shape: Shape, (draws, seeds): (u64, u64)) -> Found {
    let true_ps = QUANTILES.map(|(_, q)| truth.quantile_ps(q));
    let mut counting = QUANTILES.map(|(_, q)| Counting::new(truth, shape, q));
    let mut outcomes = vec![[[Outcomes::default(); TIMES.len()]; METHODS.len()]; QUANTILES.len()];
    let mut late = [Late::default(); QUANTILES.len()];
    // Draws that follow one another serve as methods, each of them once.
    let mut drawn: Vec<Blocks> = Vec::new();
    let most = METHODS[METHODS.len() - 1];
    for draw in 0..draws {
        drawn.push(truth.draw(shape, seeds + draw));
        counting
            .iter_mut()
            .for_each(|c| c.add(&drawn[drawn.len() - 1]));
        for (late, true_ps) in late.iter_mut().zip(true_ps) {
            let blocks = drawn[drawn.len() - 1].iter();
            late.add(blocks.map(|b| b.count_above(true_ps as i64)).sum());
        }
        for ((outcomes, (_, q)), true_ps) in outcomes.iter_mut().zip(QUANTILES).zip(true_ps) {
            for (outcomes, methods) in outcomes.iter_mut().zip(METHODS) {
                if !drawn.len().is_multiple_of(methods) {
                    continue;
                }
                let judged = &drawn[drawn.len() - methods..];
                for (outcomes, times) in outcomes.iter_mut().zip(TIMES) {
                    outcomes.add(verdict(true_ps, judged, q, times));
                }
            }
        }
        if drawn.len() == most {
            drawn.clear();
        }
    }
    let samples = (shape.blocks * shape.samples) as f64;
    let due = late.iter().zip(QUANTILES);
    Found {
        due: due
            .map(|(l, (_, q))| l.clusters(truth, q, samples))
            .collect(),
        rows: counting.iter().map(Counting::row).collect(),
        outcomes,
    }
}

/// Both tables of one shape. `draws` are how many, from which seeds on.
pub fn tables(truths: &[Truth], shape: Shape, draws: &[(u64, u64)]) -> Part {
    let found = in_threads(truths, |truth| -> Vec<Found> {
        let of_set = |draws: &(u64, u64)| found(*truth, shape, *draws);
        draws.iter().map(of_set).collect()
    });
    let (intervals, of_intervals) = intervals(truths, &found);
    let (verdicts, of_verdicts) = verdicts(truths, shape, &found);
    (
        format!("{intervals}\n{verdicts}"),
        of_intervals + of_verdicts,
    )
}

fn intervals(truths: &[Truth], found: &[Vec<Found>]) -> Part {
    let mut text = format!(
        "{:22} {:7} {:>11} {:>11} {:>9} {:>11}   refused\n",
        "series", "", "printed", "covers", "below", "width"
    );
    let mut count = 0;
    for (truth, sets) in truths.iter().zip(found) {
        for (at, (name, _)) in QUANTILES.into_iter().enumerate() {
            let rows: Vec<&Row> = sets.iter().map(|set| &set.rows[at]).collect();
            count += rows.iter().map(|row| row.missed()).sum::<u32>();
            let below = |row: &&Row| Counted {
                times: row.below,
                of: row.covering.of,
                bound: None,
            };
            let mut refused: BTreeMap<&str, u64> = BTreeMap::new();
            for (why, times) in rows.iter().flat_map(|row| &row.refused) {
                *refused.entry(why).or_default() += times;
            }
            let refused: Vec<String> = refused
                .iter()
                .map(|(why, n)| format!("{why} {n}"))
                .collect();
            let line = format!(
                "{:22} {name:7} {:>11} {:>11} {:>9} {:>11}   {}",
                truth.name(),
                joined(rows.iter().map(|row| row.printed)),
                joined(rows.iter().map(|row| row.covering)),
                joined(rows.iter().map(below)),
                joined(rows.iter().map(|row| row.width)),
                refused.join(", ")
            );
            let _ = writeln!(text, "{}", line.trim_end());
        }
    }
    (text, count)
}

fn verdicts(truths: &[Truth], shape: Shape, found: &[Vec<Found>]) -> Part {
    let mut text = format!(
        "{:22} {:7} {:>6} {:>8} {:>11} {:>11} {:>11} {:>11} {:>11}\n",
        "verdicts", "", "due", "methods", "pass1.1", "pass1.5", "fail0.9", "pass0.5", "fail2"
    );
    let mut count = 0;
    for (truth, sets) in truths.iter().zip(found) {
        for (at, (name, q)) in QUANTILES.into_iter().enumerate() {
            // Of the first set of seeds.
            let due = sets[0].due[at];
            let wrong = (due >= DUE).then_some(Bound::AtMost(WRONG));
            let right = is_to_decide(*truth, shape, q).then_some(Bound::AtLeast(0.95));
            for (place, methods) in METHODS.into_iter().enumerate() {
                let _ = write!(text, "{:22} {name:7} {due:>6.1} {methods:>8}", truth.name());
                for (of_limit, (is_pass, bound)) in [
                    (true, wrong),
                    (true, wrong),
                    (false, wrong),
                    (true, right),
                    (false, right),
                ]
                .into_iter()
                .enumerate()
                {
                    let cell = |set: &Found| {
                        let outcomes = set.outcomes[at][place][of_limit];
                        Counted {
                            times: if is_pass {
                                outcomes.passed
                            } else {
                                outcomes.failed
                            },
                            of: outcomes.draws,
                            bound,
                        }
                    };
                    let cells: Vec<Counted> = sets.iter().map(cell).collect();
                    count += missed(&cells);
                    let _ = write!(text, " {:>11}", joined(&cells));
                }
                text.push('\n');
            }
        }
    }
    (text, count)
}
