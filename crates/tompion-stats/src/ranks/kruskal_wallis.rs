//! Do several groups come from one distribution?

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Binomial, Distribution as _};

use super::pooled::cube_less_one;
use super::{PooledRanks, RankError, check_level};
use crate::tails::{as_p, chi_squared_upper};
use crate::{Distribution, Interval};

/// The Kruskal-Wallis test of several independent groups.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct KruskalWallis {
    /// The statistic H, corrected for ties; 0 when all values are equal.
    pub h: f64,
    /// Degrees of freedom: groups less one.
    pub df: u64,
    /// P(chi-squared >= H), which wants some five values in each group; never below
    /// [`SMALLEST_P`](crate::SMALLEST_P).
    pub p: f64,
    /// The share of the variance of ranks that the groups explain, 0 to 1.
    pub epsilon_squared: f64,
    /// The share of values that equal another value.
    pub ties_share: f64,
}

/// Kruskal and Wallis, JASA 47 (1952), §1, in centred form:
/// the usual one takes the difference of two large numbers.
///
/// Epsilon squared is H / (N - 1) (Tomczak and Tomczak, "The need to report
/// effect size estimates revisited", Trends in Sport Sciences 21, 2014).
pub fn kruskal_wallis(ranks: &PooledRanks) -> KruskalWallis {
    let h = statistic(ranks);
    let df = ranks.groups() as u64 - 1;
    KruskalWallis {
        h,
        df,
        p: as_p(h, chi_squared_upper(h, df as f64)),
        epsilon_squared: h / (ranks.len - 1) as f64,
        ties_share: ranks.ties_share(),
    }
}

fn statistic(ranks: &PooledRanks) -> f64 {
    let untied = cube_less_one(ranks.len) - ranks.tie_sum;
    if untied == 0 {
        return 0.0;
    }
    let squares: f64 = ranks
        .groups
        .iter()
        .map(|g| {
            // Twice the sum of ranks above what equal groups would have.
            let even = u128::from(g.len) * u128::from(ranks.len + 1);
            let off = g.doubled_sum.abs_diff(even) as f64;
            off * off / g.len as f64
        })
        .sum();
    // 12 / (N (N + 1)) / correction = 12 (N - 1) / untied; squares is fourfold.
    3.0 * squares * (ranks.len - 1) as f64 / untied as f64
}

/// A percentile bootstrap interval for epsilon squared: values are drawn anew
/// within each group, independently.
///
/// Source: Davison and Hinkley, Bootstrap Methods and their Application (1997),
/// §3.2 and §5.3. It supposes independent values; near 0 it lies too high,
/// because epsilon squared is never negative. A resample costs one binomial draw
/// for each distinct value. The same seed gives the same interval.
pub fn epsilon_squared_interval(
    groups: &[&Distribution],
    level: f64,
    resamples: usize,
    seed: u64,
) -> Result<Interval, RankError> {
    check_level(level)?;
    PooledRanks::of(groups.iter().copied())?;
    if resamples == 0 {
        return Err(RankError::BadLevel);
    }
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut found = Vec::with_capacity(resamples);
    for _ in 0..resamples {
        let drawn: Vec<Distribution> = groups.iter().map(|g| redraw(g, &mut random)).collect();
        let ranks = PooledRanks::of(&drawn)?;
        found.push(statistic(&ranks) / (ranks.len - 1) as f64);
    }
    found.sort_unstable_by(f64::total_cmp);
    let tail = (1.0 - level) / 2.0;
    let pick = |p: f64| found[(p * (resamples - 1) as f64).round() as usize];
    Ok(Interval {
        low: pick(tail),
        high: pick(1.0 - tail),
        level,
    })
}

/// As many values as `d` has, drawn from it with replacement: a multinomial as a
/// chain of binomials (Devroye, Non-Uniform Random Variate Generation, 1986, chapter XI).
fn redraw(d: &Distribution, random: &mut ChaCha8Rng) -> Distribution {
    let (mut values, mut draws) = (d.len(), d.len());
    Distribution::from_pairs(d.pairs().iter().map_while(|&(value, count)| {
        if draws == 0 {
            return None;
        }
        let share = count as f64 / values as f64;
        let drawn = Binomial::new(draws, share).map_or(draws, |b| b.sample(random));
        values -= count;
        draws -= drawn;
        Some((value, drawn))
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_noise::Noise;

    #[test]
    fn the_bottle_caps_of_1952() {
        let groups = [
            Distribution::from_values([340, 345, 330, 342, 338]),
            Distribution::from_values([339, 333, 344]),
            Distribution::from_values([347, 343, 349, 355]),
        ];
        let found = kruskal_wallis(&PooledRanks::of(&groups).unwrap());
        assert!((found.h - 5.656).abs() < 5e-4, "{found:?}");
        assert_eq!(found.df, 2);
        assert!((found.p - (-found.h / 2.0).exp()).abs() < 1e-15);
    }

    #[test]
    fn equal_values_differ_in_nothing() {
        let d = Distribution::from_values([7, 7, 7]);
        let found = kruskal_wallis(&PooledRanks::of([&d, &d]).unwrap());
        assert_eq!((found.h, found.p, found.epsilon_squared), (0.0, 1.0, 0.0));
    }

    #[test]
    fn a_redraw_has_as_many_values_from_the_same_set() {
        let d = Distribution::from_pairs([(1, 1000), (2, 1), (9, 50), (40, 7)]);
        let mut random = ChaCha8Rng::seed_from_u64(3);
        let mut twos = 0;
        for _ in 0..2000 {
            let r = redraw(&d, &mut random);
            assert_eq!(r.len(), d.len());
            twos += r.pairs().iter().find(|p| p.0 == 2).map_or(0, |p| p.1);
        }
        // Mean 2000, standard deviation 45.
        assert!((1800..2200).contains(&twos), "{twos}");
    }

    #[test]
    fn the_interval_covers_a_large_effect() {
        // Two uniforms on 1000, shifted by 500: epsilon squared of the limit is
        // 3 (A - 1/2)^2 with A = 7/8, since both groups are of one size.
        let mut noise = Noise::new(11);
        let covered = (0..100)
            .filter(|&seed| {
                let mut draw = |by: i64| {
                    Distribution::from_values((0..200).map(|_| (noise.uniform() * 1e6) as i64 + by))
                };
                let (a, b) = (draw(0), draw(500_000));
                epsilon_squared_interval(&[&a, &b], 0.9, 200, seed)
                    .unwrap()
                    .contains(3.0 * 0.375 * 0.375)
            })
            .count();
        assert!((82..=98).contains(&covered), "{covered} of 100");
    }
}
