//! What the maxima of replicates tell: how far they lie apart, and whether they still grow
//! with the time watched.
//!
//! A maximum is no stable statistic. It has no interval by itself, it depends on how long
//! was watched, and of two equally long watches of one unchanged machine each has the
//! greater maximum with probability one half. What replicates of equal length do tell is
//! how far their maxima lie apart and how fast the expected maximum rises as the time
//! watched is doubled.

use crate::student::student_half_width;
use crate::{Interval, median_interval};

/// Replicates below which growth is not judged: Perneel 2015 judges by five.
pub const LEAST_MAXIMA: usize = 5;

/// Growth per doubling of the time watched that counts as growth: a tenth.
pub const GROWTH_LIMIT: f64 = 1.1;

/// The maxima of replicates of equal length, in the unit of the values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Maxima {
    /// Replicates.
    pub replicates: usize,
    /// The smallest maximum.
    pub least: f64,
    /// The median of the maxima.
    pub median: f64,
    /// Interval of that median from order statistics; absent with too few replicates.
    pub interval: Option<Interval>,
    /// The greatest maximum: the figure of Perneel 2015, Section IV.B.2.
    pub greatest: f64,
    /// How they grow with the time watched.
    pub growth: Growth,
}

impl Maxima {
    /// Describes `maxima`, one for each replicate; `None` where there is none or one is
    /// not finite. `level` is the confidence of the intervals.
    pub fn of(maxima: &[f64], level: f64) -> Option<Self> {
        let mut sorted = maxima.to_vec();
        sorted.sort_unstable_by(f64::total_cmp);
        let (median, interval) = median_interval(&sorted, level)?;
        Some(Self {
            replicates: sorted.len(),
            least: *sorted.first()?,
            median,
            interval,
            greatest: *sorted.last()?,
            growth: growth(&sorted, level),
        })
    }

    /// Probability that one more replicate of an unchanged machine lies above all of
    /// these: the last of n + 1 exchangeable values is the greatest with 1 / (n + 1).
    pub fn next_exceeds(&self) -> f64 {
        1.0 / (self.replicates as f64 + 1.0)
    }
}

/// How the expected maximum grows with the time watched.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Growth {
    /// Replicates taken together before doubling: the growth is that from this many
    /// to twice as many.
    pub from: usize,
    /// The expected maximum of twice as many replicates over that of so many; `None`
    /// where it cannot be told.
    pub ratio: Option<f64>,
    /// Its interval.
    pub interval: Option<Interval>,
    /// What that comes to.
    pub verdict: GrowthVerdict,
}

/// Whether maxima grow with the time watched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GrowthVerdict {
    /// Doubling the time raises the expected maximum by less than [`GROWTH_LIMIT`] says:
    /// bounded as far as was watched. What is rarer than that was not seen.
    LevelsOff,
    /// Doubling the time raises it by more: no bound was reached in the time watched.
    Grows,
    /// The interval holds the limit.
    Undecided,
    /// Less than [`LEAST_MAXIMA`] replicates, or a maximum that is not above 0.
    TooFew,
}

/// The growth of `sorted` maxima from a quarter of the replicates to half of them.
///
/// The expected maximum of m replicates is estimated without bias by the mean over all
/// subsets of m, a linear function of the order statistics (Downton 1966, as for
/// L-moments). The interval is Student's over the jackknife's pseudo-values of the ratio's
/// logarithm (Efron and Tibshirani 1993, Section 11.5). By simulation
/// (`tests/all/maxima_growth.rs`) either verdict is wrong in at most 5 % of cases for bounded, Gaussian,
/// Gumbel, log-normal and Pareto-like maxima; heavy tails are often undecided.
///
/// No finite watch tells a bound from a tail beyond it: maxima that level off may be
/// followed by something rarer, and uniform values grow by a third from one replicate
/// to two on the way to their bound.
fn growth(sorted: &[f64], level: f64) -> Growth {
    let n = sorted.len();
    let from = (n / 4).max(1);
    let unknown = |ratio, verdict| Growth {
        from,
        ratio,
        interval: None,
        verdict,
    };
    if n < LEAST_MAXIMA || sorted[0] <= 0.0 {
        return unknown(None, GrowthVerdict::TooFew);
    }
    let ln_ratio = |(small, large): (f64, f64)| (large / small).ln();
    let whole = ln_ratio((
        expected_maximum(sorted, from),
        expected_maximum(sorted, 2 * from),
    ));
    let small = expected_maxima_without_each(sorted, from);
    let large = expected_maxima_without_each(sorted, 2 * from);
    let parts: Vec<f64> = small.into_iter().zip(large).map(ln_ratio).collect();
    let count = n as f64;
    let mean = parts.iter().sum::<f64>() / count;
    let squares: f64 = parts.iter().map(|p| (p - mean).powi(2)).sum();
    let error = ((count - 1.0) / count * squares).sqrt();
    let half = student_half_width(level, count - 1.0) * error;
    let interval = Interval {
        // No expected maximum falls as the time grows.
        low: (whole - half).exp().max(1.0),
        high: (whole + half).exp(),
        level,
    };
    if !(interval.low.is_finite() && interval.high.is_finite()) {
        return unknown(Some(whole.exp()), GrowthVerdict::Undecided);
    }
    let verdict = if interval.high < GROWTH_LIMIT {
        GrowthVerdict::LevelsOff
    } else if interval.low > GROWTH_LIMIT {
        GrowthVerdict::Grows
    } else {
        GrowthVerdict::Undecided
    };
    Growth {
        from,
        ratio: Some(whole.exp()),
        interval: Some(interval),
        verdict,
    }
}

/// Mean maximum over all subsets of `m` of ascending values.
fn expected_maximum(values: &[f64], m: usize) -> f64 {
    let shares = shares(values.len(), m);
    values.iter().zip(shares).map(|(v, share)| v * share).sum()
}

/// The same where each of the values is left out in turn, in one pass over all.
fn expected_maxima_without_each(values: &[f64], m: usize) -> Vec<f64> {
    let shares = shares(values.len() - 1, m);
    // Those above the one that is left out are one place further down.
    let mut above = vec![0.0; values.len()];
    for i in (1..values.len()).rev() {
        above[i - 1] = above[i] + shares[i - 1] * values[i];
    }
    let mut below = 0.0;
    above.iter_mut().enumerate().for_each(|(i, sum)| {
        *sum += below;
        below += shares.get(i).unwrap_or(&0.0) * values[i];
    });
    above
}

/// The share of subsets of `m` of `n` ascending values in which each of them is the maximum: the
/// i-th in C(i, m - 1) out of C(n, m). From the greatest down, so that nothing overflows and what
/// is too small for a number counts for nothing.
fn shares(n: usize, m: usize) -> Vec<f64> {
    let mut shares = vec![0.0; n];
    let mut share = m as f64 / n as f64;
    for i in (m - 1..n).rev() {
        shares[i] = share;
        share *= (i + 1 - m) as f64 / i.max(1) as f64;
    }
    shares
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Mean maximum of all subsets, by listing them.
    fn listed(values: &[f64], m: usize) -> f64 {
        let subsets = (0u32..1 << values.len()).filter(|s| s.count_ones() as usize == m);
        let greatest = |s: u32| {
            let chosen = (0..values.len()).filter(|i| s & (1 << i) != 0);
            chosen.map(|i| values[i]).fold(f64::MIN, f64::max)
        };
        let all: Vec<f64> = subsets.map(greatest).collect();
        all.iter().sum::<f64>() / all.len() as f64
    }

    #[test]
    fn expected_maxima_are_those_of_all_subsets() {
        let values = [1.0, 2.0, 4.0, 4.5, 9.0, 20.0, 21.0];
        for m in 1..=3 {
            for m in [m, 2 * m] {
                let expected = expected_maximum(&values, m);
                assert!(
                    (expected - listed(&values, m)).abs() < 1e-12,
                    "{m}: {expected}"
                );
                let without = expected_maxima_without_each(&values, m);
                for (left_out, expected) in without.into_iter().enumerate() {
                    let mut rest = values.to_vec();
                    rest.remove(left_out);
                    let listed = listed(&rest, m);
                    assert!(
                        (expected - listed).abs() < 1e-12,
                        "{m}: {expected} {listed}"
                    );
                }
            }
        }
    }

    #[test]
    fn very_many_replicates_take_a_moment_and_have_a_growth() {
        // Of an exponential distribution the expected maximum of m values is the m-th harmonic
        // number, about ln m + 0.5772.
        let n = 1 << 20;
        let quantile = |i: usize| -(1.0 - (i as f64 + 0.5) / n as f64).ln();
        let values: Vec<f64> = (0..n).map(quantile).collect();
        let began = std::time::Instant::now();
        let growth = Maxima::of(&values, 0.95).unwrap().growth;
        assert!(began.elapsed().as_secs() < 10, "{:?}", began.elapsed());
        let expected = |m: usize| (m as f64).ln() + 0.5772;
        let want = expected(n / 2) / expected(n / 4);
        let ratio = growth.ratio.unwrap();
        assert!((ratio - want).abs() < 0.01, "{ratio} {want}");
        assert!(growth.interval.is_some(), "{growth:?}");
    }

    #[test]
    fn equal_maxima_level_off_and_few_ones_tell_nothing() {
        let same = Maxima::of(&[80.4e6; 5], 0.95).unwrap();
        assert_eq!(same.growth.verdict, GrowthVerdict::LevelsOff);
        assert!((same.growth.ratio.unwrap() - 1.0).abs() < 1e-12);
        assert_eq!(
            (same.least, same.median, same.greatest),
            (80.4e6, 80.4e6, 80.4e6)
        );
        // Five do not bound a median at 95 %, six do.
        assert_eq!(same.interval, None);
        let six = Maxima::of(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], 0.95).unwrap();
        let i = six.interval.unwrap();
        assert_eq!((i.low, i.high, six.median), (1.0, 6.0, 3.5));
        assert!((six.next_exceeds() - 1.0 / 7.0).abs() < 1e-12);
        let few = Maxima::of(&[1.0, 9.0, 2.0, 40.0], 0.95).unwrap();
        assert_eq!(few.growth.verdict, GrowthVerdict::TooFew);
        let zero = Maxima::of(&[0.0, 1.0, 2.0, 3.0, 4.0], 0.95).unwrap();
        assert_eq!(zero.growth.verdict, GrowthVerdict::TooFew);
        assert_eq!(Maxima::of(&[], 0.95), None);
        assert_eq!(Maxima::of(&[1.0, f64::NAN], 0.95), None);
    }

    #[test]
    fn the_interval_is_the_jackknifes() {
        // By NumPy over all subsets, and SciPy's Student of 7 degrees of freedom.
        let values = [3.0, 4.0, 4.5, 5.0, 7.0, 8.0, 8.5, 12.0];
        let found = Maxima::of(&values, 0.95).unwrap().growth;
        let interval = found.interval.unwrap();
        for (got, want) in [
            (found.ratio.unwrap(), 1.217_316_017_316_017_4),
            (interval.low, 1.022_352_350_096_402),
            (interval.high, 1.449_459_460_698_065),
        ] {
            assert!((got / want - 1.0).abs() < 1e-9, "{got} {want}");
        }
        // It would begin at 0.914; no expected maximum falls.
        let far = Maxima::of(&[1.0, 2.0, 3.0, 4.0, 5.0, 60.0], 0.95).unwrap();
        let interval = far.growth.interval.unwrap();
        assert_eq!(interval.low, 1.0);
        assert!((interval.high / 3.598_671_936_340_508 - 1.0).abs() < 1e-9);
    }

    #[test]
    fn ten_that_double_again_and_again_grow() {
        let doubling: Vec<f64> = (0..12).map(|i| 2f64.powi(i)).collect();
        let found = Maxima::of(&doubling, 0.95).unwrap();
        assert_eq!(found.growth.verdict, GrowthVerdict::Grows);
        assert_eq!(found.growth.from, 3);
    }

    proptest! {
        #[test]
        fn neither_order_nor_unit_matters(
            mut values in prop::collection::vec(1.0f64..1e6, 5..25),
            unit in 1e-3f64..1e3,
        ) {
            let found = Maxima::of(&values, 0.95).unwrap();
            let ratio = found.growth.ratio.unwrap();
            prop_assert!(ratio >= 1.0 - 1e-9 && ratio <= found.greatest / found.least + 1e-9);
            let interval = found.growth.interval.unwrap();
            prop_assert!(interval.contains(ratio));
            values.reverse();
            values.iter_mut().for_each(|v| *v *= unit);
            let other = Maxima::of(&values, 0.95).unwrap();
            prop_assert!((other.growth.ratio.unwrap() / ratio - 1.0).abs() < 1e-9);
            prop_assert!((other.greatest / (unit * found.greatest) - 1.0).abs() < 1e-12);
        }
    }
}
