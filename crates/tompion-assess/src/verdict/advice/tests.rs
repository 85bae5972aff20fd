use super::*;
use crate::verdict::planted::{Planted, drifting_ns};

fn sleep(method: &str, slack: &str, ns: i64) -> Cell {
    Planted::wake_up(method, "100us", "idle")
        .slack(slack)
        .cpu(2_000.0)
        .each_block(drifting_ns(ns, 8, 100))
}

fn hybrid(ns: i64) -> Cell {
    Planted::wake_up("tompion-hybrid", "100us", "idle")
        .cpu(9_000.0)
        .each_block(drifting_ns(ns, 8, 100))
}

fn read(method: &str, ns: i64) -> Cell {
    Planted::read_cost(method, "idle").each_block(drifting_ns(ns, 8, 100))
}

#[test]
fn a_planted_slack_effect_becomes_advice() {
    let cells = [
        sleep("usleep", "default", 52_000),
        sleep("usleep", "1ns", 4_000),
    ];
    let found = advice(&cells);
    assert_eq!(found.len(), 1);
    let a = &found[0];
    assert!(a.effective && (a.gain - 13.0).abs() < 1e-9);
    assert!((a.before_ns / a.after_ns - 13.0).abs() < 0.01);
    assert!(a.gain_low.unwrap() <= 13.0 + 1e-9 && a.gain_high.unwrap() >= 13.0 - 1e-9);
    insta::assert_snapshot!(a.sentence, @"A timer slack of 1 ns took the p99 wake-up latency of usleep (100 µs) at rest from 54.1 µs to 4.16 µs (13.0 times lower, block by block).");
    insta::assert_snapshot!(a.price, @"the kernel no longer merges nearby wake-ups, so that an idle machine wakes up more often; CPU time per sleep 2.00 µs before, 2.00 µs after");
    assert!(a.how.contains("PR_SET_TIMERSLACK, 1"));
}

/// A sleep that in some blocks met nobody.
fn of_two_kinds(slack: &str, ns: i64) -> Cell {
    let latency = |block: i64| if block == 3 { ns / 50 } else { ns };
    let block = |b: i64| -> Vec<i64> { (0..100).map(|i| latency(b) + i % 7).collect() };
    Planted::wake_up("usleep", "100us", "idle")
        .slack(slack)
        .each_block((0..8).map(block))
}

#[test]
fn blocks_that_disagree_are_told_by_their_range() {
    let pairs = [
        [
            of_two_kinds("default", 3_900_000),
            sleep("usleep", "1ns", 4_000),
        ],
        [
            sleep("usleep", "default", 4_000),
            of_two_kinds("1ns", 3_900_000),
        ],
        [
            of_two_kinds("default", 3_900_000),
            of_two_kinds("1ns", 3_800_000),
        ],
    ];
    let told = pairs.map(|cells| advice(&cells).remove(0));
    insta::assert_snapshot!(told[0].sentence, @"With a timer slack of 1 ns the p99 wake-up latency of usleep (100 µs) at rest was 78.0 µs to 3.90 ms (blocks) before and 4.16 µs after (19.3 to 975 times lower, block by block).");
    let says = |at: usize, words: &str| {
        let sentence = &told[at].sentence;
        assert!(sentence.contains(words), "{sentence}");
    };
    says(
        1,
        "did not help: the p99 wake-up latency of usleep (100 µs) at rest was 4.16 µs before",
    );
    says(1, "before and 78.0 µs to 3.90 ms (blocks) after (");
    says(
        2,
        "78.0 µs to 3.90 ms (blocks) before, 76.0 µs to 3.80 ms (blocks) after",
    );
    let [low, high] = told[0].before_range_ns.unwrap();
    assert!((77_000.0..79_000.0).contains(&low) && (3.8e6..4.0e6).contains(&high));
    assert_eq!(told[0].after_range_ns, None);
    assert_eq!(told[1].before_range_ns, None);
}

#[test]
fn a_gain_of_blocks_that_disagree_is_told_by_its_range() {
    // Seven blocks of 3.9 ms and one of 78 us; what helps all but that one is told of it, too.
    let steady = |slack: &str, ns: i64| {
        Planted::wake_up("usleep", "100us", "idle")
            .slack(slack)
            .each_block((0..8).map(|_| (0..100).map(|i| ns + i % 7).collect::<Vec<i64>>()))
    };
    let cases = [
        (39_000, "(2.00 to 100 times lower, block by block)."),
        (
            97_500,
            "(from 1.25 times higher to 40.0 times lower, block by block).",
        ),
    ];
    for (ns, words) in cases {
        let told = advice(&[of_two_kinds("default", 3_900_000), steady("1ns", ns)]).remove(0);
        assert!(told.effective && told.sentence.ends_with(words), "{told:?}");
        let [low, high] = told.gain_range.unwrap();
        assert!((low * ns as f64 / 78_000.0 - 1.0).abs() < 1e-3);
        assert!((high * ns as f64 / 3_900_000.0 - 1.0).abs() < 1e-3);
        // The number that machines have always had lies within it, and is in no sentence.
        assert!(low < told.gain && told.gain < high);
    }
    let worse = advice(&[steady("default", 39_000), of_two_kinds("1ns", 3_900_000)]).remove(0);
    assert!(
        worse
            .sentence
            .ends_with("(2.00 to 100 times higher, block by block)."),
        "{worse:?}"
    );
    let agreeing = advice(&[steady("default", 39_000), steady("1ns", 3_900)]).remove(0);
    assert_eq!(agreeing.gain_range, None);
    assert!(
        agreeing
            .sentence
            .ends_with("(9.99 times lower, block by block)."),
        "{agreeing:?}"
    );
}

/// Slack does not act on a timerfd, whose cells have no such factor.
#[test]
fn the_hybrid_sleep_is_held_against_a_timerfd_too() {
    let timerfd = Planted::wake_up("timerfd", "100us", "idle")
        .cpu(2_000.0)
        .each_block(drifting_ns(5_000, 8, 100));
    let found = advice(&[timerfd, hybrid(500)]);
    assert_eq!(found.len(), 1);
    assert!(found[0].effective && found[0].sentence.contains("timerfd"));
}

#[test]
fn the_largest_gain_comes_first_and_what_failed_last() {
    let cells = [
        sleep("usleep", "default", 52_000),
        sleep("usleep", "1ns", 4_000),
        sleep("nanosleep", "default", 52_000),
        sleep("nanosleep", "1ns", 4_000),
        sleep("clock-nanosleep-abs", "1ns", 5_200),
        hybrid(200),
        read(SYSCALL, 150),
        read("clock-monotonic", 25),
        read("tompion", 25),
    ];
    let found = advice(&cells);
    let told: Vec<(i64, bool)> = found
        .iter()
        .map(|a| (a.gain.round() as i64, a.effective))
        .collect();
    assert_eq!(
        told,
        [(260, true), (13, true), (6, true), (1, false), (1, false)]
    );
    assert!(found[0].price.contains("2.00 µs before, 9.00 µs after"));
    assert!(
        found[1]
            .sentence
            .ends_with("It helped in 2 of the 2 sleeps tried.")
    );
    let harmful = found
        .iter()
        .find(|a| a.sentence.contains("did not help"))
        .unwrap();
    assert!(harmful.how.contains("TIMER_ABSTIME") && harmful.gain < 1.0);
}

#[test]
fn a_sleep_is_advised_by_the_quantile_of_the_uses() {
    // One sleep in twenty is late: what halves the others only is no help to a use, what lets none be late is.
    let tailed = |slack: &str, usual: i64, late: i64| {
        let value = move |i: i64| if i % 20 == 0 { late } else { usual };
        Planted::wake_up("usleep", "100us", "idle")
            .slack(slack)
            .each_block((0..8).map(|b| (0..400).map(|i| value(i) + b).collect::<Vec<i64>>()))
    };
    let before = || tailed("default", 50_000, 900_000);
    let median_only = advice(&[before(), tailed("1ns", 10_000, 900_000)]).remove(0);
    assert!(!median_only.effective, "{median_only:?}");
    let tail_only = advice(&[before(), tailed("1ns", 50_000, 60_000)]).remove(0);
    assert!(
        tail_only.effective && tail_only.quantile == 0.99,
        "{tail_only:?}"
    );
    assert!(
        tail_only
            .sentence
            .contains("the p99 wake-up latency of usleep (100 µs) at rest")
    );
    assert!((tail_only.before_ns / 900_000.0 - 1.0).abs() < 0.01);
}

#[test]
fn no_effect_is_said_to_be_none() {
    let noise = [
        52_000, 40_000, 61_000, 47_000, 58_000, 44_000, 66_000, 50_000,
    ];
    let mut turned = noise;
    turned.reverse();
    let cell = |slack: &str, v: [i64; 8]| {
        Planted::wake_up("usleep", "100us", "idle")
            .slack(slack)
            .each_block(v.map(|v| [v; 50]))
    };
    let found = advice(&[cell("default", noise), cell("1ns", turned)]);
    assert!(!found[0].effective);
    assert!(
        found[0].sentence.contains("no difference beyond noise"),
        "{}",
        found[0].sentence
    );
}

#[test]
fn a_trifling_effect_is_not_advised() {
    // 1 % in every block: certain, and not worth a thought.
    let trifle = advice(&[
        sleep("usleep", "default", 52_000),
        sleep("usleep", "1ns", 51_480),
    ]);
    assert!(!trifle[0].effective && trifle[0].gain_low.unwrap() > 1.0);
    assert!(
        trifle[0].sentence.contains("hardly any difference"),
        "{}",
        trifle[0].sentence
    );
}

#[test]
fn pairs_without_samples_were_not_tried() {
    let empty = |method: &str, slack: &str| {
        Planted::wake_up(method, "100us", "idle")
            .slack(slack)
            .blocks(8, &[])
    };
    let found = advice(&[
        sleep("usleep", "default", 52_000),
        sleep("usleep", "1ns", 4_000),
        sleep("nanosleep", "default", 52_000),
        empty("nanosleep", "1ns"),
        sleep("ppoll", "default", 52_000),
        sleep("ppoll", "1ns", 4_000),
    ]);
    assert!(
        found[0]
            .sentence
            .ends_with("It helped in 2 of the 2 sleeps tried."),
        "{}",
        found[0].sentence
    );
}

#[test]
fn one_block_proves_nothing() {
    let cell = |slack: &str, ns: i64| {
        Planted::wake_up("usleep", "100us", "idle")
            .slack(slack)
            .blocks(1, &[ns; 500])
    };
    let found = advice(&[cell("default", 52_000), cell("1ns", 4_000)]);
    assert!(!found[0].effective && found[0].gain_low.is_none());
    assert!(found[0].sentence.contains("one block cannot show"));
}

#[test]
fn only_what_was_tried_is_advised() {
    assert!(advice(&[]).is_empty());
    assert!(advice(&[sleep("usleep", "default", 52_000)]).is_empty());
    let other_target = Planted::wake_up("usleep", "1ms", "idle")
        .slack("1ns")
        .blocks(8, &[4_000; 50]);
    assert!(advice(&[sleep("usleep", "default", 52_000), other_target]).is_empty());
    let empty = Planted::wake_up("usleep", "100us", "idle")
        .slack("1ns")
        .blocks(8, &[]);
    assert!(advice(&[sleep("usleep", "default", 52_000), empty]).is_empty());
}

#[test]
fn without_rest_the_remedies_are_compared_under_load() {
    let cell = |slack: &str, ns: i64| {
        Planted::wake_up("usleep", "100us", "cpu")
            .slack(slack)
            .each_block(drifting_ns(ns, 8, 50))
    };
    let found = advice(&[cell("default", 52_000), cell("1ns", 4_000)]);
    assert!(found[0].sentence.contains("under cpu load"));
}
