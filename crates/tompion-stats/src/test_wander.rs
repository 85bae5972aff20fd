//! Series of figures without a jump, and with one, for tests of change points.

use crate::test_noise::{Noise, autoregressive};

/// Fractionally integrated noise of variance 1 about, exactly (Hosking 1984).
pub(crate) fn long_memory(noise: &mut Noise, n: usize, d: f64) -> Vec<f64> {
    let mut covariance = vec![1.0];
    for k in 1..n {
        let k = k as f64;
        covariance.push(covariance[covariance.len() - 1] * (k - 1.0 + d) / (k - d));
    }
    let (mut phi, mut variance) = (Vec::<f64>::new(), 1.0f64);
    let mut series = vec![noise.normal()];
    for t in 1..n {
        let known: f64 = (1..t).map(|j| phi[j - 1] * covariance[t - j]).sum();
        let last = (covariance[t] - known) / variance;
        let before = phi.clone();
        for (p, b) in phi.iter_mut().zip(before.iter().rev()) {
            *p -= last * b;
        }
        phi.push(last);
        variance *= 1.0 - last * last;
        let mean: f64 = phi
            .iter()
            .zip(series.iter().rev())
            .map(|(p, v)| p * v)
            .sum();
        series.push(mean + variance.sqrt() * noise.normal());
    }
    series
}

/// A random walk with steps of `step` below noise of 1.
pub(crate) fn walk(noise: &mut Noise, n: usize, step: f64) -> Vec<f64> {
    let mut at = 0.0;
    (0..n)
        .map(|_| {
            at += step * noise.normal();
            at + noise.normal()
        })
        .collect()
}

/// A line that rises by `rise` below noise of 1.
pub(crate) fn line(noise: &mut Noise, n: usize, rise: f64) -> Vec<f64> {
    (0..n)
        .map(|i| rise * i as f64 / n as f64 + noise.normal())
        .collect()
}

pub(crate) type Series = fn(&mut Noise, usize) -> Vec<f64>;

/// Series without a jump that one is to be found in at most 5 % of.
pub(crate) const STEADY: [(&str, Series); 10] = [
    ("independent", |noise, n| autoregressive(noise, n, 0.0)),
    ("AR(0.3)", |noise, n| autoregressive(noise, n, 0.3)),
    ("AR(0.5)", |noise, n| autoregressive(noise, n, 0.5)),
    ("AR(0.9)", |noise, n| autoregressive(noise, n, 0.9)),
    ("long memory 0.2", |noise, n| long_memory(noise, n, 0.2)),
    ("long memory 0.3", |noise, n| long_memory(noise, n, 0.3)),
    ("long memory 0.4", |noise, n| long_memory(noise, n, 0.4)),
    ("random walk", |noise, n| walk(noise, n, 3.0)),
    ("walk below noise of its step", |noise, n| {
        walk(noise, n, 1.0)
    }),
    // 3 % where the spread is 10 %.
    ("line of 0.3", |noise, n| line(noise, n, 0.3)),
];

/// Figures of 1 with a spread of 0.1, and `by` more in the second half.
pub(crate) fn stepped(noise: &mut Noise, n: usize, by: f64) -> Vec<f64> {
    let step = |i: usize| if i < n / 2 { 0.0 } else { by };
    (0..n)
        .map(|i| 1.0 + step(i) + 0.1 * noise.normal())
        .collect()
}
