//! p values of one family, adjusted for how many there are.

/// How to adjust the p values of a family of tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Adjustment {
    /// Leaves them as they are.
    None,
    /// Times the size of the family: the chance of any false alarm stays below
    /// the level (Dunn 1961).
    Bonferroni,
    /// The same guarantee, never weaker than Bonferroni (Holm, "A Simple
    /// Sequentially Rejective Multiple Test Procedure", Scand. J. Statist. 6, 1979).
    Holm,
    /// Bounds the expected share of false alarms among all alarms, for
    /// independent tests (Benjamini and Hochberg, JRSS B 57, 1995).
    BenjaminiHochberg,
}

impl Adjustment {
    /// The adjusted p values, in the order given; monotone in the raw ones and
    /// at most 1.
    pub fn apply(self, p: &[f64]) -> Vec<f64> {
        let n = p.len();
        let family = n as f64;
        let mut order: Vec<usize> = (0..n).collect();
        order.sort_by(|&a, &b| p[a].total_cmp(&p[b]));
        let mut adjusted = vec![0.0; n];
        match self {
            Self::None => adjusted.copy_from_slice(p),
            Self::Bonferroni => {
                for (a, p) in adjusted.iter_mut().zip(p) {
                    *a = (p * family).min(1.0);
                }
            }
            Self::Holm => {
                let mut least = 0f64;
                for (i, &at) in order.iter().enumerate() {
                    least = least.max(p[at] * (family - i as f64)).min(1.0);
                    adjusted[at] = least;
                }
            }
            Self::BenjaminiHochberg => {
                let mut most = 1f64;
                for (i, &at) in order.iter().enumerate().rev() {
                    // Rounding may put the product below p.
                    most = most.min(p[at].max(p[at] * family / (i + 1) as f64));
                    adjusted[at] = most;
                }
            }
        }
        adjusted
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn near(got: &[f64], want: &[f64]) {
        for (g, w) in got.iter().zip(want) {
            assert!((g - w).abs() < 1e-15, "{got:?} {want:?}");
        }
    }

    #[test]
    fn a_family_of_four() {
        let p = [0.01, 0.04, 0.03, 0.005];
        near(&Adjustment::Holm.apply(&p), &[0.03, 0.06, 0.06, 0.02]);
        near(
            &Adjustment::BenjaminiHochberg.apply(&p),
            &[0.02, 0.04, 0.04, 0.02],
        );
        near(&Adjustment::Bonferroni.apply(&p), &[0.04, 0.16, 0.12, 0.02]);
    }

    #[test]
    fn no_tests_no_values() {
        assert!(Adjustment::Holm.apply(&[]).is_empty());
    }

    proptest! {
        #[test]
        fn adjusted_values_keep_their_order_and_range(
            p in prop::collection::vec(0.0f64..=1.0, 1..40),
        ) {
            for how in [Adjustment::Bonferroni, Adjustment::Holm, Adjustment::BenjaminiHochberg] {
                let a = how.apply(&p);
                for i in 0..p.len() {
                    prop_assert!(a[i] >= p[i] && a[i] <= 1.0);
                    for j in 0..p.len() {
                        prop_assert!(p[i] > p[j] || a[i] <= a[j]);
                    }
                }
            }
            let (holm, all) = (Adjustment::Holm.apply(&p), Adjustment::Bonferroni.apply(&p));
            prop_assert!(holm.iter().zip(&all).all(|(h, b)| h <= b));
        }
    }
}
