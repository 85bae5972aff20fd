//! A small part of `make bench-validity`, with seeds that are always the same.

use tompion_validity::decisions::{Looking, Row as Watched, share_right};
use tompion_validity::intervals::Row;
use tompion_validity::percentile_bootstrap::covering;
use tompion_validity::truth::{Shape, Truth};
use tompion_validity::verdicts::verdict;

use tompion_assess::compare::Figure;
use tompion_assess::verdict::Outcome;
use tompion_model::{Blocks, Summary};
use tompion_stats::{Design, compare_replicates};
use tompion_validity::comparisons::{How, false_differences, power, within_ten_percent};

const SHORT: Shape = Shape {
    blocks: 8,
    samples: 1000,
};
const LONG: Shape = Shape {
    blocks: 8,
    samples: 4000,
};
const DRAWS: u64 = 120;
const SEEDS: u64 = 77_000;

fn row(truth: Truth, shape: Shape, q: f64) -> Row {
    Row::of(truth, shape, q, DRAWS, SEEDS)
}

#[test]
fn intervals_are_printed_and_hold_where_they_are_promised() {
    for (truth, shape, q) in [
        (Truth::Independent, SHORT, 0.5),
        (Truth::Autoregression(0.9), SHORT, 0.5),
        (Truth::BetweenBlocks(0.3), SHORT, 0.5),
        (Truth::BetweenBlocks(0.002), SHORT, 0.5),
        (Truth::Stalls(10), LONG, 0.99),
        (Truth::Autoregression(0.9), LONG, 0.99),
    ] {
        let row = row(truth, shape, q);
        assert!(row.printed.bound.is_some() && row.covering.bound.is_some());
        assert!(row.is_kept(), "{row:?}");
    }
    let plain = row(Truth::Independent, SHORT, 0.5);
    assert!(
        plain.width.ratio < 1.3 && plain.width.at_most == Some(1.3),
        "{plain:?}"
    );
}

#[test]
fn what_no_interval_holds_has_none() {
    for (truth, q) in [
        (Truth::Autoregression(0.999), 0.5),
        (Truth::LongMemory, 0.5),
        (Truth::Regimes, 0.5),
        (Truth::BetweenBlocks(0.3), 0.99),
        (Truth::Stalls(50), 0.99),
    ] {
        let row = row(truth, LONG, q);
        assert!(row.printed.share() <= 0.1, "{row:?}");
    }
}

#[test]
fn the_percentile_bootstrap_covered_far_less_than_it_said() {
    for (truth, q) in [
        (Truth::BetweenBlocks(0.3), 0.99),
        (Truth::Autoregression(0.99), 0.999),
        (Truth::LongMemory, 0.5),
    ] {
        let covering = covering(truth, SHORT, q, 60).times;
        assert!(covering < 50, "{truth:?}: {covering} of 60");
    }
}

#[test]
fn a_verdict_passes_and_fails_what_is_far_from_the_limit_and_not_what_is_beyond_it() {
    for (truth, q) in [(Truth::Independent, 0.99), (Truth::Stalls(50), 0.999)] {
        let (mut wrong, true_ps) = (0, truth.quantile_ps(q));
        for seed in 0..10 {
            let methods: Vec<_> = (0..5)
                .map(|m| truth.draw(LONG, SEEDS + 10 * seed + m))
                .collect();
            for methods in [&methods[..1], &methods[..]] {
                let at = |times| verdict(true_ps, methods, q, times);
                wrong += u32::from(at(1.5) == Outcome::Pass);
                wrong += u32::from(at(0.9) == Outcome::Fail);
                if truth == Truth::Independent {
                    assert_eq!(at(0.5), Outcome::Pass, "{seed}");
                    assert_eq!(at(2.0), Outcome::Fail, "{seed}");
                }
            }
        }
        // Of forty, of which 2.5 % may be.
        assert!(wrong <= 3, "{truth:?}: {wrong}");
    }
}

#[test]
fn limits_that_are_watched_are_judged_wrongly_no_more_often_than_said_unless_one_peeks() {
    let rows = |how| {
        let of = |(truth, samples)| Watched::of(truth, samples, 0.99, (200, SEEDS), how);
        [
            (Truth::Independent, 2_000),
            (Truth::Heavy, 2_000),
            (Truth::Trend(0.03), 2_000),
            (Truth::Autoregression(0.9), 6_000),
            (Truth::Stalls(10), 14_000),
        ]
        .map(of)
    };
    for row in rows(Looking::Corrected) {
        assert!(row.due >= 4.0 && row.is_kept(), "{row:?}");
    }
    let missed = rows(Looking::Peeking)
        .iter()
        .filter(|row| !row.is_kept())
        .count();
    assert!(missed > 0);
}

#[test]
fn what_lies_nearer_to_the_limit_takes_more_samples() {
    let share = |samples, times| {
        share_right(Truth::Independent, samples, (0.99, times), (100, SEEDS)).unwrap()
    };
    assert!(share(2_000, 0.5) > 0.9 && share(2_000, 2.0) > 0.9);
    assert!(share(2_000, 0.9) < 0.5 && share(16_000, 0.9) > 0.9);
    // Nothing is promised where no stall may have come yet.
    assert_eq!(
        share_right(Truth::Stalls(50), 2_000, (0.99, 0.5), (100, SEEDS)),
        None
    );
}

/// Medians of the blocks of two runs of one series, by the exact test alone.
fn differ_by_the_exact_test(truth: Truth, shape: Shape, seed: u64) -> bool {
    let medians = |blocks: &Blocks| -> Vec<f64> {
        let of_block = |b| Summary::of_ps(b).map(|s| s.median_ns);
        blocks.iter().filter_map(of_block).collect()
    };
    let runs = truth.draw_runs(shape, 2, seed);
    let (a, b) = (medians(&runs[0]), medians(&runs[1]));
    match compare_replicates(&a, &b, Design::Independent, 0.05, 1) {
        Ok(tompion_stats::Outcome::Decided(c)) => c.p <= 0.05,
        other => panic!("{other:?}"),
    }
}

#[test]
fn two_runs_of_one_unchanged_machine_seldom_differ() {
    for (truth, shape) in [
        (Truth::Independent, SHORT),
        (Truth::Autoregression(0.9), SHORT),
        (Truth::Autoregression(0.999), SHORT),
        (Truth::LongMemory, SHORT),
        (Truth::Trend(0.06), LONG),
    ] {
        let hows = [How::TwoRuns, How::Turns];
        let [[apart], [turns]] =
            false_differences(truth, shape, hows, [Figure::Median], (40, SEEDS));
        assert!(
            apart.is_kept() && turns.is_kept(),
            "{truth:?}: {apart:?} {turns:?}"
        );
        assert_eq!(turns.undecided.times, 0);
    }
    // The exact test alone, which takes blocks for replicates.
    for (truth, shape, at_least) in [
        (Truth::LongMemory, SHORT, 9),
        (Truth::Trend(0.06), LONG, 45),
    ] {
        let differs = |seed: &u64| differ_by_the_exact_test(truth, shape, SEEDS + seed);
        let differing = (0..60).filter(differs).count();
        assert!(differing >= at_least, "{truth:?}: {differing} of 60");
    }
}

#[test]
fn runs_that_scatter_take_runs_as_replicates() {
    let of = |how| {
        let [[row]] = false_differences(
            Truth::Independent,
            SHORT,
            [how],
            [Figure::Median],
            (40, SEEDS),
        );
        row
    };
    for how in [How::SeveralRuns, How::SeveralByTurns] {
        assert!(of(how).is_kept(), "{:?}", of(how));
    }
    // One run a side cannot know.
    let one = of(How::ScatteringRuns);
    assert!(one.differs.share() + one.undecided.share() > 0.3, "{one:?}");
}

#[test]
fn what_differs_is_found_and_what_does_not_is_shown_to_be_alike() {
    let draws = (40, SEEDS);
    for (figure, times) in [(Figure::Median, 1.05), (Figure::P99, 1.15)] {
        let row = power(How::Turns, SHORT, figure, times, draws);
        assert!(row.is_kept(), "{row:?}");
    }
    for how in [How::Turns, How::TwoRuns] {
        for times in [1.0, 1.1] {
            let found = within_ten_percent(how, times, draws);
            assert!(found.is_kept(), "{how:?} {times}: {found:?}");
        }
    }
}
