//! Coverage and width of the intervals, and how often there is one.

use std::collections::BTreeMap;
use std::fmt;

use tompion_model::Blocks;
use tompion_stats::{Distribution, NoInterval, order_statistic_interval};

use crate::table::{Bound, Counted, missed};
use crate::truth::{Shape, Truth};

/// Level of the intervals.
const LEVEL: f64 = 0.95;

/// What of the printed intervals covers the truth, at least.
const COVERING: f64 = 0.925;

/// Rows in which fewer than this share of intervals is printed promise nothing.
const SELDOM: f64 = 0.05;

/// One row of the table: a truth, a shape and a quantile.
#[derive(Clone, Debug)]
pub struct Row {
    /// The series.
    pub truth: Truth,
    /// Its blocks.
    pub shape: Shape,
    /// The quantile.
    pub q: f64,
    /// Intervals that were printed, of all draws.
    pub printed: Counted,
    /// Of those printed, the ones that hold the truth.
    pub covering: Counted,
    /// Of those printed, the ones that lie below the truth.
    pub below: u64,
    /// Mean width, relative to that of order statistics, which know the samples to be independent.
    pub width: Width,
    /// Why none was printed, and how often.
    pub refused: BTreeMap<&'static str, u64>,
}

impl Row {
    /// Draws `draws` series and counts.
    pub fn of(truth: Truth, shape: Shape, q: f64, draws: u64, seeds: u64) -> Self {
        let mut counting = Counting::new(truth, shape, q);
        for draw in 0..draws {
            counting.add(&truth.draw(shape, seeds + draw));
        }
        counting.row()
    }

    /// Whether all that is promised of the row is kept.
    pub fn is_kept(&self) -> bool {
        self.missed() == 0
    }

    /// How many bounds are missed.
    pub fn missed(&self) -> u32 {
        missed([&self.printed, &self.covering]) + u32::from(!self.width.is_kept())
    }
}

/// A mean width, relative to that of order statistics; NaN where there is none.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Width {
    /// The ratio.
    pub ratio: f64,
    /// What it is at most; absent where nothing is promised.
    pub at_most: Option<f64>,
}

impl Width {
    /// Whether the bound is kept.
    pub fn is_kept(&self) -> bool {
        self.at_most
            .is_none_or(|most| self.ratio.is_nan() || self.ratio <= most)
    }
}

impl fmt::Display for Width {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.ratio.is_nan() {
            return f.pad("-");
        }
        let mark = if self.is_kept() { "" } else { " !" };
        f.pad(&format!("{:.2}{mark}", self.ratio))
    }
}

/// What is counted while series are drawn.
pub struct Counting {
    truth: Truth,
    shape: Shape,
    q: f64,
    true_ps: f64,
    draws: u64,
    printed: u64,
    covering: u64,
    below: u64,
    width: f64,
    exact: f64,
    refused: BTreeMap<&'static str, u64>,
}

impl Counting {
    /// Nothing yet.
    pub fn new(truth: Truth, shape: Shape, q: f64) -> Self {
        Self {
            truth,
            shape,
            q,
            true_ps: truth.quantile_ps(q),
            draws: 0,
            printed: 0,
            covering: 0,
            below: 0,
            width: 0.0,
            exact: 0.0,
            refused: BTreeMap::new(),
        }
    }

    /// One more series.
    pub fn add(&mut self, blocks: &Blocks) {
        self.draws += 1;
        let found = blocks.quantile(self.q, LEVEL).expect("there are samples");
        match found.interval {
            Ok(interval) => {
                self.printed += 1;
                self.covering += u64::from(interval.contains(self.true_ps));
                self.below += u64::from(interval.high < self.true_ps);
                self.width += interval.high - interval.low;
                let all = Distribution::merged(blocks);
                let exact = order_statistic_interval(&all, self.q, LEVEL);
                self.exact += exact.map_or(0.0, |i| i.high - i.low);
            }
            Err(why) => *self.refused.entry(short(why)).or_default() += 1,
        }
    }

    /// What came of it.
    pub fn row(&self) -> Row {
        let seldom = Counted {
            times: self.printed,
            of: self.draws,
            bound: Some(Bound::AtMost(SELDOM)),
        };
        let seldom = seldom.is_kept();
        Row {
            truth: self.truth,
            shape: self.shape,
            q: self.q,
            printed: Counted {
                times: self.printed,
                of: self.draws,
                bound: promised(self.truth, self.shape, self.q).then_some(Bound::AtLeast(0.95)),
            },
            covering: Counted {
                times: self.covering,
                of: self.printed,
                bound: (!seldom).then_some(Bound::AtLeast(COVERING)),
            },
            below: self.below,
            width: Width {
                ratio: self.width / self.exact,
                at_most: (self.truth == Truth::Independent).then_some(match self.shape.blocks {
                    0..8 => 1.5,
                    _ => 1.3,
                }),
            },
            refused: self.refused.clone(),
        }
    }
}

/// Where an interval is to be printed in 95 % of draws.
fn promised(truth: Truth, shape: Shape, q: f64) -> bool {
    let plain = matches!(
        truth,
        Truth::Independent | Truth::Autoregression(0.9) | Truth::Stalls(10)
    );
    let of = |blocks, samples| shape.blocks >= blocks && shape.samples >= samples;
    if q <= 0.5 {
        (plain || matches!(truth, Truth::BetweenBlocks(_))) && of(8, 1000)
    } else if q <= 0.99 {
        plain && of(8, 4000)
    } else {
        truth == Truth::Independent && of(20, 4000)
    }
}

fn short(why: NoInterval) -> &'static str {
    match why {
        NoInterval::Blocks { .. } => "blocks",
        NoInterval::Samples { .. } => "samples",
        NoInterval::ShortBlocks { .. } => "short blocks",
        NoInterval::NoOrder => "no order",
        NoInterval::Slow => "slow",
        NoInterval::Apart => "apart",
        NoInterval::Bursts => "bursts",
        NoInterval::Open => "open",
    }
}
