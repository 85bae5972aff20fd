//! Clocks that are slow, coarse, or run backwards.

use tompion_model::{AT_REST, Cell, MethodRow, Way, factor, format_ns};
use tompion_probe::{method, read_cost};
use tompion_stats::BlockRange;

use crate::verdict::basis::{self, Comparison, Numbered, times};
use crate::verdict::candidate::Candidate;

/// A vDSO read costs about twice a counter read; from five times on something
/// else is going on.
const SLOW: f64 = 5.0;

/// Steps this much longer than a read are worth a sentence.
const COARSE: f64 = 5.0;

/// The read cost of the real system call.
pub const SYSCALL: &str = "syscall-clock-monotonic";

/// The read-cost cell of `method` at rest, or under the first other load.
pub fn reading<'a>(cells: &'a [Cell], method: &str) -> Option<&'a Cell> {
    let mut found = cells
        .iter()
        .filter(|c| c.factors.is(read_cost::NAME, method) && basis::samples(c) > 0);
    let first = found.next()?;
    let rest = |c: &&Cell| c.factors.level(factor::LOAD) == AT_REST;
    if rest(&first) {
        return Some(first);
    }
    found.find(rest).or(Some(first))
}

/// The values to compare two clocks by: timed in batches where both were, since
/// a batch leaves the cost of the bracketing reads out.
pub fn comparable<'a>(a: &'a Cell, b: &'a Cell) -> (Numbered<'a>, Numbered<'a>) {
    let batched = |c: &Cell| !c.blocks.is_empty() && c.batched_blocks.len() == c.blocks.len();
    let both = batched(a) && batched(b);
    let of = |cell: &'a Cell| Numbered {
        blocks: if both {
            &cell.batched_blocks
        } else {
            &cell.blocks
        },
        first: cell.first_block,
    };
    (of(a), of(b))
}

/// The cells of clocks that the C library reads without entering the kernel and programs use,
/// the most usual first.
fn usual_clocks(cells: &[Cell]) -> Vec<&Cell> {
    let is_read = |m: &&MethodRow| m.probe == read_cost::NAME && m.way == Way::Vdso;
    let mut rows: Vec<_> = method::rows().filter(is_read).collect();
    rows.retain(|m| m.usual.is_some());
    rows.sort_by_key(|m| m.usual);
    let measured = |m: &MethodRow| reading(cells, m.name);
    rows.into_iter().filter_map(measured).collect()
}

/// Reading the bare counter: what a clock read costs at least.
fn bare_counter(cells: &[Cell]) -> Option<&Cell> {
    let rows = || method::rows().filter(|m| m.way == Way::Counter);
    let names = rows().flat_map(|m| [Some(m.name), m.elsewhere]);
    names.flatten().find_map(|name| reading(cells, name))
}

/// What is wrong with the clocks of this machine.
pub fn findings(cells: &[Cell]) -> Vec<Candidate> {
    let mut all = backward_steps(cells);
    all.extend(trapped_counter(cells));
    all.extend(slow_clock(cells));
    all.extend(coarse_steps(cells));
    all
}

fn compare(a: &Cell, b: &Cell) -> Option<Comparison> {
    let (a, b) = comparable(a, b);
    Comparison::of(a, b, 0.5)
}

fn backward_steps(cells: &[Cell]) -> Vec<Candidate> {
    let readings = cells
        .iter()
        .filter(|c| c.factors.level(factor::PROBE) == read_cost::NAME);
    readings
        .filter_map(|cell| {
            let granularities = cell.measurements.iter().filter_map(|m| m.granularity);
            let steps: u64 = granularities.map(|g| g.backward_steps).sum();
            let clock = cell.factors.level(factor::METHOD);
            (steps > 0).then(|| {
                let often = if steps == 1 { "once".to_owned() } else { format!("{steps} times") };
                let text = format!(
                    "The clock {clock} ran backwards {often} {}: times taken from it can be negative",
                    basis::under(cell.factors.level(factor::LOAD))
                );
                Candidate {
                    wrong: true,
                    ..Candidate::of(format!("backwards {clock}"), cell, &text, (steps as f64, None))
                }
            })
        })
        .collect()
}

/// A counter read that costs more than a system call does not run on the bare
/// processor: the hypervisor intercepts it.
fn trapped_counter(cells: &[Cell]) -> Option<Candidate> {
    let counter = bare_counter(cells)?;
    let c = compare(counter, reading(cells, SYSCALL)?)?;
    let text = format!(
        "Reading the counter ({}) costs {}, {} times a system call ({}): the hypervisor intercepts it",
        counter.factors.level(factor::METHOD),
        c.a_in_words(),
        c.times_in_words(c.ratio),
        c.b_in_words(),
    );
    c.is_larger().then(|| {
        let cause = "trapped counter".to_owned();
        Candidate::of(cause, counter, &text, (c.ratio, c.ratio_range))
    })
}

/// The first of the usual clocks that costs far more than the counter.
fn slow_clock(cells: &[Cell]) -> Option<Candidate> {
    let counter = bare_counter(cells)?;
    usual_clocks(cells).into_iter().find_map(|cell| {
        let clock = cell.factors.level(factor::METHOD);
        let c = compare(cell, counter)?;
        if c.interval.is_none_or(|i| i.low <= SLOW) {
            return None;
        }
        let text = format!(
            "Reading {clock} costs {}, {} times {} ({}): it leaves the vDSO or traps",
            c.a_in_words(),
            c.times_in_words(c.ratio),
            counter.factors.level(factor::METHOD),
            c.b_in_words(),
        );
        let cause = "slow clock".to_owned();
        Some(Candidate::of(cause, cell, &text, (c.ratio, c.ratio_range)))
    })
}

fn coarse_steps(cells: &[Cell]) -> Vec<Candidate> {
    let at_rest = cells
        .iter()
        .filter(|c| c.factors.level(factor::PROBE) == read_cost::NAME);
    at_rest
        .filter(|c| basis::method(&c.factors).is_none_or(|m| !m.is_coarse))
        .filter_map(|cell| {
            // The smallest unit over the blocks is the least that can be said.
            let units = cell.measurements.iter().filter_map(|m| m.granularity);
            let unit_ns = units.map(|g| g.common_step_ns).reduce(f64::min)?;
            let cost_ns = basis::quantile_ns(&cell.blocks, 0.5).filter(|ns| *ns > 0.0)?;
            let ratio = unit_ns / cost_ns;
            let costs = basis::range_ns(&cell.blocks, 0.5).filter(|costs| costs.low > 0.0);
            let range = costs.map(|costs| BlockRange {
                low: unit_ns / costs.high,
                high: unit_ns / costs.low,
            });
            let multiple = match range {
                Some(range) => format!("{} (blocks)", basis::times_to_times(range)),
                None => times(ratio),
            };
            let clock = cell.factors.level(factor::METHOD);
            let text = format!(
                "The clock {clock} advances in steps of {}, {multiple} times the cost of reading it: shorter times look alike",
                format_ns(unit_ns),
            );
            let cause = "coarse steps".to_owned();
            (ratio > COARSE).then(|| Candidate::of(cause, cell, &text, (ratio, range)))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verdict::findings::findings as told;
    use crate::verdict::planted::{Planted, drifting_ns};
    use tompion_model::Blocks;
    use tompion_model::Granularity;

    fn reads(method: &str, ns: i64) -> Cell {
        Planted::read_cost(method, "idle").each_block(drifting_ns(ns, 8, 200))
    }

    fn with_steps(mut cell: Cell, common_step_ns: f64, backward_steps: u64) -> Cell {
        for m in &mut cell.measurements {
            m.granularity = Some(Granularity {
                smallest_step_ns: common_step_ns,
                common_step_ns,
                zero_steps: 0.0,
                backward_steps,
            });
        }
        cell
    }

    #[test]
    fn a_healthy_machine_has_nothing_to_tell() {
        let cells = [
            with_steps(reads("rdtsc", 1_400), 0.37, 0),
            with_steps(reads("clock-monotonic", 2_500), 1.0, 0),
            with_steps(reads("clock-monotonic-coarse", 900), 4_000_000.0, 0),
            with_steps(reads("gettimeofday", 2_500), 1_000.0, 0),
            reads(SYSCALL, 15_000),
        ];
        assert!(told(&cells).is_empty());
    }

    #[test]
    fn a_clock_outside_the_vdso_is_told_once() {
        let cells = [
            reads("rdtsc", 2_400),
            reads("clock-monotonic", 240_000),
            reads("clock-realtime", 250_000),
            reads("std-instant", 241_000),
            reads(SYSCALL, 260_000),
        ];
        let found = told(&cells);
        assert_eq!(found.len(), 1);
        assert!((found[0].ratio - 100.0).abs() < 0.1);
        insta::assert_snapshot!(found[0].sentence, @"Reading clock-monotonic costs 245 µs, 100 times rdtsc (2.45 µs): it leaves the vDSO or traps.");
    }

    #[test]
    fn an_intercepted_counter_is_told() {
        let found = told(&[reads("rdtsc", 180_000), reads(SYSCALL, 15_000)]);
        assert_eq!(found.len(), 1);
        assert!(found[0].sentence.contains("the hypervisor intercepts it"));
        assert!((found[0].ratio - 12.0).abs() < 0.1);
    }

    #[test]
    fn backward_steps_come_before_any_slowness() {
        let cells = [
            with_steps(reads("clock-realtime", 2_500), 1.0, 3),
            reads("rdtsc", 1_400),
            reads("clock-monotonic", 1_400_000),
        ];
        let found = told(&cells);
        assert_eq!(found.len(), 2);
        insta::assert_snapshot!(found[0].sentence, @"The clock clock-realtime ran backwards 24 times at rest: times taken from it can be negative.");
        assert_eq!(found[0].ratio, 24.0);
    }

    #[test]
    fn a_coarse_clock_is_told_with_its_step() {
        let found = told(&[with_steps(reads("clock-monotonic", 50), 1_000.0, 0)]);
        insta::assert_snapshot!(found[0].sentence, @"The clock clock-monotonic advances in steps of 1.00 µs, 19.6 times the cost of reading it: shorter times look alike.");
    }

    /// Six blocks at one cost, two at a tenth of it.
    fn of_two_kinds(method: &str, ns: i64) -> Cell {
        let cost = |block: i64| if block % 4 == 3 { ns / 10 } else { ns };
        let block = |b: i64| -> Vec<i64> { (0..200).map(|i| cost(b) + i % 7).collect() };
        Planted::read_cost(method, "idle").each_block((0..8).map(block))
    }

    #[test]
    fn blocks_that_disagree_are_told_by_their_range() {
        let clock = [
            reads("rdtsc", 2_400),
            of_two_kinds("clock-monotonic", 2_400_000),
        ];
        insta::assert_snapshot!(told(&clock)[0].sentence, @"Reading clock-monotonic costs 240 µs to 2.40 ms (blocks), 96.2 to 1000 (blocks) times rdtsc (2.45 µs): it leaves the vDSO or traps.");
        let counter = [of_two_kinds("rdtsc", 180_000), reads(SYSCALL, 1_500)];
        let says = |cells: &[Cell], words: &str| {
            let sentence = &told(cells)[0].sentence;
            assert!(sentence.contains(words), "{sentence}");
        };
        says(
            &counter,
            "(rdtsc) costs 18.0 µs to 180 µs (blocks), 11.5 to 120 (blocks) times a system call",
        );
        let coarse = with_steps(of_two_kinds("clock-monotonic", 500), 50_000.0, 0);
        says(
            &[coarse],
            "steps of 50.0 µs, 99.4 to 943 (blocks) times the cost of reading it",
        );
    }

    #[test]
    fn batches_are_compared_with_batches_only() {
        let mut rdtsc = reads("rdtsc", 2_400);
        rdtsc.batched_blocks = Blocks::from_iter(vec![vec![12_000; 50]; 8]);
        let mut clock = reads("clock-monotonic", 2_500);
        let (a, _) = comparable(&clock, &rdtsc);
        assert!(a.blocks.share_memory(&clock.blocks));
        clock.batched_blocks = Blocks::from_iter(vec![vec![1_200_000; 50]; 8]);
        let found = told(&[rdtsc, clock]);
        assert!((found[0].ratio - 100.0).abs() < 1e-6);
    }
}
