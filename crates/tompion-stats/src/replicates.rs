//! Comparing two groups of replicates, or saying how many it would take.

use crate::permutation::{self, reaches};
use crate::{
    Design, Interval, Relabelings, ReplicateError, least_p, permutation_test, replicates_needed,
    shift_interval,
};

/// What replicates say about `b` against `a`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Outcome {
    /// There were enough replicates for a p-value to reach the level.
    Decided(Comparison),
    /// No result whatever could have reached it.
    NotDecidable {
        /// Replicates of the smaller group (pairs, for a paired design).
        have: usize,
        /// Replicates that each group needs.
        need: usize,
    },
}

/// A comparison of `b` against `a`, in the unit of the replicates' figures.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Comparison {
    /// Two-sided p-value, before any adjustment for the family.
    pub p: f64,
    /// The smallest p that so many replicates can give.
    pub least_p: f64,
    /// Hodges-Lehmann estimate of how much larger `b` is.
    pub shift: f64,
    /// Its interval, of confidence 1 - level, from the same test.
    pub interval: Interval,
    /// Share of pairs of replicates in which `b` is the larger, ties counted
    /// half (Vargha and Delaney 2000); of a paired design, share of the blocks.
    pub a_hat: f64,
    /// Whether all relabellings were counted.
    pub relabelings: Relabelings,
}

/// Compares replicates by permutation at `level` (0.05, say) as one of a family
/// of `family` tests, whose p-values the caller will adjust by Holm's method.
///
/// Holm multiplies the smallest p of the family by its size; a design whose
/// least p times `family` stays above `level` is therefore [`Outcome::NotDecidable`].
/// Two independent groups need 4 replicates each at level 0.05 alone, 6 in a
/// family of 10; pairs 6 and 9.
///
/// Power, by simulation with normal figures at level 0.05 (`tests/all/power_test.rs`):
/// 6 with 6 replicates find a shift of 2 standard deviations in 82 % of cases, 10
/// with 10 a shift of 1.5 in 85 %, 10 pairs without an effect of blocks one of 1.5
/// in 82 %.
///
/// With a `level` not between 0 and 1 nothing is decidable and `need` is
/// `usize::MAX`.
///
/// # Errors
/// Groups that do not pair, figures that are not finite.
pub fn compare_replicates(
    a: &[f64],
    b: &[f64],
    design: Design,
    level: f64,
    family: usize,
) -> Result<Outcome, ReplicateError> {
    compare_widened(a, b, design, level, family, 1.0)
}

/// As [`compare_replicates`], with everything about the shift `widening` times as
/// uncertain as replicates in disorder would make it (1 or more).
///
/// The interval's ends move away from the estimate by that factor. p stays the
/// test that belongs to this interval: the wide interval leaves zero out exactly
/// when the plain one leaves out all but 1/`widening` of the shift.
///
/// # Errors
/// Groups that do not pair, figures that are not finite.
pub fn compare_widened(
    a: &[f64],
    b: &[f64],
    design: Design,
    level: f64,
    family: usize,
    widening: f64,
) -> Result<Outcome, ReplicateError> {
    let shift = shift_interval(a, b, design, 1.0 - level)?;
    let undecidable = |need| Outcome::NotDecidable {
        have: a.len().min(b.len()),
        need,
    };
    let Some((shift, interval)) = shift
        .filter(|_| reaches(design, a.len(), b.len(), level, family))
        .and_then(|s| Some((s.estimate, s.interval?)))
    else {
        return Ok(undecidable(
            replicates_needed(design, level, family).unwrap_or(usize::MAX),
        ));
    };
    let kept = shift - shift / widening;
    let shrunk: Vec<f64> = b.iter().map(|x| x - kept).collect();
    let test = permutation_test(a, if widening > 1.0 { &shrunk } else { b }, design)?;
    Ok(Outcome::Decided(Comparison {
        p: test.p,
        least_p: least_p(design, a.len(), b.len()),
        shift,
        interval: Interval {
            low: shift - widening * (shift - interval.low),
            high: shift + widening * (interval.high - shift),
            level: 1.0 - level,
        },
        a_hat: permutation::larger_share(a, b, design),
        relabelings: test.relabelings,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn compare(a: &[f64], b: &[f64], design: Design, family: usize) -> Outcome {
        compare_replicates(a, b, design, 0.05, family).unwrap()
    }

    fn decided(outcome: Outcome) -> Comparison {
        match outcome {
            Outcome::Decided(c) => c,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn too_few_replicates_say_how_many_it_takes() {
        let (low, high) = ([1.0, 2.0, 3.0, 4.0], [11.0, 12.0, 13.0, 14.0]);
        let need = |have, need| Outcome::NotDecidable { have, need };
        let c = |n: usize, design, family| compare(&low[..n], &high, design, family);
        assert_eq!(
            compare(&low[..3], &high[..3], Design::Independent, 1),
            need(3, 4)
        );
        // Holm multiplies the least p of 4 and 4, 2/70, by the family's size.
        assert_eq!(c(4, Design::Independent, 10), need(4, 6));
        assert_eq!(c(4, Design::Paired, 1), need(4, 6));
        // 3 against 4 have 2/35, too much.
        assert_eq!(c(3, Design::Independent, 1), need(3, 4));
        assert!(matches!(c(4, Design::Independent, 1), Outcome::Decided(_)));
        let never = compare_replicates(&low, &high, Design::Independent, 0.0, 1);
        assert_eq!(never, Ok(need(4, usize::MAX)));
    }

    #[test]
    fn a_decision_tells_p_shift_interval_and_share() {
        let c = decided(compare(
            &[1.0, 2.0, 3.0, 4.0, 5.0],
            &[4.5, 12.0, 13.0, 14.0, 15.0],
            Design::Independent,
            1,
        ));
        // One of the 25 pairs the other way: sums of ranks as extreme in 2 of 252.
        assert!((c.p - 2.0 * 2.0 / 252.0).abs() < 1e-15 && (c.least_p - 2.0 / 252.0).abs() < 1e-15);
        assert_eq!((c.shift, c.a_hat), (10.0, 0.96));
        assert!(c.interval.low > 0.0 && c.interval.contains(10.0) && c.interval.level == 0.95);
    }

    #[test]
    fn pairs_take_out_what_blocks_share() {
        let blocks = [10.0, 500.0, 90.0, 7000.0, 33.0, 2.0, 60.0];
        let b: Vec<f64> = blocks
            .iter()
            .enumerate()
            .map(|(i, x)| x + 1.0 + i as f64 / 8.0)
            .collect();
        let paired = decided(compare(&blocks, &b, Design::Paired, 1));
        assert!(paired.p <= 0.05 && paired.a_hat == 1.0 && paired.interval.low >= 1.0);
        let apart = decided(compare(&blocks, &b, Design::Independent, 1));
        assert!(apart.p > 0.5, "{apart:?}");
    }

    #[test]
    fn widening_widens_interval_and_p_alike() {
        let a = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
        let b = a.map(|x| x + 7.0);
        let at = |w| decided(compare_widened(&a, &b, Design::Independent, 0.05, 1, w).unwrap());
        let (plain, twice, more) = (at(1.0), at(2.0), at(3.0));
        assert_eq!(plain.shift, twice.shift);
        let width = |c: &Comparison| c.interval.high - c.interval.low;
        assert!((width(&twice) - 2.0 * width(&plain)).abs() < 1e-9);
        assert!(plain.p < twice.p && twice.p < more.p);
        for c in [plain, twice, more] {
            assert_eq!(c.p <= 0.05, !c.interval.contains(0.0), "{c:?}");
        }
        // A shift far beyond all scatter is found however wide.
        let far = a.map(|x| x + 7000.0);
        let c = compare_widened(&a, &far, Design::Independent, 0.05, 1, 12.0).unwrap();
        assert_eq!(decided(c).p, decided(c).least_p);
    }
}
