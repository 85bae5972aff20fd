//! Which groups differ: all pairs after a test of all groups.

use super::pooled::cube_less_one;
use super::{Adjustment, PooledRanks, RankError, StudentizedRange};
use crate::tails::{as_p, normal_upper};

/// Two groups compared within a family of pairs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PairComparison {
    /// Place of the first group, from 0.
    pub first: usize,
    /// Place of the second group, above `first`.
    pub second: usize,
    /// Mean rank of the first group less that of the second.
    pub mean_rank_difference: f64,
    /// Dunn: z, with the sign of the difference. Tukey: q, never negative.
    pub statistic: f64,
    /// Two-sided p of this pair alone; Tukey's is one for the family already. Never below
    /// [`SMALLEST_P`](crate::SMALLEST_P) where the statistic is finite.
    pub p: f64,
    /// p adjusted for the family of all pairs.
    pub p_adjusted: f64,
}

/// Dunn's test of all pairs, on the ranks of all groups pooled.
///
/// Source: Dunn, "Multiple Comparisons Using Rank Sums", Technometrics 6 (1964),
/// with her correction for ties. All values equal: every p is 1.
pub fn dunn(ranks: &PooledRanks, adjustment: Adjustment) -> Vec<PairComparison> {
    let n = ranks.len as f64;
    // N (N + 1) / 12 - sum (t^3 - t) / (12 (N - 1)).
    let untied = (cube_less_one(ranks.len) - ranks.tie_sum) as f64;
    let variance = untied / (12.0 * (n - 1.0));
    let mut pairs = all_pairs(ranks, |difference, a, b| {
        let z = ratio(difference, (variance * (1.0 / a + 1.0 / b)).sqrt());
        (z, as_p(z, (2.0 * normal_upper(z.abs())).min(1.0)))
    });
    let p: Vec<f64> = pairs.iter().map(|c| c.p).collect();
    for (pair, adjusted) in pairs.iter_mut().zip(adjustment.apply(&p)) {
        pair.p_adjusted = adjusted;
    }
    pairs
}

/// Tukey's honestly significant differences of the pooled ranks, with Kramer's
/// mean of unequal sizes.
///
/// Source: Kramer, "Extension of Multiple Range Tests to Group Means with Unequal
/// Numbers of Replications", Biometrics 12 (1956), on ranks as Conover and Iman,
/// "Rank Transformations as a Bridge", The American Statistician 35 (1981).
pub fn tukey_on_ranks(ranks: &PooledRanks) -> Result<Vec<PairComparison>, RankError> {
    let k = ranks.groups();
    let df = ranks.len - k as u64;
    if df == 0 {
        return Err(RankError::NoScatter);
    }
    let within: f64 = ranks
        .groups
        .iter()
        .map(|g| {
            // Fourfold, n * sum r^2 - (sum r)^2; in integers, since with 10^6
            // values the two agree in all digits that matter.
            let n = u128::from(g.len);
            match (
                n.checked_mul(g.doubled_squares),
                g.doubled_sum.checked_pow(2),
            ) {
                (Some(a), Some(b)) => (a - b) as f64 / g.len as f64 / 4.0,
                _ => {
                    let sum = g.doubled_sum as f64;
                    (g.doubled_squares as f64 - sum / g.len as f64 * sum) / 4.0
                }
            }
        })
        .sum();
    let mean_square = within / df as f64;
    let range = StudentizedRange::new(k as u32, df as f64);
    Ok(all_pairs(ranks, |difference, a, b| {
        let q = ratio(
            difference.abs(),
            (mean_square / 2.0 * (1.0 / a + 1.0 / b)).sqrt(),
        );
        (q, as_p(q, range.upper(q)))
    }))
}

/// `difference` over `error`; no difference is 0 even without any scatter.
fn ratio(difference: f64, error: f64) -> f64 {
    if difference == 0.0 {
        0.0
    } else {
        difference / error
    }
}

/// Every pair in ascending order, with the statistic and p that `judge` gives
/// for a difference of mean ranks and the two sizes.
fn all_pairs(
    ranks: &PooledRanks,
    judge: impl Fn(f64, f64, f64) -> (f64, f64),
) -> Vec<PairComparison> {
    let k = ranks.groups();
    (0..k)
        .flat_map(|first| (first + 1..k).map(move |second| (first, second)))
        .map(|(first, second)| {
            let (a, b) = (ranks.groups[first].len, ranks.groups[second].len);
            let mean_rank_difference = mean_rank_difference(ranks, first, second);
            let (statistic, p) = judge(mean_rank_difference, a as f64, b as f64);
            PairComparison {
                first,
                second,
                mean_rank_difference,
                statistic,
                p,
                p_adjusted: p,
            }
        })
        .collect()
}

/// The difference of two mean ranks, from integers so that nothing cancels.
fn mean_rank_difference(ranks: &PooledRanks, first: usize, second: usize) -> f64 {
    let (a, b) = (&ranks.groups[first], &ranks.groups[second]);
    let left = a.doubled_sum * u128::from(b.len);
    let right = b.doubled_sum * u128::from(a.len);
    let apart = left.abs_diff(right) as f64 / (2.0 * a.len as f64 * b.len as f64);
    if left < right { -apart } else { apart }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Distribution;

    #[test]
    fn two_groups_of_dunn_are_kruskal_wallis() {
        let groups = [
            Distribution::from_values([1, 4, 4, 8, 9]),
            Distribution::from_values([4, 7, 11, 12]),
        ];
        let ranks = PooledRanks::of(&groups).unwrap();
        let z = dunn(&ranks, Adjustment::Holm)[0].statistic;
        let h = super::super::kruskal_wallis(&ranks).h;
        assert!((z * z - h).abs() < 1e-12);
        assert!(z < 0.0);
    }

    #[test]
    fn one_value_a_group_shows_no_scatter() {
        let groups = [1, 2, 3].map(|v| Distribution::from_values([v]));
        let ranks = PooledRanks::of(&groups).unwrap();
        assert_eq!(tukey_on_ranks(&ranks), Err(RankError::NoScatter));
        assert_eq!(dunn(&ranks, Adjustment::Holm).len(), 3);
    }

    #[test]
    fn all_equal_is_no_difference() {
        let d = Distribution::from_values([3, 3]);
        let ranks = PooledRanks::of([&d, &d, &d]).unwrap();
        assert!(dunn(&ranks, Adjustment::Holm).iter().all(|c| c.p == 1.0));
        assert!(tukey_on_ranks(&ranks).unwrap().iter().all(|c| c.p == 1.0));
    }
}
