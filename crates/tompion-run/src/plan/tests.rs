//! How options become cells, and which are refused.

use tompion_model::factor;
use tompion_probe::Policy;

use super::*;
use crate::Observe;
use crate::probes::{Place, Probe, Selection, Way};

/// A probe with these parameters, several values separated by commas.
pub(crate) fn selection(probe: &str, given: &[(&str, &str)]) -> Selection {
    let texts = |text: &str| text.split(',').map(str::to_owned).collect();
    let given = given.iter().map(|(name, text)| (*name, texts(text)));
    Selection::new(Probe::named(probe), Place::CommandLine, given).unwrap()
}

/// 400 samples in four blocks.
pub(crate) fn wake_up(methods: &str, targets: &str) -> Selection {
    let slack = ("slack", "default,1ns");
    let samples = ("samples", "400");
    selection(
        "wake-up",
        &[("methods", methods), ("targets", targets), slack, samples],
    )
}

pub(crate) fn options() -> PlanOptions {
    PlanOptions {
        probes: vec![
            selection(
                "read-cost",
                &[
                    ("methods", "rdtsc,syscall-clock-monotonic"),
                    ("samples", "4000"),
                ],
            ),
            wake_up("usleep,tompion-hybrid", "100us"),
            wake_up("usleep", "1ms"),
        ],
        loads: vec!["idle".parse().unwrap(), "cpu".parse().unwrap()],
        policies: vec![Policy::Other],
        cpu: None,
        observe: vec![Observe::Off],
        blocks: 4,
        duration: Duration::from_secs(2),
        time: TimeSetting::option("--duration"),
        settle: Duration::from_millis(20),
        seed: 7,
    }
}

#[test]
fn what_is_for_some_loads_stands_beside_these_alone() {
    let beside = |load: &str| {
        let mut options = options();
        let loads = vec![load.parse().unwrap()];
        options.probes = vec![
            wake_up("usleep", "1ms").beside(loads),
            wake_up("usleep", "2ms"),
        ];
        let cells = Plan::new(&options).unwrap().cells.into_iter();
        cells
            .map(|c| [factor::TARGET, factor::LOAD].map(|name| c.factors.level(name).to_owned()))
            .collect::<std::collections::BTreeSet<_>>()
    };
    let of = |pairs: [[&str; 2]; 3]| pairs.map(|pair| pair.map(str::to_owned)).into();
    assert_eq!(
        beside("cpu"),
        of([["1ms", "cpu"], ["2ms", "cpu"], ["2ms", "idle"]])
    );
    assert_eq!(
        beside("idle"),
        of([["1ms", "idle"], ["2ms", "cpu"], ["2ms", "idle"]])
    );
    // One that the run does not have adds none.
    assert_eq!(beside("network").len(), 2);
}

#[test]
fn factors_are_crossed_where_they_apply() {
    let plan = Plan::new(&options()).unwrap();
    let names: Vec<String> = plan.cells.iter().map(|c| c.factors.to_string()).collect();
    assert_eq!(
        names[..7],
        [
            "read-cost/rdtsc/idle",
            "read-cost/syscall-clock-monotonic/idle",
            "wake-up/usleep/100us/timer-slack=default/idle",
            "wake-up/usleep/100us/timer-slack=1ns/idle",
            "wake-up/tompion-hybrid/100us/idle",
            "wake-up/usleep/1ms/timer-slack=default/idle",
            "wake-up/usleep/1ms/timer-slack=1ns/idle",
        ]
    );
    assert_eq!(plan.trials(), 14 * 4);
    let samples: Vec<u64> = plan.cells.iter().map(|c| c.samples).collect();
    assert_eq!(
        (samples[0], samples[1], samples[7], samples[8]),
        (1000, 100, 100, 10)
    );
}

#[test]
fn real_time_policies_have_no_slack_factor() {
    let o = PlanOptions {
        policies: vec![Policy::Fifo(50)],
        ..options()
    };
    let plan = Plan::new(&o).unwrap();
    assert!(
        plan.cells
            .iter()
            .all(|c| c.factors.get(factor::SLACK).is_none())
    );
    assert!(
        plan.cells
            .iter()
            .all(|c| c.factors.get(factor::POLICY) == Some("fifo:50"))
    );
}

#[test]
fn every_block_holds_every_cell_once_in_its_own_order() {
    let plan = Plan::new(&options()).unwrap();
    let flat = |b| {
        plan.order(b)
            .into_iter()
            .flat_map(|(_, cells)| cells)
            .collect::<Vec<usize>>()
    };
    let orders: Vec<Vec<usize>> = (0..8).map(flat).collect();
    for order in &orders {
        let mut sorted = order.clone();
        sorted.sort_unstable();
        assert_eq!(sorted, (0..plan.cells.len()).collect::<Vec<_>>());
    }
    assert_ne!(orders[0], orders[1]);
    assert_eq!(orders[2], flat(2));
    // Neither load always comes first.
    let first: Vec<usize> = (0..8).map(|b| plan.order(b)[0].0).collect();
    assert!(first.contains(&0) && first.contains(&1), "{first:?}");
}

fn measuring(selection: Selection) -> PlanOptions {
    PlanOptions {
        probes: vec![selection],
        ..options()
    }
}

#[test]
fn plans_without_sense_are_refused_in_one_line() {
    let cases: [(PlanOptions, &str); 8] = [
        (
            PlanOptions {
                blocks: 0,
                ..options()
            },
            "0 blocks",
        ),
        (
            PlanOptions {
                loads: vec![],
                ..options()
            },
            "no load",
        ),
        (
            PlanOptions {
                loads: vec!["cpu".parse().unwrap(); 2],
                ..options()
            },
            "named twice",
        ),
        (
            measuring(wake_up("usleep", "100us,1ms,0.1ms")),
            "target `100us` is named twice",
        ),
        (
            measuring(wake_up("usleep,usleep", "100us")),
            "method `usleep` is named twice",
        ),
        (
            measuring(selection("wake-up", &[("slack", "1us,default,1000ns")])),
            "slack `1us` is named twice",
        ),
        (
            PlanOptions {
                policies: vec![Policy::Fifo(50), Policy::Fifo(50)],
                ..options()
            },
            "policy `fifo:50` is named twice",
        ),
        (
            PlanOptions {
                probes: vec![],
                ..options()
            },
            "nothing to measure",
        ),
    ];
    for (o, want) in cases {
        let text = Plan::new(&o).unwrap_err().to_string();
        assert!(text.contains(want) && !text.contains('\n'), "{text}");
    }
}

fn with_events(search: bool) -> PlanOptions {
    let events = [
        ("methods", "timerfd,clock-nanosleep-abs"),
        ("forms", "grid,rearmed"),
        ("periods", "10us,150us"),
        ("no-search", if search { "false" } else { "true" }),
    ];
    PlanOptions {
        probes: vec![
            selection("timer-events", &events),
            selection("stalls", &[("cpus", "0-1")]),
        ],
        loads: vec!["idle".parse().unwrap()],
        ..options()
    }
}

#[test]
fn timer_events_and_stalls_are_cells_like_others() {
    let plan = Plan::new(&with_events(false)).unwrap();
    let names: Vec<String> = plan.cells.iter().map(|c| c.factors.to_string()).collect();
    assert_eq!(names.len(), 2 * 2 * 2 + 1);
    assert_eq!(
        [&names[0], &names[2], &names[8]],
        [
            "timer-events/timerfd/10us/form=grid/idle",
            "timer-events/clock-nanosleep-abs/10us/form=grid/timer-slack=1ns/idle",
            "stalls/busy-loop/idle",
        ]
    );
    // A loop on each of two CPUs.
    assert_eq!(plan.trials(), (8 + 2) * 4);
    assert!(plan.searches.is_empty());
}

#[test]
fn each_mechanism_and_form_is_searched_once_a_load() {
    let plan = Plan::new(&with_events(true)).unwrap();
    let names: Vec<String> = plan
        .searches
        .iter()
        .map(|s| s.factors.to_string())
        .collect();
    assert_eq!(
        names,
        [
            "timer-events/timerfd/form=grid/idle",
            "timer-events/timerfd/form=rearmed/idle",
            "timer-events/clock-nanosleep-abs/form=grid/timer-slack=1ns/idle",
            "timer-events/clock-nanosleep-abs/form=rearmed/timer-slack=1ns/idle",
        ]
    );
}

#[test]
fn the_time_foreseen_for_events_holds_all_of_them() {
    let mut o = with_events(false);
    o.probes.truncate(1);
    o.duration = o.time_for_samples();
    let plan = Plan::new(&o).unwrap();
    assert_eq!(plan.warning(), None);
    let events: u64 = plan.cells.iter().map(|c| c.samples * c.wait_ns()).sum();
    assert!(o.duration > Duration::from_nanos(events * u64::from(o.blocks)));
}

#[test]
fn cells_at_once_are_one_cell_of_as_many_trials() {
    let at_once = selection(
        "wake-up",
        &[
            ("methods", "usleep,tompion-hybrid"),
            ("targets", "1ms,20ms"),
            ("slack", "default,1ns"),
            ("at-once", "true"),
        ],
    );
    let plan = Plan::new(&PlanOptions {
        probes: vec![at_once],
        ..options()
    })
    .unwrap();
    let names: Vec<String> = plan.cells.iter().map(|c| c.factors.to_string()).collect();
    assert_eq!(names, ["wake-up/company=6/idle", "wake-up/company=6/cpu"]);
    assert_eq!(plan.cells[0].trials(), 6);
    // Eight warm-up and other sleeps of the longest.
    assert!(plan.cells[0].least_time() >= Duration::from_millis(160));
    let Way::Sleepers(at_once) = plan.cells[0].probe.way() else {
        panic!("{:?}", plan.cells[0]);
    };
    let slacks: Vec<Option<u64>> = at_once
        .members
        .iter()
        .map(|m| m.sleeper.thread.slack_ns)
        .collect();
    assert_eq!(slacks, [None, Some(1), None, None, Some(1), None]);
}
