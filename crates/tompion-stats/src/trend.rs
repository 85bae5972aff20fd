//! A difference between two groups beside a linear trend that goes on through both.
//!
//! Where one group was measured after the other, a drift of the machine moves their figures
//! apart as a difference does. Analysis of covariance (Fisher 1932, Statistical Methods for
//! Research Workers, 4th edition, section 49.1) tells the two apart as far as that is possible:
//! by the trend that is seen within the groups. It costs: of eight figures each, one after the
//! other, the difference beside a trend has twice the standard error that it has without one.

use crate::equivalence::reach;
use crate::student::student_half_width;
use crate::tails::f_upper;
use crate::{Interval, POWER};

/// What a common linear trend leaves of the difference between two groups.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BesideTrend {
    /// How much larger the second group is, beyond the trend, in the unit of the figures.
    pub shift: f64,
    /// Its standard error.
    pub error: f64,
    /// Degrees of freedom: figures of both groups less three.
    pub df: f64,
    /// Two-sided p of "there is a trend, and no difference".
    pub p: f64,
    /// The trend that fits best if there is no difference, from one place to the next.
    pub slope: f64,
}

impl BesideTrend {
    /// Fits figures of two groups at their places, which are in the order of time.
    ///
    /// `None` below four figures, where a group is empty, or where places do not tell trend and
    /// difference apart: figures that are not finite, places all alike within the groups.
    ///
    /// ```
    /// use tompion_stats::BesideTrend;
    ///
    /// // A steady climb, cut in two.
    /// let climb = [(0.0, 1.0), (1.0, 2.1), (2.0, 2.9), (3.0, 4.0)];
    /// let on = [(4.0, 5.1), (5.0, 5.9), (6.0, 7.0), (7.0, 8.0)];
    /// let found = BesideTrend::of(&climb, &on).unwrap();
    /// assert!(found.p > 0.5 && found.shift.abs() < 0.3);
    /// assert!((found.slope - 1.0).abs() < 0.02);
    /// ```
    pub fn of(a: &[(f64, f64)], b: &[(f64, f64)]) -> Option<Self> {
        let df = (a.len() + b.len()).checked_sub(3).filter(|df| *df > 0)? as f64;
        let (a, b) = (Group::of(a)?, Group::of(b)?);
        let places = a.places + b.places;
        if !(places > 0.0 && places.is_finite()) {
            return None;
        }
        let within = (a.products + b.products) / places;
        let apart = b.place - a.place;
        let difference = b.mean - a.mean;
        let shift = difference - within * apart;
        let squares = (a.squares + b.squares - within * (a.products + b.products)).max(0.0);
        let variance = squares / df * (1.0 / a.count + 1.0 / b.count + apart * apart / places);
        let error = variance.sqrt();
        // Both groups as one: the products between them come to those within.
        let weight = a.count * b.count / (a.count + b.count);
        let slope = (a.products + b.products + weight * apart * difference)
            / (places + weight * apart * apart);
        (shift.is_finite() && error.is_finite()).then(|| Self {
            shift,
            error,
            df,
            p: match error > 0.0 {
                true => f_upper((shift / error).powi(2), 1.0, df),
                false => f64::from(u8::from(shift == 0.0)),
            },
            slope,
        })
    }

    /// The interval of the shift at `confidence` (0 to 1).
    pub fn interval(&self, confidence: f64) -> Interval {
        let half = student_half_width(confidence, self.df) * self.error;
        Interval {
            low: self.shift - half,
            high: self.shift + half,
            level: confidence,
        }
    }

    /// The smallest difference that a two-sided test at `level` would have told from a trend
    /// in 80 % of cases.
    pub fn detectable(&self, level: f64) -> f64 {
        self.error * reach(self.df, 0.5 * level, POWER)
    }
}

/// Sums over one group, about its own means.
struct Group {
    count: f64,
    place: f64,
    mean: f64,
    /// Of squares of places, of places times figures, of squares of figures.
    places: f64,
    products: f64,
    squares: f64,
}

impl Group {
    fn of(figures: &[(f64, f64)]) -> Option<Self> {
        let count = figures.len() as f64;
        let place = figures.iter().map(|f| f.0).sum::<f64>() / count;
        let mean = figures.iter().map(|f| f.1).sum::<f64>() / count;
        let sum = |of: &dyn Fn(f64, f64) -> f64| -> f64 {
            figures.iter().map(|f| of(f.0 - place, f.1 - mean)).sum()
        };
        (place.is_finite() && mean.is_finite()).then(|| Self {
            count,
            place,
            mean,
            places: sum(&|x, _| x * x),
            products: sum(&|x, y| x * y),
            squares: sum(&|_, y| y * y),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_noise::Noise;

    fn placed(from: usize, figures: &[f64]) -> Vec<(f64, f64)> {
        let place = |(i, v): (usize, &f64)| ((from + i) as f64, *v);
        figures.iter().enumerate().map(place).collect()
    }

    fn near(got: f64, want: f64) {
        assert!(
            (got - want).abs() < 1e-9 * want.abs().max(1e-3),
            "{got} {want}"
        );
    }

    #[test]
    fn the_fit_is_that_of_statsmodels() {
        // OLS of statsmodels 0.15 on a constant, the group and the place.
        let a = placed(0, &[50.1, 49.8, 50.6, 50.0, 49.5, 51.0]);
        let b = placed(6, &[50.9, 50.3, 51.2, 50.8, 52.4, 50.0]);
        let found = BesideTrend::of(&a, &b).unwrap();
        near(found.shift, 0.389_523_809_523_828);
        near(found.error, 0.858_310_433_468_895);
        near(found.p, 0.660_699_276_294_902);
        near(found.interval(0.95).low, -1.552_109_285_452_266);
        near(found.slope, 0.111_888_111_888_111_8);
        assert_eq!(found.df, 9.0);
    }
    #[test]
    fn taking_turns_loses_nothing_to_a_trend() {
        let mut noise = Noise::new(1);
        let mut errors = (0.0, 0.0);
        for _ in 0..300 {
            let figures: Vec<f64> = (0..16)
                .map(|i| 3.0 * f64::from(i) + noise.normal())
                .collect();
            let all = placed(0, &figures);
            // ABBA: the centres of both groups coincide.
            let is_first = |at: &usize| matches!(at % 4, 0 | 3);
            let (a, b): (Vec<usize>, Vec<usize>) = (0..16).partition(is_first);
            let of = |places: Vec<usize>| places.iter().map(|i| all[*i]).collect::<Vec<_>>();
            errors.0 += BesideTrend::of(&of(a), &of(b)).unwrap().error;
            errors.1 += BesideTrend::of(&all[..8], &all[8..]).unwrap().error;
        }
        let ratio = errors.1 / errors.0;
        assert!((ratio - 2.0).abs() < 0.05, "{errors:?}");
        // What it would be without a trend, known to be none.
        assert!((errors.0 / 300.0 - 0.5).abs() < 0.02, "{errors:?}");
    }

    #[test]
    fn a_trend_of_any_size_is_taken_for_a_difference_as_seldom_as_the_level_says() {
        for slope in [0.0, 0.3, 30.0] {
            let mut noise = Noise::new(7);
            let mut differs = 0;
            for _ in 0..2000 {
                let figures: Vec<f64> = (0..16)
                    .map(|i| slope * f64::from(i) + noise.normal())
                    .collect();
                let all = placed(0, &figures);
                let found = BesideTrend::of(&all[..8], &all[8..]).unwrap();
                differs += u32::from(found.p <= 0.05);
                assert_eq!(found.p <= 0.05, !found.interval(0.95).contains(0.0));
            }
            assert!((70..=130).contains(&differs), "{slope}: {differs} of 2000");
        }
    }

    #[test]
    fn what_would_have_been_found_is_found_in_eighty_percent() {
        let mut noise = Noise::new(9);
        let (mut found, mut by) = (0, 0.0);
        for _ in 0..500 {
            let figures: Vec<f64> = (0..16).map(|_| noise.normal()).collect();
            let all = placed(0, &figures);
            by += BesideTrend::of(&all[..8], &all[8..])
                .unwrap()
                .detectable(0.05)
                / 500.0;
        }
        for _ in 0..2000 {
            let figures: Vec<f64> = (0..16)
                .map(|i| noise.normal() + if i < 8 { 0.0 } else { by })
                .collect();
            let all = placed(0, &figures);
            found += u32::from(BesideTrend::of(&all[..8], &all[8..]).unwrap().p <= 0.05);
        }
        assert!((1540..=1680).contains(&found), "{found} of 2000 at {by}");
    }

    #[test]
    fn what_tells_nothing_is_none() {
        let few = placed(0, &[1.0, 2.0]);
        assert_eq!(BesideTrend::of(&few, &few[..1]), None);
        assert_eq!(BesideTrend::of(&placed(0, &[1.0; 8]), &[]), None);
        let here = [(3.0, 1.0), (3.0, 2.0)];
        assert_eq!(BesideTrend::of(&here, &here), None);
        let nan = placed(0, &[1.0, f64::NAN, 2.0]);
        assert_eq!(BesideTrend::of(&nan, &few), None);
        let same = BesideTrend::of(&placed(0, &[5.0; 4]), &placed(4, &[5.0; 4])).unwrap();
        assert_eq!((same.p, same.shift, same.slope), (1.0, 0.0, 0.0));
        let step = BesideTrend::of(&placed(0, &[5.0; 4]), &placed(4, &[6.0; 4])).unwrap();
        assert_eq!((step.p, step.shift), (0.0, 1.0));
    }
}
