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
        detectable: Some(500_000.0),
        detectable_ratio: ratio.map(|_| 1.5),
        drift: None,
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
        of_runs: false,
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
        "These two runs differ in the median of the wake-up latency of usleep, idle: 97.6 µs with \
         B against 42.1 µs with A; the change is +358 µs (5.68×), with 95 % confidence, \
         between +91.0 % and 17.7×."
    );
    let Verdict::Found(mut of_runs) = found(0.01, ratio) else {
        panic!("found")
    };
    of_runs.basis = Basis::Runs;
    assert_eq!(
        told(0.05, row(Figure::Median, Verdict::Found(of_runs))),
        "The median of the wake-up latency of usleep, idle is longer with B: 97.6 µs \
         against 42.1 µs with A; the change is +358 µs (5.68×), with 95 % confidence, \
         between +91.0 % and 17.7×."
    );
}

#[test]
fn no_difference_tells_how_large_one_may_be() {
    assert_eq!(
        told(0.001, row(Figure::Max, found(0.5, None))),
        "No difference was found in the maximum of the wake-up latency of usleep, idle: \
         from A to B the change is, with 99.9 % confidence, between +37.4 µs and +1.13 ms; \
         one of +500 µs would have been found in 80 % of cases."
    );
    let ratio = Some((1.1, interval(0.9, 1.3)));
    assert!(
        told(0.05, row(Figure::P99, found(0.5, ratio)))
            .ends_with("one of +50.0 % would have been found in 80 % of cases.")
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
fn drift_is_told_with_what_it_would_have_to_be() {
    let of = |why, ratio| {
        let Verdict::Found(f) = found(0.5, ratio) else {
            panic!("found")
        };
        told(0.05, row(Figure::Median, Verdict::Drifts(why, f)))
    };
    let ratio = Some((1.1, interval(0.9, 1.3)));
    let across = Drift::Across {
        step: 400.0,
        ratio: Some(1.009),
    };
    assert_eq!(
        of(across, ratio),
        "Whether the median of the wake-up latency of usleep, idle differs is not decidable: a \
         steady drift of +0.90 % a block through both sides would explain it; turns (--by, \
         --switch) are not fooled by one. From A to B the change is, with 95 % confidence and \
         drift allowed for, between \u{2212}10.0 % and +30.0 %."
    );
    assert!(of(Drift::Within, ratio).contains("values drift within blocks"));
    let none = Drift::Across {
        step: 400.0,
        ratio: None,
    };
    assert!(of(none, None).contains("drift of +400 ns a block"));
}

#[test]
fn a_missing_figure_says_why() {
    let none = |figure| told(0.05, row(figure, Verdict::NoFigure));
    assert!(none(Figure::P99).ends_with("with the 100 samples that it takes."));
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
        undecided: None,
        needed: None,
        is_required: false,
    };
    let sides = ["A".to_owned(), "B".to_owned()];
    let told = |verdict| gate_sentence(&sides, &judged(verdict));
    assert!(told(found(0.5, None)).contains("give the change in its unit"));
    assert!(told(Verdict::NoFigure).contains("100 samples"));
    let with = |undecided, needed| {
        let mut judged = judged(found(0.5, None));
        judged.change = Some((1.1, 0.9, 1.3));
        (judged.undecided, judged.needed) = (undecided, needed);
        gate_sentence(&sides, &judged)
    };
    assert!(with(Some(Undecided::OneRun), None).contains("one run a side cannot show"));
    assert!(with(Some(Undecided::Drift(Drift::Within)), None).contains("values drift within"));
    assert!(
        with(None, Some(40)).ends_with("40 replicates on each side would do if nothing differed")
    );
}
