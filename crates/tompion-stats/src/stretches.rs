//! Cutting one series into stretches that may count as replicates.

/// A stretch counts as independent of its neighbours when it is at least so many
/// autocorrelation times long.
///
/// Means of neighbouring stretches of c autocorrelation times correlate by
/// 1 / (4 c) where correlation fades exponentially: 8 % at 3, which
/// [`crate::compare_series`] sees as memory and pays for; 3 % at 8. The rule is that
/// of batch means in simulation (Law and Carson 1979; Schmeiser 1982).
pub const STRETCH_FACTOR: f64 = 3.0;

/// How a series was cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stretches {
    /// `count` stretches of `length` samples, from the first sample on; the last
    /// few samples may be left over.
    Cut {
        /// Number of stretches.
        count: usize,
        /// Samples in each.
        length: usize,
    },
    /// The series holds too few such stretches.
    TooShort {
        /// Samples in the series.
        have: usize,
        /// Samples needed at this autocorrelation time.
        need: usize,
    },
}

impl Stretches {
    /// Cuts `samples` samples into at least `least` and at most `most` stretches
    /// of equal length, each at least [`STRETCH_FACTOR`] autocorrelation times
    /// and `shortest` samples long.
    ///
    /// Few long stretches are better than many short ones: they cost little power
    /// and bear more dependence than was measured (Schmeiser 1982; Ibragimov and
    /// Müller 2010), so there are as few as `most` allows.
    pub fn cut(
        samples: usize,
        autocorrelation_time: f64,
        shortest: usize,
        least: usize,
        most: usize,
    ) -> Self {
        let shortest = shortest.max((STRETCH_FACTOR * autocorrelation_time).ceil() as usize);
        let count = (samples / shortest.max(1)).min(most);
        if count < least.max(1) {
            return Self::TooShort {
                have: samples,
                need: shortest.saturating_mul(least),
            };
        }
        Self::Cut {
            count,
            length: samples / count,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn cuts_into_as_few_as_allowed() {
        let cut = |samples| Stretches::cut(samples, 19.0, 1, 4, 10);
        assert_eq!(
            cut(5_000),
            Stretches::Cut {
                count: 10,
                length: 500
            }
        );
        assert_eq!(
            cut(700),
            Stretches::Cut {
                count: 10,
                length: 70
            }
        );
        assert_eq!(
            cut(300),
            Stretches::Cut {
                count: 5,
                length: 60
            }
        );
        assert_eq!(
            cut(227),
            Stretches::TooShort {
                have: 227,
                need: 228
            }
        );
    }

    #[test]
    fn a_rare_quantile_asks_for_longer_stretches() {
        let cut = Stretches::cut(3_999, 1.0, 1_000, 4, 10);
        assert_eq!(
            cut,
            Stretches::TooShort {
                have: 3_999,
                need: 4_000
            }
        );
    }

    proptest! {
        #[test]
        fn every_cut_keeps_its_promises(samples in 0usize..100_000, tau in 1.0f64..500.0, shortest in 0usize..2_000, least in 1usize..20, more in 0usize..20) {
            match Stretches::cut(samples, tau, shortest, least, least + more) {
                Stretches::Cut { count, length } => {
                    prop_assert!(count >= least && count <= least + more);
                    prop_assert!(count * length <= samples && samples - count * length < count);
                    prop_assert!(length as f64 >= STRETCH_FACTOR * tau && length >= shortest);
                }
                Stretches::TooShort { have, need } => {
                    prop_assert!(have == samples && need > samples);
                    let enough = Stretches::cut(need, tau, shortest, least, least + more);
                    prop_assert!(matches!(enough, Stretches::Cut { .. }), "{enough:?}");
                }
            }
        }
    }
}
