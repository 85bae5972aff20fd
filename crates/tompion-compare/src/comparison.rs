//! Sides held against each other, cell by cell.

use std::collections::{BTreeMap, BTreeSet};

use tompion_record::{Factors, factor};
use tompion_stats::{
    Adjustment, Comparison as Statistics, Design, Interval, Outcome, compare_replicates,
    compare_series,
};

use crate::{Error, Figure, Replicates, Result, Side};

/// How to compare.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Figures compared; `None` for those that are usual for each probe.
    pub figures: Option<Vec<Figure>>,
    /// Level of the tests, and 1 minus the confidence of the intervals.
    pub level: f64,
    /// Whether the sides are levels of one run, measured in the same blocks.
    pub paired: bool,
}

impl Settings {
    /// The usual figures at level 0.05 for runs of their own.
    pub fn usual() -> Self {
        Self {
            figures: None,
            level: 0.05,
            paired: false,
        }
    }

    fn design(&self) -> Design {
        match self.paired {
            true => Design::Paired,
            false => Design::Independent,
        }
    }
}

/// Sides held against each other.
#[derive(Clone, Debug)]
pub struct Comparison {
    /// Names of the sides in their order.
    pub sides: Vec<String>,
    /// The level.
    pub level: f64,
    /// Whether replicates were paired by block.
    pub paired: bool,
    /// One row for each cell, figure and pair of sides.
    pub rows: Vec<Row>,
    /// Cells that not all sides have, with the names of those that do.
    pub partial: Vec<(Factors, Vec<String>)>,
}

/// One cell and figure on two sides.
#[derive(Clone, Debug)]
pub struct Row {
    /// The cell.
    pub cell: Factors,
    /// What is compared.
    pub figure: Figure,
    /// Places of the two sides in [`Comparison::sides`]; the second is held against
    /// the first.
    pub sides: (usize, usize),
    /// Median over the trials of each side, in the figure's unit; `None` where no
    /// trial has the figure.
    pub values: (Option<f64>, Option<f64>),
    /// What that comes to.
    pub verdict: Verdict,
}

/// What became of a row.
#[derive(Clone, Debug)]
pub enum Verdict {
    /// There was enough to decide on.
    Found(Found),
    /// Too little: replicates (or samples, for stretches) there are and needed.
    TooFew {
        /// What is counted.
        basis: Basis,
        /// There are, on the side that has fewer.
        have: usize,
        /// Needed on each side.
        need: usize,
    },
    /// No trial of a side has the figure, or not enough samples for it.
    NoFigure,
}

/// What the replicates were.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Basis {
    /// Separate trials.
    Trials,
    /// Stretches of one trial on each side, each longer than the measured
    /// autocorrelation time.
    Stretches,
}

/// A decided comparison of the second side with the first.
#[derive(Clone, Copy, Debug)]
pub struct Found {
    /// How much larger the second is, in the figure's unit, with its interval.
    pub shift: f64,
    /// Interval of the shift at confidence 1 - level.
    pub interval: Interval,
    /// How many times larger, with its interval; `None` where a figure is not above 0.
    pub ratio: Option<(f64, Interval)>,
    /// Vargha and Delaney's A: the share of pairs of replicates in which the second
    /// is the larger.
    pub a_hat: f64,
    /// p-value of this test alone.
    pub p: f64,
    /// p-value adjusted for the family by Holm's method.
    pub p_adjusted: f64,
    /// Tests in the family.
    pub family: usize,
    /// What the replicates were, and how many there were on each side.
    pub basis: Basis,
    /// Replicates of each side.
    pub replicates: (usize, usize),
}

impl Row {
    /// Whether the row was decided and found a difference at `level`.
    pub fn differs(&self, level: f64) -> bool {
        matches!(&self.verdict, Verdict::Found(f) if f.p_adjusted <= level)
    }
}

/// Compares every cell that at least two sides have.
pub fn compare(sides: &[Side], settings: &Settings) -> Result<Comparison> {
    if sides.len() < 2 {
        return Err(Error::Wish("a comparison takes two sides or more".into()));
    }
    let cells: BTreeSet<&Factors> = sides.iter().flat_map(|s| s.cells.keys()).collect();
    let mut tasks = Vec::new();
    let mut partial = Vec::new();
    for cell in cells {
        let having: Vec<usize> = (0..sides.len())
            .filter(|&i| sides[i].cells.contains_key(cell))
            .collect();
        if having.len() < sides.len() {
            let names = having.iter().map(|&i| sides[i].name.clone()).collect();
            partial.push((cell.clone(), names));
        }
        for (at, &i) in having.iter().enumerate() {
            for &j in &having[at + 1..] {
                tasks.extend(figures(cell, settings).iter().map(|&f| (cell, f, (i, j))));
            }
        }
    }
    if tasks.is_empty() {
        return Err(Error::Wish(
            "these runs have no cell in common: they measured different things".into(),
        ));
    }
    let mut sizes: BTreeMap<_, usize> = BTreeMap::new();
    for (cell, figure, _) in &tasks {
        *sizes.entry(family(cell, *figure)).or_default() += 1;
    }
    let mut rows: Vec<Row> = tasks
        .into_iter()
        .map(|(cell, figure, (i, j))| {
            let size = sizes[&family(cell, figure)];
            let both = (&sides[i].cells[cell], &sides[j].cells[cell]);
            let (values, verdict) = one(both, figure, settings, size);
            Row {
                cell: cell.clone(),
                figure,
                sides: (i, j),
                values,
                verdict,
            }
        })
        .collect();
    adjust(&mut rows);
    Ok(Comparison {
        sides: sides.iter().map(|s| s.name.clone()).collect(),
        level: settings.level,
        paired: settings.paired,
        rows,
        partial,
    })
}

fn figures<'a>(cell: &Factors, settings: &'a Settings) -> &'a [Figure] {
    match &settings.figures {
        Some(figures) => figures,
        None => Figure::usual(cell.level(factor::PROBE)),
    }
}

/// Tests that share a family: those of one figure within one probe, method and load.
fn family(cell: &Factors, figure: Figure) -> ([String; 3], Figure) {
    let level = |name| cell.level(name).to_owned();
    let names = [factor::PROBE, factor::METHOD, factor::LOAD];
    (names.map(level), figure)
}

/// One figure of one cell on two sides; `p_adjusted` is still that of the test alone.
pub(crate) fn one(
    (a, b): (&Replicates, &Replicates),
    figure: Figure,
    settings: &Settings,
    family: usize,
) -> ((Option<f64>, Option<f64>), Verdict) {
    let (x, y) = match settings.paired {
        true => in_common_blocks(a, b, figure),
        false => (of_all(a, figure), of_all(b, figure)),
    };
    let values = (median(&x), median(&y));
    if x.is_empty() || y.is_empty() {
        return (values, Verdict::NoFigure);
    }
    let verdict = match by_trials(&x, &y, settings, family) {
        Verdict::TooFew { .. } if !a.series.is_empty() && !b.series.is_empty() => {
            by_stretches(a, b, figure, settings, family)
                .unwrap_or_else(|| by_trials(&x, &y, settings, family))
        }
        verdict => verdict,
    };
    (values, verdict)
}

fn by_trials(x: &[f64], y: &[f64], settings: &Settings, family: usize) -> Verdict {
    let test = |x: &[f64], y: &[f64]| {
        compare_replicates(x, y, settings.design(), settings.level, family)
            .expect("finite figures, paired where they have to be")
    };
    match test(x, y) {
        Outcome::NotDecidable { have, need } => Verdict::TooFew {
            basis: Basis::Trials,
            have,
            need,
        },
        Outcome::Decided(found) => {
            let positive = x.iter().chain(y).all(|v| *v > 0.0);
            let logs = |v: &[f64]| v.iter().map(|v| v.ln()).collect::<Vec<f64>>();
            let ratio =
                positive
                    .then(|| test(&logs(x), &logs(y)))
                    .and_then(|outcome| match outcome {
                        Outcome::Decided(d) => Some((d.shift.exp(), exp(d.interval))),
                        Outcome::NotDecidable { .. } => None,
                    });
            found_by(found, ratio, Basis::Trials, (x.len(), y.len()), family)
        }
    }
}

/// Stretches of one trial on each side; `None` where the figure is no quantile.
fn by_stretches(
    a: &Replicates,
    b: &Replicates,
    figure: Figure,
    settings: &Settings,
    family: usize,
) -> Option<Verdict> {
    let q = figure.quantile()?;
    let found = compare_series(&a.series, &b.series, q, settings.level, family)?;
    Some(match found.outcome {
        Outcome::NotDecidable { have, need } => Verdict::TooFew {
            basis: Basis::Stretches,
            have,
            need,
        },
        Outcome::Decided(mut d) => {
            // Values are in picoseconds.
            d.shift /= 1000.0;
            d.interval.low /= 1000.0;
            d.interval.high /= 1000.0;
            let first = median(&of_all(a, figure)).filter(|v| *v > 0.0);
            let ratio = first.map(|v| {
                let part = |shift: f64| 1.0 + shift / v;
                let interval = Interval {
                    low: part(d.interval.low),
                    high: part(d.interval.high),
                    ..d.interval
                };
                (part(d.shift), interval)
            });
            found_by(d, ratio, Basis::Stretches, found.stretches, family)
        }
    })
}

fn found_by(
    d: Statistics,
    ratio: Option<(f64, Interval)>,
    basis: Basis,
    replicates: (usize, usize),
    family: usize,
) -> Verdict {
    Verdict::Found(Found {
        shift: d.shift,
        interval: d.interval,
        ratio,
        a_hat: d.a_hat,
        p: d.p,
        p_adjusted: d.p,
        family,
        basis,
        replicates,
    })
}

fn exp(interval: Interval) -> Interval {
    Interval {
        low: interval.low.exp(),
        high: interval.high.exp(),
        ..interval
    }
}

fn of_all(cell: &Replicates, figure: Figure) -> Vec<f64> {
    cell.trials.iter().filter_map(|t| figure.of(t)).collect()
}

fn in_common_blocks(a: &Replicates, b: &Replicates, figure: Figure) -> (Vec<f64>, Vec<f64>) {
    let theirs: BTreeMap<u32, f64> = b
        .trials
        .iter()
        .filter_map(|t| Some((t.block, figure.of(t)?)))
        .collect();
    a.trials
        .iter()
        .filter_map(|t| Some((figure.of(t)?, *theirs.get(&t.block)?)))
        .unzip()
}

pub(crate) fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let n = sorted.len();
    (n > 0).then(|| 0.5 * (sorted[(n - 1) / 2] + sorted[n / 2]))
}

/// Holm's adjustment within each family. Rows without a p-value count in the size of
/// their family: they were meant to be tested.
fn adjust(rows: &mut [Row]) {
    let mut families: BTreeMap<_, Vec<usize>> = BTreeMap::new();
    for (i, row) in rows.iter().enumerate() {
        families
            .entry(family(&row.cell, row.figure))
            .or_default()
            .push(i);
    }
    for members in families.values() {
        let p: Vec<f64> = members
            .iter()
            .map(|&i| match &rows[i].verdict {
                Verdict::Found(f) => f.p,
                _ => 1.0,
            })
            .collect();
        for (&i, adjusted) in members.iter().zip(Adjustment::Holm.apply(&p)) {
            if let Verdict::Found(f) = &mut rows[i].verdict {
                f.p_adjusted = adjusted;
            }
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::Replicate;
    use tompion_record::{Design as Order, Environment, RunHeader, Summary};
    use tompion_stats::Distribution;

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
                    have: 3,
                    need: 4
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
}
