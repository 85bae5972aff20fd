//! Summaries with and without disturbed samples.

use crate::common::page::check_page;
use crate::common::{Trial, data, draft, evidence, has, key, report_of};
use serde_json::{Value, json};
use tompion_cause::{Cause, Source};
use tompion_model::{Factors, Mark, factor};
use tompion_report::{html, json, terminal};

/// 1 ns to 1 µs; of the largest 20 values 12 are marked preempted, 8 stolen.
fn trial(factors: Factors) -> Trial {
    let mut data = data((1..=1_000).map(|v| v * 1_000));
    for s in &mut data.samples {
        s.mark = match s.value_ps {
            989_000.. => Mark::Disturbed(Cause::Preempted, Source::Event),
            981_000.. => Mark::Disturbed(Cause::Stolen, Source::Polled),
            _ => Mark::None,
        };
    }
    let mut draft = draft(factors, 0);
    draft.observation = Some(evidence());
    (draft, data)
}

#[test]
fn figures_stand_with_and_without_disturbed_samples() {
    let usleep = key("wake-up", "usleep", "idle").with(factor::TARGET, "100us");
    let report = report_of(&[trial(usleep)]);
    let cell = &json(&report)["cells"][0];
    assert_eq!(cell["measured"]["samples"], 1_000);
    assert_eq!(cell["undisturbed"]["samples"], 980);
    assert_eq!(cell["undisturbed"]["max_ns"], 980.0);
    assert_eq!(cell["disturbed_samples"], 20);
    assert_eq!(
        cell["marked_by_reason"],
        json!([
            { "cause": "preempted", "known_by": "event", "samples": 12 },
            { "cause": "stolen", "known_by": "polled", "samples": 8 },
        ])
    );
    // Definition 7 over 1..=1000 and 1..=980: 990.01 and 970.21.
    let said = "Of 1\u{202f}000 samples 2.00 % overlapped a disturbance: preempted 1.20 % (events), \
                stolen 0.80 % (polled); without them the p99 is 970 ns instead of 990 ns.";
    let text = terminal(&report, 400, false);
    assert!(text.contains(said), "{text}");
    let page = html(&report);
    check_page(&page);
    assert!(page.contains(said));
    for heading in [
        "disturbed",
        "undisturbed median",
        "undisturbed p99",
        "undisturbed max",
    ] {
        assert!(page.contains(&format!("<th>{heading}</th>")), "{heading}");
    }
    assert!(page.contains("<td class=\"left\">preempted 12 (events), stolen 8 (polled)</td>"));
    assert!(page.contains("<td>980 ns</td>"));
    assert!(page.contains("Marks named polled rest on counters"));
    // They are drawn: none is left out of the plots.
    assert!(!page.contains("Samples left out"));
}

#[test]
fn of_several_cells_the_one_that_changes_most_is_named() {
    let quiet = key("wake-up", "nanosleep", "idle");
    let mut undisturbed = (draft(quiet, 0), data((1..=1_000).map(|v| v * 1_000)));
    undisturbed.0.observation = Some(evidence());
    let report = report_of(&[trial(key("wake-up", "usleep", "cpu")), undisturbed]);
    let text = terminal(&report, 400, false);
    has(
        &text,
        &["Of 2\u{202f}000 samples 1.00 % overlapped a disturbance: preempted 0.60 %"],
    );
    assert!(
        text.contains(
            "without them the p99 changes most for usleep, under cpu: 970 ns instead of 990 ns."
        ),
        "{text}"
    );
}

#[test]
fn nothing_is_said_where_nobody_looked() {
    let plain = (
        draft(key("wake-up", "usleep", "idle"), 0),
        data((1..500).map(|v| v * 1_000)),
    );
    let report = report_of(&[plain]);
    let cell = &json(&report)["cells"][0];
    for name in ["undisturbed", "disturbed_samples", "marked_by_reason"] {
        assert_eq!(cell[name], Value::Null, "{name}");
    }
    assert_eq!(json(&report)["evidence"], Value::Null);
    assert!(!terminal(&report, 100, false).contains("disturbance"));
    assert!(!html(&report).contains("<th>undisturbed median</th>"));
}

#[test]
fn a_watched_run_without_disturbances_says_so() {
    let mut quiet = (
        draft(key("wake-up", "usleep", "idle"), 0),
        data((1..500).map(|v| v * 1_000)),
    );
    quiet.0.observation = Some(evidence());
    let report = report_of(&[quiet]);
    let text = terminal(&report, 200, false);
    has(
        &text,
        &["None of 499 samples overlapped a disturbance that was seen."],
    );
    let cell = &json(&report)["cells"][0];
    assert_eq!(
        cell["undisturbed"]["median_ns"],
        cell["measured"]["median_ns"]
    );
    assert_eq!(json(&report)["evidence"]["observer_cpu_share"], 0.004);
    assert!(html(&report).contains("Observing took 0.40 % of a CPU itself."));
}
