//! What a plan of a path may say.

use crate::Way;
use crate::model::plan::{
    Bottleneck, CrossPattern, CrossTraffic, Jitter, LossPlan, MOST_DELAY_NS, MOST_IN_FLIGHT,
    MOST_RATE_BPS, PathPlan, QueueLimit, WayPlan,
};

/// Largest packet, in bytes.
const MOST_PACKET_BYTES: u64 = 1 << 20;
/// Largest queue, in bytes.
const MOST_QUEUE_BYTES: u64 = 1 << 40;
/// Largest shape of a Pareto distribution; beyond it nothing is random.
const MOST_SHAPE: f64 = 1_000.0;

/// Why a plan cannot be followed: the field, what it says, and what would be right. The field's
/// name is its path within a [`WayPlan`].
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum PlanError {
    /// A share that is none.
    #[error("{field} is {value}: a share is a number from 0 to 1")]
    Share {
        /// The field.
        field: &'static str,
        /// What it says.
        value: f64,
    },
    /// A number out of range.
    #[error("{field} is {value}: it has to be from {least} to {most}")]
    Range {
        /// The field.
        field: &'static str,
        /// What it says.
        value: u64,
        /// The least that is possible.
        least: u64,
        /// The most that is possible.
        most: u64,
    },
    /// A shape that is none.
    #[error("{field} is {value}: it has to be above 0 and at most {most}")]
    Shape {
        /// The field.
        field: &'static str,
        /// What it says.
        value: f64,
        /// The most that is possible.
        most: f64,
    },
    /// States of which neither is ever left or entered as the plan says.
    #[error(
        "loss.gilbert-elliott.to_bad and to_good are both 0: one of them has to be above 0 (loss \
         without states is bernoulli)"
    )]
    NoTransition,
    /// A plan that is right but for which there is no memory.
    #[error(
        "there is no memory for {packets} packets under way: a smaller most_in_flight takes less"
    )]
    NoMemory {
        /// How many packets.
        packets: u32,
    },
}

/// An error of one way of a path.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[error("{way}: {error}")]
pub struct PathPlanError {
    /// Which way.
    pub way: Way,
    /// What is wrong there.
    pub error: PlanError,
}

impl PathPlan {
    /// The plan of one way.
    pub fn way(&self, way: Way) -> &WayPlan {
        match way {
            Way::Outward => &self.outward,
            Way::Homeward => &self.homeward,
        }
    }

    /// Whether the plan can be followed.
    ///
    /// # Errors
    /// The first field that cannot.
    pub fn validate(&self) -> Result<(), PathPlanError> {
        Way::BOTH.into_iter().try_for_each(|way| {
            let of_way = self.way(way).validate();
            of_way.map_err(|error| PathPlanError { way, error })
        })
    }
}

impl WayPlan {
    /// Whether the plan can be followed.
    ///
    /// # Errors
    /// The first field that cannot.
    pub fn validate(&self) -> Result<(), PlanError> {
        if let Some(bottleneck) = &self.bottleneck {
            bottleneck.validate()?;
        }
        in_range("delay_ns", self.delay_ns, 0, MOST_DELAY_NS)?;
        match self.jitter {
            None => {}
            Some(Jitter::Normal { deviation_ns: ns }) => {
                in_range("jitter.normal.deviation_ns", ns, 0, MOST_DELAY_NS)?;
            }
            Some(Jitter::Exponential { mean_ns: ns }) => {
                in_range("jitter.exponential.mean_ns", ns, 0, MOST_DELAY_NS)?;
            }
            Some(Jitter::Uniform { most_ns: ns }) => {
                in_range("jitter.uniform.most_ns", ns, 0, MOST_DELAY_NS)?;
            }
            Some(Jitter::Pareto { least_ns, shape }) => {
                in_range("jitter.pareto.least_ns", least_ns, 1, MOST_DELAY_NS)?;
                let (field, value, most) = ("jitter.pareto.shape", shape, MOST_SHAPE);
                if !(value > 0.0 && value <= most) {
                    return Err(PlanError::Shape { field, value, most });
                }
            }
        }
        self.loss.validate()?;
        if let Some(d) = self.duplication {
            share("duplication.share", d.share)?;
            in_range("duplication.after_ns", d.after_ns, 0, MOST_DELAY_NS)?;
        }
        if let Some(r) = self.reordering {
            share("reordering.share", r.share)?;
            in_range("reordering.by_ns", r.by_ns, 0, MOST_DELAY_NS)?;
        }
        if let Some(c) = self.corruption {
            share("corruption.share", c.share)?;
        }
        let (held, most) = (self.most_in_flight, MOST_IN_FLIGHT);
        in_range("most_in_flight", held.into(), 1, most.into())
    }
}

impl Bottleneck {
    fn validate(&self) -> Result<(), PlanError> {
        in_range("bottleneck.rate_bps", self.rate_bps, 1, MOST_RATE_BPS)?;
        let overhead = u64::from(self.overhead_bytes);
        in_range("bottleneck.overhead_bytes", overhead, 0, MOST_PACKET_BYTES)?;
        match self.limit {
            QueueLimit::Bytes(b) => in_range("bottleneck.limit.bytes", b, 1, MOST_QUEUE_BYTES)?,
            QueueLimit::Packets(p) => {
                let most = MOST_IN_FLIGHT.into();
                in_range("bottleneck.limit.packets", p.into(), 1, most)?;
            }
        }
        self.cross_traffic
            .as_ref()
            .map_or(Ok(()), CrossTraffic::validate)
    }
}

impl CrossTraffic {
    fn validate(&self) -> Result<(), PlanError> {
        let rate = "bottleneck.cross_traffic.rate_bps";
        in_range(rate, self.rate_bps, 1, MOST_RATE_BPS)?;
        let (size, bytes) = ("bottleneck.cross_traffic.packet_bytes", self.packet_bytes);
        in_range(size, bytes.into(), 1, MOST_PACKET_BYTES)?;
        match self.pattern {
            CrossPattern::Bursts(n) => in_range(
                "bottleneck.cross_traffic.pattern.bursts",
                n.into(),
                1,
                1 << 16,
            ),
            CrossPattern::Constant | CrossPattern::Poisson => Ok(()),
        }
    }
}

impl LossPlan {
    fn validate(&self) -> Result<(), PlanError> {
        match *self {
            Self::None => Ok(()),
            Self::Bernoulli { share: value } => share("loss.bernoulli.share", value),
            Self::GilbertElliott {
                to_bad,
                to_good,
                loss_good,
                loss_bad,
            } => {
                share("loss.gilbert-elliott.to_bad", to_bad)?;
                share("loss.gilbert-elliott.to_good", to_good)?;
                share("loss.gilbert-elliott.loss_good", loss_good)?;
                share("loss.gilbert-elliott.loss_bad", loss_bad)?;
                match to_bad + to_good > 0.0 {
                    true => Ok(()),
                    false => Err(PlanError::NoTransition),
                }
            }
        }
    }
}

fn share(field: &'static str, value: f64) -> Result<(), PlanError> {
    match (0.0..=1.0).contains(&value) {
        true => Ok(()),
        false => Err(PlanError::Share { field, value }),
    }
}

fn in_range(field: &'static str, value: u64, least: u64, most: u64) -> Result<(), PlanError> {
    match (least..=most).contains(&value) {
        true => Ok(()),
        false => Err(PlanError::Range {
            field,
            value,
            least,
            most,
        }),
    }
}

#[cfg(test)]
mod tests;
