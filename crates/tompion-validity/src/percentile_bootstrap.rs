//! Intervals that respect blocks: whole blocks are resampled, because samples
//! inside one block share its disturbances.

use rand::Rng;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use tompion_stats::{Distribution, Interval};

/// Bootstrap resamples that keep the Monte Carlo error of an interval's ends
/// well below the interval itself.
pub const DEFAULT_RESAMPLES: usize = 1000;

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identical_blocks_give_a_point() {
        let block = Distribution::from_values([1, 2, 3, 4, 5]);
        let i = quantile_interval(&vec![block; 8], 0.5, 0.95, 200, 1).unwrap();
        assert_eq!((i.low, i.high), (3.0, 3.0));
    }

    #[test]
    fn one_bad_block_widens_the_interval() {
        let mut blocks = vec![Distribution::from_values([10, 11, 12]); 7];
        blocks.push(Distribution::from_values([1000, 1001, 1002]));
        let i = quantile_interval(&blocks, 0.9, 0.95, 500, 1).unwrap();
        assert!(i.low <= 12.0 && i.high >= 1000.0, "{i:?}");
    }

    #[test]
    fn a_resample_has_the_quantile_of_its_blocks_merged() {
        let mut random = ChaCha8Rng::seed_from_u64(5);
        // From less than a stretch to several, with values that occur once and often.
        for (length, values) in [(1, 9), (40, 9), (700, 50), (5000, 1_000_000)] {
            let block = |_| {
                let values = (0..length).map(|_| random.random_range(0..values));
                Distribution::from_values(values.collect::<Vec<i64>>())
            };
            let blocks: Vec<Distribution> = (0..4).map(block).collect();
            let pool = Pool::new(&blocks.iter().collect::<Vec<_>>());
            for weights in [[1, 1, 1, 1], [4, 0, 0, 0], [0, 1, 0, 3]] {
                let repeated = blocks.iter().zip(weights);
                let repeated = repeated.flat_map(|(b, n)| std::iter::repeat_n(b, n as usize));
                let merged = repeated.fold(Distribution::default(), |a, b| a.merge(b));
                for q in [0.0, 0.1, 0.25, 0.5, 0.77, 0.999, 1.0] {
                    let (got, want) = (pool.quantile(&weights, q), merged.quantile(q).unwrap());
                    assert!(
                        (got - want).abs() < 1e-6,
                        "{length} {weights:?} {q}: {got} {want}"
                    );
                }
            }
        }
    }

    #[test]
    fn coverage_of_the_median_is_near_its_level() {
        // Blocks with a shared random offset: treating samples as independent
        // would cover far too seldom; blocks keep close to the stated level.
        let mut random = ChaCha8Rng::seed_from_u64(7);
        let trials = 300;
        let covered = (0..trials)
            .filter(|t| {
                let blocks: Vec<Distribution> = (0..12)
                    .map(|_| {
                        let offset: i64 = random.random_range(-1000..=1000);
                        Distribution::from_values(
                            (0..20).map(|_| offset + random.random_range(-100i64..=100)),
                        )
                    })
                    .collect();
                quantile_interval(&blocks, 0.5, 0.95, 300, *t)
                    .unwrap()
                    .contains(0.0)
            })
            .count();
        let share = covered as f64 / trials as f64;
        assert!(share > 0.85, "covered {share}");
    }

    #[test]
    fn needs_two_blocks() {
        assert!(quantile_interval(&[Distribution::from_values([1])], 0.5, 0.95, 10, 0).is_none());
    }
}
