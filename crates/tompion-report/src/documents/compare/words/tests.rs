use super::*;
use tompion_assess::compare::{Basis, Judgement};
use tompion_model::{Factors, factor};

fn interval(low: f64, high: f64) -> Interval {
    Interval {
        low,
        high,
        level: 0.95,
    }
}

fn found(p: f64, ratio: Option<(f64, Interval)>) -> Verdict {
    Verdict::Found(Found {
        shift: 358_000.0,
        interval: interval(37_400.0, 1_130_000.0),
        ratio,
        a_hat: 1.0,
        p,
        p_adjusted: p,
        family: 1,
        basis: Basis::Trials,
        replicates: (8, 8),
    })
}

fn row(figure: Figure, verdict: Verdict) -> Row {
    Row {
        cell: Factors::new()
            .with(factor::PROBE, "wake-up")
            .with(factor::METHOD, "usleep")
            .with(factor::LOAD, "idle"),
        figure,
        sides: (0, 1),
        values: (Some(42_100.0), Some(97_600.0)),
        trials: (8, 8),
        verdict,
    }
}

fn told(level: f64, row: Row) -> String {
    let all = Comparison {
        sides: vec!["A".to_owned(), "B".to_owned()],
        level,
        paired: false,
        rows: vec![row],
        partial: Vec::new(),
    };
    sentence(&all, &all.rows[0])
}

#[test]
fn a_difference_is_told_with_its_interval() {
    let ratio = Some((5.68, interval(1.91, 17.7)));
    assert_eq!(
        told(0.05, row(Figure::Median, found(0.01, ratio))),
        "The median of the wake-up latency of usleep, idle is longer with B: 97.6 µs \
         against 42.1 µs with A; the change is +358 µs (5.68×), with 95 % confidence \
         between +91.0 % and 17.7×."
    );
}

#[test]
fn no_difference_tells_how_large_one_may_be() {
    assert_eq!(
        told(0.001, row(Figure::Max, found(0.5, None))),
        "No difference was found in the maximum of the wake-up latency of usleep, idle: \
         from A to B the change is, with 99.9 % confidence, between +37.4 µs and +1.13 ms."
    );
}

#[test]
fn both_sides_are_told_where_there_are_too_few() {
    let few = |basis, have, need, instead| {
        let verdict = Verdict::TooFew {
            basis,
            have,
            need,
            instead,
        };
        told(0.05, row(Figure::P99, verdict))
    };
    let text = few(Basis::Trials, (8, 1), 4, None);
    assert!(
        text.ends_with("A has 8 trials and B 1 trial, and 4 on each side would do."),
        "{text}"
    );
    let instead = Instead {
        seconds: 1_199.5,
        trials: 4,
    };
    let text = few(Basis::Stretches, (20, 20), 2_000, Some(instead));
    assert!(
        text.ends_with(
            "A and B have 20 samples in a row each, and 4 trials on each side would do, or a \
             single one of some 1\u{202f}200 s."
        ),
        "{text}"
    );
}

#[test]
fn a_missing_figure_says_why() {
    let none = |figure| told(0.05, row(figure, Verdict::NoFigure));
    assert!(none(Figure::P99).ends_with("has the 100 samples that it takes."));
    assert!(none(Figure::Missed).contains("grid"));
    assert!(none(Figure::Lost).contains("only stalls"));
}

#[test]
fn confidence_is_not_rounded_to_certainty() {
    let told = [0.05, 0.5, 0.001, 1e-6].map(confidence);
    assert_eq!(told, ["95 %", "50 %", "99.9 %", "99.9999 %"]);
}

#[test]
fn a_gate_says_what_could_not_be_decided() {
    let judged = |verdict| Judged {
        gate: String::new(),
        cell: Factors::new(),
        figure: Figure::P99,
        side: 1,
        judgement: Judgement::Inconclusive,
        change: None,
        relative: true,
        verdict,
    };
    let sides = ["A".to_owned(), "B".to_owned()];
    let told = |verdict| gate_sentence(&sides, &judged(verdict));
    assert!(told(found(0.5, None)).contains("give the change in its unit"));
    assert!(told(Verdict::NoFigure).contains("100 samples"));
}
