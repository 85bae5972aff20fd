//! Confidence intervals for quantiles, and how many samples one needs.

use statrs::distribution::{Binomial, DiscreteCDF};

use crate::Distribution;

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
    let upper = tail.ln() / q.ln();
    let lower = tail.ln() / (1.0 - q).ln();
    upper.max(lower).ceil().max(1.0) as u64
}

/// A distribution-free interval for the `q`-quantile from order statistics of
/// independent values (binomial ranks). `None` when there are too few.
///
/// Source: Conover, Practical Nonparametric Statistics, 3rd ed., §3.2.
pub fn order_statistic_interval(d: &Distribution, q: f64, level: f64) -> Option<Interval> {
    let n = d.len();
    if n < samples_needed(q, level) {
        return None;
    }
    let binomial = Binomial::new(q, n).ok()?;
    let tail = (1.0 - level) / 2.0;
    // inverse_cdf gives the smallest r with P(X <= r) >= p.
    let low = binomial.inverse_cdf(tail).saturating_sub(1);
    let high = binomial.inverse_cdf(1.0 - tail) + 1;
    let at = |rank: u64| {
        let mut seen = 0;
        d.pairs()
            .iter()
            .find(|p| {
                seen += p.1;
                rank < seen
            })
            .map(|p| p.0 as f64)
    };
    Some(Interval {
        low: at(low.min(n - 1))?,
        high: at(high.min(n - 1))?,
        level,
    })
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

    #[test]
    fn median_interval_of_nine_values() {
        let d = Distribution::from_values(1..=9);
        let i = order_statistic_interval(&d, 0.5, 0.95).unwrap();
        // Ranks 2 and 8 of 9 cover the median with 96.1 %.
        assert!(i.low <= 2.0 && i.high >= 8.0, "{i:?}");
        assert!(order_statistic_interval(&Distribution::from_values(1..=5), 0.5, 0.95).is_none());
    }
}
