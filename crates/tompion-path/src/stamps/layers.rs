//! What each layer between two vantage points adds to a round trip, and how late probes were
//! sent.

use crate::stamps::packets::Packets;
use crate::stamps::place::Stamp;
use crate::stamps::stay::Stays;
use crate::stamps::values::Values;
use crate::stamps::vantage::{Vantage, between, round_trips, vantages};

/// What lies between two neighbouring vantage points.
///
/// What it adds is the difference of their round trips, which needs no second clock (the Δ
/// columns in table 1 of Whiteaker et al. 2011). Where both are of one clock it is split into the
/// way out and the way home.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layer {
    /// The one nearer to the program.
    pub upper: Vantage,
    /// The one nearer to the far end.
    pub lower: Vantage,
}

impl Layer {
    /// What the layer adds to each round trip, in nanoseconds.
    pub fn added(&self, packets: &Packets) -> Values {
        round_trips(packets, self.upper).minus(&round_trips(packets, self.lower))
    }

    /// What it adds on the way out, in nanoseconds; `None` where that takes a second clock.
    pub fn outward(&self, packets: &Packets) -> Option<Values> {
        one_clock(packets, self.upper.outward(), self.lower.outward())
    }

    /// What it adds on the way home, in nanoseconds; `None` where that takes a second clock.
    pub fn homeward(&self, packets: &Packets) -> Option<Values> {
        one_clock(packets, self.lower.homeward(), self.upper.homeward())
    }
}

fn one_clock(packets: &Packets, from: Stamp, to: Stamp) -> Option<Values> {
    (packets.clock(from) == packets.clock(to)).then(|| between(packets, from, to))
}

/// The layers between the vantage points that a table has, from the program outwards. For a probe
/// that has all stamps, what they add, the far end's stay and [`rest`] sum to the program's round
/// trip.
pub fn layers(packets: &Packets) -> Vec<Layer> {
    let seen = vantages(packets);
    let pairs = seen.windows(2);
    pairs
        .map(|pair| Layer {
            upper: pair[0],
            lower: pair[1],
        })
        .collect()
}

/// The round trip at the outermost vantage point, the far end's stay removed: the path. In
/// nanoseconds; all missing where a table has no vantage point.
pub fn rest(packets: &Packets, stays: &Stays) -> Values {
    match vantages(packets).last() {
        Some(&outermost) => stays.removed_from(&round_trips(packets, outermost)),
        None => (0..packets.len()).map(|_| None).collect(),
    }
}

/// How much later than due each probe was sent by the program, in nanoseconds; negative where it
/// was early.
pub fn lateness(packets: &Packets) -> Values {
    between(packets, Stamp::Due, Stamp::UserSent)
}

#[cfg(test)]
mod tests;
