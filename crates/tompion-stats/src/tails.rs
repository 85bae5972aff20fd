//! Tail probabilities that keep their relative precision far out, down to the
//! smallest normal numbers.

use std::f64::consts::{FRAC_1_SQRT_2, SQRT_2, TAU};

use libm::erfc;
use statrs::function::erf::erfc_inv;
use statrs::function::gamma::{gamma_ur, ln_gamma};

/// The smallest p that a test gives which takes it from a limiting distribution: there it
/// says "at most that", since numbers of 64 bits end at some 10^-308 and no p of a finite
/// statistic is 0.
pub const SMALLEST_P: f64 = 1e-300;

/// The p of a `statistic`: never below [`SMALLEST_P`], but 0 for an infinite one.
pub(crate) fn as_p(statistic: f64, p: f64) -> f64 {
    // Not max, which would make a number of a NaN.
    if p < SMALLEST_P && statistic.is_finite() {
        SMALLEST_P
    } else {
        p
    }
}

/// P(Z >= z) of a standard normal Z. (The erfc of statrs keeps ten digits only.)
pub(crate) fn normal_upper(z: f64) -> f64 {
    0.5 * erfc(z * FRAC_1_SQRT_2)
}

/// The z with P(-z <= Z <= z) = `level`.
pub(crate) fn normal_half_width(level: f64) -> f64 {
    normal_upper_quantile((1.0 - level) / 2.0)
}

/// The z with P(Z >= z) = `tail`.
pub(crate) fn normal_upper_quantile(tail: f64) -> f64 {
    let z = SQRT_2 * erfc_inv(2.0 * tail);
    // One step of Newton's method for the digits that erfc_inv lacks.
    z + (normal_upper(z) - tail) / normal_density(z)
}

/// The standard normal density.
pub(crate) fn normal_density(z: f64) -> f64 {
    (-0.5 * z * z).exp() / TAU.sqrt()
}

/// P(X >= x) of a chi-squared X.
pub(crate) fn chi_squared_upper(x: f64, df: f64) -> f64 {
    if x <= 0.0 {
        1.0
    } else if x.is_infinite() {
        0.0
    } else {
        gamma_ur(df / 2.0, x / 2.0)
    }
}

/// P(X >= f) of Fisher's F with `df1` and `df2` degrees of freedom.
///
/// statrs computes it from 1 - x, which loses the tail of a large F, and stops
/// its continued fraction at 140 terms, too few for 10^5 degrees of freedom.
pub(crate) fn f_upper(f: f64, df1: f64, df2: f64) -> f64 {
    if f <= 0.0 {
        return 1.0;
    }
    if f.is_infinite() {
        return 0.0;
    }
    let whole = df2 + df1 * f;
    incomplete_beta(df2 / 2.0, df1 / 2.0, df2 / whole, df1 * f / whole)
}

/// The regularized incomplete beta function I_x(a, b), with `y` = 1 - x given
/// apart so that neither end loses digits.
///
/// Source: the continued fraction of DiDonato and Morris, "Algorithm 708: Significant
/// Digit Computation of the Incomplete Beta Function Ratios", ACM TOMS 18 (1992), (9.1):
/// that of DLMF 8.17.22, whose terms nearly cancel where a is large, taken by pairs. It is
/// evaluated by the method of Lentz as modified by Thompson and Barnett (1986).
pub(crate) fn incomplete_beta(a: f64, b: f64, x: f64, y: f64) -> f64 {
    if x > (a + 1.0) / (a + b + 2.0) {
        return 1.0 - incomplete_beta(b, a, y, x);
    }
    if x <= 0.0 {
        return 0.0;
    }
    let ln_x = if y < 0.5 { (-y).ln_1p() } else { x.ln() };
    let ln_y = if x < 0.5 { (-x).ln_1p() } else { y.ln() };
    let front = (a * ln_x + b * ln_y - ln_beta(a, b)).exp();
    // Positive, since x is at most what the first line allows.
    let middle = a * y - b * x + 1.0;
    let mut fraction = a * middle / (a + 1.0);
    let mut c = fraction;
    let mut d = 0.0;
    let floor = |v: f64| if v.abs() < 1e-300 { 1e-300 } else { v };
    // It settles in about the square root of the larger parameter.
    for m in 1..100_000 {
        let m = f64::from(m);
        let odd = a + 2.0 * m - 1.0;
        let part = (a + m - 1.0) / odd * ((a + b + m - 1.0) / odd) * m * (b - m) * x * x;
        let whole =
            m + m * (b - m) * x / odd + (a + m) * (middle + m * (2.0 - x)) / (a + 2.0 * m + 1.0);
        d = 1.0 / floor(whole + part * d);
        c = floor(whole + part / c);
        fraction *= c * d;
        if (c * d - 1.0).abs() < 1e-16 {
            break;
        }
    }
    front / fraction
}

/// ln B(a, b) without cancelling large logarithms of the gamma function.
pub(crate) fn ln_beta(a: f64, b: f64) -> f64 {
    let (small, large) = if a < b { (a, b) } else { (b, a) };
    if large < 10.0 {
        return ln_gamma(a) + ln_gamma(b) - ln_gamma(a + b);
    }
    ln_gamma(small) - small * large.ln() - (a + b - 0.5) * (small / large).ln_1p()
        + small
        + stirling_remainder(large)
        - stirling_remainder(a + b)
}

/// ln Γ(z) - ((z - 1/2) ln z - z + ln(2π)/2), DLMF 5.11.1.
pub(crate) fn stirling_remainder(z: f64) -> f64 {
    if z < 10.0 {
        return ln_gamma(z) - ((z - 0.5) * z.ln() - z + 0.5 * TAU.ln());
    }
    let w = 1.0 / (z * z);
    (1.0 / 12.0
        - w * (1.0 / 360.0
            - w * (1.0 / 1260.0 - w * (1.0 / 1680.0 - w * (1.0 / 1188.0 - w * 691.0 / 360_360.0)))))
        / z
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(got: f64, want: f64) {
        assert!(((got - want) / want).abs() < 1e-12, "{got:e} {want:e}");
    }

    #[test]
    fn only_an_infinite_statistic_has_a_p_of_nothing() {
        assert_eq!(as_p(f64::INFINITY, 0.0), 0.0);
        assert_eq!(as_p(1e9, 0.0), SMALLEST_P);
        assert!(as_p(f64::NAN, f64::NAN).is_nan());
    }

    #[test]
    fn f_agrees_with_closed_forms() {
        // With df1 = 2: (1 + 2 f / df2)^(-df2/2); with df2 = 2: 1 - (1 + 2/(df1 f))^(-df1/2).
        close(f_upper(3.0, 2.0, 10.0), 1.6f64.powi(-5));
        close(f_upper(1e60, 2.0, 10.0), (2e59f64).powi(-5));
        close(
            f_upper(5.0, 2.0, 200_000.0),
            (-(100_000.0 * 5e-5f64.ln_1p())).exp(),
        );
        close(f_upper(0.7, 4.0, 2.0), 1.0 - (1.0 + 2.0 / 2.8f64).powi(-2));
    }

    #[test]
    fn ends_are_exact() {
        assert_eq!(f_upper(0.0, 3.0, 7.0), 1.0);
        assert_eq!(f_upper(f64::INFINITY, 3.0, 7.0), 0.0);
        assert_eq!(chi_squared_upper(0.0, 3.0), 1.0);
        // With two degrees of freedom it is exp(-x/2).
        close(chi_squared_upper(1300.0, 2.0), (-650f64).exp());
        assert_eq!(normal_upper(0.0), 0.5);
    }

    #[test]
    fn stirling_is_continuous_where_the_series_begins() {
        let direct = ln_gamma(10.0) - (9.5 * 10f64.ln() - 10.0 + 0.5 * TAU.ln());
        assert!((stirling_remainder(10.0) - direct).abs() < 1e-14);
    }
}
