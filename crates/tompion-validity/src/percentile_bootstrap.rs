//! The intervals that Tompion printed before: whole blocks, resampled. Kept to show where they fail.

use rand::Rng;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use tompion_stats::{Distribution, Interval};

use crate::table::Counted;
use crate::truth::{Shape, Truth};

/// How often such an interval at 95 % holds the truth; without an interval it does not.
pub fn covering(truth: Truth, shape: Shape, q: f64, draws: u64) -> Counted {
    let true_ps = truth.quantile_ps(q);
    counted(draws, |seed| {
        drawn(truth, shape, q, seed).is_some_and(|i| i.contains(true_ps))
    })
}

/// How often the best of so many methods, none of which keeps the limit, passes: its interval ends
/// below.
pub fn passing(
    truth: Truth,
    shape: Shape,
    q: f64,
    draws: u64,
    (methods, true_over_limit): (u64, f64),
) -> Counted {
    let limit = truth.quantile_ps(q) / true_over_limit;
    let passes = |seed| drawn(truth, shape, q, seed).is_some_and(|i| i.high <= limit);
    counted(draws / methods, |of| {
        (of * methods..(of + 1) * methods).any(passes)
    })
}

/// What such intervals cover, and how often they pass what is a tenth beyond a limit on the p99.9, as
/// text: nothing is promised of it.
pub fn table(truths: &[Truth], shape: Shape, draws: u64) -> String {
    let mut text = format!(
        "{:22} {:>7} {:>7} {:>7}   {:>7} {:>7}\n",
        "", "median", "p99", "p99.9", "pass1.1", "of five"
    );
    for truth in truths {
        let covers = |q| covering(*truth, shape, q, draws);
        let [median, p99, p99_9] = [0.5, 0.99, 0.999].map(covers);
        let [one, five] =
            [1, 5].map(|methods| passing(*truth, shape, 0.999, draws, (methods, 1.1)));
        let name = truth.name();
        text += &format!("{name:22} {median:>7} {p99:>7} {p99_9:>7}   {one:>7} {five:>7}\n");
    }
    text
}

fn counted(of: u64, mut is_so: impl FnMut(u64) -> bool) -> Counted {
    Counted {
        times: (0..of).filter(|seed| is_so(*seed)).count() as u64,
        of,
        bound: None,
    }
}

fn drawn(truth: Truth, shape: Shape, q: f64, seed: u64) -> Option<Interval> {
    quantile_interval(&truth.draw(shape, seed), q, 0.95, 200, seed)
}

/// A percentile interval for the pooled `q`-quantile by resampling whole blocks
/// with replacement.
///
/// Source: Davison and Hinkley, Bootstrap Methods and their Application (1997),
/// §3.8 (resampling of clusters). `None` with fewer than two non-empty blocks
/// or `q` outside 0..=1. The same seed gives the same interval.
pub fn quantile_interval(
    blocks: &[Distribution],
    q: f64,
    level: f64,
    resamples: usize,
    seed: u64,
) -> Option<Interval> {
    let blocks: Vec<&Distribution> = blocks.iter().filter(|b| !b.is_empty()).collect();
    if blocks.len() < 2 || !(0.0..=1.0).contains(&q) || resamples == 0 {
        return None;
    }
    let pool = Pool::new(&blocks);
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut weights = vec![0u64; blocks.len()];
    let mut estimates: Vec<f64> = (0..resamples)
        .map(|_| {
            weights.fill(0);
            for _ in 0..blocks.len() {
                weights[random.random_range(0..blocks.len())] += 1;
            }
            pool.quantile(&weights, q)
        })
        .collect();
    estimates.sort_unstable_by(f64::total_cmp);
    let tail = (1.0 - level) / 2.0;
    let pick = |p: f64| estimates[((p * (resamples - 1) as f64).round()) as usize];
    Some(Interval {
        low: pick(tail),
        high: pick(1.0 - tail),
        level,
    })
}

/// Entries between two marks of a [`Pool`]. A mark costs a sum over all blocks, an entry one
/// step; any number about their ratio will do.
const STRETCH: usize = 1024;

/// All blocks in one sorted list, which serves every resample.
struct Pool {
    /// Value, block, how often.
    entries: Vec<(i64, u32, u64)>,
    /// Samples of each block before every `STRETCH`th entry: a row for each of these.
    before: Vec<u64>,
    /// Samples of each block.
    lengths: Vec<u64>,
}

impl Pool {
    fn new(blocks: &[&Distribution]) -> Self {
        let mut entries: Vec<(i64, u32, u64)> = blocks
            .iter()
            .enumerate()
            .flat_map(|(i, b)| b.pairs().iter().map(move |p| (p.0, i as u32, p.1)))
            .collect();
        entries.sort_unstable();
        let mut seen = vec![0; blocks.len()];
        let mut before = Vec::new();
        for stretch in entries.chunks(STRETCH) {
            before.extend_from_slice(&seen);
            for &(_, block, count) in stretch {
                seen[block as usize] += count;
            }
        }
        Self {
            entries,
            before,
            lengths: seen,
        }
    }

    /// Hyndman-Fan 7 where each block is repeated as often as `weights` says.
    fn quantile(&self, weights: &[u64], q: f64) -> f64 {
        let weighted = |row: &[u64]| -> u64 { row.iter().zip(weights).map(|(n, w)| n * w).sum() };
        let total = weighted(&self.lengths);
        let position = q * (total - 1) as f64;
        let rank = position.floor() as u64;
        let fraction = position - rank as f64;
        // The sample is in the last stretch that no more than `rank` samples precede.
        let rows: Vec<&[u64]> = self.before.chunks(weights.len()).collect();
        let stretch = rows.partition_point(|row| weighted(row) <= rank) - 1;
        let mut seen = weighted(rows[stretch]);
        let mut below = None;
        for &(value, block, count) in &self.entries[stretch * STRETCH..] {
            seen += count * weights[block as usize];
            if below.is_none() && rank < seen {
                below = Some(value);
            }
            if let Some(b) = below
                && (rank + 1 < seen || rank + 1 >= total)
            {
                let above = if rank + 1 >= total { b } else { value };
                // Unsigned: they may be further apart than an `i64` can tell.
                return b as f64 + fraction * above.abs_diff(b) as f64;
            }
        }
        below.unwrap_or(0) as f64
    }
}
