//! How often a value of one group exceeds one of the other.

use super::{PooledRanks, RankError, check_level};
use crate::student::student_half_width;
use crate::tails::normal_half_width;
use crate::{Distribution, Interval};

/// Vargha and Delaney's A with its interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Superiority {
    /// P(first > second) + P(equal) / 2: 0.5 when neither group tends to larger
    /// values, 1 when all of the first exceed all of the second.
    pub a: f64,
    /// The interval of `a`.
    pub interval: Interval,
    /// What the interval rests on.
    pub method: SuperiorityMethod,
}

/// How the interval of A was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SuperiorityMethod {
    /// Logit of A with the variance of Brunner and Munzel (the one of DeLong),
    /// Student's t: no assumption on the shapes of the two groups.
    LogitBrunnerMunzel,
    /// Newcombe's method 5, where the groups do not overlap or one has a single
    /// value, so that they show no variance.
    Newcombe,
}

impl Superiority {
    /// Cliff's delta, P(first > second) - P(first < second), -1 to 1.
    pub fn cliffs_delta(&self) -> f64 {
        2.0 * self.a - 1.0
    }
}

/// A of `first` over `second`, with an interval at confidence `level`.
///
/// Sources: Vargha and Delaney, "A Critique and Improvement of the CL Common
/// Language Effect Size Statistics", J. Educ. Behav. Stat. 25 (2000); Brunner and
/// Munzel, "The Nonparametric Behrens-Fisher Problem", Biometrical Journal 42
/// (2000), on the logit scale as Pauly, Asendorf and Konietschke,
/// Biometrical Journal 58 (2016); Newcombe, Statistics in Medicine 25 (2006), 559.
/// It supposes independent values.
pub fn superiority(
    first: &Distribution,
    second: &Distribution,
    level: f64,
) -> Result<Superiority, RankError> {
    check_level(level)?;
    let ranks = PooledRanks::of([first, second])?;
    let (n, m) = (first.len(), second.len());
    let own = u128::from(n) * u128::from(n + 1);
    let doubled_pairs = 2.0 * n as f64 * m as f64;
    let a = (ranks.groups[0].doubled_sum - own) as f64 / doubled_pairs;
    // Counted for itself: 1 - a would keep too few digits near 1.
    let own = u128::from(m) * u128::from(m + 1);
    let b = (ranks.groups[1].doubled_sum - own) as f64 / doubled_pairs;
    let parts = [
        placement_variance(first, second, a),
        placement_variance(second, first, b),
    ];
    let (interval, method) = match parts {
        [Some(u), Some(v)] if u + v > 0.0 && a > 0.0 && b > 0.0 => {
            let df = (u + v).powi(2) / (u * u / (n - 1) as f64 + v * v / (m - 1) as f64);
            let half = student_half_width(level, df) * (u + v).sqrt() / (a * b);
            let logit = (a / b).ln();
            let back = |l: f64| 1.0 / (1.0 + (-l).exp());
            (
                (back(logit - half), back(logit + half)),
                SuperiorityMethod::LogitBrunnerMunzel,
            )
        }
        _ => (
            newcombe(a, n as f64, m as f64, level),
            SuperiorityMethod::Newcombe,
        ),
    };
    Ok(Superiority {
        a,
        interval: Interval {
            low: interval.0,
            high: interval.1,
            level,
        },
        method,
    })
}

/// The variance of the mean over `of` of the share of `against` that lies below
/// each value (equal ones half); `None` with a single value.
fn placement_variance(of: &Distribution, against: &Distribution, mean: f64) -> Option<f64> {
    if of.len() < 2 {
        return None;
    }
    let mut others = against.pairs().iter().peekable();
    let mut below = 0u64;
    let mut squares = 0.0;
    for &(value, count) in of.pairs() {
        while let Some(other) = others.next_if(|o| o.0 < value) {
            below += other.1;
        }
        let equal = others.peek().filter(|o| o.0 == value).map_or(0, |o| o.1);
        let share = (below as f64 + equal as f64 / 2.0) / against.len() as f64;
        squares += count as f64 * (share - mean).powi(2);
    }
    let n = of.len() as f64;
    Some(squares / (n - 1.0) / n)
}

/// Both roots of |a - t| = z sd(t), with Hanley and McNeil's variance as
/// Newcombe's method 5 takes it.
fn newcombe(a: f64, n: f64, m: f64, level: f64) -> (f64, f64) {
    let z = normal_half_width(level);
    let sd = |t: f64| {
        let spread = 1.0 + ((n + m) / 2.0 - 1.0) * ((1.0 - t) / (2.0 - t) + t / (1.0 + t));
        (t * (1.0 - t) * spread / (n * m)).sqrt()
    };
    // Between `inside` (within z sd of a) and `outside`, by halving.
    let root = |outside: f64| {
        let (mut inside, mut outside) = (a, outside);
        for _ in 0..200 {
            let middle = 0.5 * (inside + outside);
            if (a - middle).abs() <= z * sd(middle) {
                inside = middle;
            } else {
                outside = middle;
            }
        }
        inside
    };
    (root(0.0), root(1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(a: &[i64], b: &[i64]) -> Superiority {
        let [a, b] = [a, b].map(|v| Distribution::from_values(v.iter().copied()));
        superiority(&a, &b, 0.95).unwrap()
    }

    #[test]
    fn equal_values_count_half() {
        let found = of(&[1, 2, 3], &[2, 2, 5]);
        // Above: 3 over both 2; equal: 2 with both.
        assert!((found.a - 3.0 / 9.0).abs() < 1e-15);
        assert!((found.cliffs_delta() + 1.0 / 3.0).abs() < 1e-15);
        assert!(found.interval.contains(found.a));
    }

    #[test]
    fn groups_apart_still_have_an_interval() {
        let found = of(&[11, 12, 13, 14, 15], &[1, 2, 3, 4, 5]);
        assert_eq!((found.a, found.method), (1.0, SuperiorityMethod::Newcombe));
        assert_eq!(found.interval.high, 1.0);
        assert!(
            found.interval.low > 0.5 && found.interval.low < 0.8,
            "{found:?}"
        );
    }

    #[test]
    fn single_values_and_all_equal() {
        let found = of(&[5], &[1, 9]);
        assert_eq!((found.a, found.method), (0.5, SuperiorityMethod::Newcombe));
        let found = of(&[4, 4], &[4, 4, 4]);
        assert_eq!(found.a, 0.5);
        assert!(found.interval.low < 0.5 && found.interval.high > 0.5);
    }

    #[test]
    fn a_level_is_between_0_and_1() {
        let d = Distribution::from_values([1]);
        assert_eq!(superiority(&d, &d, 1.0), Err(RankError::BadLevel));
    }
}
