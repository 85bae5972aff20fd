//! What the ratio of evidence comes to where nothing jumps, by simulation.
//!
//! For each length the quantiles of `ln_ratio`, the largest over a family of series
//! without a jump. The first family: independent; autoregressions of 0.3, 0.5, 0.7, 0.8,
//! 0.9, 0.95; long memory (FARIMA) of 0.2, 0.3, 0.4, 0.45; random walks with steps of 1
//! and 3 below noise of 1; lines that rise by 0.3 and by 30 over the series below noise
//! of 1. The second adds walks with steps of 0.05 to 0.7, and lines of 1 to 5.
//! 4000 draws to a length of 60, 2000 and 1000 beyond. `tompion-validity` draws anew and
//! holds p against its level.

/// The probabilities of being exceeded.
const P: [f64; 8] = [0.5, 0.2, 0.1, 0.05, 0.025, 0.0125, 0.005, 0.002];

/// Length; quantiles of the first family, of the second.
type Row = (usize, [f64; 8], [f64; 8]);

#[rustfmt::skip]
const ROWS: [Row; 9] = [
    (16, [-0.32, 0.53, 1.09, 1.60, 2.16, 2.65, 3.41, 3.96], [0.14, 0.69, 1.09, 1.60, 2.16, 2.65, 3.41, 3.96]),
    (20, [-0.28, 0.54, 1.18, 1.76, 2.24, 2.85, 3.74, 4.28], [0.16, 0.70, 1.18, 1.76, 2.24, 2.85, 3.74, 4.49]),
    (24, [-0.23, 0.41, 1.14, 1.87, 2.44, 3.19, 3.86, 4.45], [0.16, 0.68, 1.26, 1.87, 2.45, 3.19, 3.86, 4.45]),
    (30, [-0.13, 0.31, 1.12, 1.91, 2.73, 3.41, 4.28, 4.78], [0.20, 0.73, 1.37, 2.06, 2.77, 3.41, 4.28, 4.78]),
    (40, [-0.06, 0.30, 0.72, 1.60, 2.41, 3.26, 4.16, 5.14], [0.27, 0.81, 1.56, 2.34, 3.00, 3.74, 4.66, 5.98]),
    (60, [0.06, 0.46, 0.62, 0.84, 1.92, 3.06, 4.07, 4.94], [0.39, 1.11, 2.00, 2.94, 3.72, 4.39, 5.48, 6.42]),
    (90, [0.18, 0.62, 0.81, 0.96, 1.37, 1.92, 2.70, 4.02], [0.49, 1.34, 2.26, 3.18, 4.23, 5.26, 6.34, 7.29]),
    (120, [0.28, 0.78, 0.96, 1.09, 1.31, 1.87, 2.92, 3.69], [0.55, 1.56, 2.57, 3.45, 4.43, 5.34, 6.40, 7.42]),
    (240, [0.62, 1.09, 1.27, 1.40, 1.57, 1.72, 2.18, 2.88], [0.62, 1.38, 2.53, 3.51, 4.18, 4.80, 6.55, 7.41]),
];

/// p of a ratio from a series of `n`, against the first family and against both.
/// 1 above half.
///
/// Beyond the table p is taken to fall with the root of the ratio. It falls faster: against
/// the weighed wanders at least as the ratio grows, by Markov's inequality.
pub(super) fn p(ln_ratio: f64, n: usize) -> (f64, f64) {
    let above = ROWS.iter().position(|r| r.0 >= n).unwrap_or(ROWS.len() - 1);
    let (low, high) = (ROWS[above.saturating_sub(1)], ROWS[above]);
    // Linear in the logarithm of the length.
    let part = match high.0 > low.0 {
        true => {
            ((n as f64 / low.0 as f64).ln() / (high.0 as f64 / low.0 as f64).ln()).clamp(0.0, 1.0)
        }
        false => 0.0,
    };
    let between = |a: &[f64; 8], b: &[f64; 8]| -> Vec<f64> {
        a.iter().zip(b).map(|(a, b)| a + part * (b - a)).collect()
    };
    let p = |quantiles: &[f64]| -> f64 {
        let Some(last) = quantiles.iter().rposition(|q| *q <= ln_ratio) else {
            return 1.0;
        };
        let (Some(q), Some(p)) = (quantiles.get(last + 1), P.get(last + 1)) else {
            return P[last] * (-0.5 * (ln_ratio - quantiles[last])).exp();
        };
        let part = (ln_ratio - quantiles[last]) / (q - quantiles[last]);
        (P[last].ln() + part * (p.ln() - P[last].ln())).exp()
    };
    let (first, second) = (between(&low.1, &high.1), between(&low.2, &high.2));
    (p(&first), p(&second).max(p(&first)))
}
