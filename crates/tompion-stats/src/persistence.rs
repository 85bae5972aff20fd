//! Drift slower than any stretch: how it is measured, and what it costs.
//!
//! Stretches in disorder tell how much the figure of one stretch scatters. They
//! do not tell how far the machine moves between two series taken at different
//! times, if slow movements outlive the stretches: then the difference of two
//! series scatters more than their stretches say, without limit as these get
//! shorter. How much more follows from the memory parameter d of long-range
//! dependence: means of L samples scatter as L^(d - 1/2); independence is d = 0,
//! 1/f noise d = 1/2.

use std::f64::consts::TAU;

use crate::dependence::means;

/// Points of the averaged series whose spectrum is taken.
const POINTS: usize = 256;

/// The memory parameter d of several series that share it, 0 to 1.
///
/// Local Whittle estimate (Künsch 1987; Robinson 1995): the d under which the
/// periodogram at the lowest `frequencies` Fourier frequencies is flattest after
/// multiplication by frequency^(2d). Each series has a level and a power of its
/// own. `None` where no series varies.
pub(crate) fn memory(series: &[&[f64]], frequencies: usize) -> Option<f64> {
    let spectra: Vec<Vec<f64>> = series
        .iter()
        .map(|s| periodogram(&means(s, s.len().div_ceil(POINTS).max(1)), frequencies))
        .filter(|s| s.iter().any(|p| *p > 0.0))
        .collect();
    if spectra.is_empty() {
        return None;
    }
    let contrast = |d: f64| -> f64 {
        spectra
            .iter()
            .map(|s| {
                let m = s.len() as f64;
                let logs: f64 = (1..=s.len()).map(|j| (j as f64).ln()).sum();
                let flat: f64 = s
                    .iter()
                    .zip(1..)
                    .map(|(p, j)| p * f64::from(j).powf(2.0 * d))
                    .sum();
                m * (flat / m).ln() - 2.0 * d * logs
            })
            .sum()
    };
    (0..=100)
        .map(|step| f64::from(step) / 100.0)
        .min_by(|a, b| contrast(*a).total_cmp(&contrast(*b)))
}

/// The periodogram at the lowest Fourier frequencies, without its scale.
fn periodogram(series: &[f64], frequencies: usize) -> Vec<f64> {
    let n = series.len();
    let mean = series.iter().sum::<f64>() / n as f64;
    (1..=frequencies.min((n - 1) / 2))
        .map(|j| {
            let turn = TAU * j as f64 / n as f64;
            let (re, im) = series.iter().zip(0..).fold((0.0, 0.0), |(re, im), (v, t)| {
                let angle = turn * t as f64;
                (re + (v - mean) * angle.cos(), im + (v - mean) * angle.sin())
            });
            re * re + im * im
        })
        .collect()
}

/// By what factor the difference of two series far apart scatters more than
/// their `count` stretches each say, with memory `d`; `None` where it has no
/// limit.
///
/// Means of n samples have variance proportional to n^(2d-1); among `count`
/// stretches of one series one sees, with divisor count - 1, the share
/// (1 - count^(2d-1)) count / (count - 1) of that of one stretch (Beran 1994,
/// Statistics for Long-Memory Processes, §8.3).
pub(crate) fn widening(d: f64, count: f64) -> Option<f64> {
    if d >= 0.5 {
        return None;
    }
    let of_all = count.powf(2.0 * d - 1.0);
    let seen = (1.0 - of_all) * count / (count - 1.0);
    Some((of_all * count / seen).sqrt().max(1.0))
}
