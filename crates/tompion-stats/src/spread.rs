//! Do several groups scatter alike?

use crate::tails::{as_p, f_upper};

/// Brown and Forsythe's test of equal spread.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EqualSpread {
    /// F of the distances from each group's median.
    pub f: f64,
    /// Degrees of freedom: groups less one.
    pub df: u64,
    /// Degrees of freedom of the error: values less groups.
    pub error_df: u64,
    /// P(F >= f); never below [`SMALLEST_P`](crate::SMALLEST_P) where f is finite.
    pub p: f64,
}

/// Tests whether groups scatter alike: an analysis of variance of the distances of all values from
/// the median of their group. `None` where that cannot be told: fewer than two groups, an empty one,
/// one value in each, or no scatter in any.
///
/// Source: Brown and Forsythe, "Robust Tests for the Equality of Variances", JASA 69 (1974), the
/// variant of Levene's test with medians. It supposes independent values, and with few in each group
/// it seldom finds anything: not finding a difference is not seeing that there is none.
pub fn equal_spread<G: AsRef<[f64]>>(groups: &[G]) -> Option<EqualSpread> {
    let distances: Vec<Vec<f64>> = groups
        .iter()
        .map(|group| {
            let group = group.as_ref();
            let middle = median(group)?;
            Some(group.iter().map(|v| (v - middle).abs()).collect())
        })
        .collect::<Option<_>>()?;
    let values: usize = distances.iter().map(Vec::len).sum();
    if distances.len() < 2 || values <= distances.len() {
        return None;
    }
    let mean = |of: &[f64]| of.iter().sum::<f64>() / of.len() as f64;
    let grand = distances.iter().flatten().sum::<f64>() / values as f64;
    let (mut between, mut within) = (0.0, 0.0);
    for group in &distances {
        let own = mean(group);
        between += group.len() as f64 * (own - grand).powi(2);
        within += group.iter().map(|d| (d - own).powi(2)).sum::<f64>();
    }
    if between == 0.0 && within == 0.0 {
        return None;
    }
    let (df, error_df) = (distances.len() - 1, values - distances.len());
    let f = between / df as f64 / (within / error_df as f64);
    Some(EqualSpread {
        f,
        df: df as u64,
        error_df: error_df as u64,
        p: as_p(f, f_upper(f, df as f64, error_df as f64)),
    })
}

fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let n = sorted.len();
    (n > 0).then(|| 0.5 * (sorted[(n - 1) / 2] + sorted[n / 2]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_that_scatters_more_is_found() {
        // By hand: distances 1 0 1 and 10 0 10 from the medians; means 2/3 and 20/3, F = 1.43 x.
        let found = equal_spread(&[[1.0, 2.0, 3.0], [10.0, 20.0, 30.0]]).unwrap();
        let between = 2.0 * 3.0 * 3f64.powi(2);
        let within = 2.0 / 3.0 + 200.0 / 3.0;
        assert!(
            (found.f - between / (within / 4.0)).abs() < 1e-12,
            "{found:?}"
        );
        assert_eq!((found.df, found.error_df), (1, 4));
        assert!((0.0..1.0).contains(&found.p));
    }

    #[test]
    fn what_cannot_be_told_is_none() {
        assert_eq!(equal_spread(&[vec![1.0, 2.0]]), None);
        assert_eq!(equal_spread(&[vec![1.0], vec![]]), None);
        assert_eq!(equal_spread(&[vec![1.0], vec![2.0]]), None);
        assert_eq!(equal_spread(&[vec![3.0, 3.0], vec![4.0, 4.0]]), None);
    }
}
