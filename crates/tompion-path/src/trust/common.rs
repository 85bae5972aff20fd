//! What the paths to several targets have in common: slow at the same moments, they are slow for one reason, which lies
//! here, below the stamps of the kernel, or on links that they share.
//!
//! Slow probes in a row share one reason and are no independent witnesses, so that counting them says little. What counts is
//! whether the slow moments of several targets fall together more often than the same moments do where each series is
//! moved against the others in time, each within itself as it was: shifts on a circle, a permutation test that holds for
//! series that hang together within themselves (as Lotwick and Silverman, J. R. Statist. Soc. B 44, 1982, on a torus).

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::{BLAMED, WORTH_EXPLAINING_NS};
use crate::stamps::{Packets, Stamp, StayBy, Values, Vantage, round_trips, stays};

/// A path is judged in blocks of so many intervals: a stop is mostly within one.
const INTERVALS: i64 = 2;
/// Of fewer blocks nothing is said: they cannot be moved in enough ways.
pub const FEWEST_BLOCKS: usize = 100;
/// So many blocks at most, longer ones in a longer measurement.
const MOST_BLOCKS: i64 = 2_000;
/// Times that the series are moved against one another.
const MOVES: usize = 999;
/// How seldom chance alone may bring together as much, for it to be said.
const ERROR: f64 = 0.01;

/// Paths that are slow at the same moments.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Common {
    /// Which share of what each path exceeds its median by, block for block, they have in common: of the one that has
    /// least in common with the others.
    pub share: f64,
    /// How often chance alone brings together as much.
    pub p_value: f64,
}

/// Why nothing is said to be common.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum NotCommon {
    /// It takes two targets at least.
    OneTarget,
    /// There are so many blocks of time in which all were measured, fewer than [`FEWEST_BLOCKS`].
    TooFew(usize),
    /// One of them is slow nowhere.
    NothingToExplain,
    /// Slow moments fall together as they do by chance, which brings as much together so often.
    Chance(f64),
    /// Some have most of it for themselves: the least share of them.
    Apart(f64),
}

/// What several targets have in common, whose probes were sent at this interval, in nanoseconds, at the same time.
///
/// # Errors
/// Why nothing is.
pub fn common(targets: &[&Packets], interval_ns: u64) -> Result<Common, NotCommon> {
    if targets.len() < 2 {
        return Err(NotCommon::OneTarget);
    }
    let slow: Vec<Vec<(i64, f64)>> = targets.iter().map(|target| excess(target)).collect();
    let series = blocks(&slow, i64::try_from(interval_ns).unwrap_or(i64::MAX));
    let count = series.first().map_or(0, Vec::len);
    if count < FEWEST_BLOCKS {
        return Err(NotCommon::TooFew(count));
    }
    let whole: Vec<f64> = series.iter().map(|of| of.iter().sum()).collect();
    if whole.iter().any(|sum| *sum <= 0.0) {
        return Err(NotCommon::NothingToExplain);
    }
    let together = in_common(&series, &vec![0; series.len()]);
    let mut random = ChaCha8Rng::seed_from_u64(1);
    let as_much = (0..MOVES).filter(|_| {
        let moved: Vec<usize> = series
            .iter()
            .map(|_| random.random_range(0..count))
            .collect();
        in_common(&series, &moved) >= together
    });
    let p_value = (1 + as_much.count()) as f64 / (1 + MOVES) as f64;
    if p_value > ERROR {
        return Err(NotCommon::Chance(p_value));
    }
    let shares = whole.iter().map(|sum| together / sum);
    let share = shares.fold(1.0, f64::min);
    match share >= BLAMED {
        true => Ok(Common { share, p_value }),
        false => Err(NotCommon::Apart(share)),
    }
}

/// By how much each probe's path exceeds the median, and when it was sent; nothing where that is not worth explaining.
fn excess(packets: &Packets) -> Vec<(i64, f64)> {
    let kernel = round_trips(packets, Vantage::Kernel);
    let stays = stays(packets, StayBy::Best).values;
    let path: Values = match stays.present().next().is_some() {
        true => kernel.minus(&stays),
        false => kernel,
    };
    let median = path.distribution().quantile(0.5).unwrap_or(0.0);
    let of_row = |row| {
        let at_ns = packets.get(row, Stamp::Sent)?;
        let more = path.get(row)? as f64 - median;
        Some((
            at_ns,
            if more > WORTH_EXPLAINING_NS {
                more
            } else {
                0.0
            },
        ))
    };
    (0..packets.len()).filter_map(of_row).collect()
}

/// For each target the largest excess of each block in which all were measured.
fn blocks(slow: &[Vec<(i64, f64)>], interval_ns: i64) -> Vec<Vec<f64>> {
    let times = || slow.iter().flatten().map(|(at, _)| *at);
    let (Some(first), Some(last)) = (times().min(), times().max()) else {
        return Vec::new();
    };
    // Half an interval earlier, so that no probe is due on the border of two blocks.
    let first = first.saturating_sub(interval_ns / 2);
    let span_ns = last.saturating_sub(first).max(1);
    let length_ns = interval_ns
        .max(1)
        .saturating_mul(INTERVALS)
        .max(span_ns / MOST_BLOCKS + 1);
    let count = (span_ns / length_ns + 1) as usize;
    let of_target = |of: &Vec<(i64, f64)>| {
        let mut most: Vec<Option<f64>> = vec![None; count];
        for (at, more) in of {
            let block = &mut most[((at - first) / length_ns) as usize];
            *block = Some(block.unwrap_or(0.0).max(*more));
        }
        most
    };
    let all: Vec<Vec<Option<f64>>> = slow.iter().map(of_target).collect();
    let is_whole = |block: &usize| all.iter().all(|of| of[*block].is_some());
    let whole: Vec<usize> = (0..count).filter(is_whole).collect();
    let of_whole = |of: &Vec<Option<f64>>| whole.iter().filter_map(|block| of[*block]).collect();
    all.iter().map(of_whole).collect()
}

/// What all of them have in each block, with each series moved by so many blocks.
fn in_common(series: &[Vec<f64>], moved: &[usize]) -> f64 {
    let count = series[0].len();
    let least = |block: usize| {
        let each = series.iter().zip(moved);
        let each = each.map(|(of, by)| of[(block + by) % count]);
        each.fold(f64::INFINITY, f64::min)
    };
    (0..count).map(least).sum()
}
