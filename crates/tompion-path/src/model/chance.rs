//! Random streams: one a decision, so that none shifts when another is added.

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::Way;

/// Which decision draws.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Decides {
    CrossTraffic,
    Delay,
    Loss,
    Duplication,
    Reordering,
    Corruption,
}

/// The stream of one decision on one way.
#[derive(Clone, Debug)]
pub(crate) struct Chance(ChaCha8Rng);

impl Chance {
    pub(crate) fn new(seed: u64, way: Way, decides: Decides) -> Self {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        random.set_stream(2 * (decides as u64) + u64::from(way == Way::Homeward));
        Self(random)
    }

    /// Uniform from 0 up to, but not, 1.
    pub(crate) fn share(&mut self) -> f64 {
        self.0.random()
    }

    /// Whether something of this probability happens: never at 0, always at 1. Draws once in
    /// any case.
    pub(crate) fn happens(&mut self, probability: f64) -> bool {
        self.share() < probability
    }

    pub(crate) fn rng(&mut self) -> &mut ChaCha8Rng {
        &mut self.0
    }
}
