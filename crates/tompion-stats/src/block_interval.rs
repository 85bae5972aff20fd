//! Intervals over blocks, which are printed only where they hold their level.
//!
//! A quantile of the mean of the blocks' distributions is the value above which the blocks' shares
//! of samples are 1 - q on average. So the interval is that of all values which a test of this
//! mean does not reject: a score test, whose variance is that of the hypothesis and not of the
//! samples. (Wilson 1927, Journal of the American Statistical Association 22, for a share;
//! Woodruff 1952, same journal 47, for turning one of a share into one of a quantile; Rao and Scott
//! 1992, Biometrics 48, for shares of clusters, whose variance is inflated by what dependence
//! makes of it.)
//!
//! The inflation is the larger of two: what the blocks' shares scatter, and what the samples'
//! dependence within blocks ([`WithinBlock`]) makes of it. The first knows all that differs from
//! block to block but has few degrees of freedom; the second has many and cannot see beyond a
//! block. A burst that inflates the variance so much that none of its samples could be missing
//! leaves the upper end open.
//!
//! What no interval can hold is refused, by signs that do not lean on the estimate:
//! see [`NoInterval`]. `docs/validity.md` has how often what is printed holds.

use crate::block_range::{BlockRange, block_range};
use crate::block_shares::{LEAST_BLOCKS, Shares};
use crate::student::student_quantile;
use crate::within_block::Level;
use crate::{Distribution, Interval, WithinBlock};

/// Samples that should lie beyond a quantile, on its rarer side, or [`TAIL_SAMPLES`] in all.
const BEYOND: f64 = 300.0;

/// Samples of which a burst of 50 that makes up half a percent of them is missed altogether in
/// 5 % of runs. Fewer cannot tell what is beyond their p99.
const TAIL_SAMPLES: f64 = 30_000.0;

/// Samples that have to lie beyond a quantile in any case.
const LEAST_BEYOND: f64 = 60.0;

/// A quantile is in a tail, where the blocks' shares are skewed, from this share beyond it on.
const TAIL: f64 = 0.05;

/// In a tail, blocks may scatter so many times as much as their samples' dependence explains.
const APART: f64 = 3.0;

/// In a tail, the largest standard error of the share beyond, relative to it,
const RELATIVE_ERROR: f64 = 0.2;

/// and the largest skewness of the number beyond.
const SKEWNESS: f64 = 0.45;

/// Between these inflations by blocks, relative to that within them, Student's degrees of freedom
/// go over from those within blocks to those between them.
const GOING_OVER: (f64, f64) = (1.0, 2.0);

/// Degrees of freedom within a block: three frequencies, two parts each.
const WITHIN: usize = 6;

/// Why there is no interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum NoInterval {
    /// Too few blocks.
    Blocks {
        /// There are.
        have: usize,
        /// It takes.
        need: usize,
    },
    /// Too few samples for this quantile: rare bursts may not have come at all.
    Samples {
        /// There are.
        have: u64,
        /// It takes.
        need: u64,
    },
    /// Blocks of too few samples to see how these depend on one another.
    ShortBlocks {
        /// Samples of the shortest.
        have: u64,
        /// It takes.
        need: u64,
    },
    /// Samples were counted in bins, so that their order is not known.
    NoOrder,
    /// Values drift or wander within blocks: these are too short to be replicates.
    Slow,
    /// Blocks differ by more than the samples' dependence explains, and this quantile lies in a tail.
    Apart,
    /// A few bursts decide where the quantile lies.
    Bursts,
    /// The upper or lower end lies beyond all samples.
    Open,
}

impl std::fmt::Display for NoInterval {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Blocks { have, need } => {
                let blocks = if *have == 1 { "block" } else { "blocks" };
                write!(
                    f,
                    "{have} {blocks}; an interval over blocks needs at least {need}"
                )
            }
            Self::Samples { have, need } => {
                write!(
                    f,
                    "{have} samples; an interval of this quantile needs {need}"
                )
            }
            Self::ShortBlocks { have, need } => write!(
                f,
                "a block of {have} samples; an interval over blocks needs {need} in each"
            ),
            Self::NoOrder => write!(
                f,
                "samples were counted in bins, so that their order is unknown; it takes shorter trials"
            ),
            Self::Slow => write!(f, "values drift within blocks; it takes longer blocks"),
            Self::Apart => write!(
                f,
                "blocks differ by more than chance; it takes finding out what changes between them"
            ),
            Self::Bursts => write!(f, "a few bursts decide where it lies; it takes more blocks"),
            Self::Open => write!(f, "it may lie beyond all samples; it takes more of them"),
        }
    }
}

/// A quantile of the mean of blocks, and what bounds it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BlockQuantile {
    /// The quantile of [`MeanDistribution`](crate::MeanDistribution).
    pub value: f64,
    /// The two-sided interval, or why there is none.
    pub interval: Result<Interval, NoInterval>,
    /// The lower end. It is there under weaker conditions than the interval: samples that lie
    /// beyond a limit have been seen, those of a burst that never came have not.
    pub low: Option<f64>,
    /// What stands for the value where blocks disagree.
    pub range: Option<BlockRange>,
}

/// Samples it takes in all blocks together for an interval of the `q`-quantile.
pub fn interval_samples_needed(q: f64) -> u64 {
    let beyond = q.min(1.0 - q).max(f64::MIN_POSITIVE);
    // A bit less, since 1 - 0.99 is a bit more than 0.01.
    let need = (BEYOND / beyond)
        .min(TAIL_SAMPLES)
        .max(LEAST_BEYOND / beyond);
    (need * (1.0 - 1e-9)).ceil() as u64
}

/// The `q`-quantile of the mean of `blocks` with its interval at `level` (0.95, say).
///
/// `within` says of each block how its samples follow one another, `None` where that is not known.
/// `None` without samples, or with `q` or `level` not between 0 and 1.
pub fn block_quantile(
    blocks: &[Distribution],
    within: &[Option<WithinBlock>],
    q: f64,
    level: f64,
) -> Option<BlockQuantile> {
    let found = block_quantiles(blocks, within, &[q], level);
    found.into_iter().next().flatten()
}

/// The same of several quantiles, for less than one after the other takes.
pub fn block_quantiles(
    blocks: &[Distribution],
    within: &[Option<WithinBlock>],
    quantiles: &[f64],
    level: f64,
) -> Vec<Option<BlockQuantile>> {
    let shares = Shares::new(blocks);
    let share = |s: f64| s > 0.0 && s < 1.0;
    let one = |q: &f64| {
        let value = shares.quantile(*q).filter(|_| share(*q) && share(level))?;
        let found = bounds(&shares, blocks, within, *q, level);
        let low = found.low.map(|low| low.min(value));
        Some(BlockQuantile {
            value,
            interval: match (found.refused, low, found.high) {
                (Some(why), _, _) => Err(why),
                (None, Some(low), Some(high)) => Ok(Interval {
                    low,
                    high: high.max(value),
                    level,
                }),
                _ => Err(NoInterval::Open),
            },
            low,
            range: block_range(&shares, blocks, within, *q),
        })
    };
    quantiles.iter().map(one).collect()
}

struct Bounds {
    low: Option<f64>,
    high: Option<f64>,
    refused: Option<NoInterval>,
}

fn bounds(
    shares: &Shares,
    blocks: &[Distribution],
    within: &[Option<WithinBlock>],
    q: f64,
    level: f64,
) -> Bounds {
    let nothing = |why| Bounds {
        low: None,
        high: None,
        refused: Some(why),
    };
    let count = shares.lengths.len();
    if count < LEAST_BLOCKS {
        return nothing(NoInterval::Blocks {
            have: count,
            need: LEAST_BLOCKS,
        });
    }
    let counting = |block: &&Distribution| !block.is_empty();
    let shortest = blocks.iter().filter(counting).map(Distribution::len).min();
    let short = shortest.filter(|have| *have < WithinBlock::FEWEST);
    let known: Vec<&WithinBlock> = within.iter().flatten().collect();
    if short.is_none() && known.len() < count {
        return nothing(NoInterval::NoOrder);
    }
    if WithinBlock::drift(known.iter().copied(), q) {
        return nothing(NoInterval::Slow);
    }
    let here = Level::sum(known.iter().map(|w| w.at(q.max(1.0 - q))));
    let inflation = here.inflation();
    // The share above the sample's own quantile.
    let place = shares.place(q);
    let between = shares.at(place).inflation() / inflation;
    let critical = critical(between, count, level);
    let test = |x: i64| shares.at(x).score(1.0 - q, inflation);
    let (low, high) = shares.ends(place, |x| test(x) > critical, |x| test(x) < -critical);
    let samples = shares.lengths.iter().sum::<u64>();
    let need = interval_samples_needed(q);
    let beyond = q.min(1.0 - q);
    let in_tail = beyond < TAIL - 1e-9;
    let refused = if samples < need {
        Some(NoInterval::Samples {
            have: samples,
            need,
        })
    } else if let Some(have) = short {
        let need = WithinBlock::FEWEST;
        Some(NoInterval::ShortBlocks { have, need })
    } else if in_tail && between > APART {
        Some(NoInterval::Apart)
    } else if in_tail
        && (here.skewness() > SKEWNESS
            || shares.at(place).error(inflation) / beyond > RELATIVE_ERROR)
    {
        Some(NoInterval::Bursts)
    } else if low.is_none() || high.is_none() {
        Some(NoInterval::Open)
    } else {
        None
    };
    Bounds { low, high, refused }
}

/// Student's quantile with the degrees of freedom that the larger inflation has.
fn critical(between: f64, blocks: usize, level: f64) -> f64 {
    let upper = 0.5 + 0.5 * level;
    let [few, many] = [blocks - 1, WITHIN * blocks].map(|df| student_quantile(upper, df as f64));
    let (from, to) = GOING_OVER;
    many + ((between - from) / (to - from)).clamp(0.0, 1.0) * (few - many)
}

#[cfg(test)]
pub(crate) mod tests;
