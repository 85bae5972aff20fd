//! Tails of a sum of scores under all relabellings where these are too many to count.
//!
//! Each score is in the sum with the same chance, independently of the others; for two groups on
//! condition that as many are in it as the group has. The tail comes from the point at which the
//! integral over the sum's generating function is steepest: Lugannani and Rice 1980, Advances in
//! Applied Probability 12; on the condition, the double saddlepoint of Skovgaard 1987, Journal of
//! Applied Probability 24; for permutation tests, Robinson 1982, Journal of the Royal Statistical
//! Society B 44; for sums of whole numbers, the second continuity correction of Daniels 1987,
//! International Statistical Review 55. The relative error stays small far out in the tail,
//! where a normal approximation is wrong by orders of magnitude: see the tests beside it.

use crate::tails::{normal_density, normal_upper};

/// Steps of Newton's method, of which a dozen do as a rule.
const STEPS: usize = 100;

/// So close to the mean, in standard deviations, the formula is nothing less nothing.
const CENTRE: f64 = 0.02;

/// Which scores are in the sum.
#[derive(Clone, Copy)]
pub(super) enum Drawn {
    /// So many of them.
    Few(usize),
    /// Each or not.
    Any,
}

/// Two-sided p, twice the smaller tail, of the sum `observed`.
pub(super) fn two_sided(scores: &[u64], drawn: Drawn, observed: u64) -> f64 {
    let least = match drawn {
        Drawn::Few(_) => scores.iter().copied().min().unwrap_or(0),
        Drawn::Any => 0,
    };
    // Sums are whole multiples of this apart.
    let step = scores.iter().fold(0, |all, s| gcd(all, s - least));
    if step == 0 {
        return 1.0;
    }
    let many = match drawn {
        Drawn::Few(many) => many as u64,
        Drawn::Any => 0,
    };
    let scores: Vec<u64> = scores.iter().map(|s| (s - least) / step).collect();
    let observed = (observed - many * least) / step;
    let above = Sum::new(&scores, drawn).at_least(observed as f64);
    // The same from the other end.
    let largest = scores.iter().copied().max().unwrap_or(0);
    let (turned, whole): (Vec<u64>, u64) = match drawn {
        Drawn::Few(many) => (
            scores.iter().map(|s| largest - s).collect(),
            many as u64 * largest,
        ),
        // What is not in the sum adds up to the rest.
        Drawn::Any => (scores.clone(), scores.iter().sum()),
    };
    let below = Sum::new(&turned, drawn).at_least((whole - observed) as f64);
    (2.0 * below.min(above)).min(1.0)
}

fn gcd(a: u64, b: u64) -> u64 {
    match b {
        0 => a,
        _ => gcd(b, a % b),
    }
}

/// A sum of scores, shifted and scaled so that numbers stay near 1.
struct Sum {
    scores: Vec<f64>,
    centre: f64,
    scale: f64,
    /// How many are in it; `None` where any number may be.
    many: Option<f64>,
    /// Logarithm of the odds that a score is in the sum.
    odds: f64,
    mean: f64,
    deviation: f64,
    least: f64,
}

/// What Newton's method needs at a point.
struct Point {
    /// The generating function's logarithm, less its tangent.
    height: f64,
    /// Slopes by the number of scores and by their sum.
    slopes: (f64, f64),
    /// Curvature by the number, where that is given, and the mean score in it.
    number: f64,
    shift: f64,
    /// Curvature by the sum, the number being given.
    sum: f64,
}

impl Sum {
    fn new(scores: &[u64], drawn: Drawn) -> Self {
        let n = scores.len() as f64;
        let values = || scores.iter().map(|&s| s as f64);
        let centre = match drawn {
            Drawn::Few(_) => values().sum::<f64>() / n,
            Drawn::Any => 0.0,
        };
        let squares: f64 = values().map(|s| (s - centre).powi(2)).sum();
        let scale = (squares / n).sqrt();
        let mut sorted = scores.to_vec();
        sorted.sort_unstable();
        let (many, odds, mean, variance, least) = match drawn {
            Drawn::Few(many) => {
                let least: u64 = sorted[..many].iter().sum();
                let many = many as f64;
                let (share, rest) = (many / n, (n - many) / n);
                let variance = squares * share * rest * n / (n - 1.0);
                let odds = (share / rest).ln();
                (Some(many), odds, many * centre, variance, least as f64)
            }
            Drawn::Any => (None, 0.0, 0.5 * values().sum::<f64>(), squares / 4.0, 0.0),
        };
        Self {
            scores: values().map(|s| (s - centre) / scale).collect(),
            centre,
            scale,
            many,
            odds,
            mean,
            deviation: variance.sqrt(),
            least,
        }
    }

    /// The chance of a sum of `x` or more.
    fn at_least(&self, x: f64) -> f64 {
        if x <= self.least {
            return 1.0;
        }
        // Halfway between two sums.
        let x = x - 0.5;
        let z = (x - self.mean) / self.deviation;
        if z.abs() >= CENTRE {
            return self.above(x);
        }
        let [low, high] = [-CENTRE, CENTRE].map(|z| self.above(self.mean + z * self.deviation));
        low + (high - low) * (z + CENTRE) / (2.0 * CENTRE)
    }

    /// The chance of a sum above `x`, which lies within its range and not at its mean.
    fn above(&self, x: f64) -> f64 {
        let found = self.steepest(x).and_then(|(t, fallen, curvature)| {
            let w = (2.0 * fallen).sqrt().copysign(t);
            let u = 2.0 * (0.5 * t / self.scale).sinh() * self.scale * curvature.sqrt();
            let p = normal_upper(w) - normal_density(w) * (1.0 / w - 1.0 / u);
            (p > 0.0 && p < 1.0).then_some(p)
        });
        found.unwrap_or_else(|| normal_upper((x - self.mean) / self.deviation))
    }

    /// Where the tangent has the slopes that are asked for: its place along the sum, how far the
    /// height falls to there, and the curvature, relative to that by the number alone.
    fn steepest(&self, x: f64) -> Option<(f64, f64, f64)> {
        let wanted = (x - self.many.unwrap_or(0.0) * self.centre) / self.scale;
        let (mut s, mut t) = (0.0, 0.0);
        let start = self.at(s, t, wanted);
        let (height, number) = (start.height, start.number);
        let mut here = start;
        for _ in 0..STEPS {
            let (by_number, by_sum) = here.slopes;
            let dt = (here.shift * by_number - by_sum) / here.sum;
            let ds = match self.many {
                Some(_) => -by_number / here.number - here.shift * dt,
                None => 0.0,
            };
            let gain = -(by_number * ds + by_sum * dt);
            if !gain.is_finite() {
                return None;
            }
            if gain < 1e-14 {
                let relative = match self.many {
                    Some(_) => here.number / number,
                    None => 1.0,
                };
                return Some((t, (height - here.height).max(0.0), here.sum * relative));
            }
            let mut part = 1.0;
            loop {
                let next = self.at(s + part * ds, t + part * dt, wanted);
                // Rounding may hide what little there is to gain.
                if next.height <= here.height - 1e-4 * part * gain + 1e-12 * height {
                    (s, t, here) = (s + part * ds, t + part * dt, next);
                    break;
                }
                part *= 0.5;
                if part < 1e-9 {
                    return None;
                }
            }
        }
        None
    }

    fn at(&self, s: f64, t: f64, wanted: f64) -> Point {
        let mut height = -t * wanted;
        let (mut count, mut sum) = (0.0, 0.0);
        let (mut number, mut first, mut second) = (0.0, 0.0, 0.0);
        for &score in &self.scores {
            let place = self.odds + s + t * score;
            // ln(1 + e^place), and how likely the score is in the sum.
            let small = (-place.abs()).exp();
            height += place.max(0.0) + small.ln_1p();
            let share = match place > 0.0 {
                true => 1.0 / (1.0 + small),
                false => small / (1.0 + small),
            };
            let varies = small / ((1.0 + small) * (1.0 + small));
            count += share;
            sum += share * score;
            number += varies;
            first += varies * score;
            second += varies * score * score;
        }
        let shift = match self.many {
            Some(_) => first / number,
            None => 0.0,
        };
        let many = self.many.unwrap_or(count);
        Point {
            height: height - s * many,
            slopes: (count - many, sum - wanted),
            number,
            shift,
            sum: second - shift * first,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::null::{counted_flips, counted_sums, counted_two_sided};
    use super::*;
    use crate::test_noise::Noise;

    /// The largest relative difference from counting, over all sums whose p is above `least`.
    fn worst(scores: &[u64], drawn: Drawn, least: f64) -> f64 {
        let mut sorted = scores.to_vec();
        sorted.sort_unstable();
        let counted = match drawn {
            Drawn::Few(many) => {
                let largest: u64 = sorted.iter().rev().take(many).sum();
                counted_sums(&sorted, many, largest as usize)
            }
            Drawn::Any => counted_flips(&sorted),
        };
        let reached = (0..counted.len()).filter(|&sum| counted[sum] > 0.0);
        let differences = reached.map(|sum| {
            let want = counted_two_sided(&counted, sum as u64);
            match want < least {
                true => 0.0,
                false => (two_sided(scores, drawn, sum as u64) / want - 1.0).abs(),
            }
        });
        differences.fold(0.0, f64::max)
    }

    /// Doubled mid-ranks of so many values among `distinct` ones.
    fn tied(count: usize, distinct: f64, seed: u64) -> Vec<u64> {
        let mut noise = Noise::new(seed);
        let values: Vec<u64> = (0..count)
            .map(|_| (noise.uniform() * distinct) as u64)
            .collect();
        let below = |v: &u64| values.iter().filter(|w| *w < v).count();
        let equal = |v: &u64| values.iter().filter(|w| *w == v).count();
        let rank = |v: &u64| (2 * below(v) + equal(v) + 1) as u64;
        values.iter().map(rank).collect()
    }

    #[test]
    fn it_is_within_a_hundredth_of_counting() {
        let untied = |n: u64| (1..=n).collect::<Vec<u64>>();
        for (n, few) in [(60, 30), (100, 21), (90, 45)] {
            let far = worst(&untied(n), Drawn::Few(few), 1e-12);
            assert!(far < 0.01, "{n} {few}: {far}");
        }
        let far = worst(&untied(80), Drawn::Any, 1e-12);
        assert!(far < 0.01, "{far}");
        let far = worst(&tied(80, 40.0, 1), Drawn::Few(40), 1e-12);
        assert!(far < 0.01, "{far}");
    }

    #[test]
    fn with_hardly_more_than_ties_it_is_within_a_tenth() {
        for (distinct, seed) in [(5.0, 4), (5.0, 5), (10.0, 6)] {
            for drawn in [Drawn::Few(25), Drawn::Few(50), Drawn::Any] {
                let far = worst(&tied(100, distinct, seed), drawn, 1e-4);
                assert!(far < 0.1, "{distinct}: {far}");
            }
        }
        // Two groups with fewer values are counted by these; pairs are not.
        for (distinct, seed) in [(2.0, 2), (3.0, 3)] {
            let far = worst(&tied(100, distinct, seed), Drawn::Any, 1e-4);
            assert!(far < 0.1, "{distinct}: {far}");
        }
    }

    #[test]
    fn the_ends_are_those_of_one_relabelling() {
        // All of one group above all of the other: 2 of C(1000, 500), some 10^-299.
        let scores: Vec<u64> = (1..=1000).collect();
        let p = two_sided(&scores, Drawn::Few(500), (501..=1000).sum());
        let ways = |i: u32| f64::from(500 + i).log10() - f64::from(i).log10();
        let want = 2f64.log10() - (1..=500).map(ways).sum::<f64>();
        assert!((p.log10() - want).abs() < 0.1, "{p} {want}");
        assert_eq!(two_sided(&[7; 50], Drawn::Few(25), 175), 1.0);
        let middle = two_sided(&scores, Drawn::Few(500), 250_250);
        assert!((0.999..=1.0).contains(&middle), "{middle}");
    }
}
