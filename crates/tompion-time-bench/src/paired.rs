//! Comparing within blocks: ratios, differences, and the rule for limits. Pure.

use serde::Serialize;
use tompion_stats::{mean_interval, ratio_interval};

/// Coverage of all intervals.
pub const LEVEL: f64 = 0.95;

/// A mean over blocks with its interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Estimate {
    /// The mean; of ratios the geometric one.
    pub mean: f64,
    /// Lower end of the 95 % interval.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Blocks that count: a ratio needs two positive sides.
    pub blocks: usize,
}

impl Estimate {
    /// The same in another unit.
    pub fn scaled(self, factor: f64) -> Self {
        Self {
            mean: factor * self.mean,
            low: factor * self.low,
            high: factor * self.high,
            ..self
        }
    }
}

/// Geometric mean of the ratios `ours / theirs`, one pair a block.
///
/// `None` where fewer than two pairs have two positive sides.
pub fn ratio(pairs: &[(f64, f64)]) -> Option<Estimate> {
    let (mean, interval) = ratio_interval(pairs, LEVEL)?;
    Some(Estimate {
        mean,
        low: interval.low,
        high: interval.high,
        blocks: pairs.iter().filter(|(a, b)| *a > 0.0 && *b > 0.0).count(),
    })
}

/// Mean of the differences `ours - theirs`, one pair a block.
pub fn difference(pairs: &[(f64, f64)]) -> Option<Estimate> {
    let differences: Vec<f64> = pairs.iter().map(|(a, b)| a - b).collect();
    mean(&differences)
}

/// Mean of one value a block, with its Student interval; `None` below two.
pub fn mean(values: &[f64]) -> Option<Estimate> {
    let (mean, interval) = mean_interval(values, LEVEL)?;
    Some(Estimate {
        mean,
        low: interval.low,
        high: interval.high,
        blocks: values.len(),
    })
}

/// Whether a limit holds; the worse, the greater.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The worse end of the interval meets the limit.
    Met,
    /// The interval spans the limit, or there is none.
    Inconclusive,
    /// Even the better end exceeds the limit.
    NotMet,
}

impl Verdict {
    /// Judges what should be at most `limit`.
    pub fn at_most(limit: f64, estimate: Option<Estimate>) -> Self {
        match estimate {
            Some(e) if e.high <= limit => Self::Met,
            Some(e) if e.low > limit => Self::NotMet,
            _ => Self::Inconclusive,
        }
    }

    /// The verdict as it is printed.
    pub fn text(self) -> &'static str {
        match self {
            Self::Met => "met",
            Self::Inconclusive => "inconclusive",
            Self::NotMet => "NOT met",
        }
    }
}

/// A comparison held against a limit, or printed beside one for the noise.
#[derive(Clone, Debug, Serialize)]
pub struct Comparison {
    /// What is compared.
    pub what: String,
    /// Unit of the estimate: `ratio`, `ns`, `us`, `percentage_points`.
    pub unit: &'static str,
    /// Ours against theirs.
    pub estimate: Option<Estimate>,
    /// The most that is allowed.
    pub limit: Option<f64>,
    /// Whether it is kept, where there is one.
    pub verdict: Option<Verdict>,
}

impl Comparison {
    /// A comparison that is printed but not judged.
    pub fn shown(what: String, unit: &'static str, estimate: Option<Estimate>) -> Self {
        Self {
            what,
            unit,
            estimate,
            limit: None,
            verdict: None,
        }
    }

    /// A comparison that should be at most `limit`.
    pub fn limited(
        what: String,
        unit: &'static str,
        estimate: Option<Estimate>,
        limit: f64,
    ) -> Self {
        Self {
            limit: Some(limit),
            verdict: Some(Verdict::at_most(limit, estimate)),
            ..Self::shown(what, unit, estimate)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Twenty blocks on a machine that gets twice as slow on the way; ours costs
    /// `factor` times what theirs does, give or take a hundredth.
    fn drifting(factor: f64) -> Vec<(f64, f64)> {
        (0..20)
            .map(|block| {
                let pace = 10.0 * (1.0 + f64::from(block) / 20.0);
                let wobble = 1.0 + 0.01 * (f64::from(block) * 2.4).sin();
                (pace * factor * wobble, pace)
            })
            .collect()
    }

    #[test]
    fn drift_of_the_machine_cancels_in_pairs() {
        let estimate = ratio(&drifting(0.8)).unwrap();
        assert!((estimate.mean - 0.8).abs() < 0.005, "{estimate:?}");
        assert!(estimate.high - estimate.low < 0.02, "{estimate:?}");
        assert_eq!(estimate.blocks, 20);
    }

    #[test]
    fn a_planted_ratio_is_judged_by_the_worse_end() {
        let limit = 1.05;
        let verdict = |factor| Verdict::at_most(limit, ratio(&drifting(factor)));
        assert_eq!(verdict(1.00), Verdict::Met);
        assert_eq!(verdict(1.05), Verdict::Inconclusive);
        assert_eq!(verdict(1.10), Verdict::NotMet);
    }

    #[test]
    fn a_limit_is_met_at_its_very_value() {
        let exact = |x| {
            Some(Estimate {
                mean: x,
                low: x,
                high: x,
                blocks: 20,
            })
        };
        assert_eq!(Verdict::at_most(3.0, exact(3.0)), Verdict::Met);
        assert_eq!(Verdict::at_most(3.0, exact(3.000_001)), Verdict::NotMet);
    }

    #[test]
    fn wide_intervals_decide_nothing() {
        // Half the blocks at half, half at double: the mean is right at 1.
        let pairs: Vec<_> = (0..20)
            .map(|i| (if i % 2 == 0 { 0.5 } else { 2.0 }, 1.0))
            .collect();
        assert_eq!(Verdict::at_most(1.05, ratio(&pairs)), Verdict::Inconclusive);
    }

    #[test]
    fn without_two_pairs_nothing_is_claimed() {
        assert_eq!(ratio(&[(1.0, 1.0)]), None);
        assert_eq!(ratio(&[(1.0, 0.0), (0.0, 1.0), (1.0, 1.0)]), None);
        assert_eq!(difference(&[(2.0, 1.0)]), None);
        assert_eq!(Verdict::at_most(1.0, None), Verdict::Inconclusive);
    }

    #[test]
    fn differences_match_students_t_by_hand() {
        // 1 and 3: mean 2, standard deviation sqrt 2, half = 12.7062 * 1.
        let estimate = difference(&[(2.0, 1.0), (4.0, 1.0)]).unwrap();
        assert!((estimate.mean - 2.0).abs() < 1e-12);
        assert!(
            (estimate.high - 14.706_204_736).abs() < 1e-6,
            "{estimate:?}"
        );
        assert!((estimate.low + 10.706_204_736).abs() < 1e-6, "{estimate:?}");
    }

    #[test]
    fn pairs_with_a_zero_side_leave_a_ratio_but_not_a_difference() {
        let pairs = [(1.0, 0.0), (2.0, 1.0), (2.0, 1.0)];
        assert_eq!(ratio(&pairs).unwrap().blocks, 2);
        assert_eq!(difference(&pairs).unwrap().blocks, 3);
    }
}
