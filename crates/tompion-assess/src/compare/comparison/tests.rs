use super::*;
use crate::compare::Drift;
use crate::compare::{Gate, Replicate, Replicates};
use tompion_model::{Design as Ordering, Environment, Order, RunHeader, Summary};
use tompion_stats::{Design, Distribution, Interval, Outcome, WithinBlock, compare_replicates};

/// A side with one cell; each figure is a trial of 200 equal values.
pub(crate) fn side(name: &str, figures_ns: &[f64]) -> Side {
    let cell = Factors::new()
        .with(factor::PROBE, "wake-up")
        .with(factor::METHOD, "usleep")
        .with(factor::TARGET, "100us")
        .with(factor::LOAD, "idle");
    let mut side = Side {
        name: name.to_owned(),
        header: std::sync::Arc::new(RunHeader {
            command_line: Vec::new(),
            tool: "tompion 0.1.0".into(),
            started_at: "2026-11-21T10:00:00Z".into(),
            design: Ordering {
                order: String::new(),
                seed: 1,
                blocks: 8,
                cells: 1,
            },
            environment: Environment::default(),
            guards: Vec::new(),
            profiles: Vec::new(),
        }),
        remarks: std::sync::Arc::default(),
        cells: BTreeMap::new(),
    };
    side.cells.insert(cell, replicates(figures_ns));
    side
}

pub(crate) fn replicates(figures_ns: &[f64]) -> Replicates {
    let trial = |(block, ns): (usize, &f64)| Replicate {
        block: block as u32,
        summary: Summary::of_ps(&Distribution::from_values(vec![(ns * 1e3) as i64; 200])),
        missed: Some(0),
        ..Replicate::default()
    };
    Replicates {
        trials: figures_ns.iter().enumerate().map(trial).collect(),
        ..Replicates::default()
    }
}

const SLOW: [f64; 8] = [53.0, 51.0, 55.0, 52.0, 54.0, 50.0, 56.0, 57.0];
const FAST: [f64; 8] = [4.2, 4.0, 4.4, 4.1, 4.3, 3.9, 4.5, 4.6];

fn found(row: &Row) -> Found {
    match row.verdict {
        Verdict::Found(f) => f,
        ref other => panic!("{other:?}"),
    }
}

#[test]
fn a_planted_shift_is_found_with_its_size() {
    let sides = [side("a", &SLOW), side("b", &FAST)];
    let found_all = compare(&sides, &Settings::usual()).unwrap();
    // Median and p99 of the one cell.
    assert_eq!(found_all.rows.len(), 2);
    let row = &found_all.rows[0];
    let f = found(row);
    assert!((f.shift + 49.3).abs() < 1.0, "{f:?}");
    assert!(f.interval.low <= f.shift && f.shift <= f.interval.high);
    assert!(f.interval.high < 0.0 && f.a_hat == 0.0);
    let (ratio, interval) = f.ratio.unwrap();
    assert!(
        (ratio - 0.08).abs() < 0.01 && interval.high < 0.1,
        "{ratio}"
    );
    // 2 / C(16, 8), alone in its family.
    assert!((f.p - 2.0 / 12870.0).abs() < 1e-12 && f.p_adjusted == f.p);
    assert!(row.differs(0.05));
}

#[test]
fn the_same_figures_do_not_differ() {
    let sides = [side("a", &SLOW), side("b", &SLOW)];
    let f = found(&compare(&sides, &Settings::usual()).unwrap().rows[0]);
    assert_eq!((f.shift, f.p, f.a_hat), (0.0, 1.0, 0.5));
    assert!(f.interval.low < 0.0 && f.interval.high > 0.0);
}

#[test]
fn too_few_replicates_are_told_with_what_is_needed() {
    let sides = [side("a", &SLOW[..3]), side("b", &FAST[..3])];
    let row = &compare(&sides, &Settings::usual()).unwrap().rows[0];
    assert!(
        matches!(
            row.verdict,
            Verdict::TooFew {
                basis: Basis::Trials,
                have: (3, 3),
                need: 4,
                instead: None
            }
        ),
        "{row:?}"
    );
}

#[test]
fn three_sides_are_three_pairs_in_one_family() {
    let sides = [side("a", &SLOW), side("b", &FAST), side("c", &SLOW)];
    let all = compare(&sides, &Settings::usual()).unwrap();
    let medians: Vec<&Row> = all
        .rows
        .iter()
        .filter(|r| r.figure == Figure::Median)
        .collect();
    let pairs: Vec<_> = medians.iter().map(|r| r.sides).collect();
    assert_eq!(pairs, [(0, 1), (0, 2), (1, 2)]);
    assert!(medians.iter().all(|r| found(r).family == 3));
    // Holm: three times the smallest.
    assert!((found(medians[0]).p_adjusted - 3.0 * 2.0 / 12870.0).abs() < 1e-12);
    assert!(!medians[1].differs(0.05));
}

#[test]
fn blocks_pair_the_levels_of_one_run() {
    // Each block has its own height: unpaired, the shift of 1 is lost in it.
    let a: Vec<f64> = (0..8).map(|i| 100.0 * f64::from(i) + 50.0).collect();
    let b: Vec<f64> = a.iter().map(|v| v + 1.0).collect();
    let mut other = side("b", &b);
    // The last block was not measured on that side.
    other.cells.values_mut().next().unwrap().trials.pop();
    let sides = [side("a", &a), other];
    let settings = Settings {
        paired: true,
        ..Settings::usual()
    };
    let f = found(&compare(&sides, &settings).unwrap().rows[0]);
    assert_eq!(f.replicates, (7, 7));
    assert!(
        (f.shift - 1.0).abs() < 1e-9 && (f.p - 2.0 / 128.0).abs() < 1e-12,
        "{f:?}"
    );
    let unpaired = found(&compare(&sides, &Settings::usual()).unwrap().rows[0]);
    assert!(unpaired.p > 0.5);
}

#[test]
fn nothing_in_common_is_an_error_and_partial_cells_are_named() {
    let mut other = side("b", &FAST);
    let (cell, replicates) = other.cells.pop_first().unwrap();
    other
        .cells
        .insert(cell.with(factor::LOAD, "cpu"), replicates);
    let error = compare(&[side("a", &SLOW), other.clone()], &Settings::usual()).unwrap_err();
    assert!(error.to_string().contains("no cell in common"));
    let third = side("c", &SLOW);
    let all = compare(&[side("a", &SLOW), other, third], &Settings::usual()).unwrap();
    assert_eq!(all.partial.len(), 2);
    assert_eq!(all.partial[1].1, ["a", "c"]);
}

#[test]
fn too_few_are_told_of_each_side() {
    let sides = [side("a", &SLOW), side("b", &FAST[..1])];
    let row = &compare(&sides, &Settings::usual()).unwrap().rows[0];
    let Verdict::TooFew { have, need, .. } = row.verdict else {
        panic!("{row:?}");
    };
    assert_eq!((have, need, row.trials), ((8, 1), 4, (8, 1)));
}

#[test]
fn trials_without_the_figure_are_told() {
    let mut few = side("b", &SLOW);
    let cell = few.cells.values_mut().next().unwrap();
    cell.trials[0].summary = Summary::of_ps(&Distribution::from_values(vec![50_000; 99]));
    let all = compare(&[side("a", &SLOW), few], &Settings::usual()).unwrap();
    let [median, p99] = &all.rows[..] else {
        panic!("{all:?}");
    };
    assert!(!median.leaves_out_trials() && p99.leaves_out_trials());
    assert_eq!((found(p99).replicates, p99.trials), ((8, 7), (8, 8)));
}

#[test]
fn stretches_tell_the_figures_of_the_series_that_they_were_cut_from() {
    // Two trials a side, of which the first is cut.
    let lasting = |name: &str, step: i64, ns: &[f64], seconds: f64| {
        let mut side = side(name, ns);
        let cell = side.cells.values_mut().next().unwrap();
        cell.series = (0..400).map(|i| step * (1 + i * 7919 % 400)).collect();
        cell.series_s = seconds;
        side
    };
    let single = |name: &str, step: i64, ns: &[f64]| lasting(name, step, ns, 200.0);
    let sides = [
        single("a", 1000, &[200.0, 9.0]),
        single("b", 3000, &[600.0, 9.0]),
    ];
    let all = compare(&sides, &Settings::usual()).unwrap();
    let row = &all.rows[0];
    let f = found(row);
    assert_eq!((f.basis, row.trials), (Basis::Stretches, (2, 2)));
    assert_eq!(row.values, (Some(200.5), Some(601.5)));
    let (ratio, interval) = f.ratio.unwrap();
    assert!((ratio - 3.0).abs() < 0.3 && interval.contains(3.0), "{f:?}");
    assert!((f.shift - 401.0).abs() < 40.0 && !row.leaves_out_trials());

    // Shorter than the tides of a machine.
    let sides = [
        single("a", 1000, &[200.0]),
        lasting("b", 3000, &[600.0], 60.0),
    ];
    let row = &compare(&sides, &Settings::usual()).unwrap().rows[0];
    let Verdict::TooFew {
        basis: Basis::Stretches,
        have: (400, 400),
        need: 800,
        instead: Some(instead),
    } = row.verdict
    else {
        panic!("{row:?}");
    };
    assert_eq!((instead.seconds, instead.trials), (400.0, 4));
}

/// A steady climb of a tenth a block, cut into two runs; the first is before the second, or they
/// took turns.
fn climbing(turns: bool) -> [Side; 2] {
    let scatter = [0.3, -0.2, 0.1, -0.3, 0.2, 0.0, -0.1, 0.25];
    let figure = |at: usize| 100.0 + at as f64 + scatter[at % 8];
    let second = |at: &usize| if turns { at % 2 == 1 } else { *at >= 8 };
    let places: Vec<usize> = (0..16).collect();
    let (b, a): (Vec<usize>, Vec<usize>) = places.into_iter().partition(second);
    [("a", a), ("b", b)].map(|(name, places)| {
        let figures: Vec<f64> = places.iter().map(|at| figure(*at)).collect();
        let mut side = side(name, &figures);
        let cell = side.cells.values_mut().next().unwrap();
        for (trial, at) in cell.trials.iter_mut().zip(places) {
            // The second run began a day later: a pause is no drift.
            trial.started_ns = Some(at as i128 * 1000 + if at < 8 { 0 } else { 1 << 46 });
        }
        side
    })
}

#[test]
fn a_drift_that_goes_on_through_both_runs_is_no_difference() {
    let row = |sides: &[Side]| compare(sides, &Settings::usual()).unwrap().rows[0].clone();
    let drifting = row(&climbing(false));
    let Verdict::Drifts(Drift::Across { step, ratio }, f) = drifting.verdict else {
        panic!("{drifting:?}");
    };
    // The exact test alone finds them as different as can be.
    assert!(
        (f.p - 2.0 / 12870.0).abs() < 1e-12 && f.p_adjusted > 0.05,
        "{f:?}"
    );
    assert!((step - 1.0).abs() < 0.1, "{step}");
    assert!((ratio.unwrap() - 1.01).abs() < 0.001);
    assert!(
        f.interval.contains(0.0) && f.ratio.unwrap().1.contains(1.0),
        "{f:?}"
    );
    assert!(!drifting.differs(0.05));
    // Given in the other order it is the same.
    let [a, b] = climbing(false);
    assert!(matches!(row(&[b, a]).verdict, Verdict::Drifts(..)));
    // Turns are not fooled, and lose nothing to the drift.
    let f = found(&row(&climbing(true)));
    assert!(f.p > 0.2, "{f:?}");
    // A step as large beside the drift is found.
    let [a, b] = climbing(false);
    let more: Vec<f64> = (0..8).map(|i| 200.0 + f64::from(i)).collect();
    let row = row(&[a, side("b", &more)]);
    assert!(row.differs(0.05), "{:?} {}", row.verdict, b.name);
}

#[test]
fn blocks_within_which_values_drift_are_no_replicates() {
    let drifting = |name: &str, figures: &[f64]| {
        let mut side = side(name, figures);
        let climb: Vec<i64> = (0..640).collect();
        let within = WithinBlock::of(&climb, &Distribution::from_slice(&climb));
        let cell = side.cells.values_mut().next().unwrap();
        cell.trials
            .iter_mut()
            .for_each(|t| t.order = within.as_ref().map(Order::of));
        side
    };
    const LEVEL: [f64; 8] = [53.0, 56.0, 51.0, 55.0, 52.0, 57.0, 50.0, 54.0];
    let slower = LEVEL.map(|v| v + 9.0);
    let row = |b: &[f64]| {
        let sides = [drifting("a", &LEVEL), drifting("b", b)];
        compare(&sides, &Settings::usual()).unwrap().rows[0].clone()
    };
    let plain = [side("a", &LEVEL), side("b", &slower)];
    let plain = compare(&plain, &Settings::usual()).unwrap().rows[0].clone();
    assert!(found(&plain).p < 0.05);
    let Verdict::Drifts(Drift::Within, f) = row(&slower).verdict else {
        panic!("{:?}", row(&slower));
    };
    let width = |f: &Found| f.interval.high - f.interval.low;
    assert!(width(&f) > 2.0 * width(&found(&plain)), "{f:?}");
    // Nor is a difference denied by an interval that is too narrow.
    assert!(matches!(
        row(&SLOW).verdict,
        Verdict::Drifts(Drift::Within, _)
    ));
    // What no such drift explains is found.
    let far = LEVEL.map(|v| 40.0 * v);
    assert!(row(&far).differs(0.05));
}

#[test]
fn runs_are_replicates_where_sides_have_several() {
    let run = |figure: f64| {
        let figures: Vec<f64> = SLOW.iter().map(|v| v * figure).collect();
        let cell = replicates(&figures);
        let whole = Replicate::of_several(0, &cell.trials[..1], &Default::default());
        Replicates {
            whole: Some(Box::new(whole)),
            ..cell
        }
    };
    let of = |name: &str, runs: &[f64]| {
        let mut side = side(name, &SLOW);
        let cell = side.cells.values_mut().next().unwrap();
        let runs: Vec<Replicates> = runs.iter().map(|r| run(*r)).collect();
        *cell = Replicates::of_runs(&runs);
        side
    };
    let row = |a: &[f64], b: &[f64]| {
        let all = compare(&[of("a", a), of("b", b)], &Settings::usual()).unwrap();
        assert!(all.of_runs);
        all.rows[0].clone()
    };
    let differs = row(&[1.0, 1.02, 0.98, 1.01], &[2.0, 2.02, 1.98, 2.01]);
    let f = found(&differs);
    assert_eq!((f.basis, f.replicates), (Basis::Runs, (4, 4)));
    assert!(
        (f.p - 2.0 / 70.0).abs() < 1e-12 && differs.differs(0.05),
        "{f:?}"
    );
    let few = row(&[1.0, 1.02, 0.98], &[2.0, 2.02, 1.98]);
    let Verdict::TooFew {
        basis: Basis::Runs,
        have: (3, 3),
        need: 4,
        instead: None,
    } = few.verdict
    else {
        panic!("{few:?}");
    };
}

#[test]
fn what_would_have_been_found_stands_beside_no_difference() {
    let sides = [side("a", &SLOW), side("b", &SLOW)];
    let f = found(&compare(&sides, &Settings::usual()).unwrap().rows[0]);
    // Scatter of 4.6 % from trial to trial, twice as much allowing for a trend.
    let ratio = f.detectable_ratio.unwrap();
    assert!((1.10..1.20).contains(&ratio), "{ratio}");
    assert!((5.0..11.0).contains(&f.detectable.unwrap()), "{f:?}");
    let paired = Settings {
        paired: true,
        ..Settings::usual()
    };
    let f = found(&compare(&sides, &paired).unwrap().rows[0]);
    assert_eq!(f.detectable_ratio, Some(1.0));
}

#[test]
fn a_row_shows_the_interval_that_gates_are_judged_by() {
    // Nothing differs; a fall hides a difference; a climb looks like one; a step beside a climb.
    let falling = |from: i32, times: f64| -> [f64; 8] {
        std::array::from_fn(|i| times * SLOW[i] * 0.98f64.powi(from + i as i32))
    };
    let [before, after] = climbing(false);
    let pairs = [
        [side("a", &SLOW), side("b", &SLOW.map(|v| 1.02 * v))],
        [side("a", &falling(0, 1.0)), side("b", &falling(8, 1.25))],
        [before.clone(), after],
        [before, side("b", &SLOW.map(|v| 4.0 * v))],
    ];
    let mut kinds = Vec::new();
    for sides in pairs {
        let settings = Settings {
            within_run: true,
            ..Settings::usual()
        };
        let row = compare(&sides, &settings).unwrap().rows[0].clone();
        let (kind, f) = match row.verdict {
            Verdict::Found(f) if row.differs(0.05) => ("differs", f),
            Verdict::Found(f) => ("no difference", f),
            Verdict::Drifts(_, f) => ("drifts", f),
            ref other => panic!("{other:?}"),
        };
        kinds.push(kind);
        let judged = |gate: &str| {
            let gate: Gate = gate.parse().unwrap();
            gate.judge(&sides, &settings).unwrap()[0].change.unwrap()
        };
        let (ratio, interval) = f.ratio.unwrap();
        assert_eq!(
            judged("usleep median > +20%"),
            (ratio, interval.low, interval.high)
        );
        let Interval { low, high, .. } = f.interval;
        assert_eq!(judged("usleep median > +20ns"), (f.shift, low, high));
        // It is wider than what the exact test alone leaves, which a trend may shift at will.
        let figures = |side: &Side| -> Vec<f64> {
            let cell = side.cells.values().next().unwrap();
            let of = |trial| Figure::Median.of(trial).unwrap();
            cell.trials.iter().map(of).collect()
        };
        let (a, b) = (figures(&sides[0]), figures(&sides[1]));
        let plain = compare_replicates(&a, &b, Design::Independent, 0.05, 1).unwrap();
        let Outcome::Decided(plain) = plain else {
            panic!("{plain:?}");
        };
        assert!(low <= plain.interval.low && high >= plain.interval.high);
        assert!(
            high - low > 1.2 * (plain.interval.high - plain.interval.low),
            "{kind} {f:?} {plain:?}"
        );
    }
    assert_eq!(
        kinds,
        ["no difference", "no difference", "drifts", "differs"]
    );
    // Taken by turns nothing is allowed for.
    let paired = Settings {
        paired: true,
        ..Settings::usual()
    };
    let sides = [side("a", &SLOW), side("b", &SLOW.map(|v| v + 1.0))];
    let f = found(&compare(&sides, &paired).unwrap().rows[0]);
    assert!((f.interval.low - 1.0).abs() < 1e-9 && (f.interval.high - 1.0).abs() < 1e-9);
}

#[test]
fn more_rows_than_anybody_reads_are_refused_at_once() {
    // Two figures of 317 sides two by two are more than a hundred thousand.
    let sides: Vec<Side> = (0..317).map(|i| side(&i.to_string(), &SLOW)).collect();
    let error = compare(&sides, &Settings::usual()).unwrap_err().to_string();
    assert!(
        error.contains("more than 100000 comparisons, of 317 sides"),
        "{error}"
    );
    let one = Settings {
        figures: Some(vec![Figure::Median]),
        ..Settings::usual()
    };
    assert!(compare(&sides[..20], &one).is_ok());
}

#[test]
fn pairs_that_would_take_an_hour_are_refused_at_once() {
    let began = std::time::Instant::now();
    // Two by two, each in as many blocks as are still counted out.
    let figures: Vec<f64> = (0..340).map(|i| 50.0 + f64::from(i * i % 97)).collect();
    let sides: Vec<Side> = (0..60).map(|i| side(&i.to_string(), &figures)).collect();
    let paired = Settings {
        figures: Some(vec![Figure::Median]),
        paired: true,
        ..Settings::usual()
    };
    let error = compare(&sides, &paired).unwrap_err().to_string();
    assert!(
        error.starts_with(
            "1770 comparisons of so many trials each would take longer than ten minutes"
        ),
        "{error}"
    );
    assert!(began.elapsed().as_secs() < 10, "{:?}", began.elapsed());
    // As many of eight trials are compared.
    let few: Vec<Side> = (0..60).map(|i| side(&i.to_string(), &SLOW)).collect();
    assert_eq!(compare(&few, &paired).unwrap().rows.len(), 1770);
}
