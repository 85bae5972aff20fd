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
    /// at most 1. NaN, a test that could not be done, stays NaN and is none of the family.
    pub fn apply(self, p: &[f64]) -> Vec<f64> {
        let mut order: Vec<usize> = (0..p.len()).filter(|&at| !p[at].is_nan()).collect();
        let family = order.len() as f64;
        order.sort_by(|&a, &b| p[a].total_cmp(&p[b]));
        let mut adjusted = p.to_vec();
        match self {
            Self::None => (),
            Self::Bonferroni => {
                for &at in &order {
                    adjusted[at] = (p[at] * family).min(1.0);
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
    fn what_is_no_number_stays_none_and_counts_for_nothing() {
        let all = [
            Adjustment::None,
            Adjustment::Bonferroni,
            Adjustment::Holm,
            Adjustment::BenjaminiHochberg,
        ];
        for how in all {
            for nan in [f64::NAN, -f64::NAN] {
                let found = how.apply(&[0.01, nan, 0.04, 0.03, nan, 0.005]);
                let (lost, kept): (Vec<f64>, Vec<f64>) =
                    found.into_iter().partition(|p| p.is_nan());
                assert_eq!(lost.len(), 2, "{how:?}");
                // As p.adjust of R does.
                assert_eq!(kept, how.apply(&[0.01, 0.04, 0.03, 0.005]), "{how:?}");
            }
            assert!(how.apply(&[f64::NAN])[0].is_nan(), "{how:?}");
        }
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
