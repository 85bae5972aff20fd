//! The interval of a quantile of the tail by profile likelihood.

use super::pareto::{LEAST_SHAPE, Pareto, growth, maximum};
use crate::student::student_half_width;

/// The heaviest tail that is looked at: exponent one half.
const MOST_SHAPE: f64 = 2.0;

/// The range of quantiles, beyond `p` of `n` samples and above the threshold, that the
/// excesses make likely enough.
///
/// Twice the logarithm of the likelihood falls by the square of Student's t, with as many
/// degrees of freedom as there are excesses but two: for chi-squared, of which this is
/// the usual form, fifty are few.
pub(super) fn interval(
    excesses: &[f64],
    n: usize,
    best: &Pareto,
    p: f64,
    level: f64,
) -> Option<(f64, f64)> {
    let k = excesses.len() as f64;
    let seen = k / n as f64;
    let estimate = best.exceeded_with(p / seen);
    let top = best.ln_likelihood(excesses);
    let fall = student_half_width(level, k - 2.0).powi(2);
    // The share above the threshold, `by` of its standard errors away.
    let share = |by: f64| seen * (by * ((1.0 - seen) / k).sqrt()).exp();
    let binomial =
        |share: f64| k * (share / seen).ln() + (n as f64 - k) * ((1.0 - share) / (1.0 - seen)).ln();
    let profile = |quantile: f64| -> f64 {
        let with = |by: f64| {
            let z = share(by);
            let of = |shape: f64| {
                let scale = quantile / growth(shape, (z / p).ln());
                Pareto { shape, scale }.ln_likelihood(excesses)
            };
            let shape = maximum(LEAST_SHAPE, MOST_SHAPE, 25, of);
            of(shape) + binomial(z)
        };
        [-2.0, -1.0, 0.0, 1.0, 2.0]
            .map(with)
            .into_iter()
            .fold(f64::MIN, f64::max)
    };
    let inside = |quantile: f64| 2.0 * (top - profile(quantile)) <= fall;
    let end = |outwards: f64| -> Option<f64> {
        let mut step = 1.0;
        let out = loop {
            step *= 1.5;
            let at = estimate * (outwards * (step - 1.0)).exp();
            if !inside(at) {
                break at;
            }
            if step > 40.0 {
                return None;
            }
        };
        let (mut out, mut kept) = (out.ln(), estimate.ln());
        for _ in 0..20 {
            let middle = 0.5 * (out + kept);
            match inside(middle.exp()) {
                true => kept = middle,
                false => out = middle,
            }
        }
        Some(kept.exp())
    };
    Some((end(-1.0)?, end(1.0)?))
}
