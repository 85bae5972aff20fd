//! What kept the wall clock, in every form, and without the names of its servers.

use crate::common::{data, draft, has, header, key, run_with, unjudged};
use serde_json::Value;
use tompion_model::{Environment, Synchronisation, TimeKeeper, TimeKeeping, TimeSource, factor};
use tompion_report::{
    ReportData, Vocabulary, environment_text, html, json, markdown, redacted, terminal,
};

const SERVER: &str = "time.example.org";
const NOTES: [&str; 4] = [
    "started with -x: it does not correct the clock",
    "it does not answer on its command port",
    "ptp4l runs, and no phc2sys that would bring its time to the wall clock",
    "sets the clock when the machine resumes; whether it does so all the time is a setting of the \
     machine, tools.syncTime",
];

fn environment(in_step: bool) -> Environment {
    let silent = |note: &&str| TimeKeeper {
        name: "linuxptp".to_owned(),
        note: Some((*note).to_owned()),
        ..TimeKeeper::default()
    };
    let chrony = TimeKeeper {
        name: "chrony".to_owned(),
        running: true,
        keeps: true,
        tells_kernel: true,
        in_step: Some(in_step),
        error_at_most_ns: in_step.then_some(1_250_000),
        sources: vec![TimeSource {
            name: SERVER.to_owned(),
            kind: "server".to_owned(),
            state: if in_step { "selected" } else { "unreachable" }.to_owned(),
        }],
        ..TimeKeeper::default()
    };
    Environment {
        hostname: "planted-host".to_owned(),
        synchronisation: Some(Synchronisation {
            synchronised: in_step,
            maximum_error_ns: if in_step { 3_000_000 } else { 16_000_000_000 },
            ..Synchronisation::default()
        }),
        time_keeping: Some(TimeKeeping {
            keepers: [chrony]
                .into_iter()
                .chain(NOTES.iter().map(silent))
                .collect(),
            distribution: vec!["debian".to_owned()],
            ..TimeKeeping::default()
        }),
        ..Environment::default()
    }
}

fn report(in_step: bool, edit: bool) -> ReportData {
    let usleep = key("wake-up", "usleep", "idle").with(factor::TARGET, "100us");
    let trials = [(draft(usleep, 0), data((1..200).map(|v| v * 1_000_000)))];
    let mut header = header(1, 1);
    header.environment = environment(in_step);
    let (_keep, run) = run_with(header, &trials);
    let run = match edit {
        true => redacted(
            run,
            Vocabulary {
                probes: vec!["wake-up"],
                loads: vec!["idle"],
                ..Vocabulary::default()
            },
            &mut [],
        ),
        false => run,
    };
    unjudged(&run)
}

#[test]
fn a_clock_in_step_is_told_with_its_own_bound_and_needs_nothing() {
    let report = report(true, false);
    let clock = &json(&report)["clock"];
    let answer = "chrony keeps the wall clock in step, within 1.25 ms at most; this run did not \
                  watch for steps.";
    assert_eq!(clock["answer"], answer);
    assert_eq!(clock["wall_clock"]["error_at_most_ns"], 1_250_000);
    assert_eq!(clock["wall_clock"]["remedy"], Value::Null);
    let text = markdown(&report);
    has(
        &text,
        &["chrony: in step; server time.example.org (selected)"],
    );
    assert!(!text.contains("What would help"), "{text}");
}

#[test]
fn what_would_help_is_told_in_every_form() {
    let report = report(false, false);
    let why = "chrony runs and is not in step: its only source does not answer";
    let remedy = "chronyc sources -v";
    for text in [
        html(&report),
        markdown(&report),
        terminal(&report, 200, false),
        json(&report).to_string(),
        environment_text(&environment(false)),
    ] {
        assert!(text.contains(why) && text.contains(remedy), "{text}");
        // The kernel's 16 s are nobody's bound.
        assert!(!text.contains("within 16"), "{text}");
    }
}

#[test]
fn redacting_leaves_what_keeps_the_clock_and_no_server() {
    let plain = json(&report(true, false)).to_string();
    let edited = json(&report(true, true)).to_string();
    assert!(
        plain.contains(SERVER) && !edited.contains("example"),
        "{edited}"
    );
    for kept in NOTES
        .iter()
        .chain(&["chrony", "linuxptp", "selected", "debian", "server"])
    {
        assert!(edited.contains(kept), "{kept} in {edited}");
    }
}
