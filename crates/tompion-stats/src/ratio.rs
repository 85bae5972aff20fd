//! Means over blocks, and paired ratios.

use crate::{Interval, Moments};

/// The geometric mean of paired ratios `a/b` with its Student interval on the
/// logarithms. Pairs with a non-positive side are left out; `None` below two.
///
/// Each pair comes from one block, so drift of the machine's speed cancels.
pub fn ratio_interval(pairs: &[(f64, f64)], level: f64) -> Option<(f64, Interval)> {
    let logs: Vec<f64> = pairs
        .iter()
        .filter(|(a, b)| *a > 0.0 && *b > 0.0)
        .map(|(a, b)| (a / b).ln())
        .collect();
    let (mean, interval) = mean_interval(&logs, level)?;
    Some((
        mean.exp(),
        Interval {
            low: interval.low.exp(),
            high: interval.high.exp(),
            level,
        },
    ))
}

/// The mean with its Student interval, for one value a block; `None` below two.
pub fn mean_interval(values: &[f64], level: f64) -> Option<(f64, Interval)> {
    let moments = Moments::of(values.iter().copied());
    Some((moments.mean()?, moments.mean_interval(level)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_ratios_have_no_spread() {
        let (g, i) = ratio_interval(&[(2.0, 1.0), (4.0, 2.0), (8.0, 4.0)], 0.95).unwrap();
        assert!((g - 2.0).abs() < 1e-12 && (i.high - i.low) < 1e-9);
    }

    #[test]
    fn interval_matches_students_t_by_hand() {
        // Logs 0 and ln 4: mean ln 2, sd ln4/sqrt2, half = 12.7062 * ln4/2.
        let (g, i) = ratio_interval(&[(1.0, 1.0), (4.0, 1.0)], 0.95).unwrap();
        assert!((g - 2.0).abs() < 1e-9);
        let half = 12.706_204_736 * 4f64.ln() / 2.0;
        assert!((i.high.ln() - (2f64.ln() + half)).abs() < 1e-6);
    }
}
