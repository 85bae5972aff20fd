//! Planted stalls come out of every form with their causes.

use std::time::Duration;

use crate::common::page::{as_xml, check_page, paths, plots};
use crate::common::{
    Trial, fits, has, header, line, report_of, run_of, run_with, stalls_key, stalls_trial,
    tick_and_hog, unjudged,
};
use roxmltree::Document;
use serde_json::json;
use tompion_cause::Cause;
use tompion_report::{html, interval_log, json, terminal};

const SECOND: u64 = 1_000_000_000;

/// Two trials: 10 ms preempted and 40 µs of a tick, then 30 ms preempted.
fn two_trials() -> Vec<Trial> {
    let hog = (Cause::Preempted, Some("hog[7]"), 10_000_000);
    let tick = (Cause::Tick, Some("local_timer"), 40_000);
    let first = vec![(100_000_000, vec![hog, tick])];
    let second = vec![(300_000_000, vec![(hog.0, hog.1, 30_000_000)])];
    let key = || stalls_key("1", "cpu");
    vec![
        stalls_trial(key(), 0, SECOND, &first),
        stalls_trial(key(), 1, SECOND, &second),
    ]
}

#[test]
fn time_lost_by_cause_adds_up_over_trials() {
    let report = report_of(&two_trials());
    let s = &json(&report)["cells"][0]["stalls"];
    assert_eq!(s["lost_ns"], 40_040_000);
    assert_eq!(s["stalls"], 2);
    assert_eq!(s["longest_ns"], 30_000_000.0);
    let preempted = &s["causes"][0];
    assert_eq!(preempted["cause"], "preempted");
    assert_eq!(preempted["by"], "hog[7]");
    assert_eq!(preempted["lost_ns"], 40_000_000);
    assert_eq!(preempted["parts"], 2);
    assert_eq!(preempted["longest_ns"], 30_000_000);
    let lost: u64 = s["causes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|c| c["lost_ns"].as_u64().unwrap())
        .sum();
    assert_eq!((lost, &s["without_cause_ns"]), (40_040_000, &json!(0)));
    let coverage = s["observed_ns"].as_f64().unwrap() / s["wall_ns"].as_f64().unwrap();
    assert_eq!(s["coverage"], coverage);

    // 40.04 ms of 2 s less 0.6 ms a second.
    let text = terminal(&report, 200, false);
    has(
        &text,
        &["Under load: cpu, CPU 1\n2.00 % of the time lost (40.0 ms) in 2 stalls"],
    );
    let line = line(&text, "preempted by hog[7]");
    let words: Vec<&str> = line.split_whitespace().collect();
    assert_eq!(words[3..], ["40.0", "ms", "99.90", "%", "2", "30.0", "ms"]);
    has(&text, &["99.94 % of 2.00 s observed on CPU 1"]);
    has(&text, &["another 0.05 % went into reading counters"]);
    let page = html(&report);
    check_page(&page);
    assert!(page.contains("preempted by hog[7]</th><td>40.0 ms</td>"));
}

/// Where nothing slept there is no verdict; the report opens with what there is.
#[test]
fn a_report_without_a_verdict_opens_with_time_lost_the_longest_stall_and_its_cause() {
    let mut trials = two_trials();
    trials.push(stalls_trial(stalls_key("1", "idle"), 0, SECOND, &[]));
    let report = report_of(&trials);
    let rest = "At rest no stall of more than 1.00 µs was seen in 999 ms.";
    let beside = "Under cpu load 2.00 % of the time was lost (40.0 ms of 2.00 s) in 2 stalls of more \
                  than 1.00 µs, the longest 30.0 ms (preempted); 99.90 % of the time lost: preempted by hog[7].";
    let text = terminal(&report, 200, false);
    assert!(
        text.starts_with(&format!("{rest}\n{beside}\nNothing to judge.\n")),
        "{text}"
    );
    assert_eq!(
        json(&report)["assessment"]["headline"],
        format!("{rest} {beside} Nothing to judge.")
    );
    let page = html(&report);
    check_page(&page);
    let place = |what: &str| page.find(what).unwrap_or_else(|| panic!("{what}"));
    assert!(place(&format!("<h1>{rest}</h1>")) < place(&format!(">{beside}<")));
    assert!(place(&format!(">{beside}<")) < place(">Nothing to judge.<"));
}

#[test]
fn stalls_without_room_are_told_apart_from_causes() {
    let mut trials = two_trials();
    let stalls = trials[0].0.findings.stalls.as_mut().unwrap();
    stalls.rows_lost = 3;
    stalls.lost_ns += 6_000_000;
    let report = report_of(&trials);
    assert_eq!(
        json(&report)["cells"][0]["stalls"]["without_cause_ns"],
        6_000_000
    );
    let text = terminal(&report, 100, false);
    let line = text
        .lines()
        .find(|l| l.contains("no room for a cause"))
        .unwrap();
    assert!(line.contains("6.00 ms") && line.contains('3'), "{line}");
    assert!(html(&report).contains("3 stalls found no room for rows of their own"));
}

#[test]
fn evidence_had_and_missing_is_told_with_reasons() {
    let mut trials = two_trials();
    let missing = "irq tracepoints (tracefs is not readable)";
    let said = terminal(&report_of(&trials), 200, false);
    has(
        &said,
        &["Evidence: context switches of the thread, counters of the thread."],
    );
    assert!(said.contains(&format!("Missing: {missing}.")), "{said}");
    // Missing in one trial only, where the hypervisor accounts for nothing.
    let o = trials[0].0.observation.as_mut().unwrap();
    o.evidence[2].missing = None;
    o.steal_is_accounted = false;
    let report = report_of(&trials);
    let said = terminal(&report, 200, false);
    has(
        &said,
        &["irq tracepoints in 1 of 2 trials (tracefs is not readable)"],
    );
    let limits = json(&report)["limitations"].to_string();
    has(
        &limits,
        &["Evidence of disturbances that was not available: irq"],
    );
    has(&limits, &["In 1 of 2 trials no hypervisor accounted"]);
    // Stalls themselves are not samples that something disturbed.
    assert!(!said.contains("overlapped a disturbance"));
}

#[test]
fn patterns_are_named_with_the_kernels_own_tick() {
    let mut header = header(2, 2);
    header.environment.kernel.tick_rate_hz = Some(250);
    let trial = |block| {
        let planted = tick_and_hog(5 + u64::from(block), 4 * SECOND, false);
        stalls_trial(stalls_key("1", "idle"), block, 4 * SECOND, &planted)
    };
    let (_keep, run) = run_with(header, &[trial(0), trial(1)]);
    let report = unjudged(&run);
    let text = terminal(&report, 200, false);
    let tick = text
        .lines()
        .find(|l| l.trim().starts_with("every 4.000 ms"))
        .unwrap();
    assert!(
        tick.ends_with("probably the kernel tick at 250 Hz"),
        "{tick}"
    );
    let periodic = &json(&report)["cells"][0]["stalls"]["structure"]["periodic"][0];
    let period = periodic["period_ns"].as_f64().unwrap();
    assert!((period / 4e6 - 1.0).abs() < 1e-6, "{period}");
    assert_eq!(periodic["trials"], 2);
    assert!(html(&report).contains("probably the kernel tick at 250 Hz"));
}

#[test]
fn lengths_and_times_are_drawn_for_each_load() {
    let trials: Vec<_> = [("idle", false), ("cpu", true)]
        .into_iter()
        .flat_map(|(load, hog)| {
            (0..2).map(move |block| {
                let planted = tick_and_hog(9 + u64::from(block), SECOND, hog);
                stalls_trial(stalls_key("1", load), block, SECOND, &planted)
            })
        })
        .collect();
    let report = report_of(&trials);
    let page = html(&report);
    check_page(&page);
    let xml = as_xml(&page);
    let document = Document::parse(&xml).unwrap();
    let histograms = plots(&document, "histogram");
    assert_eq!(histograms.len(), 2);
    // A bar a bin: as many outlines as the summary has bins.
    for (plot, cell) in histograms.iter().zip(["idle", "cpu"]) {
        let cells = json(&report)["cells"].clone();
        let own = cells
            .as_array()
            .unwrap()
            .iter()
            .find(|c| c["factors"]["load"] == cell);
        let bins = own.unwrap()["stalls"]["bins"].as_array().unwrap().len();
        let bars: usize = paths(plot, "f")
            .iter()
            .map(|d| d.matches('M').count())
            .sum();
        assert_eq!(bars, bins, "{cell}");
        let text: Vec<&str> = plot.descendants().filter_map(|n| n.text()).collect();
        assert!(
            text.iter().any(|t| t.ends_with('%')) && text.contains(&"100"),
            "{text:?}"
        );
    }
    let traces = plots(&document, "trace");
    assert_eq!(traces.len(), 2);
    // Ticks have a band of their own, the hog another.
    let bands = |i: usize| -> Vec<String> {
        let told = traces[i].attribute("data-told").unwrap();
        let told: Vec<Vec<String>> = serde_json::from_str(told).unwrap();
        told.concat()
    };
    let has = |i: usize, cause: &str| bands(i).iter().any(|band| band == cause);
    for (i, hog) in [(0, false), (1, true)] {
        assert!(
            has(i, "tick") && has(i, "preempted") == hog,
            "{:?}",
            bands(i)
        );
    }
    fits(&report, &[40, 64, 80, 100]);
}

#[test]
fn a_loop_that_never_stood_still_says_so() {
    let report = report_of(&[stalls_trial(stalls_key("0", "idle"), 0, SECOND, &[])]);
    let text = terminal(&report, 100, false);
    has(&text, &["Idle, CPU 0\nNo stall of more than 1.00 µs"]);
    check_page(&html(&report));
}

/// What is so by design is no limitation, and a busy loop does not sleep.
#[test]
fn a_loop_is_not_blamed_for_being_one() {
    let mut trials = two_trials();
    for (draft, _) in &mut trials {
        draft.measurement.ended_by_time = true;
        draft.measurement.cpu_per_operation_ns = Some(26.0);
    }
    let shown = |trials: &[Trial]| {
        let report = report_of(trials);
        let limits = json(&report)["limitations"].to_string();
        (limits, terminal(&report, 100, false), html(&report))
    };
    let (limits, text, page) = shown(&trials);
    for blame in ["time limit before", "outgrew their storage"] {
        assert!(!limits.contains(blame), "{limits}");
    }
    for said in [&text, &page] {
        assert!(
            !said.contains("CPU time per sleep") && !said.contains("CPU per sleep"),
            "{said}"
        );
        assert!(!said.contains("under missed"), "{said}");
    }
    // Other probes are told of.
    let mut other = (
        crate::common::draft(crate::common::key("wake-up", "usleep", "idle"), 0),
        crate::common::data([7; 9]),
    );
    other.0.measurement.ended_by_time = true;
    trials.push(other);
    let (limits, ..) = shown(&trials);
    has(&limits, &["1 of 3 trials reached their time limit"]);
}

#[test]
fn a_page_names_its_sources() {
    let page = html(&report_of(&two_trials()));
    for source in ["Perneel", "Adamczyk", "Kirova", "Korniichuk"] {
        assert!(page.contains(&format!("<li>{source}")), "{source}");
    }
}

/// Start, length and tag of each interval of a log.
fn intervals(trials: &[Trial]) -> Vec<(String, String, Option<String>)> {
    let (_keep, run) = run_of(trials);
    let log = String::from_utf8(interval_log(&run).unwrap()).unwrap();
    let lines = log.lines().filter(|l| !l.starts_with(['#', '"']));
    lines
        .map(|line| {
            let (tag, rest) = match line.strip_prefix("Tag=") {
                Some(tagged) => tagged
                    .split_once(',')
                    .map(|(t, r)| (Some(t.to_owned()), r))
                    .unwrap(),
                None => (None, line),
            };
            let mut fields = rest.split(',').map(str::to_owned);
            (fields.next().unwrap(), fields.next().unwrap(), tag)
        })
        .collect()
}

#[test]
fn an_interval_log_tells_cells_apart_and_has_the_loops_own_time() {
    let of = |cpu: &str, load: &str, block| {
        let mut trial = stalls_trial(stalls_key(cpu, load), block, SECOND, &[]);
        // Setting up and gathering took another second.
        (trial.0.started_ns, trial.0.duration_ns) = (u64::from(block) * 3 * SECOND, 2 * SECOND);
        trial.0.findings.stalls.as_mut().unwrap().wall_ns =
            Duration::from_millis(1_676).as_nanos() as u64;
        trial
    };
    let found = intervals(&[
        of("0", "idle", 0),
        of("1", "idle", 0),
        of("0", "cpu+udp", 1),
    ]);
    let tag = |t: &str| Some(t.to_owned());
    let line = |start: &str, t| (start.to_owned(), "1.676".to_owned(), t);
    assert_eq!(
        found,
        [
            line("0.000", tag("idle/cpu0")),
            line("0.000", tag("idle/cpu1")),
            line("3.000", tag("cpu+udp/cpu0")),
        ]
    );
    // Of one load only the CPU tells; what would end a tag is replaced.
    let one = intervals(&[of("0", "a, b", 0), of("1", "a, b", 0)]);
    assert_eq!((&one[0].2, &one[1].2), (&tag("cpu0"), &tag("cpu1")));
    let odd = intervals(&[of("0", "a, b", 0), of("0", "idle", 0)]);
    assert_eq!(odd[0].2, tag("a__b"));
    // One cell needs no tag.
    let alone = intervals(&[of("0", "idle", 0), of("0", "idle", 1)]);
    assert_eq!(alone, [line("0.000", None), line("3.000", None)]);
}

/// What stands before the first interval: the time that its loop began.
#[test]
fn an_interval_log_begins_with_its_first_loop() {
    let of = |cpu: &str, started_ns: u64| {
        let mut trial = stalls_trial(stalls_key(cpu, "idle"), 0, SECOND, &[]);
        trial.0.started_ns = started_ns;
        let began = 1_700_000_000_000_000_000 + started_ns;
        trial.0.findings.stalls.as_mut().unwrap().began_unix_ns = Some(began);
        trial
    };
    // The second began a little earlier than the first.
    let trials = [
        of("0", 640_000_000),
        of("1", 639_000_000),
        of("2", 3 * SECOND),
    ];
    let starts: Vec<String> = intervals(&trials).into_iter().map(|i| i.0).collect();
    assert_eq!(starts, ["0.001", "0.000", "2.361"]);
    let (_keep, run) = run_of(&trials);
    let log = String::from_utf8(interval_log(&run).unwrap()).unwrap();
    for name in ["StartTime", "BaseTime"] {
        assert!(log.contains(&format!("#[{name}: 1700000000.639 ")), "{log}");
    }
}

#[test]
fn hostile_names_of_tasks_stay_text() {
    let hostile = "<b>\u{1b}[31m&";
    let planted = vec![(5_000, vec![(Cause::Preempted, Some(hostile), 9_000)])];
    let report = report_of(&[stalls_trial(stalls_key("1", "idle"), 0, SECOND, &planted)]);
    assert!(!terminal(&report, 100, false).contains('\u{1b}'));
    assert!(html(&report).contains("&lt;b&gt;"));
    check_page(&html(&report).replace('\u{1b}', ""));
}
