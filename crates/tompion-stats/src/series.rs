//! Comparing two series of single trials by their stretches.

use crate::dependence::{above_quantile, sample_quantile};
use crate::persistence::Drift;
use crate::replicates::compare_widened;
use crate::{Dependence, Design, Interval, Outcome, Stretches, replicates_needed};

/// Stretches that a series is cut into where it is long enough for more. Ten
/// against ten lose little power and reach p = 1.1e-5.
const STRETCHES: usize = 10;

/// Samples that each stretch should hold beyond the quantile, on the rarer side.
const BEYOND: f64 = 5.0;

/// Seconds that a series of a machine has to span.
///
/// The load beside a machine comes and goes over tens of seconds to minutes, and a
/// series that is shorter than these tides cannot know of them. Of pairs from a
/// recording whose load ebbed for some minutes a fifth were told apart where they
/// spanned 20 to 60 s, none or next to none from two minutes on
/// (`tests/all/null_test.rs`).
pub const LEAST_SPAN_S: f64 = 120.0;

/// One contiguous stretch of samples in time order.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Series<'a> {
    values: &'a [i64],
    seconds: Option<f64>,
}

impl<'a> Series<'a> {
    /// What a machine did within `seconds`: below [`LEAST_SPAN_S`] nothing is decided.
    #[must_use]
    pub fn lasting(values: &'a [i64], seconds: f64) -> Self {
        let seconds = Some(seconds);
        Self { values, seconds }
    }

    /// A series without a time, such as a generated one, whose dependence is known to
    /// be no longer than it shows.
    #[must_use]
    pub fn timeless(values: &'a [i64]) -> Self {
        let seconds = None;
        Self { values, seconds }
    }

    /// How many times as long it would have to be; at most 1 where it is long enough.
    fn short_by(&self) -> f64 {
        self.seconds.map_or(0.0, |s| LEAST_SPAN_S / s.max(1e-6))
    }
}

/// What one series of each of two trials says about `b` against `a`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SeriesComparison {
    /// The longer of the two autocorrelation times at the quantile, in samples.
    pub autocorrelation_time: f64,
    /// Samples in each stretch; 0 where not decidable.
    pub stretch_length: usize,
    /// Stretches of `a` and of `b`; 0 where not decidable.
    pub stretches: (usize, usize),
    /// Memory parameter d of the two series: 0 where they drift no slower than
    /// their stretches are long, towards 0.5 the more they do.
    pub memory: f64,
    /// Factor by which such drift widened the interval (and raised p); 1 is none.
    pub widening: f64,
    /// The comparison of the stretches' quantiles, in the unit of the values; where
    /// not decidable, `have` and `need` count samples of the shorter series.
    pub outcome: Outcome,
    /// How many times larger the quantile of `b` is, with its interval: the same
    /// comparison on logarithms. `None` where a stretch's quantile is not above 0.
    pub ratio: Option<(f64, Interval)>,
}

/// Compares the `q`-quantile of two series at `level` in a family of `family` tests.
///
/// Both are cut into stretches of one length, each at least [`STRETCH_FACTOR`]
/// autocorrelation times long and with at least five samples beyond the quantile;
/// the stretches' quantiles are compared as replicates
/// ([`crate::compare_replicates`]). Few long stretches stay valid under more
/// dependence than was measured (Ibragimov and Müller 2010; Canay, Romano and
/// Shaikh 2017).
///
/// Drift that outlives a stretch makes two series differ by more than their
/// stretches show. It is measured (the memory parameter d of "above the quantile",
/// from the slowest movements of both series) and paid for: the interval is
/// widened by what long-range dependence makes of the scatter between two times
/// far apart, and p raised accordingly. So the level is held where stretches see
/// the machine in all its states (`tests/all/null_test.rs`), and nothing is decided on
/// series of a machine that span less than [`LEAST_SPAN_S`]. A machine that went over
/// to another state between the two series differs, and is found to.
/// Where you can, interleave the trials instead, and use
/// [`crate::compare_replicates`] with [`Design::Paired`].
///
/// Power at level 0.05 (`tests/all/power_test.rs`): series of 5000 samples of an
/// autoregression with coefficient 0.9, worth 263 independent ones, find a shift
/// of 0.4 standard deviations in 82 % of cases. Drift costs more than that: on a
/// recorded machine beside builds that begin and end, series of 200 s find a
/// doubled median wake-up latency in 84 % of cases, one a fifth longer in 13 %.
///
/// `None` below 16 samples or with `q` or `level` not between 0 and 1.
///
/// [`STRETCH_FACTOR`]: crate::STRETCH_FACTOR
pub fn compare_series(
    a: Series<'_>,
    b: Series<'_>,
    q: f64,
    level: f64,
    family: usize,
) -> Option<SeriesComparison> {
    if !(q > 0.0 && q < 1.0) {
        return None;
    }
    let short_by = a.short_by().max(b.short_by());
    let (a, b) = (a.values, b.values);
    let least = replicates_needed(Design::Independent, level, family)?;
    let of_a = Dependence::at_quantile(a, q)?.autocorrelation_time;
    let time = of_a.max(Dependence::at_quantile(b, q)?.autocorrelation_time);
    let faces = [above_quantile(a, q)?, above_quantile(b, q)?];
    let drift = |count| Drift::of(&[&faces[0], &faces[1]], time, count);
    let beyond = (BEYOND / q.min(1.0 - q)).ceil().min(1e15) as usize;
    let samples = a.len().min(b.len());
    let spanning = (samples as f64 * short_by).ceil().min(1e15) as usize;
    let cut = match Stretches::cut(samples, time, beyond, least, STRETCHES.max(least)) {
        Stretches::Cut { .. } if short_by > 1.0 => Stretches::TooShort {
            have: samples,
            need: spanning,
        },
        Stretches::TooShort { have, need } => Stretches::TooShort {
            have,
            need: need.max(spanning),
        },
        cut => cut,
    };
    Some(match cut {
        Stretches::TooShort { have, need } => SeriesComparison {
            autocorrelation_time: time,
            stretch_length: 0,
            stretches: (0, 0),
            memory: drift(least).memory,
            widening: 1.0,
            outcome: Outcome::NotDecidable { have, need },
            ratio: None,
        },
        Stretches::Cut { length, count } => {
            let Drift { memory, widening } = drift(count);
            let (a, b) = (figures(a, length, q)?, figures(b, length, q)?);
            let compared = |a: &[f64], b: &[f64]| {
                compare_widened(a, b, Design::Independent, level, family, widening).ok()
            };
            SeriesComparison {
                autocorrelation_time: time,
                stretch_length: length,
                stretches: (a.len(), b.len()),
                memory,
                widening,
                outcome: compared(&a, &b)?,
                ratio: logarithms(&a)
                    .zip(logarithms(&b))
                    .and_then(|(a, b)| compared(&a, &b))
                    .and_then(exponential),
            }
        }
    })
}

/// `None` where a value is not above 0.
fn logarithms(values: &[f64]) -> Option<Vec<f64>> {
    let log = |v: &f64| (*v > 0.0).then(|| v.ln());
    values.iter().map(log).collect()
}

/// A shift of logarithms as a ratio.
fn exponential(outcome: Outcome) -> Option<(f64, Interval)> {
    let Outcome::Decided(c) = outcome else {
        return None;
    };
    let interval = Interval {
        low: c.interval.low.exp(),
        high: c.interval.high.exp(),
        ..c.interval
    };
    Some((c.shift.exp(), interval))
}

/// The quantile of each whole stretch.
fn figures(series: &[i64], length: usize, q: f64) -> Option<Vec<f64>> {
    let stretches = series.chunks_exact(length);
    stretches.map(|s| sample_quantile(s, q)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_noise::{Noise, autoregressive};
    use proptest::prelude::*;

    fn whole(series: &[f64]) -> Vec<i64> {
        series.iter().map(|v| (v * 1e6) as i64).collect()
    }

    fn timeless(a: &[i64], b: &[i64], q: f64, level: f64, n: usize) -> Option<SeriesComparison> {
        compare_series(Series::timeless(a), Series::timeless(b), q, level, n)
    }

    fn noise(seed: u64, n: usize) -> Vec<i64> {
        whole(&autoregressive(&mut Noise::new(seed), n, 0.5))
    }

    fn p(a: &[i64], b: &[i64]) -> f64 {
        match timeless(a, b, 0.5, 0.05, 1).unwrap().outcome {
            Outcome::Decided(c) => c.p,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_planted_shift_is_found_and_measured() {
        let (a, b) = (noise(1, 4_000), noise(2, 4_000));
        let b: Vec<i64> = b.iter().map(|v| v + 700_000).collect();
        let found = timeless(&a, &b, 0.5, 0.05, 1).unwrap();
        let Outcome::Decided(c) = found.outcome else {
            panic!("{found:?}")
        };
        assert_eq!((found.stretches, found.stretch_length), ((10, 10), 400));
        assert!(c.p < 0.05 && c.interval.contains(700_000.0), "{c:?}");
        assert!(c.a_hat > 0.9, "{c:?}");
    }

    #[test]
    fn a_ratio_is_above_zero_however_wide() {
        // The middle differs by chance alone, and scatters by more than its size.
        let skewed = |seed| -> Vec<i64> {
            let values = autoregressive(&mut Noise::new(seed), 4_000, 0.99);
            values.iter().map(|v| (v.exp() * 1e6) as i64).collect()
        };
        let mut widest = false;
        for seed in 0..20 {
            let (a, b) = (skewed(seed), skewed(seed + 100));
            let found = timeless(&a, &b, 0.5, 0.05, 1).unwrap();
            let (Outcome::Decided(c), Some((ratio, interval))) = (found.outcome, found.ratio)
            else {
                continue;
            };
            let middle = sample_quantile(&a, 0.5).unwrap();
            widest |= c.interval.low < -middle;
            assert!(0.0 < interval.low && interval.contains(ratio), "{found:?}");
        }
        assert!(
            widest,
            "no interval of a shift reached beyond all of the figure"
        );
        let doubled = |v: &[i64]| v.iter().map(|x| 2 * x).collect::<Vec<_>>();
        let a = skewed(1);
        let found = timeless(&a, &doubled(&a), 0.5, 0.05, 1).unwrap();
        let (ratio, interval) = found.ratio.unwrap();
        assert!((ratio - 2.0).abs() < 1e-9 && interval.contains(2.0));
        let centred: Vec<i64> = noise(1, 600);
        assert_eq!(
            timeless(&centred, &centred, 0.5, 0.05, 1).unwrap().ratio,
            None
        );
    }

    #[test]
    fn wandering_series_are_refused_or_kept() {
        // Random walks from one start: any two differ, none of them by a shift.
        let walk = |noise: &mut Noise| {
            let mut at = 0.0;
            let steps = (0..3_000).map(|_| {
                at += noise.normal();
                at
            });
            whole(&steps.collect::<Vec<f64>>())
        };
        let (mut refused, mut rejected) = (0, 0);
        for seed in 0..200 {
            let mut noise = Noise::new(seed);
            let (a, b) = (walk(&mut noise), walk(&mut noise));
            match timeless(&a, &b, 0.5, 0.05, 1).unwrap().outcome {
                Outcome::NotDecidable { .. } => refused += 1,
                Outcome::Decided(c) => rejected += u32::from(c.p <= 0.05),
            }
        }
        assert!(refused > 150 && rejected <= 10, "{refused} {rejected}");
    }

    #[test]
    fn series_of_different_length_are_cut_alike() {
        let found = timeless(&noise(1, 2_000), &noise(2, 6_100), 0.5, 0.05, 1).unwrap();
        assert_eq!((found.stretches, found.stretch_length), ((10, 30), 200));
    }

    #[test]
    fn too_short_series_say_how_many_samples_it_takes() {
        let outcome = |n, q, family| {
            let found = timeless(&noise(1, n), &noise(2, n), q, 0.05, family);
            found.unwrap().outcome
        };
        // p99 needs 500 samples in each of 4 stretches, of 6 in a family of 10.
        let need = |need| Outcome::NotDecidable { have: 1_500, need };
        assert_eq!(outcome(1_500, 0.99, 1), need(2_000));
        assert_eq!(outcome(1_500, 0.99, 10), need(3_000));
        assert!(matches!(outcome(2_000, 0.99, 1), Outcome::Decided(_)));
        assert!(timeless(&[1; 15], &[1; 15], 0.5, 0.05, 1).is_none());
        assert!(timeless(&[1; 99], &[1; 99], 1.0, 0.05, 1).is_none());
        assert!(timeless(&[1; 99], &[1; 99], 0.5, 0.0, 1).is_none());
    }

    #[test]
    fn series_of_a_machine_span_two_minutes_or_decide_nothing() {
        let (a, b) = (noise(1, 3_000), noise(2, 6_000));
        let outcome = |x: f64, y: f64, q| {
            let (a, b) = (Series::lasting(&a, x), Series::lasting(&b, y));
            compare_series(a, b, q, 0.05, 1).unwrap().outcome
        };
        assert!(matches!(outcome(120.0, 240.0, 0.5), Outcome::Decided(_)));
        let need = |need| Outcome::NotDecidable { have: 3_000, need };
        assert_eq!(outcome(60.0, 240.0, 0.5), need(6_000));
        assert_eq!(outcome(240.0, 90.0, 0.5), need(4_000));
        // p99.9 takes 5000 samples in each of 4 stretches, more than two minutes hold.
        assert_eq!(outcome(60.0, 240.0, 0.999), need(20_000));
        assert_eq!(outcome(120.0, 240.0, 0.999), need(20_000));
        assert!(matches!(
            outcome(0.0, 1.0, 0.5),
            Outcome::NotDecidable { .. }
        ));
    }

    #[test]
    fn constant_series_do_not_differ_from_themselves() {
        assert_eq!(p(&[5; 200], &[5; 200]), 1.0);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]
        #[test]
        fn place_scale_and_order_of_the_series_do_not_matter(seed in 0u64..1000, by in -1_000_000i64..1_000_000, times in 1i64..9) {
            let (a, b) = (noise(seed, 600), noise(seed + 1000, 600));
            let moved = |v: &[i64]| v.iter().map(|x| x * times + by).collect::<Vec<_>>();
            let want = p(&a, &b);
            prop_assert!(want > 0.0 && want <= 1.0);
            prop_assert!((p(&moved(&a), &moved(&b)) - want).abs() < 1e-9);
            prop_assert!((p(&b, &a) - want).abs() < 1e-9);
        }
    }
}
