//! Planted timer events come out of every form with the figures that they have.

use crate::common::page::{as_xml, check_page, paths, plots};
use crate::common::{
    activity, fits, gather, has, on_grid, rearmed, report_of, run_of, timer_events, timer_key,
};
use roxmltree::Document;
use serde_json::{Value, json};
use tompion_model::Storage;
use tompion_report::{ReportData, html, json, terminal};

fn figures(report: &ReportData) -> Value {
    json(report)["cells"][0]["timer_events"].clone()
}

/// `name` of a curve's point at `tau_ns`.
fn at(curve: &Value, tau_ns: u64) -> f64 {
    let points = curve.as_array().unwrap();
    let point = points.iter().find(|p| p["tau_ns"] == tau_ns).unwrap();
    point["value_ns"].as_f64().unwrap()
}

#[test]
fn a_rearmed_series_that_is_always_late_alike() {
    let key = timer_key("timerfd", "50us", "rearmed", "idle");
    let trial = |block| rearmed(key.clone(), block, 50_000, &[2_000; 100]);
    let report = report_of(&[trial(0), trial(1)]);
    let f = figures(&report);
    assert_eq!((&f["intervals"], &f["events"]), (&json!(200), &json!(200)));
    assert_eq!(f["mean_interval_ns"], 52_000.0);
    assert_eq!(f["standard_deviation_n_ns"], 0.0);
    assert_eq!(f["missed_periods"], Value::Null);
    // 2 µs more with each of 100 events; trials are not strung together.
    assert_eq!(f["largest_tie_ns"], 200_000.0);
    assert!((at(&f["mtie"], 64 * 50_000) - 128_000.0).abs() < 1e-6);
    assert!(at(&f["tdev"], 32 * 50_000).abs() < 1e-6);
    let text = terminal(&report, 100, false);
    let line = text
        .lines()
        .find(|l| l.trim_start().starts_with("timerfd, re-armed") && l.contains("52.000"))
        .unwrap_or_else(|| panic!("{text}"));
    has(line, &["[52.000, 52.000]", "200.000"]);
}

#[test]
fn moments_of_trials_are_merged_and_the_worst_stands() {
    // Intervals 90, 110, 100 and 100, 100, 130: mean 105, squares of the
    // deviations 15², 5², 5², 5², 5², 25²; errors up to 10 and 30 ns.
    let key = timer_key("epoll", "100ns", "rearmed", "cpu");
    let mut first = rearmed(key.clone(), 0, 100, &[-10, 10, 0]);
    let second = rearmed(key, 1, 100, &[0, 0, 30]);
    first.0.load = Some(activity("cpu", 1_000.0, 100));
    let mut second = second;
    second.0.load = Some(activity("cpu", 4_000.0, 200));
    let f = figures(&report_of(&[first, second]));
    let squares = 225.0 + 25.0 + 25.0 + 25.0 + 25.0 + 625.0;
    let sd = |divisor: f64| (squares / divisor).sqrt();
    let near = |name: &str, want: f64| {
        let got = f[name].as_f64().unwrap();
        assert!((got - want).abs() < 1e-9, "{name}: {got}");
    };
    near("mean_interval_ns", 105.0);
    near("standard_deviation_n_ns", sd(6.0));
    near("standard_deviation_n_minus_1_ns", sd(5.0));
    near("largest_tie_ns", 30.0);
    near("interrupts_per_second", 3_000.0);
    // t(0.995; 5) = 4.032 143.
    let high = f["mean_interval_confidence"]["high_ns"].as_f64().unwrap();
    assert!((high - 105.0 - 4.032_143 * sd(5.0) / 6f64.sqrt()).abs() < 1e-4);
    // Of both trials the larger MTIE; TDEV as the root of the mean square.
    assert_eq!(at(&f["mtie"], 100), 30.0);
    let tdev = |second_differences: [f64; 2]| {
        second_differences.iter().map(|d| d * d).sum::<f64>() / (6.0 * 2.0)
    };
    // Errors 0, -10, 0, 0 and 0, 0, 0, 30.
    let want = ((tdev([20.0, -10.0]) + tdev([0.0, 30.0])) / 2.0).sqrt();
    assert!((at(&f["tdev"], 100) - want).abs() < 1e-9);
}

#[test]
fn a_longer_window_never_shows_less() {
    // A short trial with the largest change, and a long one that holds longer windows.
    let key = timer_key("epoll", "100ns", "rearmed", "cpu");
    let short = rearmed(key.clone(), 0, 100, &[0, 500, 0, 0]);
    let long = rearmed(key, 1, 100, &[1; 1200]);
    let report = report_of(&[short, long]);
    let f = figures(&report);
    let mtie = |tau_ns| at(&f["mtie"], tau_ns);
    // 1 ns more an interval: 256 within 256 intervals, 1024 within 1024.
    assert_eq!(
        [100, 400, 800, 25_600, 102_400].map(mtie),
        [500.0, 500.0, 500.0, 500.0, 1024.0]
    );
    let said = "counts with what it holds";
    let text = terminal(&report, 2000, false);
    assert!(text.contains(said), "{text}");
    assert!(html(&report).contains("For MTIE a trial shorter than τ counts"));
}

#[test]
fn a_late_event_on_a_grid_shows_its_missed_periods() {
    // 100 events of d = 100 µs, 1 µs late each; one is 250.5 µs late.
    let mut late = [1_000u64; 100];
    late[40] = 250_500;
    let key = timer_key("clock-nanosleep-abs", "100us", "grid", "idle");
    let report = report_of(&[on_grid(key, 0, 100_000, 0, &late)]);
    let f = figures(&report);
    assert_eq!(f["missed_periods"], 2);
    assert!((f["missed_share"].as_f64().unwrap() - 2.0 / 102.0).abs() < 1e-12);
    assert_eq!(f["largest_tie_ns"], 250_500.0);
    // 101 grid points lie between the first event and the last, in 99 intervals.
    let mean = f["mean_interval_ns"].as_f64().unwrap();
    assert!((mean - 101.0 * 100_000.0 / 99.0).abs() < 1e-6, "{mean}");
    // So the mean is not the period by construction, and nobody may say so.
    let said = terminal(&report, 2000, false) + &html(&report);
    assert!(
        said.contains("Periodic events have the period as their mean as long as none is missed")
    );
    assert!(!said.contains("by construction"));
    assert_eq!(at(&f["mtie"], 100_000), 249_500.0);
    let text = terminal(&report, 100, false);
    assert!(text.contains("Timer events, period 100 µs"), "{text}");
    has(&text, &["1.96 %", "250.500"]);
    let page = html(&report);
    check_page(&page);
    assert!(page.contains("periodic") && page.contains("1.96 %"));
    // The late event ends an interval of 349.5 µs and begins one of 50.5 µs.
    assert!(page.contains("\u{2212}49.500 to +249.500 µs"));
}

#[test]
fn warm_up_is_no_part_of_the_series() {
    let mut late = [1_000u64; 50];
    late[3] = 99_000;
    let key = timer_key("timerfd", "100us", "grid", "idle");
    let f = figures(&report_of(&[on_grid(key, 0, 100_000, 5, &late)]));
    assert_eq!(f["events"], 45);
    assert_eq!(f["largest_tie_ns"], 1_000.0);
    assert_eq!(f["mean_interval_ns"], 100_000.0);
}

#[test]
fn a_trial_that_outgrew_its_storage_says_why_it_has_no_figures() {
    let key = timer_key("timerfd", "100us", "grid", "idle");
    let mut trial = on_grid(key, 0, 100_000, 0, &[1_000; 50]);
    let (data, storage) = crate::common::overgrown((0..5_000).map(|v| v * 777 % 90_001));
    assert!(matches!(storage, Storage::Tail { .. }));
    (trial.1, trial.0.storage) = (data, storage);
    let report = report_of(&[trial]);
    let f = figures(&report);
    assert_eq!(f["trials"], 0);
    assert_eq!(f["mean_interval_ns"], Value::Null);
    assert!(
        f["trials_without_figures"][0]
            .as_str()
            .unwrap()
            .contains("outgrew")
    );
    check_page(&html(&report));
    assert!(html(&report).contains("Trials without figures: 1"));
    assert!(terminal(&report, 100, false).contains("timerfd, periodic"));
}

#[test]
fn a_whole_run_is_drawn_and_keeps_within_the_terminal() {
    let (_keep, run) = run_of(&timer_events(2, &["idle", "cpu"], 300));
    let report = gather(&run);
    let page = html(&report);
    check_page(&page);
    let xml = as_xml(&page);
    let document = Document::parse(&xml).unwrap();
    // MTIE and TDEV for each of 2 loads and 2 periods, a line a mechanism and form, at most
    // four of them in a plot.
    let curves = plots(&document, "curve");
    let lines: Vec<usize> = curves.iter().map(|c| paths(c, "l").len()).collect();
    assert_eq!(lines.iter().sum::<usize>(), 2 * 2 * 2 * 12);
    assert!(lines.iter().all(|n| *n <= 4), "{lines:?}");
    // One figure a mechanism and period, a panel with its mean a form and load.
    let over_time = plots(&document, "time");
    assert_eq!(over_time.len(), 2 * 7);
    let means: usize = over_time.iter().map(|p| paths(p, "n").len()).sum();
    assert!(means >= 2 * 7, "{means}");
    fits(&report, &[40, 58, 64, 80, 100, 160]);
    let text = terminal(&report, 100, false);
    for heading in [
        "period 50 µs",
        "period 150 µs",
        "|TIE|",
        "TDEV",
        "interrupts/s",
    ] {
        assert!(text.contains(heading), "{heading}: {text}");
    }
}

/// Where nothing slept the report opens with how well periods were kept.
#[test]
fn a_report_without_a_verdict_opens_with_the_best_and_the_worst_mean_interval() {
    let steady = on_grid(
        timer_key("ticker", "100us", "grid", "idle"),
        0,
        100_000,
        0,
        &[1_000; 50],
    );
    let late = rearmed(
        timer_key("epoll", "50us", "rearmed", "idle"),
        0,
        50_000,
        &[25_000; 50],
    );
    let alone = rearmed(
        timer_key("timerfd", "50us", "rearmed", "cpu"),
        0,
        50_000,
        &[2_000; 50],
    );
    let text = terminal(&report_of(&[steady, late, alone]), 200, false);
    let want = "At rest the mean interval came closest to its period with ticker (periodic): \
                100.000 µs at 100 µs, 0 % missed; it stayed farthest from it with epoll (re-armed): \
                75.000 µs at 50 µs.\nUnder cpu load the mean interval of timerfd (re-armed) was 52.000 \
                µs at 50 µs.\nNothing to judge.\n";
    let bare = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(bare(&text).starts_with(&bare(want)), "{text}");
}
