//! What is measured for which uses.

use tompion_assess::verdict::profiles;

use super::*;

#[test]
fn one_period_serves_those_slightly_longer() {
    let found = periods(profiles());
    let ns: Vec<f64> = found.iter().map(|p| p.ns).collect();
    assert_eq!(
        ns,
        [120.0, 1_200.0, 12_000.0, 40_000.0, 1e6, 7_812_500.0, 2e7]
    );
    // Control has the smaller limit of the two at 1 ms, and both judge the p99.9.
    assert_eq!(found[4].limit_ns, 100_000.0);
    assert!(
        (4_000.0..4_100.0).contains(&found[4].samples),
        "{:?}",
        found[4]
    );
    // A scheduler's p99.9 at the period of pacing, whose p99 takes less.
    assert!(found[2].samples > 4_000.0);
}

#[test]
fn only_what_is_far_from_its_limit_is_measured_in_company() {
    let of = |ns: f64, limit_ns: f64| {
        sleepers(&Period {
            ns,
            limit_ns,
            samples: 4_057.0,
        })
    };
    // VoIP: 5 ms.
    assert_eq!(of(2e7, 5e6), 24);
    // A game server's limit bears none.
    assert_eq!(of(7_812_500.0, 781_250.0), 1);
    // As long a period with a tight limit: alone, however long that takes.
    assert_eq!(of(2e7, 400_000.0), 1);
    // Short enough for one.
    assert_eq!(of(4e5, 5e6), 1);
}

#[test]
fn each_use_has_the_sleep_as_it_is_and_remedies_at_its_period() {
    let all = selections(profiles(), false, 6).unwrap();
    let sleeps: Vec<String> = all
        .iter()
        .filter(|s| s.probe.name == wake_up::NAME)
        .map(|s| {
            let one = |name: &str| s.values.texts(name).join("+");
            let [target, method, slack, n] = ["targets", "methods", "slack", "sleepers"].map(one);
            format!("{target} {method} {slack} {n}")
        })
        .collect();
    assert_eq!(
        sleeps,
        [
            "120ns busy-wait default 1",
            "1200ns busy-wait default 1",
            "12us clock-nanosleep-abs default 1",
            "12us tompion-hybrid default 1",
            "12us busy-wait default 1",
            "40us clock-nanosleep-abs default 1",
            "40us tompion-hybrid default 1",
            "40us busy-wait default 1",
            "1ms clock-nanosleep-abs default 1",
            "1ms clock-nanosleep-abs 1ns 1",
            "1ms tompion-hybrid default 1",
            "7812500ns clock-nanosleep-abs default 1",
            "7812500ns clock-nanosleep-abs 1ns 1",
            "7812500ns tompion-hybrid default 1",
            "20ms clock-nanosleep-abs default 24",
        ]
    );
}
