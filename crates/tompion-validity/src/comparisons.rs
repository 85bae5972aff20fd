//! How often `compare` finds a difference where there is none, and one that there is.

use std::collections::BTreeMap;

use tompion_assess::compare::{
    Figure, Judgement, Replicates, Required, Settings, Side, Verdict, compare,
};
use tompion_model::{Blocks, Design, Environment, Factors, RunHeader, factor};

use crate::noise::Noise;
use crate::table::{Bound, Counted};
use crate::truth::{Shape, Truth};

/// False differences, at most.
const FALSE: Bound = Bound::AtMost(0.065);

/// The shape of what is to be found.
pub const SHORT: Shape = Shape {
    blocks: 8,
    samples: 1000,
};

/// Runs on a side where there are several, and how far their levels scatter.
const RUNS: usize = 5;
const SCATTER: f64 = 0.02;

/// How the sides of a comparison were measured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum How {
    /// One run each, of one series that goes on: the second follows the first.
    TwoRuns,
    /// Blocks of one series by turns, each pair in random order.
    Turns,
    /// One run each, whose levels scatter from run to run.
    ScatteringRuns,
    /// Five runs each, whose levels scatter; those of one side after those of the other.
    SeveralRuns,
    /// The same by turns, each pair in random order.
    SeveralByTurns,
}

/// What a comparison said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Said {
    /// "Differs".
    Differs,
    /// "No difference was found".
    NoDifference,
    /// "Not decidable".
    NotDecidable,
}

/// One row: how often the second side was said to differ from the first.
#[derive(Clone, Debug)]
pub struct Row {
    /// "Differs", where that is wrong or right.
    pub differs: Counted,
    /// "Not decidable".
    pub undecided: Counted,
}

impl Row {
    /// Whether all that is promised of the row is kept.
    pub fn is_kept(&self) -> bool {
        self.differs.is_kept() && self.undecided.is_kept()
    }
}

/// Draws pairs of sides between which there is no difference and counts, a row for each figure.
pub fn false_differences<const N: usize>(
    truth: Truth,
    shape: Shape,
    how: How,
    figures: [Figure; N],
    draws: (u64, u64),
) -> [Row; N] {
    let sides = |seed| sides(truth, shape, how, 1.0, seed);
    let plain = matches!(
        truth,
        Truth::Independent | Truth::Autoregression(0.9) | Truth::Stalls(_)
    );
    let promised = plain && how != How::ScatteringRuns;
    counted(sides, how, figures, draws).map(|mut row| {
        row.differs.bound = (how != How::ScatteringRuns).then_some(FALSE);
        row.undecided.bound = promised.then_some(Bound::AtMost(0.05));
        row
    })
}

/// Draws pairs of sides of independent samples of which the second is `times` as slow.
pub fn power(how: How, figure: Figure, times: f64, draws: (u64, u64)) -> Row {
    let sides = |seed| sides(Truth::Independent, SHORT, how, times, seed);
    let [mut row] = counted(sides, how, [figure], draws);
    // What theory forbids is shown, not promised.
    row.differs.bound = (how != How::TwoRuns).then_some(Bound::AtLeast(0.95));
    row
}

/// How often a median is said to be within 10 % where the second side is `times` as slow.
pub fn within_ten_percent(how: How, times: f64, (draws, seeds): (u64, u64)) -> Counted {
    let Required(gate) = "usleep median within 10%".parse().expect("a requirement");
    let is_within = |draw: &u64| {
        let sides = sides(Truth::Independent, SHORT, how, times, seeds + draw);
        let judged = gate.judge(&sides, &settings(how, &[Figure::Median]));
        judged.expect("the cell is there")[0].judgement == Judgement::Pass
    };
    Counted {
        times: (0..draws).filter(is_within).count() as u64,
        of: draws,
        bound: Some(match times {
            1.0 => Bound::AtLeast(0.9),
            _ => Bound::AtMost(0.05),
        }),
    }
}

fn counted<const N: usize>(
    sides: impl Fn(u64) -> [Side; 2],
    how: How,
    figures: [Figure; N],
    (draws, seeds): (u64, u64),
) -> [Row; N] {
    let mut counts = [(0, 0); N];
    for draw in 0..draws {
        let said = said(&sides(seeds + draw), how, &figures);
        for ((differs, undecided), said) in counts.iter_mut().zip(said) {
            *differs += u64::from(said == Said::Differs);
            *undecided += u64::from(said == Said::NotDecidable);
        }
    }
    let counted = |times| Counted {
        times,
        of: draws,
        bound: None,
    };
    counts.map(|(differs, undecided)| Row {
        differs: counted(differs),
        undecided: counted(undecided),
    })
}

fn settings(how: How, figures: &[Figure]) -> Settings {
    Settings {
        figures: Some(figures.to_vec()),
        paired: how == How::Turns,
        within_run: true,
        ..Settings::usual()
    }
}

/// What `compare` says of each figure, by the same code as the program.
pub fn said(sides: &[Side; 2], how: How, figures: &[Figure]) -> Vec<Said> {
    let all = compare(sides, &settings(how, figures)).expect("the cell is there");
    let said = all.rows.iter().map(|row| match row.verdict {
        Verdict::Found(_) if row.differs(all.level) => Said::Differs,
        Verdict::Found(_) => Said::NoDifference,
        _ => Said::NotDecidable,
    });
    said.collect()
}

/// Two sides, of which the second is `times` as slow.
pub fn sides(truth: Truth, shape: Shape, how: How, times: f64, seed: u64) -> [Side; 2] {
    let blocks = shape.blocks as u32;
    let [a, b] = match how {
        How::TwoRuns => {
            let runs = truth.draw_runs(shape, 2, seed);
            [
                Replicates::of_blocks(&runs[0], 0),
                Replicates::of_blocks(&slower(&runs[1], times), blocks),
            ]
        }
        How::Turns => {
            let all: Vec<Blocks> =
                truth.draw_runs(Shape { blocks: 1, ..shape }, 2 * shape.blocks, seed);
            let order = turns(shape.blocks, seed);
            let of = |second: bool| -> Vec<Blocks> {
                let places = (0..all.len()).filter(|at| order[*at] == second);
                places.map(|at| all[at].clone()).collect()
            };
            let joined = |of: Vec<Blocks>| -> Blocks {
                let mut joined = Blocks::default();
                for block in of {
                    joined.push((block[0].clone(), block.within()[0].clone()));
                }
                joined
            };
            [
                Replicates::of_blocks(&joined(of(false)), 0),
                Replicates::of_blocks(&slower(&joined(of(true)), times), 0),
            ]
        }
        How::ScatteringRuns | How::SeveralRuns | How::SeveralByTurns => {
            let count = if how == How::ScatteringRuns { 1 } else { RUNS };
            let mut levels = Noise::new(!seed);
            let order = turns(count, seed);
            let mut sides = [Vec::new(), Vec::new()];
            for (at, of_second) in order.into_iter().enumerate() {
                let second = match how {
                    How::SeveralByTurns => of_second,
                    _ => at >= count,
                };
                let level = (SCATTER * levels.normal()).exp() * if second { times } else { 1.0 };
                let run = truth.draw(shape, seed.wrapping_mul(31).wrapping_add(at as u64));
                let run = Replicates::of_blocks(&slower(&run, level), at as u32 * blocks);
                sides[usize::from(second)].push(run);
            }
            sides.map(|runs| match how {
                How::ScatteringRuns => runs[0].clone(),
                _ => Replicates::of_runs(&runs),
            })
        }
    };
    [side("A", a), side("B", b)]
}

/// Which places in time are the second side's: one of each two, in random order.
fn turns(pairs: usize, seed: u64) -> Vec<bool> {
    let mut order = Noise::new(seed ^ 0x7475_726e_7300_0000);
    let firsts = (0..pairs).map(|_| order.uniform() < 0.5);
    firsts.flat_map(|first| [first, !first]).collect()
}

/// All values `times` as large; how they follow one another stays.
fn slower(blocks: &Blocks, times: f64) -> Blocks {
    let mut all = Blocks::default();
    for (block, within) in blocks.iter().zip(blocks.within()) {
        let pairs = block.pairs().iter();
        let slower = pairs.map(|(value, count)| ((*value as f64 * times).round() as i64, *count));
        let slower = tompion_stats::Distribution::from_pairs(slower.collect::<BTreeMap<_, _>>());
        all.push((slower, within.clone()));
    }
    all
}

fn side(name: &str, cell: Replicates) -> Side {
    let key = Factors::new()
        .with(factor::PROBE, "wake-up")
        .with(factor::METHOD, "usleep")
        .with(factor::TARGET, "100us")
        .with(factor::LOAD, "idle");
    Side {
        name: name.to_owned(),
        header: RunHeader {
            command_line: Vec::new(),
            tool: "planted".to_owned(),
            started_at: "2026-11-24T10:00:00Z".to_owned(),
            design: Design {
                order: String::new(),
                seed: 1,
                blocks: 8,
                cells: 1,
            },
            environment: Environment::default(),
            guards: Vec::new(),
        },
        remarks: Vec::new(),
        cells: [(key, cell)].into(),
    }
}
