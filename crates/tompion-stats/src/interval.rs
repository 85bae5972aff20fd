//! Confidence intervals for quantiles, and how many samples one needs.

use crate::Distribution;
use crate::tails::incomplete_beta;

/// A two-sided confidence interval in the unit of its values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Confidence level, for example 0.95.
    pub level: f64,
}

impl Interval {
    /// Whether `x` lies inside, ends included.
    pub fn contains(&self, x: f64) -> bool {
        self.low <= x && x <= self.high
    }

    /// The interval with both ends multiplied by a positive `factor`.
    pub fn scaled(&self, factor: f64) -> Self {
        Self {
            low: self.low * factor,
            high: self.high * factor,
            ..*self
        }
    }
}

/// Independent samples needed before the upper end of a two-sided interval for
/// the `q`-quantile exists at all: the smallest n with q^n <= (1 - level) / 2.
///
/// Source: David and Nagaraja, Order Statistics, 3rd ed., §7.1. Timing samples
/// are rarely independent, so this is a necessary number, not a sufficient one.
pub fn samples_needed(q: f64, level: f64) -> u64 {
    if q <= 0.0 || q >= 1.0 {
        return 1;
    }
    let tail = (1.0 - level) / 2.0;
    // Rounding neither adds a value where the tail is reached exactly nor takes one away.
    let upper = tail.ln() / q.ln();
    let lower = tail.ln() / (-q).ln_1p();
    (upper.max(lower) * (1.0 - 1e-12)).ceil().max(1.0) as u64
}

/// A distribution-free interval for the `q`-quantile from order statistics of
/// independent values: the narrowest whose ends miss it with (1 - `level`) / 2 at most
/// each. `None` when there are too few.
///
/// Source: Conover, Practical Nonparametric Statistics, 3rd ed., §3.2.
pub fn order_statistic_interval(d: &Distribution, q: f64, level: f64) -> Option<Interval> {
    let (low, high) = binomial_ranks(d.len(), q, level)?;
    let at = |rank: u64| {
        let mut seen = 0;
        d.pairs()
            .iter()
            .find(|p| {
                seen += p.1;
                rank <= seen
            })
            .map(|p| p.0 as f64)
    };
    Some(Interval {
        low: at(low)?,
        high: at(high)?,
        level,
    })
}

/// The ranks, from 1, of the order statistics of `n` independent values that bound the
/// `q`-quantile; `None` when there are too few.
fn binomial_ranks(n: u64, q: f64, level: f64) -> Option<(u64, u64)> {
    if !(q > 0.0 && q < 1.0 && level > 0.0 && level < 1.0) {
        return None;
    }
    // A tail that equals it is not lost to rounding.
    let tail = (1.0 - level) / 2.0 * (1.0 + 1e-12);
    // The number of values below the quantile is binomial: the quantile is below rank r
    // where it is less than r, and above rank s where it is s or more.
    let below = |r: u64| incomplete_beta((n - r + 1) as f64, r as f64, 1.0 - q, q) <= tail;
    let above = |s: u64| incomplete_beta(s as f64, (n - s + 1) as f64, q, 1.0 - q) <= tail;
    if n == 0 || !below(1) || !above(n) {
        return None;
    }
    let least = |mut from: u64, mut to: u64, holds: &dyn Fn(u64) -> bool| {
        while from < to {
            let middle = from + (to - from) / 2;
            if holds(middle) {
                to = middle;
            } else {
                from = middle + 1;
            }
        }
        from
    };
    // No rank is below all values, and so n + 1 would be a rank too high.
    Some((
        least(2, n + 1, &|r| r > n || !below(r)) - 1,
        least(1, n, &above),
    ))
}

/// The median of independent values with its interval from order statistics, which is
/// absent where they are too few; `None` where there is none or one is not finite.
pub fn median_interval(values: &[f64], level: f64) -> Option<(f64, Option<Interval>)> {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let n = sorted.len();
    if n == 0 || !(sorted[0].is_finite() && sorted[n - 1].is_finite()) {
        return None;
    }
    // By ranks, so that values need not be whole numbers.
    let ranks = Distribution::from_values(0..n as i64);
    let interval = order_statistic_interval(&ranks, 0.5, level).map(|i| Interval {
        low: sorted[i.low as usize],
        high: sorted[i.high as usize],
        level,
    });
    Some((0.5 * (sorted[(n - 1) / 2] + sorted[n / 2]), interval))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sample_needs_match_the_textbook() {
        // Six values bound a median at 95 % (2 * 0.5^6 = 3.1 %), five do not.
        assert_eq!(samples_needed(0.5, 0.95), 6);
        assert_eq!(samples_needed(0.99, 0.95), 368);
        assert_eq!(samples_needed(0.999, 0.95), 3688);
    }

    /// The ends among the values 1 to n, which are ranks.
    fn ranks(n: u64, q: f64, level: f64) -> Option<(u64, u64)> {
        let d = Distribution::from_values(1..=n as i64);
        order_statistic_interval(&d, q, level).map(|i| (i.low as u64, i.high as u64))
    }

    /// P(X = k), k = 0 to n, of a binomial X.
    fn chances(n: u64, q: f64) -> Vec<f64> {
        let mut ways = 0.0;
        (0..=n)
            .map(|k| {
                if k > 0 {
                    ways += ((n - k + 1) as f64 / k as f64).ln();
                }
                (ways + k as f64 * q.ln() + (n - k) as f64 * (-q).ln_1p()).exp()
            })
            .collect()
    }

    /// The narrowest ranks whose tails stay below, by adding up; `None` where there are none.
    fn by_search(n: u64, q: f64, level: f64) -> Option<(u64, u64)> {
        let tail = (1.0 - level) / 2.0 + 1e-13;
        let chances = chances(n, q);
        // The quantile is below rank r where fewer than r values are, above s where s are.
        let below = |r: &u64| chances[..*r as usize].iter().sum::<f64>() <= tail;
        let above = |s: &u64| chances[*s as usize..].iter().sum::<f64>() <= tail;
        Some(((1..=n).rev().find(below)?, (1..=n).find(above)?))
    }

    #[test]
    fn median_intervals_are_those_of_the_tables() {
        let of = |n: u64| [0.9, 0.95, 0.99].map(|level| (n, level));
        let wrong: Vec<_> = (1..=30)
            .flat_map(of)
            .filter(|&(n, level)| ranks(n, 0.5, level) != by_search(n, 0.5, level))
            .collect();
        assert!(wrong.is_empty(), "{} of 90: {wrong:?}", wrong.len());
        // Ranks 2 and 8 of 9 cover the median with 96.1 %.
        assert_eq!(ranks(9, 0.5, 0.95), Some((2, 8)));
        assert_eq!(ranks(5, 0.5, 0.95), None);
        assert_eq!(ranks(6, 0.5, 0.95), Some((1, 6)));
        // 1 / 8 on each side: the level is reached and not passed.
        assert_eq!(ranks(3, 0.5, 0.75), Some((1, 3)));
    }

    #[test]
    fn ranks_are_the_narrowest_that_hold_the_level() {
        for q in [0.001, 0.05, 0.25, 0.5, 0.9, 0.95, 0.99, 0.999] {
            for level in [0.5, 0.8, 0.9, 0.95, 0.99, 0.999] {
                for n in 1..=300 {
                    let found = ranks(n, q, level);
                    assert_eq!(found, by_search(n, q, level), "{n} {q} {level}");
                    let needed = n >= samples_needed(q, level);
                    assert_eq!(found.is_some(), needed, "{n} {q} {level}");
                    let Some((low, high)) = found else { continue };
                    let covered: f64 = chances(n, q)[low as usize..high as usize].iter().sum();
                    assert!(covered >= level - 1e-12, "{n} {q} {level}: {covered}");
                }
            }
        }
    }

    #[test]
    fn very_many_values_have_ranks_too() {
        // Of 10^9 values, near the normal quantile: sd 15 811 and 31 607.
        let (low, high) = binomial_ranks(1_000_000_000, 0.5, 0.95).unwrap();
        assert!(low.abs_diff(500_000_000 - 30_990) < 5 && high.abs_diff(500_000_000 + 30_991) < 5);
        let (low, high) = binomial_ranks(1_000_000_000, 0.999, 0.95).unwrap();
        assert!(low.abs_diff(999_000_000 - 1_959) < 5 && high.abs_diff(999_000_000 + 1_960) < 5);
    }
}
