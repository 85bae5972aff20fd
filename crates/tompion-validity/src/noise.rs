//! Seeded random values, the same on every platform.

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// A source of noise.
pub(crate) struct Noise(ChaCha8Rng);

impl Noise {
    pub(crate) fn new(seed: u64) -> Self {
        Self(ChaCha8Rng::seed_from_u64(seed))
    }

    /// Uniform in 0..1.
    pub(crate) fn uniform(&mut self) -> f64 {
        self.0.random()
    }

    /// Standard normal (Box and Muller 1958).
    pub(crate) fn normal(&mut self) -> f64 {
        let radius = (-2.0 * (1.0 - self.uniform()).ln()).sqrt();
        radius * (std::f64::consts::TAU * self.uniform()).cos()
    }

    /// A stationary autoregression of the first order with variance 1.
    pub(crate) fn autoregression(&mut self, length: usize, phi: f64) -> Vec<f64> {
        let step = (1.0 - phi * phi).sqrt();
        let mut value = self.normal();
        let next = |_| {
            value = phi * value + step * self.normal();
            value
        };
        (0..length).map(next).collect()
    }

    /// Long memory with variance 1: autoregressions whose time constants double from 1 to half a
    /// million samples, with variances that fall as their power of -0.2. The autocorrelation then
    /// falls as the lag's power of -0.2, as with a memory parameter d of 0.4 (Granger 1980, Journal
    /// of Econometrics 14: what many short memories add up to).
    pub(crate) fn long_memory(&mut self, length: usize) -> Vec<f64> {
        let times = (0..20).map(|i| 2f64.powi(i));
        let total: f64 = times.clone().map(|t| t.powf(-0.2)).sum();
        let mut sum = vec![0.0; length];
        for time in times {
            let scale = (time.powf(-0.2) / total).sqrt();
            let part = self.autoregression(length, (-1.0 / time).exp());
            sum.iter_mut().zip(part).for_each(|(s, p)| *s += scale * p);
        }
        sum
    }
}
