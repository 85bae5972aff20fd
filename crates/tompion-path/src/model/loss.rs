//! Which packets are lost at random.

use crate::model::chance::Chance;
use crate::model::plan::LossPlan;

/// Loss at random with the state that it has.
#[derive(Clone, Debug)]
pub(crate) struct Loss {
    plan: LossPlan,
    is_bad: bool,
    chance: Chance,
}

impl Loss {
    /// Loss that has gone on for long: its first state is drawn as it is in the long run.
    pub(crate) fn new(plan: LossPlan, mut chance: Chance) -> Self {
        let is_bad = match plan {
            LossPlan::GilbertElliott {
                to_bad, to_good, ..
            } => chance.happens(to_bad / (to_bad + to_good)),
            LossPlan::None | LossPlan::Bernoulli { .. } => false,
        };
        Self {
            plan,
            is_bad,
            chance,
        }
    }

    /// Whether the next packet is lost.
    pub(crate) fn takes_next(&mut self) -> bool {
        match self.plan {
            LossPlan::None => false,
            LossPlan::Bernoulli { share } => self.chance.happens(share),
            LossPlan::GilbertElliott {
                to_bad,
                to_good,
                loss_good,
                loss_bad,
            } => {
                let (share, leaves) = match self.is_bad {
                    true => (loss_bad, to_good),
                    false => (loss_good, to_bad),
                };
                let is_lost = self.chance.happens(share);
                self.is_bad ^= self.chance.happens(leaves);
                is_lost
            }
        }
    }
}

#[cfg(test)]
mod tests;
