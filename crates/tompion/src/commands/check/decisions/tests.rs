//! What is measured for which uses.

use tompion_assess::verdict::{PartOfUse, profiles};

use super::sharing::{DEAR_S, weight};
use super::*;

const SCHEDULER: Scheduler = Scheduler {
    tick_ns: 4e6,
    cpus: 2,
};

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
        let all = sleepers(&period, false, SCHEDULER);
        assert!((1..=all).contains(&sleepers(&period, true, SCHEDULER)));
        all
    };
    // VoIP: 5 ms.
    assert_eq!(of(2e7, 5e6), 24);
    // A game server's limit bears none.
    assert_eq!(of(7_812_500.0, 781_250.0), 1);
    // As long a period with a tight limit: alone, however long that takes.
    assert_eq!(of(2e7, 400_000.0), 1);
    // Short enough for one.
    assert_eq!(of(3e5, 5e6), 1);
}

#[test]
fn a_quick_check_has_no_more_company_than_a_default_one() {
    let company = |quick: bool| {
        let cells = planned(quick, &["idle"]);
        let levels = cells.iter().filter_map(|c| c.factors.get(factor::COMPANY));
        levels.map(str::to_owned).collect::<BTreeSet<String>>()
    };
    assert_eq!(company(true), company(false));
    assert_eq!(company(true).len(), 1);
}

#[test]
fn where_a_load_makes_them_wait_none_wakes_up_within_a_tick_of_the_last() {
    let cells = planned(false, &["idle", "busy", "network"]);
    let at_once = |load: &str| {
        let here = |c: &&PlannedCell| {
            c.factors.level(factor::LOAD) == load && c.factors.level(factor::TARGET) == "20ms"
        };
        let cells = cells.iter().filter(here);
        let company = cells.map(|c| c.factors.get(factor::COMPANY).unwrap_or("1").to_owned());
        company.collect::<Vec<String>>()
    };
    let [at_rest, busy, network] = ["idle", "busy", "network"].map(at_once);
    assert!(at_rest.len() >= 2 && at_rest.iter().all(|n| n == "24"));
    assert_eq!(busy, at_rest);
    assert!(network.iter().all(|n| n == "8"), "{network:?}");
    assert_eq!(network.len(), at_rest.len());
}

#[test]
fn each_use_has_the_sleep_as_it_is_and_remedies_at_its_period() {
    let all = selections(profiles(), &["idle".parse().unwrap()], SCHEDULER, false, 6).unwrap();
    let mut sleeps: Vec<String> = all
        .iter()
        .filter(|s| s.probe.name == wake_up::NAME)
        .map(|s| {
            let one = |name: &str| s.values.texts(name).join("+");
            let [target, method, slack, n] = ["targets", "methods", "slack", "sleepers"].map(one);
            let own = s.policy.filter(|p| *p != Policy::Other);
            let policy = own.map_or_else(String::new, |p| format!(" {p}"));
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
            "12us clock-nanosleep-abs 1ns 1",
            "12us tompion-hybrid default 1",
            "12us busy-wait default 1",
            "40us clock-nanosleep-abs default 1",
            "40us clock-nanosleep-abs 1ns 1",
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

#[test]
fn a_check_under_real_time_policies_asks_for_nothing_twice() {
    let kinds = |policies: &[Policy]| {
        let cells = planned_under(policies, true, &["idle"]);
        let at = cells
            .iter()
            .filter(|c| c.factors.get(factor::TARGET) == Some("20ms"));
        let level = |c: &PlannedCell, name| c.factors.get(name).unwrap_or("-").to_owned();
        at.map(|c| [level(c, factor::POLICY), level(c, factor::SLACK)])
            .collect::<Vec<_>>()
    };
    let usual = [["-", "default"], ["-", "1ns"]].map(|pair| pair.map(str::to_owned));
    let real_time = |name: &str| [name.to_owned(), "-".to_owned()];
    assert_eq!(kinds(&[Policy::Fifo(50)]), [real_time("fifo:50")]);
    assert_eq!(kinds(&[Policy::RoundRobin(10)]), [real_time("rr:10")]);
    let mut both = usual.to_vec();
    both.push(real_time("fifo:50"));
    assert_eq!(kinds(&[Policy::Other, Policy::Fifo(50)]), both);
}

/// The cells of a check beside these loads.
fn planned(quick: bool, loads: &[&str]) -> Vec<PlannedCell> {
    planned_under(&[Policy::Other], quick, loads)
}

fn planned_under(policies: &[Policy], quick: bool, loads: &[&str]) -> Vec<PlannedCell> {
    let loads: Vec<LoadSpec> = loads.iter().map(|name| name.parse().unwrap()).collect();
    let options = tompion_run::PlanOptions {
        probes: selections(profiles(), &loads, SCHEDULER, quick, 6).unwrap(),
        loads,
        policies: policies.to_vec(),
        cpu: None,
        observe: Vec::new(),
        blocks: 6,
        duration: Duration::from_secs(if quick { QUICK_RUN_S } else { CHECK_S }),
        time: tompion_run::TimeSetting::option("--duration"),
        settle: Duration::from_millis(300),
        seed: 1,
    };
    tompion_run::Plan::new(&options).unwrap().cells
}

fn decisions(quick: bool) -> Decisions<'static> {
    let duration = Duration::from_secs(if quick { QUICK_RUN_S } else { CHECK_S });
    Decisions::new(profiles(), quick, 6, duration)
}

/// A trial of `cell` of 400 sleeps that come so late, by their number.
fn trial_of(
    cell: &PlannedCell,
    block: u32,
    late_ns: impl Fn(i64) -> i64,
) -> (TrialDraft, TrialData) {
    let sample = |i| tompion_model::Sample {
        at_ns: i as u64,
        value_ps: late_ns(i) * 1000,
        n: 1,
        ..Default::default()
    };
    let target = cell.factors.level(factor::TARGET);
    let period_ns = tompion_model::parse_duration_ns(target).unwrap_or(10_000);
    let threads: u64 = cell.factors.level(factor::COMPANY).parse().unwrap_or(1);
    let draft = TrialDraft {
        factors: cell.factors.clone(),
        block,
        duration_ns: 400 * period_ns / threads,
        ..TrialDraft::default()
    };
    let data = TrialData {
        samples: (0..400).map(sample).collect(),
        ..TrialData::default()
    };
    (draft, data)
}

/// The same in which each comes as late.
fn trial(cell: &PlannedCell, block: u32, late_ns: i64) -> (TrialDraft, TrialData) {
    trial_of(cell, block, |_| late_ns)
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

fn is(cell: &PlannedCell, load: &str, target: &str) -> bool {
    let level = |name| cell.factors.level(name);
    level(factor::LOAD) == load && level(factor::TARGET) == target
}

#[test]
fn where_the_time_does_not_hold_all_the_cheapest_are_decided() {
    let cells = planned(true, &["idle", "busy"]);
    let mut decisions = decisions(true);
    let shares = named(&cells, decisions.shares(&cells));
    let has_time = |shares: &[(String, f64)], name: &str| share_of(shares, name) > 0.2;
    for load in ["idle", "busy"] {
        assert!(has_time(
            &shares,
            &format!("{load} clock-nanosleep-abs 40us default")
        ));
        assert!(
            has_time(
                &shares,
                &format!("{load} clock-nanosleep-abs 7812500ns default")
            ),
            "{shares:?}"
        );
        // Enough to say how late they are.
        let little = share_of(&shares, &format!("{load} tompion-hybrid 1ms"));
        assert!((0.02..0.1).contains(&little), "{shares:?}");
    }
    assert!(
        !has_time(&shares, "busy clock-nanosleep-abs 20ms default"),
        "{shares:?}"
    );
    // What is decided leaves its time to the next.
    for cell in cells.iter().filter(|c| !c.is_optional || !is_remedy(c)) {
        let is_late = is(cell, "idle", "7812500ns") || is(cell, "busy", "7812500ns");
        let (draft, data) = trial(cell, 0, if is_late { 9_000_000 } else { 10 });
        decisions.saw(&draft, &data);
    }
    let shares = named(&cells, decisions.shares(&cells));
    for load in ["idle", "busy"] {
        assert!(!has_time(
            &shares,
            &format!("{load} clock-nanosleep-abs 7812500ns default")
        ));
    }
    assert!(
        has_time(&shares, "idle clock-nanosleep-abs 1ms default"),
        "{shares:?}"
    );
}

/// Of three seconds for what is left, where these cells ask for two each; the sleep at 1 ms for as many verdicts.
fn of_three_seconds(cells: &[PlannedCell], asked: &[(usize, PartOfUse)], left: f64) -> Vec<bool> {
    let two_each = |(i, part): &(usize, PartOfUse)| (*i, *part, 2.0);
    let asked: Vec<_> = asked.iter().map(two_each).collect();
    decided_in(3.0, cells, &asked, left)
}

/// Whether these cells get the seconds that they ask for out of so many, beside the least of all.
fn decided_in(
    seconds: f64,
    cells: &[PlannedCell],
    asked: &[(usize, PartOfUse, f64)],
    left: f64,
) -> Vec<bool> {
    let claim = |i| match asked.iter().find(|a| a.0 == i) {
        Some((_, part, seconds)) => Claim::Seconds(Needed {
            seconds: *seconds,
            part: *part,
            verdicts: 1.0,
        }),
        None => Claim::Share(0.0),
    };
    let claims: Vec<Claim> = (0..cells.len()).map(claim).collect();
    let time = Time {
        stretch: 1.0,
        seconds: seconds
            + cells
                .iter()
                .filter(|c| !c.is_optional)
                .map(|c| c.least_time().as_secs_f64())
                .sum::<f64>()
                * left,
        left,
        planned: 6.0,
    };
    let (shares, has_it) = shared(cells, &claims, time, &BTreeSet::new());
    assert!(shares.iter().all(|share| (0.0..=1.0).contains(share)));
    asked.iter().map(|(i, ..)| has_it[*i]).collect()
}

/// What no verdict needs is seen for longer in a longer run, and does not fall behind what is open.
#[test]
fn in_a_longer_run_what_nobody_needs_has_its_share_too() {
    let cells = planned(false, &["idle"]);
    let of_sleeps = |i: &usize| weight(&cells[*i]) > 0.0 && !cells[*i].is_optional;
    let sleeps: Vec<usize> = (0..cells.len()).filter(of_sleeps).collect();
    let (open, not_needed) = (sleeps[0], sleeps[1]);
    let seconds_of = |stretch: f64| {
        let claim = |i| match i {
            i if i == open => Claim::Seconds(Needed::whole(&cells[i])),
            i if i == not_needed => Claim::Little(1.0),
            _ => Claim::Share(0.0),
        };
        let claims: Vec<Claim> = (0..cells.len()).map(claim).collect();
        let time = Time {
            stretch,
            seconds: CHECK_S as f64 * stretch,
            left: 6.0,
            planned: 6.0,
        };
        let (shares, _) = shared(&cells, &claims, time, &BTreeSet::new());
        let seconds = |i: usize| weight(&cells[i]) * shares[i];
        seconds(not_needed) / (seconds(open) + seconds(not_needed)) * time.seconds
    };
    let longer = seconds_of(25.0) / seconds_of(1.0);
    assert!((20.0..30.0).contains(&longer), "{longer}");
}

#[test]
fn sleeps_as_they_are_come_before_remedies_and_those_of_what_is_open_before_others() {
    use PartOfUse::{AsItIs, RemedyOfFailed, RemedyOfOpen};
    let cells = planned(false, &["idle"]);
    let at = |name: &str| {
        let all = named(&cells, vec![0.0; cells.len()]);
        all.iter().position(|c| c.0 == name).expect(name)
    };
    let [a, b, c] = [
        "clock-nanosleep-abs 1ms 1ns",
        "clock-nanosleep-abs 20ms default",
        "tompion-hybrid 1ms",
    ]
    .map(|name| at(&format!("idle {name}")));
    let of = |asked: &[(usize, PartOfUse)]| of_three_seconds(&cells, asked, 1.0);
    assert_eq!(of(&[(a, RemedyOfOpen), (b, AsItIs)]), [false, true]);
    assert_eq!(of(&[(a, RemedyOfFailed), (c, RemedyOfOpen)]), [false, true]);
    // While blocks are left more is begun: some of it is decided sooner.
    assert_eq!(
        of_three_seconds(&cells, &[(a, RemedyOfOpen), (b, AsItIs)], 5.0),
        [true, true]
    );
}

#[test]
fn what_takes_the_time_of_several_verdicts_comes_after_remedies() {
    use PartOfUse::{AsItIs, RemedyOfFailed};
    let cells = planned(false, &["idle"]);
    let names = named(&cells, vec![0.0; cells.len()]);
    let at = |name: &str| names.iter().position(|c| c.0 == name).expect(name);
    let long = at("idle clock-nanosleep-abs 20ms default");
    let remedy = at("idle tompion-hybrid 1ms");
    let of = |seconds: f64| {
        let asked = [(long, AsItIs, seconds), (remedy, RemedyOfFailed, 2.0)];
        decided_in(seconds + 1.0, &cells, &asked, 1.0)
    };
    assert_eq!(of(0.9 * DEAR_S), [true, false]);
    assert_eq!(of(1.1 * DEAR_S), [false, true]);
}

#[test]
fn a_default_check_has_time_for_all_sleeps_as_they_are() {
    let cells = planned(false, &["idle", "busy", "network"]);
    let shares = named(&cells, decisions(false).shares(&cells));
    let as_it_is = shares.iter().filter(|s| s.0.ends_with(" default"));
    assert!(as_it_is.clone().count() >= 15);
    let long = as_it_is.filter(|s| s.0.contains("ms ") || s.0.contains("7812500ns"));
    assert!(
        long.clone().count() == 9 && long.clone().all(|s| s.1 > 0.7),
        "{shares:?}"
    );
    let remedy = share_of(&shares, "busy tompion-hybrid 1ms");
    assert!((remedy - AT_FIRST).abs() < 0.1, "{remedy} {shares:?}");
}

#[test]
fn what_comes_in_clusters_gets_the_time_that_clusters_take() {
    let cells = planned(false, &["idle", "busy", "network"]);
    let share = |size: i64| {
        let mut decisions = decisions(false);
        for block in 0..5 {
            decisions.shares(&cells);
            for cell in cells.iter().filter(|c| !c.is_optional) {
                // Two stalls a block, by each of which so many are late, though none by 5 ms.
                let ns = 2_000_000 + 1_000 * i64::from(block);
                let late = |i: i64| if i % 200 < size { ns + i } else { 10 };
                let (draft, data) = match is(cell, "idle", "20ms") {
                    true => trial_of(cell, block, late),
                    false => trial(cell, block, 10),
                };
                decisions.saw(&draft, &data);
            }
        }
        let shares = named(&cells, decisions.shares(&cells));
        let of =
            |load: &str| share_of(&shares, &format!("{load} clock-nanosleep-abs 20ms default"));
        of("idle") / of("busy")
    };
    assert!((0.9..1.1).contains(&share(1)), "{}", share(1));
    assert!(share(2) > 1.2, "{}", share(2));
}

#[test]
fn a_remedy_that_can_decide_nothing_has_no_time() {
    let cells = planned(false, &["idle", "busy", "network"]);
    let remedies = [
        "clock-nanosleep-abs 7812500ns 1ns",
        "tompion-hybrid 7812500ns",
    ];
    let of_remedies = |late: [i64; 2]| {
        let mut decisions = decisions(false);
        for block in 0..2 {
            decisions.shares(&cells);
            for cell in &cells {
                let name = &named(std::slice::from_ref(cell), vec![0.0])[0].0;
                let of_remedy = remedies.iter().position(|r| *name == format!("busy {r}"));
                // The game server is late beside the load; with a remedy so many in 400.
                let (draft, data) = match of_remedy {
                    Some(which) if block > 0 => trial_of(cell, block, |i| {
                        if i * late[which] % 400 < late[which] {
                            9_000_000
                        } else {
                            10
                        }
                    }),
                    _ if cell.is_optional => continue,
                    _ => trial(
                        cell,
                        block,
                        if is(cell, "busy", "7812500ns") {
                            9_000_000
                        } else {
                            10
                        },
                    ),
                };
                decisions.saw(&draft, &data);
            }
        }
        let shares = named(&cells, decisions.shares(&cells));
        remedies.map(|remedy| share_of(&shares, &format!("busy {remedy}")) > 0.0)
    };
    assert_eq!(of_remedies([40, 40]), [false, false], "neither will pass");
    assert_eq!(of_remedies([40, 0]), [false, true], "one is gone on with");
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
        remedies.map(|remedy| share_of(shares, &format!("{load} {remedy}")) > 0.0)
    };
    assert_eq!(
        [of(&at_first, "idle"), of(&at_first, "busy")],
        [[false; 3]; 2]
    );
    // Beside the load VoIP is late, and the game server in time.
    for cell in cells.iter().filter(|c| !c.is_optional) {
        let is_late = is(cell, "busy", "20ms");
        let (draft, data) = trial(cell, 0, if is_late { 9_000_000 } else { 10 });
        decisions.saw(&draft, &data);
    }
    let then = named(&cells, decisions.shares(&cells));
    assert_eq!(of(&then, "idle"), [false; 3]);
    assert_eq!(of(&then, "busy"), [true, false, false]);
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

#[test]
fn a_quick_check_has_no_time_to_pass_what_takes_thousands_of_long_sleeps() {
    let names = |quick: bool, loads: &[&str]| {
        let seconds = Duration::from_secs(if quick { QUICK_RUN_S } else { CHECK_S });
        let loads: Vec<LoadSpec> = loads.iter().map(|name| name.parse().unwrap()).collect();
        let open = without_time(profiles(), quick, &loads, SCHEDULER, seconds);
        open.iter().map(|p| p.name.as_str()).collect::<Vec<_>>()
    };
    let three = ["idle", "busy", "network"];
    // On a single CPU few wake up in turn beside loads, and what they decide takes longer.
    let open = names(false, &three);
    assert!(open.iter().all(|name| *name == "voip"), "{open:?}");
    let quick = names(true, &three);
    assert!(
        quick.contains(&"audio-48k-64") && !quick.contains(&"pacing-1g"),
        "{quick:?}"
    );
    assert!(names(true, &["idle"]).is_empty());
}
