//! By how much one group lies above the other.

use super::differences::Differences;
use super::mann_whitney::exact_null;
use super::{NullMethod, PooledRanks, RankError, check_level};
use crate::tails::normal_half_width;
use crate::{Distribution, Interval};

/// The Hodges-Lehmann shift in the unit of the values, with its interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shift {
    /// The median of all differences, a value of the first group less one of the
    /// second.
    pub shift: f64,
    /// The shifts that a Mann-Whitney test would not reject; `None` where so few
    /// values can never reject at this level.
    pub interval: Option<Interval>,
    /// Whether the interval rests on counted orders (few values without ties).
    pub exact: bool,
}

/// By how much `first` lies above `second`: the median of all differences and
/// two of their order statistics, all exact.
///
/// Sources: Hodges and Lehmann, "Estimates of Location Based on Rank Tests", Annals
/// of Mathematical Statistics 34 (1963); the interval after Hollander,
/// Wolfe and Chicken, Nonparametric Statistical Methods (3rd ed.), §4.3, whose
/// large-sample rank leaves ties out and so errs wide. It supposes independent
/// values and groups that differ by a shift alone. The differences are never
/// formed: see `differences.rs`.
pub fn shift(first: &Distribution, second: &Distribution, level: f64) -> Result<Shift, RankError> {
    check_level(level)?;
    let ranks = PooledRanks::of([first, second])?;
    let differences = Differences::of(first, second);
    let pairs = u128::from(first.len()) * u128::from(second.len());
    // The two middle ones; the same when their number is odd.
    let low = differences.smallest(pairs.div_ceil(2));
    let high = match pairs % 2 {
        0 => differences.after(low, pairs / 2),
        _ => low,
    };
    let null = exact_null(&ranks, NullMethod::Auto)?;
    let tail = (1.0 - level) / 2.0;
    let cut = match &null {
        Some(null) => u128::from(null.lower_quantile(tail)),
        None => {
            let (n, m) = (first.len() as f64, second.len() as f64);
            let z = normal_half_width(level);
            let cut = n * m / 2.0 - z * (n * m * (n + m + 1.0) / 12.0).sqrt();
            cut.max(0.0) as u128
        }
    };
    let interval = (cut > 0).then(|| Interval {
        low: differences.smallest(cut) as f64,
        high: differences.smallest(pairs + 1 - cut) as f64,
        level,
    });
    Ok(Shift {
        // Halves are exact: the sum of two differences fits.
        shift: (low + high) as f64 / 2.0,
        interval,
        exact: null.is_some(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn distribution(v: &[i64]) -> Distribution {
        Distribution::from_values(v.iter().copied())
    }

    #[test]
    fn too_few_values_have_no_interval() {
        let found = shift(&distribution(&[5, 6, 7]), &distribution(&[1, 2, 3]), 0.95).unwrap();
        assert_eq!((found.shift, found.interval), (4.0, None));
        // 2 of 20 orders are as extreme: 90 % can be had, by the outermost differences.
        let found = shift(&distribution(&[5, 6, 7]), &distribution(&[1, 2, 3]), 0.89).unwrap();
        let interval = found.interval.unwrap();
        assert_eq!((interval.low, interval.high), (2.0, 6.0));
    }

    #[test]
    fn the_ends_of_the_range_do_not_overflow() {
        let (low, high) = (distribution(&[i64::MIN]), distribution(&[i64::MAX]));
        let found = shift(&high, &low, 0.5).unwrap();
        assert_eq!(found.shift, 2f64.powi(64));
    }

    proptest! {
        #[test]
        fn the_shift_is_the_median_of_all_differences(
            a in prop::collection::vec(-40i64..40, 1..30),
            b in prop::collection::vec(-40i64..40, 1..30),
        ) {
            let mut all: Vec<i128> = a
                .iter()
                .flat_map(|x| b.iter().map(move |y| i128::from(x - y)))
                .collect();
            all.sort_unstable();
            let (first, second) = (distribution(&a), distribution(&b));
            let n = all.len();
            let median = (all[(n - 1) / 2] + all[n / 2]) as f64 / 2.0;
            let found = shift(&first, &second, 0.9).unwrap();
            prop_assert_eq!(found.shift, median);
            if let Some(i) = found.interval {
                prop_assert!(i.contains(found.shift));
            }
        }
    }
}
