//! How long a packet is under way behind the queue.

use rand_distr::{Distribution, Exp, Normal, Pareto};

use crate::model::chance::Chance;
use crate::model::plan::{Jitter, MOST_DELAY_NS, WayPlan};

/// Fixed and random delay.
#[derive(Clone, Debug)]
pub(crate) struct Delay {
    fixed_ns: u64,
    jitter: Option<Drawn>,
    chance: Chance,
}

#[derive(Clone, Copy, Debug)]
enum Drawn {
    Normal(Normal<f64>),
    Exponential(Exp<f64>),
    Pareto(Pareto<f64>),
    Uniform(f64),
}

/// A delay, and whether it was cut to what is possible.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DelayDrawn {
    pub(crate) ns: i64,
    pub(crate) is_cut: bool,
}

impl Delay {
    pub(crate) fn new(plan: &WayPlan, chance: Chance) -> Self {
        // A spread of 0 is no jitter; nothing else that a valid plan says is refused.
        let jitter = plan.jitter.and_then(|jitter| match jitter {
            Jitter::Normal { deviation_ns } => {
                let normal = Normal::new(0.0, deviation_ns as f64).ok();
                normal.map(Drawn::Normal)
            }
            Jitter::Exponential { mean_ns: 0 } => None,
            Jitter::Exponential { mean_ns } => {
                let exponential = Exp::new(1.0 / mean_ns as f64).ok();
                exponential.map(Drawn::Exponential)
            }
            Jitter::Pareto { least_ns, shape } => {
                let pareto = Pareto::new(least_ns as f64, shape).ok();
                pareto.map(Drawn::Pareto)
            }
            Jitter::Uniform { most_ns } => Some(Drawn::Uniform(most_ns as f64)),
        });
        Self {
            fixed_ns: plan.delay_ns,
            jitter,
            chance,
        }
    }

    /// The delay of the next packet.
    pub(crate) fn next(&mut self) -> DelayDrawn {
        let random = match self.jitter {
            None => {
                return DelayDrawn {
                    ns: self.fixed_ns.cast_signed(),
                    is_cut: false,
                };
            }
            Some(Drawn::Normal(normal)) => normal.sample(self.chance.rng()),
            Some(Drawn::Exponential(exponential)) => exponential.sample(self.chance.rng()),
            Some(Drawn::Pareto(pareto)) => pareto.sample(self.chance.rng()),
            Some(Drawn::Uniform(most)) => self.chance.share() * most,
        };
        let wished = self.fixed_ns as f64 + random;
        let possible = wished.clamp(0.0, MOST_DELAY_NS as f64);
        DelayDrawn {
            ns: possible.round() as i64,
            is_cut: possible != wished,
        }
    }
}

#[cfg(test)]
mod tests;
