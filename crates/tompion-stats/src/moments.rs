//! Mean and spread of real values.

use crate::Interval;
use crate::student::student_quantile;

/// Number, mean and sum of squared deviations of real values, in their unit.
///
/// Values are taken in one at a time by Welford's update ("Note on a Method for
/// Calculating Corrected Sums of Squares and Products", Technometrics 4, 1962),
/// which loses no precision to a large common offset.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Moments {
    n: u64,
    mean: f64,
    squares: f64,
}

impl Moments {
    /// The moments of all `values`.
    pub fn of(values: impl IntoIterator<Item = f64>) -> Self {
        let mut moments = Self::default();
        for value in values {
            moments.push(value);
        }
        moments
    }

    /// Takes in one more value.
    pub fn push(&mut self, value: f64) {
        self.n += 1;
        let before = value - self.mean;
        self.mean += before / self.n as f64;
        self.squares += before * (value - self.mean);
    }

    /// The moments of the values of both.
    ///
    /// Source: Chan, Golub and LeVeque, "Algorithms for Computing the Sample
    /// Variance", The American Statistician 37 (1983).
    pub fn merge(&self, other: &Self) -> Self {
        if other.n == 0 {
            return *self;
        }
        let n = self.n + other.n;
        let (a, b) = (self.n as f64, other.n as f64);
        let apart = other.mean - self.mean;
        Self {
            n,
            mean: self.mean + apart * b / n as f64,
            squares: self.squares + other.squares + apart * apart * a * b / n as f64,
        }
    }

    /// How many values there were.
    pub fn len(&self) -> u64 {
        self.n
    }

    /// Whether there were none.
    pub fn is_empty(&self) -> bool {
        self.n == 0
    }

    /// The arithmetic mean; `None` without values.
    pub fn mean(&self) -> Option<f64> {
        (self.n > 0).then_some(self.mean)
    }

    /// The standard deviation with divisor n - 1; `None` below two values.
    pub fn standard_deviation(&self) -> Option<f64> {
        (self.n > 1).then(|| (self.squares / (self.n - 1) as f64).sqrt())
    }

    /// The standard deviation with divisor n, the "uncorrected" one that
    /// Adamczyk 2015 prints; `None` without values.
    pub fn uncorrected_standard_deviation(&self) -> Option<f64> {
        (self.n > 0).then(|| (self.squares / self.n as f64).sqrt())
    }

    /// Student's interval for the mean at `level`, for example 0.99; `None`
    /// below two values or when `level` is not between 0 and 1.
    ///
    /// It takes the values for independent. Where they are not, as with
    /// intervals of a grid, whose errors cancel, it does not hold its level.
    pub fn mean_interval(&self, level: f64) -> Option<Interval> {
        if !(level > 0.0 && level < 1.0) {
            return None;
        }
        let deviation = self.standard_deviation()?;
        let t = student_quantile(0.5 + level / 2.0, (self.n - 1) as f64);
        let half = t * deviation / (self.n as f64).sqrt();
        Some(Interval {
            low: self.mean - half,
            high: self.mean + half,
            level,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn both_divisors_by_hand() {
        let m = Moments::of([2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0]);
        assert_eq!(m.mean(), Some(5.0));
        assert_eq!(m.uncorrected_standard_deviation(), Some(2.0));
        assert!((m.standard_deviation().unwrap() - (32.0f64 / 7.0).sqrt()).abs() < 1e-12);
    }

    #[test]
    fn interval_by_the_table_of_students_t() {
        // t(0.995; 4) = 4.604 095; sd of 1..=5 is sqrt(2.5).
        let i = Moments::of((1..=5).map(f64::from))
            .mean_interval(0.99)
            .unwrap();
        let half = 4.604_094_871 * (2.5f64 / 5.0).sqrt();
        assert!((i.high - 3.0 - half).abs() < 1e-6 && (3.0 - i.low - half).abs() < 1e-6);
    }

    #[test]
    fn interval_to_the_last_digits() {
        // Mean 0 and sd sqrt(n / (n - 1)): half is t / sqrt(n - 1), with t of SciPy 1.17.1.
        for (n, t) in [
            (1_000, 1.962_341_461_133_449_6),
            (100_000, 1.959_987_707_771_844_2),
        ] {
            let m = Moments::of((0..n).map(|i| if i % 2 == 0 { 1.0 } else { -1.0 }));
            let half = m.mean_interval(0.95).unwrap().high - m.mean().unwrap();
            assert!(
                (half * f64::from(n - 1).sqrt() / t - 1.0).abs() < 1e-12,
                "{n} {half}"
            );
        }
    }

    #[test]
    fn too_few_values_have_no_spread() {
        assert_eq!(Moments::default().mean(), None);
        let one = Moments::of([3.0]);
        assert_eq!(one.uncorrected_standard_deviation(), Some(0.0));
        assert_eq!(one.standard_deviation(), None);
        assert_eq!(one.mean_interval(0.95), None);
        assert_eq!(Moments::of([1.0, 2.0]).mean_interval(1.0), None);
    }

    #[test]
    fn a_large_offset_costs_no_precision() {
        // NIST's StRD set NumAcc4: mean 10000000.2, sd exactly 0.1.
        let m = Moments::of(
            std::iter::once(10_000_000.2)
                .chain((0..500).flat_map(|_| [10_000_000.1, 10_000_000.3])),
        );
        assert!((m.mean().unwrap() - 10_000_000.2).abs() < 1e-7);
        assert!((m.standard_deviation().unwrap() - 0.1).abs() < 1e-8);
    }

    proptest! {
        #[test]
        fn equals_two_passes(v in prop::collection::vec(-1e6f64..1e6, 2..200)) {
            let m = Moments::of(v.iter().copied());
            let n = v.len() as f64;
            let mean = v.iter().sum::<f64>() / n;
            let squares: f64 = v.iter().map(|x| (x - mean).powi(2)).sum();
            prop_assert!((m.mean().unwrap() - mean).abs() < 1e-6);
            prop_assert!((m.standard_deviation().unwrap() - (squares / (n - 1.0)).sqrt()).abs() < 1e-5);
        }

        #[test]
        fn merging_equals_pooling(a in prop::collection::vec(-1e3f64..1e3, 0..50),
                                  b in prop::collection::vec(-1e3f64..1e3, 0..50)) {
            let pooled = Moments::of(a.iter().chain(&b).copied());
            let merged = Moments::of(a).merge(&Moments::of(b));
            prop_assert_eq!(pooled.len(), merged.len());
            prop_assert!((pooled.mean - merged.mean).abs() < 1e-9);
            prop_assert!((pooled.squares - merged.squares).abs() < 1e-6 * (1.0 + pooled.squares));
        }
    }
}
