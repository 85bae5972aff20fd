//! Published figures beside cells of a run.

use std::collections::BTreeSet;

use tompion_load::LoadSpec;
use tompion_papers::published::{
    Fit, Statistic, correspondences, counterparts, counterparts_of_cell, table, tables,
};
use tompion_probe::{read_cost, timer_events, wake_up};

#[test]
fn every_figure_has_a_counterpart_or_a_reason_why_not() {
    for table in tables() {
        let (some, none) = correspondences(table);
        let with: BTreeSet<String> = some.iter().map(|c| c.figure.to_string()).collect();
        let without: BTreeSet<String> = none.iter().map(|a| a.figure.to_string()).collect();
        assert!(with.is_disjoint(&without));
        assert_eq!(
            with.len() + without.len(),
            table.figures().count(),
            "{}",
            table.id
        );
        assert!(none.iter().all(|a| a.why.ends_with('.')), "{}", table.id);
        // What is near says how it differs.
        let silent = some
            .iter()
            .find(|c| c.fit == Fit::Near && c.notes.is_empty());
        assert!(silent.is_none(), "{silent:?}");
    }
}

#[test]
fn cells_are_of_methods_and_loads_that_tompion_has() {
    let mut seen = BTreeSet::new();
    for c in tables().iter().flat_map(counterparts) {
        seen.insert(c.cell);
    }
    assert!(seen.len() > 10, "{seen:?}");
    for cell in seen {
        let method = cell["method"];
        let known = match cell["probe"] {
            "read-cost" => read_cost::Method::all().any(|m| m.name() == method),
            "wake-up" => wake_up::Method::all().any(|m| m.name() == method),
            "timer-events" => {
                let form = timer_events::Form::Rearmed;
                assert_eq!(cell["form"], form.name());
                timer_events::Method::all().any(|m| m.name() == method)
            }
            "stalls" => method == "busy-loop",
            other => panic!("{other}"),
        };
        assert!(known, "{cell:?}");
        let load = cell["load"].trim_end_matches(":*");
        let known = tompion_load::loads().any(|l| l.name == load);
        assert!(known, "{cell:?}");
        // A load without options is written as a run writes it.
        if !cell["load"].ends_with(":*") {
            assert_eq!(load.parse::<LoadSpec>().unwrap().level(), load);
        }
    }
}

fn cell<'a>(levels: &'a [(&'a str, &'a str)]) -> impl Fn(&str) -> Option<&'a str> {
    move |factor| levels.iter().find(|(f, _)| *f == factor).map(|(_, l)| *l)
}

#[test]
fn a_sleep_at_rest_stands_beside_every_platform_of_kirova() {
    let usleep = [
        ("probe", "wake-up"),
        ("method", "usleep"),
        ("target", "100us"),
        ("timer-slack", "default"),
        ("load", "idle"),
    ];
    let found = counterparts_of_cell("kirova-2019", cell(&usleep));
    let medians: Vec<_> = found
        .iter()
        .filter(|c| c.statistic == Statistic::Median)
        .map(|c| (c.figure.row.level("platform").unwrap(), c.value_ns))
        .collect();
    assert_eq!(
        medians,
        [
            ("esxi", 63_085.2),
            ("host", 61_996.3),
            ("qemu", 97_351.3),
            ("virtualbox", 131_252.0),
            ("xen", 109_411.0),
        ]
    );
    // Four statistics of five platforms, from Table 2 alone.
    assert_eq!(found.len(), 20);
    assert!(found.iter().all(|c| c.fit == Fit::Same));
}

#[test]
fn cells_set_up_otherwise_have_no_counterpart() {
    let with = |factor: &'static str, level: &'static str| {
        let mut cell = vec![
            ("probe", "wake-up"),
            ("method", "usleep"),
            ("timer-slack", "default"),
            ("load", "cpu"),
        ];
        cell.retain(|(f, _)| *f != factor);
        cell.push((factor, level));
        counterparts_of_cell("kirova-2019/table-2", move |f| {
            cell.iter().find(|(name, _)| *name == f).map(|(_, l)| *l)
        })
    };
    assert!(!with("target", "1ms").is_empty());
    assert!(with("timer-slack", "1ns").is_empty());
    assert!(with("policy", "fifo:50").is_empty());
    assert!(with("load", "cpu:threads=4").is_empty());
    assert!(with("method", "nanosleep").is_empty());
}

#[test]
fn units_become_nanoseconds() {
    let stalls = counterparts(table("perneel-2015/table-1").unwrap());
    // The bare machine, and two scenarios of five kinds of guests.
    assert_eq!(stalls.len(), 11);
    let bare = stalls
        .iter()
        .find(|c| c.figure.row.level("platform") == Some("host"));
    assert_eq!(bare.unwrap().value_ns, 10_000.0);
    let events = counterparts(table("adamczyk-2015/text").unwrap());
    let values: Vec<f64> = events.iter().map(|c| c.value_ns).collect();
    assert_eq!(values, [17_628.0, 156.0]);
    assert_eq!(
        events[0].statistic.summary_name(),
        "uncorrected_standard_deviation_ns"
    );
}
