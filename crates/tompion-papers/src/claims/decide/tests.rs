//! Rules on planted cells: each side of a rule, and what lies between.

use std::collections::BTreeMap;

use tompion_model::{Factors, Summary, factor};
use tompion_stats::Distribution;

use super::observed::{Observed, Place, Replicate};
use super::{RULES, bounds, causes, packets, rules};
use crate::claims::{Outcome, register};

fn key(probe: &str, method: &str, target: &str, load: &str) -> Factors {
    let f = Factors::new()
        .with(factor::PROBE, probe)
        .with(factor::METHOD, method)
        .with(factor::LOAD, load)
        .with(factor::PLATFORM, "host");
    match target {
        "" => f,
        target => f.with(factor::TARGET, target),
    }
}

/// Ten replicates of 1000 samples around `ns`, each with `outlier` as its greatest value.
fn cell(run: &mut Observed, key: Factors, ns: f64, outlier: f64, cpu_ns: Option<f64>) {
    let replicate = |block: u32| {
        // Of a triangle, which has no tails; a hundredth more in each block.
        let shift = 1.0 + 0.01 * f64::from(block);
        let one =
            |i: i64| ns * shift * (0.9 + 0.0001 * (i * 7919 % 1000 + i * 104_729 % 1000) as f64);
        let values = (0..1000).map(|i| if i == 999 { outlier } else { one(i) });
        let measured = Summary::of_ps(&Distribution::from_values(values.map(|v| (v * 1e3) as i64)));
        let replicate = Replicate {
            undisturbed: measured.clone(),
            measured,
            cpu_ns,
            ..Replicate::default()
        };
        (block, replicate)
    };
    run.cells
        .insert(key, (0..10).map(replicate).collect::<BTreeMap<_, _>>());
}

fn outcome(rule: rules::Rule, run: &Observed) -> Option<Outcome> {
    rule(run).map(|f| {
        assert!(!f.because.is_empty() && !f.effects.is_empty());
        f.outcome
    })
}

#[test]
fn rules_are_about_claims_that_a_measurement_decides() {
    for (claim, rule) in RULES {
        let claim = register().claim(claim).unwrap_or_else(|| panic!("{claim}"));
        assert_eq!(
            claim.basis,
            crate::claims::Basis::Measurement,
            "{}",
            claim.id
        );
        assert!(rule(&Observed::default()).is_none(), "{}", claim.id);
    }
}

#[test]
fn a_busy_wait_takes_a_whole_cpu_where_its_cpu_time_says_so() {
    let with = |cpu_ns: f64, late_ns: f64| {
        let mut run = Observed::default();
        let shortest = key("wake-up", "busy-wait", "100us", "idle");
        cell(&mut run, shortest, late_ns, late_ns, Some(cpu_ns));
        // The longer one was interrupted more, and does not count.
        let longer = key("wake-up", "busy-wait", "10ms", "idle");
        cell(&mut run, longer, late_ns, late_ns, Some(3e6));
        outcome(rules::whole_cpu, &run)
    };
    assert_eq!(with(98e3, 45.0), Some(Outcome::Supported));
    assert_eq!(with(98e3, 5_000.0), Some(Outcome::NotDecidable));
    assert_eq!(with(70e3, 45.0), Some(Outcome::NotDecidable));
    assert_eq!(with(10e3, 45.0), Some(Outcome::Contradicted));
}

#[test]
fn the_hybrid_sleep_is_held_against_the_busy_wait() {
    let with = |hybrid: f64| {
        let mut run = Observed::default();
        for (method, ns) in [("busy-wait", 45.0), ("tompion-hybrid", hybrid)] {
            cell(
                &mut run,
                key("wake-up", method, "100us", "idle"),
                ns,
                ns,
                None,
            );
        }
        outcome(rules::hybrid_as_busy_wait, &run)
    };
    assert_eq!(with(60.0), Some(Outcome::Supported));
    assert_eq!(with(600.0), Some(Outcome::NotDecidable));
}

#[test]
fn one_far_value_in_each_replicate_is_not_normal() {
    let with = |outliers: [f64; 2]| {
        let mut run = Observed::default();
        let cells = [("wake-up", "usleep", "1ms"), ("read-cost", "rdtscp", "")];
        for ((probe, method, target), outlier) in cells.into_iter().zip(outliers) {
            cell(
                &mut run,
                key(probe, method, target, "idle"),
                100.0,
                outlier,
                None,
            );
        }
        outcome(rules::not_normal, &run)
    };
    assert_eq!(with([9e5, 9e5]), Some(Outcome::Supported));
    assert_eq!(with([100.0, 100.0]), Some(Outcome::Contradicted));
    assert_eq!(with([9e5, 100.0]), Some(Outcome::NotDecidable));
}

#[test]
fn means_near_medians_are_judged_by_undisturbed_samples_when_they_are_far() {
    let with = |outlier: f64, without: bool| {
        let mut run = Observed::default();
        let key = key("read-cost", "rdtscp", "", "idle");
        cell(&mut run, key.clone(), 20.0, outlier, None);
        if without {
            let mut other = Observed::default();
            cell(&mut other, key.clone(), 20.0, 20.0, None);
            for (block, replicate) in run.cells.get_mut(&key).unwrap() {
                replicate.undisturbed = other.cells[&key][block].measured.clone();
            }
        }
        outcome(rules::means_near_medians, &run)
    };
    assert_eq!(with(20.0, false), Some(Outcome::Supported));
    assert_eq!(with(9e5, false), Some(Outcome::Contradicted));
    // The far value was a disturbance.
    assert_eq!(with(9e5, true), Some(Outcome::NotDecidable));
}

#[test]
fn the_hybrid_mean_must_grow_most_beside_the_load() {
    let with = |hybrid: f64, usleep: f64| {
        let mut run = Observed::default();
        for (method, rest, grown) in [("tompion-hybrid", 100.0, hybrid), ("usleep", 60e3, usleep)] {
            for (load, ns) in [("idle", rest), ("cpu", rest * grown)] {
                cell(&mut run, key("wake-up", method, "1ms", load), ns, ns, None);
            }
        }
        outcome(rules::hybrid_means_beside_cpu, &run)
    };
    assert_eq!(with(1000.0, 30.0), Some(Outcome::Supported));
    assert_eq!(with(3.0, 2.0), Some(Outcome::Contradicted));
    assert_eq!(with(30.0, 300.0), Some(Outcome::Contradicted));
}

#[test]
fn maxima_that_grow_describe_nothing() {
    let with = |growing: bool| {
        let mut run = Observed::default();
        let key = key("stalls", "busy-loop", "", "idle").with("placement", "alone");
        cell(&mut run, key.clone(), 1_000.0, 80e6, None);
        for (block, replicate) in run.cells.get_mut(&key).unwrap() {
            let summary = replicate.measured.as_mut().unwrap();
            if growing {
                summary.max_ns = 1e3 * 3f64.powi(*block as i32);
            }
        }
        outcome(bounds::maxima_describe, &run)
    };
    assert_eq!(with(false), Some(Outcome::Supported));
    assert_eq!(with(true), Some(Outcome::Contradicted));
}

#[test]
fn events_within_20_us_in_a_guest_refute_and_late_ones_prove_nothing() {
    let with = |late_ns: f64, is_guest: bool, loads: &[&str]| {
        let mut run = Observed {
            is_guest,
            ..Observed::default()
        };
        for load in loads {
            let key = key("timer-events", "timerfd", "10us", load);
            cell(&mut run, key, late_ns, late_ns, None);
        }
        outcome(bounds::within_20_us, &run)
    };
    let both = ["idle", "disk-read:irq=measured"];
    assert_eq!(with(4e3, true, &both), Some(Outcome::Contradicted));
    assert_eq!(with(40e3, true, &both), Some(Outcome::NotDecidable));
    assert_eq!(with(4e3, true, &["idle"]), Some(Outcome::NotDecidable));
    assert_eq!(with(4e3, false, &both), None);
}

/// Ten replicates a scenario, the cause of a share of the time lost named, a hundredth more
/// in each.
fn beside_neighbours(platform: &str, shares: [f64; 2]) -> Observed {
    let mut run = Observed::default();
    for (scenario, share) in ["contention-cpu", "contention-memory"].iter().zip(shares) {
        let key = key("stalls", "busy-loop", "", "idle")
            .with(factor::PLATFORM, platform)
            .with(factor::PLACEMENT, *scenario);
        let replicate = |block: u32| Replicate {
            named: Some(share + 0.01 * f64::from(block)),
            ..Replicate::default()
        };
        let cell = (0..10).map(|block| (block, replicate(block)));
        run.cells.insert(key, cell.collect());
    }
    run
}

#[test]
fn a_guest_knows_of_its_neighbour_where_the_time_lost_has_causes() {
    let with = |platform: &str, shares: [f64; 2]| {
        let mut run = beside_neighbours(platform, shares);
        let place = Place {
            kind: platform.to_owned(),
            has_own_kernel: platform == "qemu",
        };
        run.places.insert(platform.to_owned(), place);
        outcome(causes::told_beside_a_neighbour, &run)
    };
    let known = Some(Outcome::Contradicted);
    assert_eq!(with("qemu", [0.9, 0.9]), known);
    let unknown = Some(Outcome::Supported);
    assert_eq!(with("qemu", [0.0, 0.0]), unknown);
    let open = Some(Outcome::NotDecidable);
    assert_eq!(with("qemu", [0.9, 0.0]), open);
    assert_eq!(with("qemu", [0.9, 0.85]), open);
    assert_eq!(with("qemu", [0.0, 0.05]), open);
    // What a container may watch is no evidence of what an ordinary guest sees.
    assert_eq!(with("oci", [0.9, 0.9]), open);
    assert_eq!(with("oci", [0.0, 0.0]), open);
    assert_eq!(with("host", [0.9, 0.9]), None);
}

#[test]
fn what_was_beside_the_neighbour_is_told() {
    let mut run = beside_neighbours("runc", [0.9, 0.9]);
    let mut because = |kind: &str, has_own_kernel: bool| {
        let kind = kind.to_owned();
        let place = Place {
            kind,
            has_own_kernel,
        };
        run.places.insert("runc".to_owned(), place);
        causes::told_beside_a_neighbour(&run).map(|f| f.because)
    };
    let container = because("oci", false).unwrap();
    assert!(container.contains("of each cell (runc)"), "{container}");
    assert!(container.contains("CAP_PERFMON"), "{container}");
    assert!(container.contains("no guest with a kernel"), "{container}");
    let guest = because("qemu", true).unwrap();
    assert!(!guest.contains("CAP_PERFMON"), "{guest}");
    assert!(!guest.contains("no guest"), "{guest}");
    // The bare machine under another name.
    assert_eq!(because("host", false), None);
}

#[test]
fn one_platform_that_holds_10_us_beside_disk_reads_refutes() {
    let with = |cells: &[(&str, &str, f64, Option<f64>)]| {
        let mut run = Observed::default();
        for &(platform, load, late_ns, missed) in cells {
            let key = key("timer-events", "timerfd", "10us", load).with(factor::PLATFORM, platform);
            cell(&mut run, key.clone(), late_ns, late_ns, None);
            for (block, replicate) in run.cells.get_mut(&key).unwrap() {
                // All of them in one replicate.
                replicate.missed = missed.map(|n| if *block == 0 { n } else { 0.0 });
            }
        }
        bounds::holds_10_us(&run).map(|f| (f.outcome, f.because))
    };
    let outcome_of = |late_ns: f64, missed: f64| {
        let (outcome, _) = with(&[("host", "disk-read", late_ns, Some(missed))]).unwrap();
        outcome
    };
    assert_eq!(outcome_of(500.0, 0.0), Outcome::Contradicted);
    assert_eq!(outcome_of(500.0, 1.0), Outcome::NotDecidable);
    assert_eq!(outcome_of(1_000.0, 0.0), Outcome::NotDecidable);
    let irq = "disk-read:irq=measured";
    let slow = ("host", "disk-read", 5e3, Some(0.0));
    let (outcome, because) = with(&[slow, ("runc", irq, 500.0, Some(0.0))]).unwrap();
    assert_eq!(outcome, Outcome::Contradicted);
    assert!(
        because.contains("runc") && because.contains(" ns, and 0 periods"),
        "{because}"
    );
    let (outcome, because) = with(&[slow, ("runc", irq, 9e3, Some(0.0))]).unwrap();
    assert_eq!(outcome, Outcome::NotDecidable);
    assert!(
        because.contains("at best host") && because.contains("µs"),
        "{because}"
    );
    assert_eq!(with(&[("host", "disk-read", 500.0, None)]), None);
    assert_eq!(with(&[("host", "idle", 500.0, Some(0.0))]), None);
}

#[test]
fn what_a_stranger_measured_gives_no_figure_that_is_no_number() {
    // Medians of nothing, deviations of nothing, targets of nothing, and the ends of numbers.
    for ns in [0.0, f64::MIN_POSITIVE, f64::MAX] {
        let figure = Some(ns);
        let summary = Summary {
            samples: 1_000_000,
            min_ns: ns,
            max_ns: ns,
            mean_ns: ns,
            median_ns: ns,
            standard_deviation_ns: figure,
            ..Summary::of_ps(&Distribution::from_values([0])).unwrap()
        };
        let replicate = Replicate {
            measured: Some(summary.clone()),
            undisturbed: Some(summary),
            cpu_ns: figure,
            missed: figure,
            named: figure,
        };
        let mut run = Observed {
            is_guest: true,
            ..Observed::default()
        };
        for probe in ["wake-up", "read-cost", "timer-events", "stalls"] {
            for method in ["busy-wait", "tompion-hybrid", "usleep"] {
                for target in ["0ns", "10us", "20us"] {
                    for load in ["idle", "cpu", "disk-read"] {
                        let key = key(probe, method, target, load);
                        let replicates = (0..10).map(|block| (block, replicate.clone()));
                        run.cells.insert(key, replicates.collect());
                    }
                }
            }
        }
        let found: Vec<_> = RULES.iter().filter_map(|(_, rule)| rule(&run)).collect();
        assert!(ns == f64::MAX || !found.is_empty(), "{ns}");
        let text = serde_json::to_string(&found).unwrap();
        assert!(!text.contains("null"), "{text}");
        let read: Vec<crate::claims::Finding> = serde_json::from_str(&text).unwrap();
        assert_eq!(read.len(), found.len());
    }
}

#[test]
fn many_trials_of_many_platforms_take_a_moment() {
    let golden = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../tests/golden/version-2.tar.gz"
    );
    let mut tar = std::process::Command::new("tar");
    let packed = tar.args(["xzOf", golden, "version-2/run.json"]).output();
    let mut record: tompion_model::RunRecord =
        serde_json::from_slice(&packed.unwrap().stdout).unwrap();
    let platform = |n: usize| tompion_model::PlatformRecord {
        level: format!("p{n}"),
        emulated: Some("qemu".to_owned()),
        ..Default::default()
    };
    record.platforms = (0..100_000).map(platform).collect();
    let first = record.trials[0].clone();
    let trial = |n: usize| tompion_model::Trial {
        factors: key("wake-up", "usleep", "1ms", "idle").with(factor::PLATFORM, format!("q{n}")),
        ..first.clone()
    };
    record.trials = (0..30_000).map(trial).collect();
    let began = std::time::Instant::now();
    super::decide(&record);
    assert!(began.elapsed().as_secs() < 5, "{:?}", began.elapsed());
}

/// Round trips at rest and beside a network load, from three places: 1 ms at rest, and what the load adds.
fn round_trips(added_ms: [f64; 3]) -> Observed {
    let mut run = Observed::default();
    for (vantage, added) in ["user", "qdisc", "kernel"].into_iter().zip(added_ms) {
        for (load, ms) in [("idle", 1.0), ("network", 1.0 + added)] {
            let key = key("packet-delay", "stamp", "20ms", load).with("vantage", vantage);
            cell(&mut run, key, 1e6 * ms, 1e6 * ms, None);
        }
    }
    run
}

#[test]
fn a_load_s_delay_is_queueing_where_it_lies_between_the_stamps_of_the_queue() {
    let with = |added| outcome(packets::kernel_delay_is_queueing, &round_trips(added));
    assert_eq!(with([20.0, 19.9, 0.5]), Some(Outcome::Supported));
    assert_eq!(with([20.0, 19.9, 15.0]), Some(Outcome::Contradicted));
    assert_eq!(with([20.0, 19.9, 6.0]), Some(Outcome::NotDecidable));
    // It adds nothing that could be explained.
    assert_eq!(with([0.05, 0.05, 0.0]), None);
    // The card's stamps go before the driver's.
    let mut run = round_trips([20.0, 19.9, 15.0]);
    for load in ["idle", "network"] {
        let key = key("packet-delay", "stamp", "20ms", load).with("vantage", "hardware");
        cell(&mut run, key, 1e6, 1e6, None);
    }
    assert_eq!(
        outcome(packets::kernel_delay_is_queueing, &run),
        Some(Outcome::Supported)
    );
}

#[test]
fn kernel_stamps_of_replies_are_no_help_where_the_delay_is_one_of_sending() {
    let with = |added| outcome(packets::ping_kernel_stamps_no_help, &round_trips(added));
    assert_eq!(with([20.0, 19.9, 0.5]), Some(Outcome::Supported));
    // It may lie above the kernel on the way home, or on the way.
    assert_eq!(with([20.0, 10.0, 0.5]), Some(Outcome::NotDecidable));
    assert_eq!(with([20.0, 19.9, 10.0]), Some(Outcome::NotDecidable));
}

#[test]
fn a_card_that_stamps_contradicts_that_none_does() {
    let mut run = round_trips([20.0, 19.9, 0.5]);
    let decided = |run: &Observed| outcome(packets::no_stamp_of_the_card, run);
    assert_eq!(decided(&run), Some(Outcome::NotDecidable));
    let key = key("packet-delay", "stamp", "20ms", "idle").with("vantage", "hardware");
    cell(&mut run, key, 1e6, 1e6, None);
    assert_eq!(decided(&run), Some(Outcome::Contradicted));
}
