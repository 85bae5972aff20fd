//! Random values for tests, the same on every platform.

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// A seeded source of noise.
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

    /// Exponential with mean 1.
    pub(crate) fn exponential(&mut self) -> f64 {
        -(1.0 - self.uniform()).ln()
    }
}

/// A stationary autoregression of the first order with variance 1.
pub(crate) fn autoregressive(noise: &mut Noise, n: usize, phi: f64) -> Vec<f64> {
    let mut value = noise.normal();
    let step = (1.0 - phi * phi).sqrt();
    (0..n)
        .map(|_| {
            value = phi * value + step * noise.normal();
            value
        })
        .collect()
}
