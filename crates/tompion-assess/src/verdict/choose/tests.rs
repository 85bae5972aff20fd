//! Which of several planted methods is judged.

use super::*;
use crate::verdict::planted::Planted;
use crate::verdict::profiles;
use tompion_model::Blocks;

fn verdict_of(name: &str, cells: &[Cell]) -> ProfileVerdict {
    let all = verdicts(cells, profiles());
    all.into_iter().find(|v| v.name == name).expect("a verdict")
}

fn steady(method: &str, target: &str, load: &str, ns: i64) -> Cell {
    Planted::wake_up(method, target, load).blocks(8, &[ns; 7_600])
}

fn method_of(v: &ProfileVerdict) -> &str {
    v.method.as_ref().expect("a method").level(factor::METHOD)
}

#[test]
fn the_worst_load_decides() {
    let v = verdict_of(
        "pacing-300m",
        &[
            steady("usleep", "100us", "idle", 5_000),
            steady("usleep", "100us", "cpu", 60_000),
        ],
    );
    assert_eq!(v.outcome, Outcome::Fail);
    let outcomes: Vec<_> = v
        .by_load
        .iter()
        .map(|l| (l.load.as_str(), l.outcome))
        .collect();
    assert_eq!(outcomes, [("idle", Outcome::Pass), ("cpu", Outcome::Fail)]);
}

#[test]
fn the_best_method_is_judged() {
    let v = verdict_of(
        "pacing-1g",
        &[
            steady("usleep", "100us", "idle", 55_000),
            steady("tompion-hybrid", "100us", "idle", 300),
        ],
    );
    assert_eq!(
        (v.outcome, method_of(&v)),
        (Outcome::Pass, "tompion-hybrid")
    );
}

#[test]
fn spinning_is_not_recommended_where_less_would_do() {
    let spin = Planted::wake_up("busy-wait", "100us", "idle")
        .cpu(100.0)
        .blocks(8, &[50; 7_600]);
    let hybrid = Planted::wake_up("tompion-hybrid", "100us", "idle")
        .cpu(9_000.0)
        .blocks(8, &[300; 7_600]);
    let sleep = Planted::wake_up("timerfd", "100us", "idle")
        .cpu(2_000.0)
        .blocks(8, &[7_000; 7_600]);
    let all = [spin.clone(), hybrid.clone(), sleep];
    assert_eq!(method_of(&verdict_of("pacing-1g", &all)), "timerfd");
    assert_eq!(method_of(&verdict_of("pacing-10g", &all)), "tompion-hybrid");
    assert_eq!(method_of(&verdict_of("pacing-100g", &all)), "busy-wait");
}

#[test]
fn small_differences_of_cpu_time_do_not_outweigh_latency() {
    let a = Planted::wake_up("clock-nanosleep-abs", "100us", "idle")
        .cpu(2_050.0)
        .blocks(8, &[4_000; 7_600]);
    let b = Planted::wake_up("timerfd", "100us", "idle")
        .cpu(2_000.0)
        .blocks(8, &[11_000; 7_600]);
    assert_eq!(
        method_of(&verdict_of("pacing-1g", &[a, b])),
        "clock-nanosleep-abs"
    );
}

#[test]
fn a_method_missing_under_a_load_does_not_compete() {
    let cells = [
        steady("usleep", "100us", "idle", 60_000),
        steady("usleep", "100us", "cpu", 60_000),
        steady("tompion-hybrid", "100us", "idle", 300),
    ];
    let v = verdict_of("pacing-1g", &cells);
    assert_eq!((v.outcome, method_of(&v)), (Outcome::Fail, "usleep"));
}

#[test]
fn without_a_method_under_every_load_nothing_passes() {
    let v = verdict_of(
        "pacing-1g",
        &[
            steady("usleep", "100us", "idle", 300),
            steady("timerfd", "100us", "cpu", 300),
        ],
    );
    assert_eq!(v.outcome, Outcome::Inconclusive);
    assert!(
        v.requirement
            .ends_with("(not measured under 1 of the loads)")
    );
}

#[test]
fn the_nearest_target_is_judged() {
    let cells = [
        Planted::wake_up("usleep", "100us", "idle").blocks(8, &[5_000; 7_600]),
        Planted::wake_up("usleep", "1ms", "idle").blocks(8, &[900_000; 7_600]),
    ];
    let audio = verdict_of("audio-48k-64", &cells);
    assert_eq!(audio.outcome, Outcome::Fail);
    assert_eq!(audio.method.unwrap().level(factor::TARGET), "1ms");
    let pacing = verdict_of("pacing-300m", &cells);
    assert_eq!(pacing.method.unwrap().level(factor::TARGET), "100us");
}

#[test]
fn a_well_sampled_target_may_pass_for_a_starved_one_but_not_fail() {
    let at = |target, n, ns| Planted::wake_up("timerfd", target, "idle").blocks(8, &vec![ns; n]);
    let v = verdict_of("voip", &[at("1ms", 50, 60_000), at("100us", 7_600, 60_000)]);
    assert_eq!(v.outcome, Outcome::Pass);
    assert_eq!(
        v.requirement,
        "p99.9 of wake-up latency at most 5.00 ms (judged at 100 µs; too few samples at 1 ms)"
    );
    let v = verdict_of(
        "voip",
        &[at("1ms", 50, 60_000), at("100us", 7_600, 9_000_000)],
    );
    assert_eq!(v.outcome, Outcome::Inconclusive);
    assert_eq!(v.by_load[0].samples_missing, 60_000 - 400);
    assert_eq!(v.method.unwrap().level(factor::TARGET), "1ms");
}

#[test]
fn nothing_measured_is_inconclusive() {
    let empty = Planted::wake_up("usleep", "100us", "idle").blocks(8, &[]);
    for cells in [
        vec![],
        vec![empty],
        vec![Planted::read_cost("rdtsc", "idle").blocks(8, &[14; 7_600])],
    ] {
        let v = verdict_of("voip", &cells);
        assert_eq!((v.outcome, v.by_load.len()), (Outcome::Inconclusive, 0));
        assert!(v.method.is_none());
    }
}

#[test]
fn a_relative_sleep_does_not_compete_with_methods_on_a_grid() {
    // It looks better only because it does not count the periods it misses.
    let mut grid = steady("timerfd", "100us", "idle", 300);
    grid.filled_blocks = Blocks::from_iter(vec![vec![30_000_000; 7_600]; 8]);
    let relative = steady("usleep", "100us", "idle", 300);
    let v = verdict_of("pacing-1g", &[relative.clone(), grid]);
    assert_eq!((v.outcome, method_of(&v)), (Outcome::Fail, "timerfd"));
    assert!(v.missed_filled && !v.requirement.contains("relative"));

    let v = verdict_of("pacing-1g", &[relative]);
    assert_eq!((v.outcome, method_of(&v)), (Outcome::Pass, "usleep"));
    assert!(!v.missed_filled);
    assert_eq!(
        v.requirement,
        "p99 of wake-up latency at most 12.0 µs (by relative sleeps, which do not see the periods \
         they miss; no method with absolute deadlines was measured)"
    );
}

#[test]
fn a_grid_method_that_missed_a_load_leaves_the_verdict_to_relative_sleeps() {
    let v = verdict_of(
        "pacing-1g",
        &[
            steady("usleep", "100us", "idle", 300),
            steady("usleep", "100us", "cpu", 300),
            steady("timerfd", "100us", "idle", 300),
        ],
    );
    assert_eq!((v.outcome, method_of(&v)), (Outcome::Pass, "usleep"));
}

#[test]
fn the_choice_is_explained() {
    let at = |method, cpu_ns, ns| {
        Planted::wake_up(method, "100us", "idle")
            .cpu(cpu_ns)
            .blocks(8, &[ns; 7_600])
    };
    let all = [
        at("timerfd", 2_000.0, 5_000),
        at("tompion-hybrid", 9_000.0, 300),
        at("busy-wait", 100_000.0, 50),
    ];
    let chosen = |profile: &str, cells: &[Cell]| verdict_of(profile, cells).chosen;
    assert_eq!(
        chosen("pacing-1g", &all).unwrap(),
        "of 3 that pass, the one that burns least CPU time"
    );
    assert_eq!(
        chosen("pacing-100g", &all).unwrap(),
        "the only one of 3 that passes"
    );
    assert_eq!(chosen("pacing-100g", &all[..2]).unwrap(), "the best of 2");
    assert_eq!(chosen("pacing-1g", &all[..1]), None);
}

#[test]
fn each_of_several_platforms_is_judged_by_itself() {
    let on = |platform: &str, ns| {
        let mut cell = steady("usleep", "100us", "idle", ns);
        cell.factors = cell.factors.with(factor::PLATFORM, platform);
        cell
    };
    let cells = [on("host", 5_000), on("qemu (emulated)", 60_000)];
    let all = verdicts(&cells, profiles());
    assert_eq!(all.len(), 2 * profiles().len());
    let outcomes: Vec<_> = all
        .iter()
        .filter(|v| v.name == "pacing-300m")
        .map(|v| (v.title(), v.outcome, v.by_load.len()))
        .collect();
    let title = |platform| format!("packet pacing at 300 Mbit/s on {platform}");
    assert_eq!(
        outcomes,
        [
            (title("host"), Outcome::Pass, 1),
            (title("qemu (emulated)"), Outcome::Fail, 1)
        ]
    );
    assert_eq!(
        crate::verdict::headline::headline(profiles(), &all),
        "2 platforms side by side, each judged by itself: host and qemu (emulated)."
    );
    // Placements are told apart like platforms, and both together.
    let placed = |n: usize, name| {
        let mut cell = cells[n].clone();
        cell.factors = cell.factors.with(factor::PLACEMENT, name);
        cell
    };
    let four = [
        placed(0, "alone"),
        placed(0, "beside"),
        placed(1, "alone"),
        placed(1, "beside"),
    ];
    let all = verdicts(&four, profiles());
    assert_eq!(all.len(), 4 * profiles().len());
    assert!(
        all[0].title().ends_with(" on host in alone"),
        "{}",
        all[0].title()
    );
    assert_eq!(
        crate::verdict::headline::headline(profiles(), &all),
        "2 platforms in 2 placements side by side, each judged by itself: host and qemu \
         (emulated), in alone and beside."
    );
    let two = verdicts(&four[..2], profiles());
    assert!(two[0].platform.is_none() && two[0].title().ends_with(" in alone"));
    // One alone is not told apart.
    let one = verdicts(&cells[..1], profiles());
    assert!(one.len() == profiles().len() && one[0].platform.is_none());
}
