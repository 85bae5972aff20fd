use super::*;
use crate::verdict::planted::{Planted, ramp_ns};
use proptest::prelude::*;
use tompion_model::{Block, Blocks};

fn judged(cell: &Cell, limit_ns: f64) -> LoadVerdict {
    judge(cell, 0.99, limit_ns, Part::whole(cell.blocks.len())).unwrap()
}

#[test]
fn a_planted_quantile_passes_above_and_fails_below() {
    // 0..=100 µs in every block: the p99 is 99 µs.
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
    // One sample in 101 is beyond this one, which shows neither.
    let near = judged(&cell, 99_500.0);
    assert_eq!(near.outcome, Outcome::NearLimit);
    assert_eq!(near.reason.unwrap(), "between 79.6 µs and 124 µs");
}

#[test]
fn what_lies_far_on_both_sides_is_inconclusive() {
    let quiet = vec![10_000; 100];
    let loud = vec![90_000; 100];
    let halves: Vec<_> = (0..8)
        .map(|i| if i % 2 == 0 { &quiet } else { &loud })
        .collect();
    let cell = Planted::wake_up("usleep", "100us", "idle").each_block(halves);
    for quantile in [0.5, 0.8] {
        let v = judge(&cell, quantile, 50_000.0, Part::whole(8)).unwrap();
        assert_eq!(v.outcome, Outcome::Inconclusive, "{quantile}");
        assert!(v.reason.is_some());
    }
    // Most lie near below the limit, as many as may be far beyond it: not known to be near.
    let block = [45_000, 45_000, 45_000, 90_000, 10_000].repeat(40);
    let cell = Planted::wake_up("usleep", "100us", "idle").blocks(8, &block);
    let v = judge(&cell, 0.8, 50_000.0, Part::whole(8)).unwrap();
    assert_eq!(v.outcome, Outcome::Inconclusive);
}

#[test]
fn a_median_that_is_always_late_fails() {
    let block = ramp_ns(100_000, 101).repeat(40);
    let cell = Planted::wake_up("usleep", "100us", "idle").blocks(8, &block);
    let of = |limit_ns| judge(&cell, 0.5, limit_ns, Part::whole(8)).unwrap().outcome;
    assert_eq!((of(1_000.0), of(90_000.0)), (Outcome::Fail, Outcome::Pass));
    // Without one in time, which by its number would be a single cluster.
    let cell = Planted::wake_up("usleep", "100us", "idle").blocks(8, &[60_000; 1_000]);
    let v = judge(&cell, 0.5, 5_000.0, Part::whole(8)).unwrap();
    assert_eq!(v.outcome, Outcome::Fail);
}

#[test]
fn too_few_samples_say_exactly_how_many_more() {
    let with = |n: usize| Planted::wake_up("usleep", "100us", "idle").blocks(8, &vec![5_000; n]);
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
    // At a third of the error, as where one of three is taken by the same block, it takes more.
    let part = Part {
        error: ERROR / 3.0,
        ..Part::whole(8)
    };
    let stricter = judge(&with(46), 0.99, 12_000.0, part).unwrap();
    assert_eq!(stricter.samples_missing, 477 - 368);
}

#[test]
fn blocks_that_chose_what_is_judged_do_not_count() {
    let mut blocks = vec![vec![5_000; 60]; 8];
    let cell =
        |blocks: &Vec<Vec<i64>>| Planted::wake_up("usleep", "100us", "idle").each_block(blocks);
    let part = Part {
        skipped: 1,
        ..Part::whole(8)
    };
    let of = |blocks: &Vec<Vec<i64>>| judge(&cell(blocks), 0.99, 12_000.0, part).unwrap();
    assert_eq!(of(&blocks).outcome, Outcome::Pass);
    // 7 blocks of 52 are 364.
    let short = vec![vec![5_000; 52]; 8];
    assert_eq!(of(&short).outcome, Outcome::Inconclusive);
    blocks[0][7] = 60_000;
    blocks[0][33] = 60_000;
    assert_eq!(of(&blocks).outcome, Outcome::Pass);
}

#[test]
fn before_all_blocks_are_done_nothing_passes() {
    let cell = Planted::wake_up("usleep", "100us", "idle").blocks(3, &[5_000; 1_000]);
    let early = judge(&cell, 0.99, 12_000.0, Part::whole(8)).unwrap();
    assert_eq!(early.outcome, Outcome::Inconclusive);
    let late = Planted::wake_up("usleep", "100us", "idle").blocks(3, &[60_000; 1_000]);
    let early = judge(&late, 0.99, 12_000.0, Part::whole(8)).unwrap();
    assert_eq!(early.outcome, Outcome::Fail);
}

#[test]
fn what_was_seen_at_one_moment_alone_decides_nothing() {
    const MS: u64 = 1_000_000;
    let (late, timely) = (vec![60_000; 500], vec![5_000; 500]);
    let of = |blocks: &[&Vec<i64>], ms: &[u64]| {
        let cell = Cell {
            durations_ns: ms.iter().map(|ms| ms * MS).collect(),
            ..Planted::wake_up("usleep", "100us", "idle").each_block(blocks)
        };
        let judged = judge(&cell, 0.99, 12_000.0, Part::whole(blocks.len())).unwrap();
        assert_eq!(judged.outcome, judged.as_it_is);
        (judged.outcome, judged.reason.unwrap_or_default())
    };
    use Outcome::{Fail, Inconclusive, Pass};
    let at_one = |what: &str| {
        let reason = format!("{what} at one moment alone, of 160 ms");
        (Inconclusive, reason)
    };
    // A run that was broken off in its first block.
    assert_eq!(of(&[&late], &[160]), at_one("it was late"));
    assert_eq!(of(&[&timely], &[160]), at_one("it was seen"));
    // One pause in a run of several.
    assert_eq!(
        of(&[&timely, &late, &timely], &[160; 3]),
        at_one("it was late")
    );
    // One long stretch is no moment, and neither are two short ones.
    assert_eq!(of(&[&late], &[1_000]).0, Fail);
    assert_eq!(of(&[&timely], &[1_000]).0, Pass);
    assert_eq!(of(&[&timely, &late, &late], &[160; 3]).0, Fail);
    assert_eq!(of(&[&timely, &timely], &[160; 2]).0, Pass);
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
fn a_block_of_many_samples_does_not_outvote_the_others() {
    // Seven blocks are late throughout, and one has a hundred times as many samples in time.
    let mut blocks = vec![vec![60_000; 10]; 7];
    blocks.push(vec![5_000; 100_000]);
    let cell = Planted::wake_up("usleep", "100us", "idle").each_block(&blocks);
    let v = judge(&cell, 0.99, 12_000.0, Part::whole(8)).unwrap();
    assert_ne!(v.outcome, Outcome::Pass);
    // The late ones last, when they are one in a thousand of all samples.
    blocks.rotate_right(1);
    let cell = Planted::wake_up("usleep", "100us", "idle").each_block(&blocks);
    let v = judge(&cell, 0.99, 12_000.0, Part::whole(8)).unwrap();
    assert_eq!(v.outcome, Outcome::Inconclusive);
    assert!(v.reason.unwrap().starts_with("blocks with few samples"));
}

#[test]
fn filled_in_values_count_for_the_quantile_but_not_as_samples() {
    let mut cell = Planted::wake_up("timerfd", "100us", "idle").blocks(8, &[5_000; 50]);
    let mut filled = vec![5_000_000; 50];
    filled.extend(vec![300_000_000; 10]);
    cell.filled_blocks = Blocks::from_iter(vec![filled; 8]);
    let v = judged(&cell, 12_000.0);
    assert_eq!((v.outcome, v.samples), (Outcome::Fail, 400));
    // 368 values are enough, of which three in four are samples: 276.
    let mut cell = Planted::wake_up("timerfd", "100us", "idle").blocks(8, &[5_000; 30]);
    cell.filled_blocks = Blocks::from_iter(vec![vec![5_000_000; 40]; 8]);
    let v = judged(&cell, 12_000.0);
    assert_eq!((v.samples, v.samples_missing), (240, 36));
}

#[test]
fn a_cell_without_samples_is_not_judged() {
    let cell = Planted::wake_up("usleep", "100us", "idle").blocks(8, &[]);
    assert!(judge(&cell, 0.99, 1.0, Part::whole(8)).is_none());
}

/// The same blocks, whose samples were not kept.
fn unordered(blocks: &Blocks) -> Blocks {
    let mut found = Blocks::default();
    for (distribution, within) in blocks.iter().zip(blocks.within()) {
        found.push(Block::counted(distribution.clone(), within.clone()));
    }
    found
}

#[test]
fn without_their_order_samples_are_judged_by_the_interval() {
    // 0..=100 µs in every block: 99 to 100 µs is what so many samples say.
    let block = ramp_ns(100_000, 101).repeat(40);
    let mut cell = Planted::wake_up("usleep", "100us", "idle").blocks(8, &block);
    cell.blocks = unordered(&cell.blocks);
    assert_eq!(judged(&cell, 98_999.0).outcome, Outcome::Fail);
    let v = judged(&cell, 99_500.0);
    assert_eq!(v.outcome, Outcome::Inconclusive);
    // At a third of the error it takes the wider one of two intervals.
    let ramp = ramp_ns(100_000, 4_001);
    let block: Vec<i64> = (0..4_001).map(|i| ramp[i * 1_234 % 4_001]).collect();
    let mut cell = Planted::wake_up("usleep", "100us", "idle").blocks(8, &block);
    cell.blocks = unordered(&cell.blocks);
    let high = |level| {
        let found = cell.blocks.quantile(0.99, level).unwrap();
        found.interval.unwrap().high / 1e3
    };
    let between = 0.5 * (high(0.95) + high(1.0 - 2.0 * ERROR / 3.0));
    assert!(between > high(0.95));
    assert_eq!(judged(&cell, between).outcome, Outcome::Pass);
    let part = Part {
        error: ERROR / 3.0,
        ..Part::whole(8)
    };
    let v = judge(&cell, 0.99, between, part).unwrap();
    assert_eq!(v.outcome, Outcome::Inconclusive);
    // So few that the interval needs more.
    let few: Vec<i64> = vec![5_000; 50];
    let mut cell = Planted::wake_up("usleep", "100us", "idle").blocks(5, &few);
    cell.blocks = unordered(&cell.blocks);
    let v = judged(&cell, 12_000.0);
    assert_eq!(v.outcome, Outcome::Inconclusive);
    assert_eq!(
        v.reason.unwrap(),
        "5 blocks; an interval over blocks needs at least 6"
    );
}

#[test]
fn where_no_interval_holds_so_many_late_samples_show_a_failure() {
    // At 2.5 % forty times as many as may be: of a p99 two in five.
    let of = |late: usize| {
        let block: Vec<i64> = (0..100)
            .map(|i| if i < late { 60_000 } else { 5_000 })
            .collect();
        let mut cell = Planted::wake_up("usleep", "100us", "idle").blocks(5, &block);
        cell.blocks = unordered(&cell.blocks);
        judged(&cell, 12_000.0).outcome
    };
    assert_eq!([of(41), of(39)], [Outcome::Fail, Outcome::Inconclusive]);
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
        prop_assert!(after >= before || !before.is_decided(), "{before:?} became {after:?}");
    }

    #[test]
    fn a_larger_limit_never_worsens_the_outcome(
        blocks in prop::collection::vec(prop::collection::vec(1_000i64..30_000, 20..70), 5..9),
        limit in 5_000.0f64..30_000.0,
        more in 0.0f64..20_000.0,
    ) {
        let cell = Planted::wake_up("usleep", "100us", "idle").each_block(&blocks);
        let (larger, smaller) = (judged(&cell, limit + more).outcome, judged(&cell, limit).outcome);
        prop_assert!(larger <= smaller || !larger.is_decided(), "{smaller:?} became {larger:?}");
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
