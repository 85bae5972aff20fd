//! Does one of two groups tend to larger values?

use super::exact::ExactU;
use super::pooled::cube_less_one;
use super::{PooledRanks, RankError};
use crate::Distribution;
use crate::tails::{as_p, normal_upper};

/// Which difference counts as evidence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tail {
    /// Either group tends to larger values.
    TwoSided,
    /// The first group tends to larger values.
    Greater,
    /// The first group tends to smaller values.
    Less,
}

/// Where p comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NullMethod {
    /// Exact when there are no ties and one group has at most eight values (and
    /// the count of all orders fits 128 bits), as SciPy decides; else normal.
    Auto,
    /// All orders of the values counted; without ties only.
    Exact,
    /// Normal, corrected for ties and continuity.
    Normal,
}

/// The Mann-Whitney test (Wilcoxon's rank-sum test) of two independent groups.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MannWhitney {
    /// Pairs in which the first group's value is larger, equal ones counted half.
    pub u: f64,
    /// The p of the tail asked for; a normal one is never below
    /// [`SMALLEST_P`](crate::SMALLEST_P).
    pub p: f64,
    /// Whether p counts all orders rather than being normal.
    pub exact: bool,
}

/// Mann and Whitney, "On a Test of Whether one of Two Random Variables is
/// Stochastically Larger than the Other", Annals of Mathematical Statistics 18
/// (1947); ties after Lehmann, Nonparametrics (1975), §1.4. All values equal: p is 1.
pub fn mann_whitney(
    a: &Distribution,
    b: &Distribution,
    tail: Tail,
    method: NullMethod,
) -> Result<MannWhitney, RankError> {
    let ranks = PooledRanks::of([a, b])?;
    let (n, m) = (a.len(), b.len());
    // Twice the rank sum, less what the first group has against itself.
    let doubled_u = ranks.groups[0].doubled_sum - u128::from(n) * u128::from(n + 1);
    let u = doubled_u as f64 / 2.0;
    if let Some(null) = exact_null(&ranks, method)? {
        let u = (doubled_u / 2) as u64;
        let p = match tail {
            Tail::TwoSided => (2.0 * null.at_least(u.max(n * m - u))).min(1.0),
            Tail::Greater => null.at_least(u),
            Tail::Less => null.at_most(u),
        };
        return Ok(MannWhitney {
            u: u as f64,
            p,
            exact: true,
        });
    }
    // U above its mean, in halves, from integers.
    let pairs = u128::from(n) * u128::from(m);
    let above = doubled_u.abs_diff(pairs) as f64 / 2.0;
    let signed = if doubled_u < pairs { -above } else { above };
    let z = |above: f64| (above - 0.5) / normal_sd(&ranks);
    let p = match tail {
        Tail::TwoSided => (2.0 * normal_upper(z(above))).min(1.0),
        Tail::Greater => normal_upper(z(signed)),
        Tail::Less => normal_upper(z(-signed)),
    };
    Ok(MannWhitney {
        u,
        p: as_p(u, p),
        exact: false,
    })
}

/// The exact distribution where `method` calls for it and the data allow it.
pub(super) fn exact_null(
    ranks: &PooledRanks,
    method: NullMethod,
) -> Result<Option<ExactU>, RankError> {
    let (n, m) = (ranks.groups[0].len, ranks.groups[1].len);
    let tied = ranks.tie_sum > 0;
    match method {
        NullMethod::Normal => Ok(None),
        NullMethod::Auto if tied || n.min(m) > 8 => Ok(None),
        NullMethod::Auto => Ok(ExactU::new(n, m)),
        NullMethod::Exact if tied => Err(RankError::TiesForbidExact),
        NullMethod::Exact => match ExactU::new(n, m) {
            Some(null) => Ok(Some(null)),
            None => Err(RankError::TooLargeForExact(n, m)),
        },
    }
}

/// The standard deviation of U when both groups come from one distribution.
fn normal_sd(ranks: &PooledRanks) -> f64 {
    let [n, m] = [0, 1].map(|g| ranks.groups[g].len as f64);
    let whole = ranks.len as f64;
    let untied = (cube_less_one(ranks.len) - ranks.tie_sum) as f64;
    (n * m / 12.0 * (untied / (whole * (whole - 1.0)))).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn test(a: &[i64], b: &[i64], tail: Tail, method: NullMethod) -> MannWhitney {
        let [a, b] = [a, b].map(|v| Distribution::from_values(v.iter().copied()));
        mann_whitney(&a, &b, tail, method).unwrap()
    }

    #[test]
    fn three_against_three() {
        let found = test(&[1, 2, 3], &[4, 5, 6], Tail::TwoSided, NullMethod::Auto);
        assert_eq!((found.u, found.exact), (0.0, true));
        assert!((found.p - 0.1).abs() < 1e-15);
        let found = test(&[1, 2, 3], &[4, 5, 6], Tail::Greater, NullMethod::Auto);
        assert_eq!(found.p, 1.0);
    }

    #[test]
    fn the_tails_share_the_middle() {
        let (a, b) = ([5, 9, 12], [1, 7, 8, 20]);
        let greater = test(&a, &b, Tail::Greater, NullMethod::Exact).p;
        let less = test(&a, &b, Tail::Less, NullMethod::Exact).p;
        // U = 7: P(U >= 7) + P(U <= 7) = 1 + P(U = 7), 4 of 35 orders.
        assert!((greater + less - 1.0 - 4.0 / 35.0).abs() < 1e-14);
    }

    #[test]
    fn ties_have_no_exact_p() {
        let d = Distribution::from_values([1, 2, 2]);
        let found = mann_whitney(&d, &d, Tail::TwoSided, NullMethod::Exact);
        assert_eq!(found, Err(RankError::TiesForbidExact));
        assert!(!test(&[1, 2], &[2, 3], Tail::TwoSided, NullMethod::Auto).exact);
        assert_eq!(test(&[4, 4], &[4], Tail::TwoSided, NullMethod::Auto).p, 1.0);
    }

    #[test]
    fn too_large_for_counting_orders() {
        let a = Distribution::from_values(0..300);
        let b = Distribution::from_values((0..300).map(|v| v + 1000));
        let found = mann_whitney(&a, &b, Tail::TwoSided, NullMethod::Exact);
        assert_eq!(found, Err(RankError::TooLargeForExact(300, 300)));
    }
}
