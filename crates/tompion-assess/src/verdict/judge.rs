//! One cell's quantile compared with one limit.

use tompion_model::{Cell, factor};
use tompion_stats::{BlockQuantile, NoInterval, interval_samples_needed};

use crate::verdict::basis::{self, LEVEL};
use crate::verdict::profile::quantile_name;
use crate::verdict::{LoadVerdict, Outcome};

/// Holds the `quantile` of a cell against `limit_ns`; `None` when it has no samples.
///
/// The method of the cell is one of `methods` from which the best is taken. It passes only by an
/// interval at the level of Bonferroni for so many: one that passes by chance would be taken.
pub fn judge(cell: &Cell, quantile: f64, limit_ns: f64, methods: usize) -> Option<LoadVerdict> {
    let blocks = basis::blocks(cell);
    let found = blocks.quantile(quantile, LEVEL)?;
    let corrected = 1.0 - (1.0 - LEVEL) / methods.max(1) as f64;
    let upper_ps = match methods {
        0 | 1 => found.interval,
        _ => blocks.quantile(quantile, corrected)?.interval,
    };
    let samples = basis::samples(cell);
    let missing = interval_samples_needed(quantile).saturating_sub(samples);
    let (outcome, reason) = decide(
        &found,
        upper_ps.map(|i| i.high),
        quantile,
        limit_ns * 1e3,
        missing,
    );
    let interval_ns = found.interval.ok().map(|i| i.scaled(1e-3));
    Some(LoadVerdict {
        load: cell.factors.level(factor::LOAD).to_owned(),
        outcome,
        limit_ns,
        quantile,
        estimate_ns: found.value / 1e3,
        low_ns: interval_ns.map(|i| i.low),
        high_ns: interval_ns.map(|i| i.high),
        blocks_low_ns: found.range.map(|r| r.low / 1e3),
        blocks_high_ns: found.range.map(|r| r.high / 1e3),
        samples,
        samples_missing: if outcome == Outcome::Fail { 0 } else { missing },
        reason,
    })
}

/// `upper` is the end of the interval that a method has to pass by; all in picoseconds.
fn decide(
    found: &BlockQuantile,
    upper: Result<f64, NoInterval>,
    quantile: f64,
    limit: f64,
    missing: u64,
) -> (Outcome, Option<String>) {
    // Fewer samples will do to fail than to pass: those that came late were seen.
    if found.low.is_some_and(|low| low > limit) {
        return (Outcome::Fail, None);
    }
    let reason = match (found.interval, upper) {
        (Err(why @ NoInterval::Blocks { .. }), _) => why.to_string(),
        _ if missing > 0 => {
            let name = quantile_name(quantile);
            let more = if missing == 1 { "sample" } else { "samples" };
            format!("too few samples: {name} needs {missing} more {more}")
        }
        (Err(why), _) | (Ok(_), Err(why)) => why.to_string(),
        (Ok(_), Ok(upper)) if upper <= limit => return (Outcome::Pass, None),
        (Ok(interval), Ok(_)) if interval.high > limit => {
            "the 95 % interval spans the limit".to_owned()
        }
        _ => "so close to the limit that one of several methods may pass by chance".to_owned(),
    };
    (Outcome::Inconclusive, Some(reason))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verdict::planted::{Planted, ramp_ns};
    use proptest::prelude::*;
    use tompion_model::Blocks;

    fn judged(cell: &Cell, limit_ns: f64) -> LoadVerdict {
        judge(cell, 0.99, limit_ns, 1).unwrap()
    }

    #[test]
    fn a_planted_quantile_passes_above_and_fails_below() {
        // 0..=100 µs in every block: the p99 is 99 µs, and 99 to 100 µs is what so many samples say.
        let block = ramp_ns(100_000, 101).repeat(40);
        let cell = Planted::wake_up("usleep", "100us", "idle").blocks(8, &block);
        let pass = judged(&cell, 100_000.0);
        assert_eq!(
            (pass.outcome, pass.samples, pass.samples_missing),
            (Outcome::Pass, 32_320, 0)
        );
        assert!((pass.estimate_ns - 99_000.0).abs() < 1.0);
        let fail = judged(&cell, 98_999.0);
        assert_eq!((fail.outcome, fail.reason), (Outcome::Fail, None));
        assert_eq!(judged(&cell, 99_500.0).outcome, Outcome::Inconclusive);
    }

    #[test]
    fn the_best_of_many_methods_has_to_pass_by_more() {
        let mut state = 1u64;
        let mut noise = || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (state >> 40) as i64
        };
        let noisy: Vec<Vec<i64>> = (0..8)
            .map(|_| (0..4_000).map(|_| noise()).collect())
            .collect();
        let cell = Planted::wake_up("usleep", "100us", "idle").each_block(&noisy);
        let limit_ns = judged(&cell, 1e9).high_ns.unwrap();
        let of = |methods| judge(&cell, 0.99, limit_ns, methods).unwrap();
        assert_eq!(of(1).outcome, Outcome::Pass);
        assert_eq!(of(50).outcome, Outcome::Inconclusive);
        assert!(of(50).reason.unwrap().contains("several methods"));
    }

    #[test]
    fn an_interval_across_the_limit_is_inconclusive() {
        let quiet = vec![10_000; 100];
        let loud = vec![90_000; 100];
        let halves: Vec<_> = (0..8)
            .map(|i| if i % 2 == 0 { &quiet } else { &loud })
            .collect();
        let cell = Planted::wake_up("usleep", "100us", "idle").each_block(halves);
        let v = judge(&cell, 0.5, 50_000.0, 1).unwrap();
        assert_eq!(v.outcome, Outcome::Inconclusive);
        assert!(v.low_ns.unwrap() <= 50_000.0 && v.high_ns.unwrap() > 50_000.0);
        assert_eq!(v.reason.unwrap(), "the 95 % interval spans the limit");
    }

    #[test]
    fn too_few_samples_say_exactly_how_many_more() {
        let with =
            |n: usize| Planted::wake_up("usleep", "100us", "idle").blocks(8, &vec![5_000; n]);
        let short = judged(&with(3_749), 12_000.0);
        assert_eq!(
            (short.outcome, short.samples, short.samples_missing),
            (Outcome::Inconclusive, 29_992, 8)
        );
        assert_eq!(
            short.reason.unwrap(),
            "too few samples: p99 needs 8 more samples"
        );
        assert_eq!(judged(&with(3_750), 12_000.0).outcome, Outcome::Pass);
    }

    #[test]
    fn five_blocks_never_decide() {
        for value in [1_000, 1_000_000] {
            let cell = Planted::wake_up("usleep", "100us", "idle").blocks(5, &vec![value; 500]);
            let v = judged(&cell, 12_000.0);
            assert_eq!(v.outcome, Outcome::Inconclusive);
            assert_eq!(
                v.reason.unwrap(),
                "5 blocks; an interval over blocks needs at least 6"
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
        cell.filled_blocks = Blocks::from_iter(vec![filled; 8]);
        let v = judged(&cell, 12_000.0);
        assert_eq!((v.outcome, v.samples), (Outcome::Fail, 400));
    }

    #[test]
    fn a_cell_without_samples_is_not_judged() {
        let cell = Planted::wake_up("usleep", "100us", "idle").blocks(8, &[]);
        assert!(judge(&cell, 0.99, 1.0, 1).is_none());
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
