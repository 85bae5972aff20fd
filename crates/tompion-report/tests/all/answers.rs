//! Published machines, packet budget, time lost and the clock: what is planted comes
//! out on the page, in the terminal and in JSON.

use crate::common::page::check_page;
use crate::common::{
    Trial, assessment, data, draft, has, header, key, nothing, run_with, stalls_key, stalls_trial,
    unjudged, verdict,
};
use tempfile::TempDir;
use tompion_assess::verdict::{Assessment, Outcome, ProfileVerdict, Remedied};
use tompion_cause::Cause;
use tompion_model::{ClockReading, Factors, Status, Synchronisation, factor};
use tompion_report::{JsonSummary, ReportData, answer, html, json, terminal};
use tompion_store::{Run, RunWriter};

fn report(trials: &[Trial]) -> ReportData {
    let (_keep, run) = run_with(header(6, 9), trials);
    unjudged(&run)
}

/// Six blocks of the same values.
fn blocks(factors: Factors, values_ps: &[i64]) -> Vec<Trial> {
    let one = |b| (draft(factors.clone(), b), data(values_ps.iter().copied()));
    (0..6).map(one).collect()
}

fn usleep(load: &str) -> Factors {
    key("wake-up", "usleep", load)
        .with(factor::TARGET, "100us")
        .with(factor::SLACK, "default")
}

#[test]
fn this_machine_stands_among_the_published_ones() {
    let mut trials = blocks(key("read-cost", "rdtsc", "idle"), &[20_000, 25_000, 90_000]);
    trials.extend(blocks(
        usleep("cpu"),
        &[60_000_000, 61_000_000, 9_000_000_000],
    ));
    // No paper measured this.
    trials.extend(blocks(key("read-cost", "std-instant", "idle"), &[30_000]));
    let report = report(&trials);
    let value = json(&report);
    // What is written has the order of the values.
    let written = serde_json::to_string_pretty(&JsonSummary::of(&report)).unwrap();
    assert_eq!(written, format!("{value:#}"));
    let panels = value["among_published"]["panels"].as_array().unwrap();
    assert_eq!(panels.len(), 2, "{panels:?}");
    let tsc = &panels[0]["rungs"];
    let names: Vec<&str> = tsc
        .as_array()
        .unwrap()
        .iter()
        .map(|r| r["platform"].as_str().unwrap())
        .collect();
    assert_eq!(
        names,
        ["rdtsc", "Host OS", "Xen", "QEMU", "ESXi", "VirtualBox"]
    );
    assert_eq!(tsc[0]["median_ns"], 25.0);
    assert_eq!(tsc[0]["max_ns"], 90.0);
    // Kirova 2019, Table 1: TSC, host, idle.
    assert_eq!(tsc[1]["median_ns"].as_f64(), Some(17.2));
    assert_eq!(panels[1]["rungs"][0]["platform"], "usleep, 100 µs");
    let page = html(&report);
    check_page(&page);
    assert_eq!(page.matches(r#"class="plot range""#).count(), 2);
    assert!(page.contains("differences are shown, not tested"));
    assert!(terminal(&report, 100, false).contains("rdtsc, this run"));
}

#[test]
fn a_run_without_counterparts_has_no_such_section() {
    let report = report(&blocks(key("read-cost", "std-instant", "idle"), &[30_000]));
    assert!(json(&report)["among_published"].is_null());
    assert!(!html(&report).contains("id=\"among\""));
}

#[test]
fn the_packet_budget_follows_from_medians() {
    let mut trials = blocks(
        key("read-cost", "clock-monotonic", "idle"),
        &[24_000, 25_000, 26_000],
    );
    trials.extend(blocks(
        usleep("idle"),
        &[54_000_000, 55_000_000, 56_000_000],
    ));
    let report = report(&trials);
    let value = json(&report);
    let budget = &value["packet_budget"]["budgets"][0];
    assert_eq!(budget["way"], "standard functions");
    // 200 reads of 25 ns and 55 us: 60 us a packet.
    let rate = budget["packets_per_second"]["value"].as_f64().unwrap();
    assert!((rate - 1e9 / 60_000.0).abs() < 1e-6);
    assert_eq!(budget["rates"][1]["reads_that_fit"]["value"], 480.0);
    let page = html(&report);
    has(&page, &["16\u{202f}700", "200 Mbit/s"]);
}

#[test]
fn causes_are_ranked_by_the_time_they_took() {
    let planted = [
        (
            1_000_000,
            vec![(Cause::Preempted, Some("hog[7]"), 30_000_000)],
        ),
        (50_000_000, vec![(Cause::Stolen, None, 10_000_000)]),
    ];
    let trial = stalls_trial(stalls_key("1", "cpu"), 0, 100_000_000, &planted);
    let report = report(&[trial]);
    let value = json(&report);
    let lost = value["time_lost"].as_array().unwrap();
    let first: Vec<&str> = lost
        .iter()
        .map(|l| l["taken_by"].as_str().unwrap())
        .collect();
    assert_eq!(first, ["preempted by hog[7] (CPU 1)", "stolen (CPU 1)"]);
    let share = lost[0]["share"].as_f64().unwrap();
    assert!((share - 0.30).abs() < 0.001, "{share}");
    assert!(html(&report).contains("Time lost while running"));
}

#[test]
fn a_sleep_loses_what_comes_after_its_target() {
    let report = report(&blocks(usleep("idle"), &[100_000_000; 4]));
    let value = json(&report);
    // 100 us asked for, 100 us late.
    assert_eq!(value["time_lost"][0]["share"].as_f64(), Some(0.5));
}

#[test]
fn drift_and_steps_of_the_clocks_are_told() {
    let directory = TempDir::new().unwrap();
    let mut writer = RunWriter::create(directory.path(), header(2, 1)).unwrap();
    for (s, set_ns) in [(0i64, 0i64), (10, 0), (20, 5_000_000)] {
        let raw = s * 1_000_000_000;
        writer.clock_reading(ClockReading {
            at_ns: raw as u64,
            counter_ticks: Some(raw * 5 / 2),
            monotonic_raw_ns: raw,
            monotonic_ns: raw - s * 30_000,
            realtime_ns: raw - s * 30_000 + set_ns,
            within_ns: 100,
            synchronisation: Some(Synchronisation {
                synchronised: true,
                maximum_error_ns: 2_000_000,
                ..Synchronisation::default()
            }),
        });
    }
    let (d, samples) = blocks(usleep("idle"), &[1_000; 9]).remove(0);
    writer.save(d, &samples).unwrap();
    writer.finish(Status::Complete).unwrap();
    let run = Run::open(directory.path()).unwrap();
    let report = unjudged(&run);
    let value = json(&report);
    let clock = &value["clock"];
    let drift = clock["monotonic_against_raw"]["drift_ppm"]
        .as_f64()
        .unwrap();
    assert!((drift + 30.0).abs() < 1e-9, "{drift}");
    assert_eq!(clock["counter_against_raw"]["rate_hz"], 2.5e9);
    assert_eq!(clock["steps"][0]["step_ns"], 5_000_000);
    let page = html(&report);
    for told in [
        "synchronised, within 2.00 ms at most; it was set 1 time during the run",
        "\u{2212}30.00 ppm (±0.01)",
        "by +5.00 ms between 10.0 s and 20.0 s of the run",
        "2500.000000 MHz, no unevenness beyond 100 ns, as fine as it was read",
    ] {
        assert!(page.contains(told), "{told}");
    }
    assert!(terminal(&report, 80, false).contains("Is the clock right?"));
}

#[test]
fn the_terminal_draws_a_distribution_within_its_width() {
    let values: Vec<i64> = (0..10_000).map(|i| 50_000_000 + i * i * 10_000).collect();
    let report = report(&blocks(usleep("idle"), &values));
    for width in [40, 80, 120] {
        let text = terminal(&report, width, false);
        let from = text.find("share of samples ≥ x").unwrap();
        let plot: Vec<&str> = text[from..].lines().take_while(|l| !l.is_empty()).collect();
        assert!(
            plot.iter().any(|l| l.trim_start().starts_with("1 │")),
            "{text}"
        );
        assert!(plot.iter().any(|l| l.trim_start() == "a usleep"), "{text}");
        assert!(
            plot.iter().skip(1).all(|l| l.chars().count() <= width),
            "{width}: {plot:#?}"
        );
        // The median is 300 us, the p99.99 near 1 ms: lower lines lie further right.
        let at: Vec<usize> = plot
            .iter()
            .filter(|l| l.contains('│'))
            .filter_map(|l| l.chars().position(|c| c == 'a'))
            .collect();
        assert!(
            at.len() >= 6 && at.is_sorted() && at[0] < at[at.len() - 1],
            "{at:?}"
        );
    }
}

/// Trials of 10 s, one after another, of 1000 sleeps each.
fn ten_seconds_each(methods: &[&str]) -> (TempDir, Run) {
    let trial = |(i, method): (usize, &&str)| {
        let factors = key("wake-up", method, "idle").with(factor::TARGET, "1ms");
        let mut draft = draft(factors, 0);
        draft.started_ns = i as u64 * 10_000_000_000;
        draft.duration_ns = 10_000_000_000;
        draft.measurement.ended_by_time = true;
        (draft, data((0..1000).map(|_| 60_000_000)))
    };
    let trials: Vec<_> = methods.iter().enumerate().map(trial).collect();
    run_with(header(1, methods.len() as u32), &trials)
}

/// Of `method` there are a quarter of the samples that its verdict needs.
fn starved(method: &str) -> Assessment {
    let mut by_load = verdict("idle", Outcome::Inconclusive, 60_000.0);
    (by_load.samples, by_load.samples_missing) = (1_000, 3_000);
    let profile = ProfileVerdict {
        method: Some(
            key("wake-up", method, "idle")
                .with(factor::TARGET, "1ms")
                .without(factor::LOAD),
        ),
        by_load: vec![by_load],
        ..assessment().profiles.swap_remove(1)
    };
    Assessment {
        profiles: vec![profile],
        ..nothing()
    }
}

#[test]
fn who_needs_more_samples_of_one_method_measures_it_alone() {
    let remedy = |methods: &[&str]| {
        let (_keep, run) = ten_seconds_each(methods);
        let report = ReportData::gather(&run, |_| starved("timerfd")).unwrap();
        let text = terminal(&report, 300, false);
        let (_, remedy) = text
            .split_once("3\u{202f}000 more samples: run again with ")
            .unwrap();
        let remedy = remedy.lines().next().unwrap().to_owned();
        assert!(html(&report).contains(&remedy));
        remedy
    };
    // Four times its 10 s and a tenth more, not four times all of it.
    assert_eq!(
        remedy(&["timerfd", "usleep", "ppoll", "busy-wait", "nanosleep"]),
        "--methods timerfd --targets 1ms --duration 45s."
    );
    // Naming it would save nothing.
    assert_eq!(remedy(&["timerfd"]), "--duration 45s.");
}

#[test]
fn what_fails_as_it_is_names_the_step_with_which_that_is_open() {
    let with = |load: &str, outcome: Outcome, remedied: Outcome| {
        let mut judged = verdict(load, outcome, 14_000.0);
        judged.as_it_is = Outcome::Fail;
        judged.remedy = Some(Remedied {
            name: "slack 1 ns".to_owned(),
            outcome: remedied,
            estimate_ns: 11_000.0,
            samples: 4_000,
            watched_ns: 4_000_000_000,
            ..Remedied::default()
        });
        judged
    };
    let of = |open: Outcome| {
        let profile = ProfileVerdict {
            outcome: Outcome::Fail,
            as_it_is: Outcome::Fail,
            by_load: vec![
                with("idle", Outcome::WithRemedy, Outcome::Pass),
                with("cpu", Outcome::Fail, open),
                with("network", Outcome::Fail, Outcome::Fail),
            ],
            ..assessment().profiles.swap_remove(2)
        };
        let (_keep, run) = ten_seconds_each(&["usleep"]);
        let assessment = Assessment {
            profiles: vec![profile],
            ..nothing()
        };
        let data = ReportData::gather(&run, |_| assessment.clone()).unwrap();
        answer(&data, 80, false, 0)
    };
    let open = of(Outcome::Inconclusive);
    let row = open.lines().find(|line| line.contains("with 1")).unwrap();
    assert!(
        row.contains("FAIL (1?)") && row.contains("FAIL 14.0"),
        "{open}"
    );
    let words: Vec<&str> = open.split_whitespace().collect();
    let told = "FAIL (1?): with step 1 not decided.";
    assert!(words.join(" ").contains(told), "{open}");
    let closed = of(Outcome::Fail);
    assert!(!closed.contains("(1?)"), "{closed}");
}
