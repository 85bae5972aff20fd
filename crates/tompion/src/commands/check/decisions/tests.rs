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
        let samples = 4_057.0;
        let period = Period {
            ns,
            limit_ns,
            samples,
        };
        [AT_MOST_S, QUICK_AT_MOST_S].map(|at_most_s| sleepers(&period, at_most_s))
    };
    // VoIP: 5 ms.
    assert_eq!(of(2e7, 5e6), [24, 55]);
    // A game server's limit bears none.
    assert_eq!(of(7_812_500.0, 781_250.0), [1, 1]);
    // As long a period with a tight limit: alone, however long that takes.
    assert_eq!(of(2e7, 400_000.0), [1, 1]);
    // Short enough for one.
    assert_eq!(of(3e5, 5e6), [1, 1]);
}

#[test]
fn each_use_has_the_sleep_as_it_is_and_remedies_at_its_period() {
    let all = selections(profiles(), false, 6).unwrap();
    let mut sleeps: Vec<String> = all
        .iter()
        .filter(|s| s.probe.name == wake_up::NAME)
        .map(|s| {
            let one = |name: &str| s.values.texts(name).join("+");
            let [target, method, slack, n] = ["targets", "methods", "slack", "sleepers"].map(one);
            let policy = s.policy.map_or_else(String::new, |p| format!(" {p}"));
            let optional = if s.is_optional { " if needed" } else { "" };
            format!("{target} {method} {slack} {n}{policy}{optional}")
        })
        .collect();
    if !REAL_TIME.is_available() {
        sleeps.push("20ms clock-nanosleep-abs default 24 fifo:50 if needed".to_owned());
    }
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
            "7812500ns clock-nanosleep-abs 1ns 1 if needed",
            "7812500ns tompion-hybrid default 1 if needed",
            "20ms clock-nanosleep-abs default 24",
            "20ms clock-nanosleep-abs 1ns 24 if needed",
            "20ms clock-nanosleep-abs default 24 fifo:50 if needed",
        ]
    );
}

/// The cells of a check beside these loads.
fn planned(quick: bool, loads: &[&str]) -> Vec<PlannedCell> {
    let loads = loads.iter().map(|name| name.parse().unwrap());
    let options = tompion_run::PlanOptions {
        probes: selections(profiles(), quick, 6).unwrap(),
        loads: loads.collect(),
        policies: vec![Policy::Other],
        cpu: None,
        observe: Vec::new(),
        blocks: 6,
        duration: Duration::from_secs(if quick { QUICK_RUN_S } else { RUN_S }),
        time: tompion_run::TimeSetting::option("--duration"),
        settle: Duration::from_millis(300),
        seed: 1,
    };
    tompion_run::Plan::new(&options).unwrap().cells
}

fn decisions(quick: bool) -> Decisions<'static> {
    let duration = Duration::from_secs(if quick { QUICK_RUN_S } else { RUN_S });
    Decisions::new(profiles(), quick, 6, duration)
}

/// A trial of `cell` in which each sleep comes so late.
fn trial(cell: &PlannedCell, block: u32, late_ns: i64) -> (TrialDraft, TrialData) {
    let sample = tompion_model::Sample {
        value_ps: late_ns * 1000,
        n: 1,
        ..Default::default()
    };
    let draft = TrialDraft {
        factors: cell.factors.clone(),
        block,
        duration_ns: 100_000_000,
        ..TrialDraft::default()
    };
    let data = TrialData {
        samples: vec![sample; 400],
        ..TrialData::default()
    };
    (draft, data)
}

/// Shares by cell, without the probe's name.
fn named(cells: &[PlannedCell], shares: Vec<f64>) -> Vec<(String, f64)> {
    let name = |cell: &PlannedCell| {
        let level = |name| cell.factors.level(name).to_owned();
        let levels = [
            factor::LOAD,
            factor::METHOD,
            factor::TARGET,
            factor::SLACK,
            factor::POLICY,
        ];
        levels.map(level).join(" ").trim_end().to_owned()
    };
    cells.iter().map(name).zip(shares).collect()
}

fn share_of(shares: &[(String, f64)], name: &str) -> f64 {
    let found = shares.iter().find(|s| s.0 == name);
    found.unwrap_or_else(|| panic!("{name} among {shares:?}")).1
}

#[test]
fn where_the_time_does_not_hold_all_the_cheapest_are_decided() {
    let cells = planned(true, &["idle", "busy"]);
    let shares = named(&cells, decisions(true).shares(&cells));
    let of = |name: &str| share_of(&shares, name);
    for load in ["idle", "busy"] {
        assert!(of(&format!("{load} clock-nanosleep-abs 20ms default")) > 0.4);
        assert!(of(&format!("{load} clock-nanosleep-abs 40us default")) > 0.4);
        assert_eq!(
            of(&format!("{load} clock-nanosleep-abs 1ms default")),
            LITTLE
        );
        assert_eq!(of(&format!("{load} tompion-hybrid 1ms")), LITTLE);
    }
    assert!(of("idle clock-nanosleep-abs 7812500ns default") > 0.8);
    assert_eq!(of("busy clock-nanosleep-abs 7812500ns default"), LITTLE);
    // What is decided leaves its time to the next.
    let mut decisions = decisions(true);
    decisions.shares(&cells);
    for cell in cells.iter().filter(|c| !c.is_optional) {
        let is_late = cell.factors.level(factor::LOAD) == "idle"
            && cell.factors.level(factor::TARGET) == "7812500ns";
        let (draft, data) = trial(cell, 0, if is_late { 9_000_000 } else { 10 });
        decisions.saw(&draft, &data);
    }
    let shares = named(&cells, decisions.shares(&cells));
    let remedy = "idle clock-nanosleep-abs 7812500ns 1ns";
    assert!(share_of(&shares, remedy) > 0.2, "{shares:?}");
    // What there is no time for has little, and a remedy none: it is not begun.
    let claims = vec![Claim::Seconds(9.0); cells.len()];
    let shares = named(&cells, shared(&cells, &claims, 1.0, 6, &BTreeSet::new()));
    let game = "busy clock-nanosleep-abs 7812500ns default";
    assert_eq!(
        [game, remedy].map(|name| share_of(&shares, name)),
        [LITTLE, 0.0]
    );
    // What was begun is gone on with.
    let begun: BTreeSet<Factors> = cells.iter().map(|c| c.factors.clone()).collect();
    let shares = shared(&cells, &claims, 9.0, 6, &begun);
    assert!(shares.iter().all(|share| *share > LITTLE));
}

#[test]
fn a_default_check_has_time_for_all_sleeps_as_they_are() {
    let cells = planned(false, &["idle", "busy", "network"]);
    let shares = named(&cells, decisions(false).shares(&cells));
    let as_it_is = shares.iter().filter(|s| s.0.ends_with(" default"));
    assert!(as_it_is.clone().count() >= 15);
    assert!(as_it_is.clone().all(|s| s.1 == 1.0), "{shares:?}");
    assert_eq!(share_of(&shares, "busy tompion-hybrid 1ms"), AT_FIRST);
}

#[test]
fn remedies_of_long_sleeps_are_measured_once_one_is_needed() {
    let cells = planned(false, &["idle", "busy"]);
    let mut decisions = decisions(false);
    let at_first = named(&cells, decisions.shares(&cells));
    let remedies = [
        "clock-nanosleep-abs 20ms 1ns",
        "clock-nanosleep-abs 7812500ns 1ns",
        "tompion-hybrid 7812500ns",
    ];
    let of = |shares: &[(String, f64)], load: &str| {
        remedies.map(|remedy| share_of(shares, &format!("{load} {remedy}")))
    };
    assert_eq!(
        [of(&at_first, "idle"), of(&at_first, "busy")],
        [[0.0; 3]; 2]
    );
    // Beside the load VoIP is late, and the game server in time.
    for cell in cells.iter().filter(|c| !c.is_optional) {
        let is_late = cell.factors.level(factor::LOAD) == "busy"
            && cell.factors.level(factor::TARGET) == "20ms";
        let (draft, data) = trial(cell, 0, if is_late { 9_000_000 } else { 10 });
        decisions.saw(&draft, &data);
    }
    let then = named(&cells, decisions.shares(&cells));
    assert_eq!(of(&then, "idle"), [0.0; 3]);
    assert_eq!(of(&then, "busy"), [1.0, 0.0, 0.0]);
    // Once begun it is measured in each block: only then can it pass.
    for cell in cells
        .iter()
        .filter(|c| !c.is_optional || c.factors.level(factor::LOAD) == "busy")
    {
        if cell.is_optional && cell.factors.level(factor::TARGET) != "20ms" {
            continue;
        }
        let (draft, data) = trial(cell, 1, 10);
        decisions.saw(&draft, &data);
    }
    let then = named(&cells, decisions.shares(&cells));
    assert!(share_of(&then, "busy clock-nanosleep-abs 20ms 1ns") > 0.0);
}
