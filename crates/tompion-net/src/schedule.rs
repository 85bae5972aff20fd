//! When probes are due.

#[cfg(test)]
mod tests;

use std::time::Duration;

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// A probe, and when it is due by `CLOCK_MONOTONIC`, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Due {
    /// From 0 on.
    pub number: u64,
    /// Never earlier than that of the probe before.
    pub at_ns: u64,
}

/// How probes follow one another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Schedule {
    /// At every point of a grid that never moves (RFC 3432).
    Periodic {
        /// Time between two, above zero.
        interval: Duration,
    },
    /// A Poisson process, whose gaps are exponentially distributed (RFC 2330, section 11.1.1):
    /// what is periodic in the network cannot hide from it.
    Poisson {
        /// The mean gap, above zero.
        mean: Duration,
        /// The same seed gives the same gaps on every machine.
        seed: u64,
    },
}

impl Schedule {
    /// The mean time between two probes.
    pub fn interval(&self) -> Duration {
        match *self {
            Self::Periodic { interval } => interval,
            Self::Poisson { mean, .. } => mean,
        }
    }

    /// All probes, without end; the first is due at `start_ns`.
    pub fn starting_at(&self, start_ns: u64) -> Dues {
        let ns = u64::try_from(self.interval().as_nanos()).unwrap_or(u64::MAX);
        let gaps = match *self {
            Self::Periodic { .. } => None,
            Self::Poisson { seed, .. } => Some(ChaCha8Rng::seed_from_u64(seed)),
        };
        Dues {
            next: Due {
                number: 0,
                at_ns: start_ns,
            },
            mean_ns: ns.max(1),
            gaps,
            rest: 0.0,
        }
    }
}

/// Probes as they become due: [`Schedule::starting_at`].
#[derive(Clone, Debug)]
pub struct Dues {
    next: Due,
    mean_ns: u64,
    gaps: Option<ChaCha8Rng>,
    /// What rounding to whole nanoseconds left of the gaps so far.
    rest: f64,
}

impl Dues {
    fn gap_ns(&mut self) -> u64 {
        let Some(random) = &mut self.gaps else {
            return self.mean_ns;
        };
        // In (0, 1], so that the logarithm is finite; libm's is the same everywhere.
        let uniform = 1.0 - random.random::<f64>();
        let exact = -libm::log(uniform) * self.mean_ns as f64 + self.rest;
        let gap = libm::floor(exact);
        self.rest = exact - gap;
        gap as u64
    }
}

impl Iterator for Dues {
    type Item = Due;

    fn next(&mut self) -> Option<Due> {
        let due = self.next;
        let gap = self.gap_ns();
        self.next = Due {
            number: due.number + 1,
            at_ns: due.at_ns.saturating_add(gap),
        };
        Some(due)
    }
}
