use super::*;
use tompion_assess::compare::{Allowing, Basis, Judgement};
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
    // By their number they would do.
    let text = few(Basis::Trials, (20, 16), 4, None);
    assert!(
        text.ends_with("A has 20 trials and B 16 trials, too many of which have the same value."),
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
        estimate: None,
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
    // Of eight there are more than five, and more of them are not what it takes.
    let enough = "; 5 replicates on each side would do if nothing differed, and there are 8: what was found is \
                  too near the margin";
    assert!(with(None, Some(5)).ends_with(enough));
}

#[test]
fn a_gate_names_its_estimate_and_its_confidence() {
    let of = |estimator, confidence| {
        let judged = Judged {
            gate: String::new(),
            cell: Factors::new().with(factor::PROBE, "wake-up"),
            figure: Figure::P99,
            side: 1,
            judgement: Judgement::Pass,
            change: Some((1.1, 0.9, 1.3)),
            estimate: Some(Estimate {
                estimator,
                confidence,
            }),
            relative: true,
            verdict: found(0.5, None),
            undecided: None,
            needed: None,
            is_required: false,
        };
        gate_sentence(&["A".to_owned(), "B".to_owned()], &judged)
    };
    assert_eq!(
        of(Estimator::HodgesLehmann, 0.95),
        "wake-up p99 with B: +10.0 % [\u{2212}10.0 %, +30.0 %] (95 % interval)"
    );
    assert!(
        of(Estimator::GeometricMeans, 0.9).ends_with("(ratio of geometric means, 90 % interval)")
    );
}

#[test]
fn a_difference_that_the_family_takes_away_is_told_with_both_ps() {
    let ratio = Some((1.1, interval(1.02, 1.2)));
    let among = |drift: Option<f64>| {
        let Verdict::Found(mut f) = found(0.02, ratio) else {
            panic!("found")
        };
        (f.p_adjusted, f.family) = (0.08, 4);
        f.drift = drift.map(|p| Allowing {
            drift: Drift::Within,
            p,
            interval: f.interval,
            ratio: None,
            detectable: 1.0,
            detectable_ratio: None,
        });
        f
    };
    let text = told(0.05, row(Figure::Median, Verdict::Found(among(None))));
    let part = "between +2.00 % and +20.0 % by this comparison alone (p 0.020), which is no difference among \
                the 4 that p is adjusted for; one of +50.0 % would";
    assert!(text.contains(part), "{text}");
    let across = Drift::Across {
        step: 400.0,
        ratio: Some(1.009),
    };
    let of = |why, p| {
        told(
            0.05,
            row(Figure::Median, Verdict::Drifts(why, among(Some(p)))),
        )
    };
    let text = of(across, 0.03);
    let part = "not decidable: with a steady drift of +0.90 % a block through both sides allowed for it does by \
                this comparison alone (p 0.030), but not among the 4 that p is adjusted for by Holm's method \
                (p 0.080); turns (--by, --switch) take no such allowance.";
    assert!(text.contains(part), "{text}");
    assert!(
        of(Drift::Within, 0.03)
            .contains("with values that drift within blocks allowed for it does")
    );
    // A drift that takes it away by itself does so in any family.
    assert!(of(across, 0.06).contains("would explain it"));
}

#[test]
fn a_change_the_other_way_than_from_a_to_b_is_explained() {
    let ratio = Some((1.1, interval(1.02, 1.2)));
    let mut turned = row(Figure::Median, found(0.01, ratio));
    assert!(!told(0.05, turned.clone()).contains("the other way"));
    turned.values = (Some(97_600.0), Some(42_100.0));
    let part = "(the other way than from A to B: these are the figures of whole sides, the change the middle \
                of all differences between trials).";
    let text = told(0.05, turned);
    assert!(text.contains(part), "{text}");
}
