//! How often `compare` finds a difference where there is none, and one that there is.

use std::sync::Arc;

use std::collections::BTreeMap;

use tompion_assess::compare::{
    Figure, Judgement, Replicates, Required, Settings, Side, Verdict, compare,
};
use tompion_model::{AT_REST, Block, Blocks, Design, Environment, Factors, RunHeader, factor};

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

/// Blocks of a thousand independent samples from which on separate runs find +5 % of the median in
/// 95 % of cases beside any trend ([`crate::theory`]).
pub const ENOUGH: usize = 20;

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

/// Draws pairs of sides between which there is no difference and counts, for each way of measuring
/// a row for each figure.
pub fn false_differences<const H: usize, const N: usize>(
    truth: Truth,
    shape: Shape,
    hows: [How; H],
    figures: [Figure; N],
    draws: (u64, u64),
) -> [[Row; N]; H] {
    let sides = |seed| sides(truth, shape, hows, 1.0, seed);
    let plain = matches!(
        truth,
        Truth::Independent | Truth::Autoregression(0.9) | Truth::Stalls(_)
    );
    let mut rows = counted(sides, hows, figures, draws);
    for (rows, how) in rows.iter_mut().zip(hows) {
        let promised = how != How::ScatteringRuns;
        for row in rows {
            row.differs.bound = promised.then_some(FALSE);
            row.undecided.bound = (plain && promised).then_some(Bound::AtMost(0.05));
        }
    }
    rows
}

/// Draws pairs of sides of independent samples of which the second is `times` as slow.
pub fn power(how: How, shape: Shape, figure: Figure, times: f64, draws: (u64, u64)) -> Row {
    let sides = |seed| sides(Truth::Independent, shape, [how], times, seed);
    let [[mut row]] = counted(sides, [how], [figure], draws);
    // What theory forbids is shown, not promised.
    let promised = how != How::TwoRuns || shape.blocks >= ENOUGH;
    row.differs.bound = promised.then_some(Bound::AtLeast(0.95));
    row
}

/// How often a median is said to be within 10 % where the second side is `times` as slow.
pub fn within_ten_percent(how: How, times: f64, (draws, seeds): (u64, u64)) -> Counted {
    let Required(gate) = "usleep median within 10%".parse().expect("a requirement");
    let is_within = |draw: &u64| {
        let [sides] = sides(Truth::Independent, SHORT, [how], times, seeds + draw);
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

fn counted<const H: usize, const N: usize>(
    sides: impl Fn(u64) -> [[Side; 2]; H],
    hows: [How; H],
    figures: [Figure; N],
    (draws, seeds): (u64, u64),
) -> [[Row; N]; H] {
    let mut counts = [[(0, 0); N]; H];
    for draw in 0..draws {
        let drawn = sides(seeds + draw);
        for ((sides, how), counts) in drawn.iter().zip(hows).zip(&mut counts) {
            for ((differs, undecided), said) in counts.iter_mut().zip(said(sides, how, &figures)) {
                *differs += u64::from(said == Said::Differs);
                *undecided += u64::from(said == Said::NotDecidable);
            }
        }
    }
    let counted = |times| Counted {
        times,
        of: draws,
        bound: None,
    };
    counts.map(|counts| {
        counts.map(|(differs, undecided)| Row {
            differs: counted(differs),
            undecided: counted(undecided),
        })
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
fn said(sides: &[Side; 2], how: How, figures: &[Figure]) -> Vec<Said> {
    let all = compare(sides, &settings(how, figures)).expect("the cell is there");
    let said = all.rows.iter().map(|row| match row.verdict {
        Verdict::Found(_) if row.differs(all.level) => Said::Differs,
        Verdict::Found(_) => Said::NoDifference,
        _ => Said::NotDecidable,
    });
    said.collect()
}

/// Two sides for each way of measuring, of which the second is `times` as slow.
fn sides<const H: usize>(
    truth: Truth,
    shape: Shape,
    hows: [How; H],
    times: f64,
    seed: u64,
) -> [[Side; 2]; H] {
    // Drawn once for all ways to part it.
    let mut series = None;
    hows.map(|how| {
        let [a, b] = match how {
            How::TwoRuns | How::Turns => {
                let blocks = 2 * shape.blocks;
                let series =
                    series.get_or_insert_with(|| truth.draw(Shape { blocks, ..shape }, seed));
                parted(series, how, times, seed)
            }
            How::ScatteringRuns => {
                scattering(truth, shape, (how, 1), times, seed).map(|runs| runs[0].clone())
            }
            How::SeveralRuns | How::SeveralByTurns => {
                scattering(truth, shape, (how, RUNS), times, seed)
                    .map(|runs| Replicates::of_runs(&runs))
            }
        };
        [side("A", a), side("B", b)]
    })
}

/// Both sides of one series that goes on.
fn parted(series: &Blocks, how: How, times: f64, seed: u64) -> [Replicates; 2] {
    let half = series.len() / 2;
    let order = match how {
        How::Turns => turns(half, seed),
        _ => (0..2 * half).map(|at| at >= half).collect(),
    };
    let of = |second: bool| {
        let mut joined = Blocks::default();
        for (at, (block, within)) in series.iter().zip(series.within()).enumerate() {
            if order[at] == second {
                joined.push(Block::counted(block.clone(), within.clone()));
            }
        }
        joined
    };
    let from = if how == How::Turns { 0 } else { half as u32 };
    [
        Replicates::of_blocks(&of(false), 0),
        Replicates::of_blocks(&slower(of(true), times), from),
    ]
}

/// So many runs a side, whose levels scatter.
fn scattering(
    truth: Truth,
    shape: Shape,
    (how, count): (How, usize),
    times: f64,
    seed: u64,
) -> [Vec<Replicates>; 2] {
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
        let from = (at * shape.blocks) as u32;
        sides[usize::from(second)].push(Replicates::of_blocks(&slower(run, level), from));
    }
    sides
}

/// Which places in time are the second side's: one of each two, in random order.
fn turns(pairs: usize, seed: u64) -> Vec<bool> {
    let mut order = Noise::new(seed ^ 0x7475_726e_7300_0000);
    let firsts = (0..pairs).map(|_| order.uniform() < 0.5);
    firsts.flat_map(|first| [first, !first]).collect()
}

/// All values `times` as large; how they follow one another stays.
fn slower(blocks: Blocks, times: f64) -> Blocks {
    if times == 1.0 {
        return blocks;
    }
    let mut all = Blocks::default();
    for (block, within) in blocks.iter().zip(blocks.within()) {
        let pairs = block.pairs().iter();
        let slower = pairs.map(|(value, count)| ((*value as f64 * times).round() as i64, *count));
        let slower = tompion_stats::Distribution::from_pairs(slower.collect::<BTreeMap<_, _>>());
        all.push(Block::counted(slower, within.clone()));
    }
    all
}

fn side(name: &str, cell: Replicates) -> Side {
    let key = Factors::new()
        .with(factor::PROBE, "wake-up")
        .with(factor::METHOD, "usleep")
        .with(factor::TARGET, "100us")
        .with(factor::LOAD, AT_REST);
    Side {
        name: name.to_owned(),
        header: Arc::new(RunHeader {
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
            profiles: Vec::new(),
        }),
        remarks: Arc::default(),
        cells: [(key, cell)].into(),
    }
}
