use super::*;
use crate::compare::Replicate;
use tompion_model::{Design as Order, Environment, RunHeader, Summary};

/// A side with one cell; each figure is a trial of 200 equal values.
pub(crate) fn side(name: &str, figures_ns: &[f64]) -> Side {
    let cell = Factors::new()
        .with(factor::PROBE, "wake-up")
        .with(factor::METHOD, "usleep")
        .with(factor::TARGET, "100us")
        .with(factor::LOAD, "idle");
    let mut side = Side {
        name: name.to_owned(),
        header: RunHeader {
            command_line: Vec::new(),
            tool: "tompion 0.1.0".into(),
            started_at: "2026-11-21T10:00:00Z".into(),
            design: Order {
                order: String::new(),
                seed: 1,
                blocks: 8,
                cells: 1,
            },
            environment: Environment::default(),
            guards: Vec::new(),
        },
        remarks: Vec::new(),
        cells: BTreeMap::new(),
    };
    side.cells.insert(cell, replicates(figures_ns));
    side
}

pub(crate) fn replicates(figures_ns: &[f64]) -> Replicates {
    let trial = |(block, ns): (usize, &f64)| Replicate {
        block: block as u32,
        summary: Summary::of_ps(&Distribution::from_values(vec![(ns * 1e3) as i64; 200])),
        corrected: None,
        missed: Some(0),
        stalls: None,
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
