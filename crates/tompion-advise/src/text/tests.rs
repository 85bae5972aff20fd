use super::*;
use crate::advice::Effect;
use crate::{Quantity, Reach};

fn knob(name: &str, status: Status, change_ns: Option<f64>) -> KnobAdvice {
    let effect = |quantile: &str, change_ns: f64| Effect {
        quantile: quantile.to_owned(),
        judged: quantile != "median",
        off_ns: 57_200.0,
        on_ns: 57_200.0 + change_ns,
        change_ns,
        low_ns: change_ns - 400.0,
        high_ns: change_ns + 300.0,
        change_share: change_ns / 57_200.0,
        low_share: (change_ns - 400.0) / 57_200.0,
        high_share: (change_ns + 300.0) / 57_200.0,
        p: 0.001,
        p_adjusted: 0.02,
        sure: status == Status::Helps,
        notable: status == Status::Helps,
    };
    KnobAdvice {
        name: name.to_owned(),
        title: format!("what {name} is"),
        reach: Reach::OwnProcess,
        quantity: Quantity::WakeUp,
        status,
        reason: change_ns.is_none().then(|| format!("the reason of {name}")),
        from: None,
        to: None,
        pairs: 20,
        pairs_needed: None,
        effects: change_ns
            .iter()
            .flat_map(|c| [effect("median", *c), effect("p99", *c)])
            .collect(),
        cpu_off_ns: Some(3_100.0),
        cpu_on_ns: Some(60_000.0),
        files: Vec::new(),
        left_out: Vec::new(),
        apply: vec![
            "echo a-rather-long-command --that 'goes on and on' > /sys/some/where/deep".to_owned(),
        ],
        price: "what it costs".to_owned(),
        source: "who says so".to_owned(),
    }
}

fn advice() -> Advice {
    Advice {
        format: "tompion-advice".to_owned(),
        schema_version: 2,
        tool: "tompion 0.1.0".to_owned(),
        started_at: "2026-11-21T10:00:00Z".to_owned(),
        seconds: 60.2,
        interrupted: false,
        dry_run: false,
        load: "idle".to_owned(),
        target_ns: 500_000,
        trial_ns: 100_000_000,
        quantile: "p99".to_owned(),
        for_use: None,
        seed: 7,
        level: 0.95,
        knobs: vec![
            knob("timer-slack", Status::Helps, Some(-49_100.0)),
            knob("mlock", Status::NoEffect, Some(20.0)),
            knob("interrupts", Status::NotTried, None),
            knob("governor", Status::Absent, None),
            knob("time-keeper", Status::Advised, None),
        ],
        left_alone: Vec::new(),
    }
}

#[test]
fn nothing_is_wider_than_the_terminal() {
    let mut long = advice();
    long.knobs[0].name = "clocksource=hyperv_clocksource_tsc_page".to_owned();
    for width in [40, 60, 80, 120] {
        for line in long.text(width).lines() {
            assert!(line.chars().count() <= width, "{width}: {line}");
        }
    }
}

#[test]
fn what_helps_comes_with_effect_command_and_price_and_the_rest_with_its_reason() {
    let text = advice().text(80);
    for part in [
        "57.2 to 8.1 µs",
        "-49.1 [-49.5, -48.8] µs",
        "-86 % [-87, -85]",
        "Judged by p99, that\nof most uses.",
        "Shown   p99 57.2 to 8.1 µs at rest: -86 % [-87, -85]",
        "1. timer-slack: what timer-slack is (this process)",
        "Apply",
        "what it costs; CPU time per sleep 3.10 µs before, 60.0 µs after",
        "who says so",
        "no effect",
        "interrupts: the reason of interrupts",
        "governor: the reason of governor",
        "To be done by hand, and not tried",
        "time-keeper: what time-keeper is",
    ] {
        assert!(text.contains(part), "{part} in\n{text}");
    }
    assert!(!text.contains("1. mlock") && !text.contains("Nothing that was tried"));
}

#[test]
fn an_early_end_and_a_vain_search_are_said() {
    let mut vain = advice();
    vain.interrupted = true;
    vain.knobs.remove(0);
    let text = vain.text(200);
    assert!(text.contains("A signal ended it early"), "{text}");
    assert!(
        text.contains("Nothing that was tried helps here."),
        "{text}"
    );
}

#[test]
fn what_was_tried_in_part_is_said_with_the_part_that_was_not() {
    let mut advice = advice();
    assert!(!advice.text(80).contains("Tried in part"));
    advice.knobs[0].files = vec!["/a".into(), "/b".into()];
    advice.knobs[0].left_out = vec!["/b: Operation not permitted".to_owned()];
    let text = advice.text(80);
    let want = "timer-slack: without 1 of 2 files: /b: Operation not permitted";
    assert!(text.contains(want), "{text}");
}

#[test]
fn what_is_not_told_is_called_as_on_the_screen_with_its_interval() {
    let mut advice = advice();
    let wide = &mut advice.knobs[1];
    wide.status = Status::NotDecidable;
    wide.reason = Some("the change of p99 may be -2 % [-39, +85]".to_owned());
    (wide.effects[1].low_share, wide.effects[1].high_share) = (-0.39, 0.85);
    advice.for_use = Some("game-128hz".to_owned());
    let text = advice.text(100);
    let word = Outcome::Inconclusive.in_words();
    let row = text.lines().find(|l| l.contains("mlock")).unwrap();
    assert!(row.contains(word), "{text}");
    assert!(text.contains("\nInconclusive\n"), "{text}");
    assert!(text.contains("may be -2 % [-39, +85]"), "{text}");
    assert!(
        text.contains("Judged by p99, that of the use game-128hz."),
        "{text}"
    );
}
