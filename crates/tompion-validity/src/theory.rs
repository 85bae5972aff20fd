//! What no test can beat, in numbers.

use statrs::distribution::{ChiSquared, Continuous, ContinuousCDF, Normal, StudentsT};

/// Standard error of the logarithm of a block's `q`-quantile, of independent lognormal samples.
pub fn error_of_logarithm(q: f64, samples: usize, sigma: f64) -> f64 {
    let normal = Normal::standard();
    let density = normal.pdf(normal.inverse_cdf(q));
    sigma * (q * (1.0 - q) / samples as f64).sqrt() / density
}

/// How often the best test at `level` finds a difference between two runs of so many blocks, one
/// after the other, whatever linear trend goes on through both; `error` is the standard error of
/// one block.
///
/// Of least squares no unbiased linear estimate of the difference beside a trend scatters less
/// (Gauss and Markov), and where figures are normal no unbiased test has more power than the t test
/// on it (Lehmann, Testing Statistical Hypotheses, chapter 7): by the noncentral t.
pub fn power_beside_trend(blocks: usize, error: f64, difference: f64, level: f64) -> f64 {
    let n = blocks as f64;
    // Squares of the places within both runs.
    let places = n * (n * n - 1.0) / 6.0;
    let error = error * (2.0 / n + n * n / places).sqrt();
    power(difference / error, 2.0 * n - 3.0, level)
}

/// Of the two-sided t test, where the difference is so many standard errors.
fn power(errors: f64, df: f64, level: f64) -> f64 {
    let normal = Normal::standard();
    let chi = ChiSquared::new(df).expect("degrees of freedom");
    let student = StudentsT::new(0.0, 1.0, df).expect("degrees of freedom");
    let critical = student.inverse_cdf(1.0 - 0.5 * level);
    // Mean over the estimate of the standard error.
    const POINTS: u32 = 2000;
    let found = (0..POINTS).map(|i| {
        let at = (f64::from(i) + 0.5) / f64::from(POINTS);
        let beyond = critical * (chi.inverse_cdf(at) / df).sqrt();
        normal.cdf(errors - beyond) + normal.cdf(-errors - beyond)
    });
    found.sum::<f64>() / f64::from(POINTS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn power_is_that_of_scipy() {
        // scipy.stats.nct.sf(t, df, nc) + cdf(-t, df, nc).
        for (errors, df, want) in [
            (2.4367, 13.0, 0.615_840_78),
            (1.0, 13.0, 0.152_891_15),
            (3.888, 37.0, 0.966_020_28),
            (0.0, 5.0, 0.05),
            (4.5, 13.0, 0.985_663_36),
        ] {
            let got = power(errors, df, 0.05);
            assert!(
                (got - want).abs() < 1e-4,
                "{errors} {df}: {got}, not {want}"
            );
        }
    }

    #[test]
    fn twenty_blocks_do_what_eight_cannot() {
        let at = |blocks| {
            let error = error_of_logarithm(0.5, 1000, 0.5);
            power_beside_trend(blocks, error, 1.05f64.ln(), 0.05)
        };
        assert!(at(8) < 0.65 && at(20) > 0.95, "{} {}", at(8), at(20));
    }
}
