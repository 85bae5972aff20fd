use super::*;
use crate::compare::comparison::tests::{replicates, side};

const BEFORE: [f64; 8] = [100.0, 101.0, 99.0, 102.0, 98.0, 103.0, 97.0, 100.5];

fn judged(gate: &str, factor: f64) -> Judgement {
    let after: Vec<f64> = BEFORE.iter().map(|v| v * factor).collect();
    let sides = [side("a", &BEFORE), side("b", &after)];
    let gate: Gate = gate.parse().unwrap();
    let all = gate.judge(&sides, &settings()).unwrap();
    assert_eq!(all.len(), 1);
    all[0].judgement
}

/// Two runs are all that these tests are about.
fn settings() -> Settings {
    Settings {
        within_run: true,
        ..Settings::usual()
    }
}

#[test]
fn intervals_are_held_against_the_limit() {
    let gate = "wake-up/usleep/100us/idle median > +20%";
    assert_eq!(judged(gate, 1.0), Judgement::Pass);
    assert_eq!(judged(gate, 1.2), Judgement::Inconclusive);
    assert_eq!(judged(gate, 1.4), Judgement::Fail);
    let gate = "usleep p99 > +20ns";
    assert_eq!(judged(gate, 1.0), Judgement::Pass);
    assert_eq!(judged(gate, 1.4), Judgement::Fail);
    let gate = "usleep/load=idle median < -10%";
    assert_eq!(judged(gate, 0.8), Judgement::Fail);
    assert_eq!(judged(gate, 1.0), Judgement::Pass);
    assert_eq!(judged(gate, 0.9), Judgement::Inconclusive);
    assert_eq!(judged("usleep median > 0", 1.5), Judgement::Fail);
}

#[test]
fn what_cannot_be_decided_is_inconclusive() {
    let sides = [side("a", &BEFORE[..2]), side("b", &BEFORE[..2])];
    let gate: Gate = "idle median > +20%".parse().unwrap();
    let all = gate.judge(&sides, &settings()).unwrap();
    assert_eq!(all[0].judgement, Judgement::Inconclusive);
    assert_eq!(all[0].change, None);
}

#[test]
fn a_selector_that_fits_several_cells_requires_all() {
    let after: Vec<f64> = BEFORE.iter().map(|v| v * 2.0).collect();
    let mut sides = [side("a", &BEFORE), side("b", &BEFORE)];
    for (side, figures) in sides.iter_mut().zip([&BEFORE[..], &after]) {
        let (cell, _) = side.cells.first_key_value().unwrap();
        let cell = cell.clone().with(factor::TARGET, "1ms");
        side.cells.insert(cell, replicates(figures));
    }
    let judged = |gate: &str| {
        let gate: Gate = gate.parse().unwrap();
        gate.judge(&sides, &settings()).unwrap()
    };
    let all = judged("usleep/idle median > +50%");
    let found: Vec<Judgement> = all.iter().map(|j| j.judgement).collect();
    assert_eq!(found, [Judgement::Pass, Judgement::Fail]);
    assert_eq!(judged("usleep/100us median > +50%").len(), 1);
}

#[test]
fn a_selector_that_fits_nothing_is_an_error() {
    let sides = [side("a", &BEFORE), side("b", &BEFORE)];
    let gate: Gate = "wake-up/nanosleep median > +20%".parse().unwrap();
    let error = gate.judge(&sides, &settings()).unwrap_err().to_string();
    assert!(error.contains("no cell of a fits"), "{error}");
    assert!(
        error.ends_with("such as wake-up/usleep/100us/idle"),
        "{error}"
    );
}

#[test]
fn a_figure_that_a_cell_can_never_have_is_an_error() {
    let mut sides = [side("a", &BEFORE), side("b", &BEFORE)];
    let cells = sides.iter_mut().flat_map(|s| s.cells.values_mut());
    cells
        .flat_map(|c| &mut c.trials)
        .for_each(|t| t.missed = None);
    for gate in ["usleep missed > +1pp", "idle lost > +5%"] {
        let gate: Gate = gate.parse().unwrap();
        let error = gate.judge(&sides, &settings()).unwrap_err();
        let error = error.to_string();
        assert!(
            error.contains("wake-up/usleep/100us/idle has no figure"),
            "{error}"
        );
    }
}

#[test]
fn mistakes_are_told_in_one_line() {
    for (text, why) in [
        ("", "there is no > or <"),
        ("> +5%", "there is no cell"),
        ("idle > +5%", "there is no statistic"),
        ("idle p98 > +5%", "unknown statistic `p98`"),
        ("a b c > +5%", "more words than"),
        ("a//b p99 > +5%", "part of the cell is empty"),
        ("idle p99 > much", "`much` is no change"),
        ("idle p99 > +5", "`+5` is no change"),
        ("idle p99 > +1pp", "p99 is a time"),
        ("idle lost > +1us", "lost is a share"),
        ("idle p99 < -100%", "nothing falls by 100 %"),
    ] {
        let error = text.parse::<Gate>().unwrap_err().to_string();
        assert!(error.contains(why) && !error.contains('\n'), "{error}");
    }
}

#[test]
fn a_time_in_another_unit_is_the_same_level() {
    let a = side("a", &BEFORE);
    let selected = |gate: &str| {
        let gate: Gate = format!("{gate} median > +20%").parse().unwrap();
        gate.judge(&[a.clone(), a.clone()], &settings()).is_ok()
    };
    for same in ["usleep/100us", "usleep/0.1ms", "target=100000ns", "100µs"] {
        assert!(selected(same), "{same}");
    }
    for other in ["usleep/100ms", "usleep/100", "method=0.1ms"] {
        assert!(!selected(other), "{other}");
    }
}

fn required(gate: &str, a: &Side, b: &Side) -> Judged {
    let Required(gate) = gate.parse().unwrap();
    let sides = [a.clone(), b.clone()];
    let all = gate.judge(&sides, &settings()).unwrap();
    all[0].clone()
}

#[test]
fn what_is_required_has_to_be_shown() {
    let a = side("a", &BEFORE);
    let times = |factor: f64| side("b", &BEFORE.map(|v| v * factor));
    let judgement = |gate: &str, factor| required(gate, &a, &times(factor)).judgement;
    let within = "usleep median within 10%";
    assert_eq!(judgement(within, 1.0), Judgement::Pass);
    assert_eq!(judgement(within, 1.1), Judgement::Inconclusive);
    assert_eq!(judgement(within, 1.5), Judgement::Fail);
    assert_eq!(judgement(within, 0.5), Judgement::Fail);
    let no_worse = "usleep median no worse than 10 %";
    assert_eq!(judgement(no_worse, 0.5), Judgement::Pass);
    assert_eq!(judgement(no_worse, 1.1), Judgement::Inconclusive);
    assert_eq!(judgement(no_worse, 1.5), Judgement::Fail);
    // Too few to show anything, and how many would do.
    let few = required(within, &side("a", &BEFORE[..2]), &times(1.0));
    assert_eq!((few.judgement, few.change), (Judgement::Inconclusive, None));
    let tight = required("usleep median within 1%", &a, &times(1.0));
    assert_eq!(tight.judgement, Judgement::Inconclusive);
    assert!(tight.needed.unwrap() > 8 && tight.is_required);
    // The interval of the two tests is narrower than that of a gate on a change.
    let estimate = tight.estimate.unwrap();
    assert_eq!(estimate.estimator, Estimator::GeometricMeans);
    assert!((estimate.confidence - 0.9).abs() < 1e-12, "{estimate:?}");
    let gate: Gate = "usleep median > +20%".parse().unwrap();
    let all = gate.judge(&[a.clone(), times(1.1)], &settings()).unwrap();
    let estimate = all[0].estimate.unwrap();
    assert_eq!(estimate.estimator, Estimator::HodgesLehmann);
    assert!((estimate.confidence - 0.95).abs() < 1e-12, "{estimate:?}");
    // More than it would take, and yet it is open: what was found is the margin.
    let near = required(within, &a, &times(1.1));
    assert!(near.needed.unwrap() <= 8, "{near:?}");
}

/// A single trial whose samples scatter by a tenth, each so many times as long, that is cut into stretches.
fn single(name: &str, times: i64) -> Side {
    let mut side = side(name, &[2_200.0 * times as f64]);
    for cell in side.cells.values_mut() {
        cell.series = (0..400)
            .map(|i| times * 1000 * (2_000 + i * 7919 % 400))
            .collect();
        cell.series_s = 200.0;
    }
    side
}

#[test]
fn of_stretches_the_interval_is_judged_and_not_the_point() {
    let a = single("a", 1);
    let judged = |gate: &str, times: i64| {
        let judged = required(gate, &a, &single("b", times));
        assert!(
            matches!(judged.verdict, Verdict::Found(found) if found.basis == Basis::Stretches),
            "{judged:?}"
        );
        let (ratio, low, high) = judged.change.unwrap();
        println!("{gate}, {times} times: {ratio} from {low} to {high}");
        // The point is right, whatever the interval is.
        assert!((ratio / times as f64 - 1.0).abs() < 0.01, "{judged:?}");
        judged.judgement
    };
    for words in ["within", "no worse than"] {
        // Alike, and within the margin with all of the interval, or with the point alone.
        assert_eq!(
            judged(&format!("usleep median {words} 30%"), 1),
            Judgement::Pass
        );
        assert_eq!(
            judged(&format!("usleep median {words} 2%"), 1),
            Judgement::Inconclusive
        );
        // Twice as long, and beyond it in the same ways.
        assert_eq!(
            judged(&format!("usleep median {words} 30%"), 2),
            Judgement::Fail
        );
        assert_eq!(
            judged(&format!("usleep median {words} 98%"), 2),
            Judgement::Inconclusive
        );
    }
}

#[test]
fn one_run_a_side_decides_no_gate_unless_that_is_accepted() {
    let after: Vec<f64> = BEFORE.iter().map(|v| v * 2.0).collect();
    let sides = [side("a", &BEFORE), side("b", &after)];
    let gate: Gate = "usleep median > +20%".parse().unwrap();
    let judged = gate.judge(&sides, &Settings::usual()).unwrap();
    assert_eq!(judged[0].judgement, Judgement::Inconclusive);
    assert_eq!(judged[0].undecided, Some(Undecided::OneRun));
    assert!(judged[0].change.unwrap().0 > 1.9);
    let judged = gate.judge(&sides, &settings()).unwrap();
    assert_eq!(
        (judged[0].judgement, judged[0].undecided),
        (Judgement::Fail, None)
    );
    let turns = Settings {
        paired: true,
        ..Settings::usual()
    };
    let judged = gate.judge(&sides, &turns).unwrap();
    assert_eq!(judged[0].judgement, Judgement::Fail);
}

#[test]
fn several_runs_a_side_decide_a_gate() {
    let mut sides = [side("a", &BEFORE), side("b", &BEFORE.map(|v| v * 2.0))];
    let cells = sides.iter_mut().flat_map(|s| s.cells.values_mut());
    cells.for_each(|cell| cell.basis = Basis::Runs);
    let gate: Gate = "usleep median > +20%".parse().unwrap();
    let judged = gate.judge(&sides, &Settings::usual()).unwrap();
    assert_eq!(
        (judged[0].judgement, judged[0].undecided),
        (Judgement::Fail, None)
    );
}

#[test]
fn a_gate_does_not_fail_by_what_drift_explains() {
    // A climb of 2 % a block through both.
    let climb = |from: usize| -> Vec<f64> {
        let of = |at: usize| BEFORE[at % 8] * 1.02f64.powi(at as i32);
        (from..from + 8).map(of).collect()
    };
    let sides = [side("a", &climb(0)), side("b", &climb(8))];
    let gate: Gate = "usleep median > 0".parse().unwrap();
    let judged = gate.judge(&sides, &settings()).unwrap();
    assert_eq!(judged[0].judgement, Judgement::Inconclusive);
    assert!(
        matches!(
            judged[0].undecided,
            Some(Undecided::Drift(Drift::Across { .. }))
        ),
        "{judged:?}"
    );
    let same = required("usleep median within 10%", &sides[0], &sides[1]);
    assert_eq!(same.judgement, Judgement::Inconclusive, "{same:?}");
}

#[test]
fn a_gate_does_not_pass_by_what_drift_hides() {
    // A fall of 2 % a block through both hides that the second is slower by 30 %: what is seen is +11 %.
    let fall = |from: usize, times: f64| -> Vec<f64> {
        let of = |at: usize| times * BEFORE[at % 8] * 0.98f64.powi(at as i32);
        (from..from + 8).map(of).collect()
    };
    let sides = [side("a", &fall(0, 1.0)), side("b", &fall(8, 1.3))];
    for gate in ["usleep median > +20%", "usleep median > +20ns"] {
        let gate: Gate = gate.parse().unwrap();
        let [judged] = &gate.judge(&sides, &settings()).unwrap()[..] else {
            panic!("one cell");
        };
        assert_eq!(judged.judgement, Judgement::Inconclusive, "{judged:?}");
        let why = judged.undecided;
        assert!(
            matches!(why, Some(Undecided::Drift(Drift::Across { .. }))),
            "{why:?}"
        );
        // The interval that is told is the one that was judged.
        let (_, low, high) = judged.change.unwrap();
        let limit = if judged.relative { 1.2 } else { 20.0 };
        assert!(low < limit && high > limit, "{low} {high}");
    }
    // Far from all that drift could do it passes.
    let gate: Gate = "usleep median > +100%".parse().unwrap();
    let judged = gate.judge(&sides, &settings()).unwrap();
    assert_eq!(
        (judged[0].judgement, judged[0].undecided),
        (Judgement::Pass, None)
    );
    // By turns no drift has to be allowed for.
    let turns = Settings {
        paired: true,
        ..settings()
    };
    let gate: Gate = "usleep median > +20%".parse().unwrap();
    assert_eq!(
        gate.judge(&sides, &turns).unwrap()[0].judgement,
        Judgement::Pass
    );
}

#[test]
fn mistakes_in_a_requirement_are_told_in_one_line() {
    for (text, why) in [
        ("idle p99 > +5%", "there is no `within`"),
        (" within 5%", "there is no cell"),
        ("idle within 5%", "there is no statistic"),
        ("idle p98 within 5%", "unknown statistic `p98`"),
        ("idle p99 within 5us", "`5us` is no share"),
        ("idle p99 within -5%", "`-5%` is no share"),
        ("idle p99 no worse than 0%", "`0%` is no share"),
    ] {
        let error = text.parse::<Required>().unwrap_err().to_string();
        assert!(error.contains(why) && !error.contains('\n'), "{error}");
    }
}
