//! A small part of `make bench-validity`, with seeds that are always the same.

use tompion_validity::decisions::{Looking, Row as Watched};
use tompion_validity::intervals::Row;
use tompion_validity::percentile_bootstrap::covering;
use tompion_validity::truth::{Shape, Truth};
use tompion_validity::verdicts::verdict;

use tompion_assess::verdict::Outcome;

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
    assert!(plain.width < 1.3, "{plain:?}");
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
        let mut wrong = 0;
        for seed in 0..10 {
            let methods: Vec<_> = (0..5)
                .map(|m| truth.draw(LONG, SEEDS + 10 * seed + m))
                .collect();
            for methods in [&methods[..1], &methods[..]] {
                let at = |times| verdict(truth, methods, q, times);
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
