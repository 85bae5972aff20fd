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

/// How many of the lowest Fourier frequencies tell of drift: at least so many, with
/// periods from the whole series down to a stretch, ...
const FEWEST: usize = 12;

/// ... and at most so many, where a series is long enough that their periods are
/// still ten autocorrelation times: faster movements are no drift.
const MOST_FREQUENCIES: usize = 32;

/// The largest memory that is told from a series that has no level at all (0.5).
/// One that wanders so is refused for its autocorrelation time.
const MOST: f64 = 0.49;

/// Values of d that are weighed.
const STEPS: u32 = 49;

/// What slow movements do to the comparison of two series.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Drift {
    /// The memory parameter d that is to be expected, 0 to 0.49.
    pub(crate) memory: f64,
    /// By what factor the difference of the series scatters more than their
    /// stretches say.
    pub(crate) widening: f64,
}

impl Drift {
    /// Drift of series that share its memory, but not their level and power, when
    /// each is cut into `count` stretches. One that does not vary says nothing.
    ///
    /// Every d has the likelihood of Whittle's approximation at the lowest Fourier
    /// frequencies, where power falls as frequency^(-2d) (Künsch 1987; Robinson
    /// 1995). So few frequencies leave d uncertain by 0.1; the widening is
    /// therefore that of the expected variance, over all d by their likelihood,
    /// not that of the likeliest d.
    pub(crate) fn of(series: &[&[f64]], autocorrelation_time: f64, count: usize) -> Self {
        let spectra: Vec<Vec<f64>> = series
            .iter()
            .map(|s| {
                let slow = s.len() as f64 / (10.0 * autocorrelation_time);
                let frequencies = (slow as usize).clamp(FEWEST, MOST_FREQUENCIES);
                periodogram(&means(s, s.len().div_ceil(POINTS).max(1)), frequencies)
            })
            .filter(|s| s.iter().any(|p| *p > 0.0))
            .collect();
        if spectra.is_empty() {
            return Self {
                memory: 0.0,
                widening: 1.0,
            };
        }
        let weighed: Vec<(f64, f64)> = (0..=STEPS)
            .map(|step| MOST * f64::from(step) / f64::from(STEPS))
            .map(|d| (d, spectra.iter().map(|s| log_likelihood(s, d)).sum()))
            .collect();
        let best = weighed.iter().fold(f64::MIN, |m, (_, l)| m.max(*l));
        let expected = |of: &dyn Fn(f64) -> f64| -> f64 {
            let (sum, weights) = weighed.iter().fold((0.0, 0.0), |(sum, weights), (d, l)| {
                let weight = (l - best).exp();
                (sum + weight * of(*d), weights + weight)
            });
            sum / weights
        };
        Self {
            memory: expected(&|d| d),
            widening: expected(&|d| widening(d, count).powi(2)).sqrt(),
        }
    }
}

/// The log-likelihood of memory `d`, at the best power for it, but for a constant.
fn log_likelihood(spectrum: &[f64], d: f64) -> f64 {
    let (flat, logs) = spectrum
        .iter()
        .zip(1..)
        .fold((0.0, 0.0), |(flat, logs), (p, j)| {
            let j = f64::from(j);
            (flat + p * j.powf(2.0 * d), logs + j.ln())
        });
    let m = spectrum.len() as f64;
    2.0 * d * logs - m * (flat / m).ln()
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
/// their `count` stretches each say, with memory `d` below 0.5.
///
/// Means of n samples have variance proportional to n^(2d-1); of that of one
/// stretch, the scatter of `count` stretches about their own mean, with divisor
/// count - 1, shows the share (1 - count^(2d-1)) count / (count - 1) (Beran 1994,
/// Statistics for Long-Memory Processes, §8.3).
fn widening(d: f64, count: usize) -> f64 {
    let count = count as f64;
    let of_all = count.powf(2.0 * d - 1.0);
    let seen = (1.0 - of_all) * count / (count - 1.0);
    (of_all * count / seen).sqrt().max(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_noise::{Noise, autoregressive};

    /// Noise of nearly equal power in every octave: autoregressions of times 1, 4,
    /// 16 ... 65536, d close to 0.5.
    fn pink(noise: &mut Noise, n: usize) -> Vec<f64> {
        let mut sum = vec![0.0; n];
        for octave in 0..9 {
            let phi = (-(4.0f64.powi(-octave))).exp();
            for (s, v) in sum.iter_mut().zip(autoregressive(noise, n, phi)) {
                *s += v;
            }
        }
        sum
    }

    fn mean_memory(series: impl Fn(&mut Noise) -> Vec<f64>) -> f64 {
        let found = (0..100).map(|seed| {
            let mut noise = Noise::new(seed);
            let (a, b) = (series(&mut noise), series(&mut noise));
            Drift::of(&[&a, &b], 19.0, 10).memory
        });
        found.sum::<f64>() / 100.0
    }

    #[test]
    fn memory_tells_drift_from_short_dependence() {
        let short = mean_memory(|noise| autoregressive(noise, 4_000, 0.9));
        assert!(short < 0.1, "{short}");
        let long = mean_memory(|noise| pink(noise, 4_000));
        assert!(long > 0.35, "{long}");
        assert_eq!(Drift::of(&[&[1.0; 50], &[2.0; 50]], 1.0, 10).widening, 1.0);
    }

    #[test]
    fn widening_by_hand() {
        // Independence: none. d = 0.25 and 16 stretches: 16^-0.5 = 1/4, seen
        // 3/4 * 16/15 = 0.8, so sqrt(0.25 * 16 / 0.8) = sqrt(5).
        assert!((widening(0.0, 10) - 1.0).abs() < 1e-12);
        assert!((widening(0.25, 16) - 5.0f64.sqrt()).abs() < 1e-12);
    }

    #[test]
    fn widening_is_the_scatter_between_distant_series() {
        // Means of ten stretches of pink noise against means of other series.
        let count = 10;
        let (mut within, mut between) = (0.0, 0.0);
        for seed in 0..400 {
            let mut noise = Noise::new(seed);
            let series = [pink(&mut noise, 1_000), pink(&mut noise, 1_000)];
            let means = series.map(|s| crate::dependence::means(&s, 100));
            let moments = means.map(crate::Moments::of);
            let variance = |i: usize| moments[i].standard_deviation().unwrap().powi(2);
            within += (variance(0) + variance(1)) / count as f64;
            between += (moments[0].mean().unwrap() - moments[1].mean().unwrap()).powi(2);
        }
        let factor = (between / within).sqrt();
        // A memory of 0.45 and what lies between 0.4 and 0.47.
        assert!(
            (widening(0.4, count)..widening(0.47, count)).contains(&factor),
            "{factor}"
        );
    }
}
