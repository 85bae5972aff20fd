//! One cell's quantile held against one limit.

use std::cell::RefCell;
use std::collections::HashMap;

use statrs::distribution::{Binomial, DiscreteCDF};
use tompion_model::{Cell, factor};
use tompion_stats::{DEFAULT_RESAMPLES, Distribution, Interval, quantile_interval, samples_needed};

use crate::verdict::basis::{self, LEVEL};
use crate::verdict::profile::quantile_name;
use crate::verdict::{LoadVerdict, Outcome};

/// Fewest blocks over which an interval can reach 95 %: if each block lies
/// above or below the truth with probability 1/2, all n lie on one side with
/// probability 2 * 2^-n, which is 3.1 % for six and 6.3 % for five.
pub const BLOCKS_NEEDED: usize = 6;

/// Steps spent on resampling one cell; large cells get fewer resamples.
const RESAMPLING_STEPS: usize = 20_000_000;
const FEWEST_RESAMPLES: usize = 200;

/// A quantile of a cell with its interval, in nanoseconds.
#[derive(Clone, Copy)]
struct Estimate {
    value_ns: f64,
    interval_ns: Option<Interval>,
}

/// Judges cells; remembers what it has resampled, because several profiles ask
/// for the same quantile of the same cell.
pub struct Judge<'a> {
    cells: &'a [&'a Cell],
    seed: u64,
    known: RefCell<HashMap<(usize, u64), Option<Estimate>>>,
}

impl<'a> Judge<'a> {
    /// A judge of `cells`; `seed` starts every resampling.
    pub fn new(cells: &'a [&'a Cell], seed: u64) -> Self {
        Self {
            cells,
            seed,
            known: RefCell::default(),
        }
    }

    /// Holds the `quantile` of the cell at `index` against `limit_ns`; `None`
    /// when the cell has no samples.
    pub fn judge(&self, index: usize, quantile: f64, limit_ns: f64) -> Option<LoadVerdict> {
        let cell = self.cells[index];
        let estimate = self.estimate(index, quantile)?;
        let samples = basis::samples(cell);
        let missing = samples_needed(quantile, LEVEL).saturating_sub(samples);
        let blocks = basis::blocks(cell).iter().filter(|b| !b.is_empty()).count();
        let (outcome, reason) = decide(cell, &estimate, quantile, limit_ns, missing, blocks);
        Some(LoadVerdict {
            load: cell.factors.level(factor::LOAD).to_owned(),
            outcome,
            limit_ns,
            quantile,
            estimate_ns: estimate.value_ns,
            low_ns: estimate.interval_ns.map(|i| i.low),
            high_ns: estimate.interval_ns.map(|i| i.high),
            samples,
            samples_missing: if outcome == Outcome::Fail { 0 } else { missing },
            reason,
        })
    }

    fn estimate(&self, index: usize, quantile: f64) -> Option<Estimate> {
        let key = (index, quantile.to_bits());
        if let Some(known) = self.known.borrow().get(&key) {
            return *known;
        }
        let blocks = basis::blocks(self.cells[index]);
        let values: usize = blocks.iter().map(|b| b.pairs().len()).sum();
        let resamples =
            (RESAMPLING_STEPS / values.max(1)).clamp(FEWEST_RESAMPLES, DEFAULT_RESAMPLES);
        let estimate = basis::quantile_ns(blocks, quantile).map(|value_ns| Estimate {
            value_ns,
            interval_ns: quantile_interval(blocks, quantile, LEVEL, resamples, self.seed)
                .map(|i| i.scaled(1e-3)),
        });
        self.known.borrow_mut().insert(key, estimate);
        estimate
    }
}

fn decide(
    cell: &Cell,
    estimate: &Estimate,
    quantile: f64,
    limit_ns: f64,
    missing: u64,
    blocks: usize,
) -> (Outcome, Option<String>) {
    let undecided = |reason: String| (Outcome::Inconclusive, Some(reason));
    let Some(interval) = estimate.interval_ns.filter(|_| blocks >= BLOCKS_NEEDED) else {
        let noun = if blocks == 1 { "block" } else { "blocks" };
        return undecided(format!(
            "{blocks} {noun}; a 95 % interval over blocks needs at least {BLOCKS_NEEDED}"
        ));
    };
    if interval.low > limit_ns && (missing == 0 || fails_by_count(&cell.blocks, quantile, limit_ns))
    {
        return (Outcome::Fail, None);
    }
    if missing > 0 {
        let name = quantile_name(quantile);
        let more = if missing == 1 { "sample" } else { "samples" };
        return undecided(format!(
            "too few samples: {name} needs {missing} more {more}"
        ));
    }
    if interval.high <= limit_ns {
        return (Outcome::Pass, None);
    }
    undecided("the 95 % interval spans the limit".to_owned())
}

/// Whether so many samples lie beyond the limit that the quantile cannot keep
/// it, however few samples there are: with the quantile within the limit, the
/// number beyond is at most binomial with probability `1 - quantile`.
///
/// Source: Conover, Practical Nonparametric Statistics, 3rd ed., §3.2 (quantile
/// test, one-sided at half of what the 95 % leave).
fn fails_by_count(blocks: &[Distribution], quantile: f64, limit_ns: f64) -> bool {
    let pooled = Distribution::merged(blocks);
    let beyond = pooled.count_above((limit_ns * 1e3).floor() as i64);
    let Ok(binomial) = Binomial::new(1.0 - quantile, pooled.len()) else {
        return false;
    };
    beyond > 0 && binomial.sf(beyond - 1) <= (1.0 - LEVEL) / 2.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verdict::planted::{Planted, ramp_ns};
    use proptest::prelude::*;

    fn judged(cell: &Cell, limit_ns: f64) -> LoadVerdict {
        Judge::new(&[cell], 7).judge(0, 0.99, limit_ns).unwrap()
    }

    #[test]
    fn a_planted_quantile_passes_above_and_fails_below() {
        // 0..=100 µs in every block: the p99 is 99 µs without any noise.
        let cell = Planted::wake_up("usleep", "100us", "idle").blocks(8, &ramp_ns(100_000, 101));
        let pass = judged(&cell, 99_000.0);
        assert_eq!(
            (pass.outcome, pass.samples, pass.samples_missing),
            (Outcome::Pass, 808, 0)
        );
        assert!((pass.estimate_ns - 99_000.0).abs() < 1.0);
        let fail = judged(&cell, 98_999.0);
        assert_eq!((fail.outcome, fail.reason), (Outcome::Fail, None));
    }

    #[test]
    fn an_interval_across_the_limit_is_inconclusive() {
        let quiet = vec![10_000; 100];
        let loud = vec![90_000; 100];
        let halves: Vec<_> = (0..8)
            .map(|i| if i % 2 == 0 { &quiet } else { &loud })
            .collect();
        let cell = Planted::wake_up("usleep", "100us", "idle").each_block(halves);
        let v = Judge::new(&[&cell], 7).judge(0, 0.5, 50_000.0).unwrap();
        assert_eq!(v.outcome, Outcome::Inconclusive);
        assert!(v.low_ns.unwrap() <= 50_000.0 && v.high_ns.unwrap() > 50_000.0);
        assert_eq!(v.reason.unwrap(), "the 95 % interval spans the limit");
    }

    #[test]
    fn too_few_samples_say_exactly_how_many_more() {
        // 368 samples bound a p99 at 95 %.
        let with =
            |n: usize| Planted::wake_up("usleep", "100us", "idle").blocks(8, &vec![5_000; n]);
        let short = judged(&with(45), 12_000.0);
        assert_eq!(
            (short.outcome, short.samples, short.samples_missing),
            (Outcome::Inconclusive, 360, 8)
        );
        assert_eq!(
            short.reason.unwrap(),
            "too few samples: p99 needs 8 more samples"
        );
        assert_eq!(judged(&with(46), 12_000.0).outcome, Outcome::Pass);
    }

    #[test]
    fn five_blocks_never_decide() {
        for value in [1_000, 1_000_000] {
            let cell = Planted::wake_up("usleep", "100us", "idle").blocks(5, &vec![value; 500]);
            let v = judged(&cell, 12_000.0);
            assert_eq!(v.outcome, Outcome::Inconclusive);
            assert_eq!(
                v.reason.unwrap(),
                "5 blocks; a 95 % interval over blocks needs at least 6"
            );
        }
    }

    #[test]
    fn a_clear_failure_needs_no_full_sample() {
        let late = Planted::wake_up("usleep", "100us", "idle").blocks(8, &[60_000; 10]);
        let v = judged(&late, 12_000.0);
        assert_eq!(
            (v.outcome, v.samples, v.samples_missing),
            (Outcome::Fail, 80, 0)
        );
        // One late sample of ten in each of eight blocks: 8 of 80 beyond a limit
        // that one in a hundred may exceed has a probability of 3e-6.
        let mut block = vec![5_000; 9];
        block.push(60_000);
        let some = Planted::wake_up("usleep", "100us", "idle").blocks(8, &block);
        assert_eq!(judged(&some, 12_000.0).outcome, Outcome::Fail);
        // A single late sample proves nothing.
        let mut blocks = vec![vec![5_000; 10]; 8];
        blocks[3][0] = 60_000;
        let one = Planted::wake_up("usleep", "100us", "idle").each_block(&blocks);
        assert_eq!(judged(&one, 12_000.0).outcome, Outcome::Inconclusive);
    }

    #[test]
    fn filled_in_values_count_for_the_quantile_but_not_as_samples() {
        let mut cell = Planted::wake_up("timerfd", "100us", "idle").blocks(8, &vec![5_000; 50]);
        let mut filled = vec![5_000_000; 50];
        filled.extend(vec![300_000_000; 10]);
        cell.filled_blocks = vec![Distribution::from_values(filled); 8];
        let v = judged(&cell, 12_000.0);
        assert_eq!((v.outcome, v.samples), (Outcome::Fail, 400));
    }

    #[test]
    fn a_cell_without_samples_is_not_judged() {
        let cell = Planted::wake_up("usleep", "100us", "idle").blocks(8, &[]);
        assert!(Judge::new(&[&cell], 7).judge(0, 0.99, 1.0).is_none());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]

        #[test]
        fn longer_latencies_never_improve_the_outcome(
            blocks in prop::collection::vec(prop::collection::vec(1_000i64..30_000, 20..70), 5..9),
            by in 1.0f64..3.0,
        ) {
            let longer: Vec<Vec<i64>> = blocks.iter()
                .map(|b| b.iter().map(|v| (*v as f64 * by) as i64).collect())
                .collect();
            let cell = |b: &[Vec<i64>]| Planted::wake_up("usleep", "100us", "idle").each_block(b);
            let before = judged(&cell(&blocks), 20_000.0).outcome;
            let after = judged(&cell(&longer), 20_000.0).outcome;
            prop_assert!(after >= before, "{before:?} became {after:?}");
        }

        #[test]
        fn a_larger_limit_never_worsens_the_outcome(
            blocks in prop::collection::vec(prop::collection::vec(1_000i64..30_000, 20..70), 5..9),
            limit in 5_000.0f64..30_000.0,
            more in 0.0f64..20_000.0,
        ) {
            let cell = Planted::wake_up("usleep", "100us", "idle").each_block(&blocks);
            prop_assert!(judged(&cell, limit + more).outcome <= judged(&cell, limit).outcome);
        }

        #[test]
        fn spreading_a_block_out_never_turns_fail_into_pass(
            centre in 1_000i64..30_000,
            spread in 0i64..10_000,
            wider in 0i64..10_000,
        ) {
            let cell = |spread: i64| {
                let block: Vec<i64> = (0..60).map(|i| centre + spread * (i % 3 - 1)).collect();
                Planted::wake_up("usleep", "100us", "idle").blocks(8, &block)
            };
            let narrow = judged(&cell(spread), 20_000.0).outcome;
            let wide = judged(&cell(spread + wider), 20_000.0).outcome;
            prop_assert!(!(narrow == Outcome::Fail && wide == Outcome::Pass));
        }
    }
}
