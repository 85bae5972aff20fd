//! Vantage points: the round trip as each place sees it.

use std::fmt;

use crate::Way;
use crate::stamps::packets::Packets;
use crate::stamps::place::{Stamp, TapId};
use crate::stamps::values::Values;

/// A place from which a round trip is seen, by one clock: where the probe passes it on the way
/// out and its reply on the way home.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Vantage {
    /// The program: before it sends, and once it has the reply.
    User,
    /// From the entry into the device's queue to the kernel's receive stamp.
    Qdisc,
    /// From the kernel's transmit stamp to its receive stamp.
    Kernel,
    /// The device's own stamps.
    Hardware,
    /// A tap.
    Tap(TapId),
}

impl Vantage {
    /// Where it sees the probe.
    pub fn outward(self) -> Stamp {
        match self {
            Self::User => Stamp::UserSent,
            Self::Qdisc => Stamp::Scheduled,
            Self::Kernel => Stamp::Sent,
            Self::Hardware => Stamp::SentHardware,
            Self::Tap(tap) => Stamp::Tap(tap, Way::Outward),
        }
    }

    /// Where it sees the reply.
    pub fn homeward(self) -> Stamp {
        match self {
            Self::User => Stamp::UserReceived,
            Self::Qdisc | Self::Kernel => Stamp::Received,
            Self::Hardware => Stamp::ReceivedHardware,
            Self::Tap(tap) => Stamp::Tap(tap, Way::Homeward),
        }
    }
}

impl Vantage {
    /// What it is called in a table: a tap by its name.
    pub fn name(self, packets: &Packets) -> String {
        let named = match self {
            Self::Tap(tap) => packets.taps().find(|(id, _)| *id == tap),
            _ => None,
        };
        named.map_or_else(|| self.to_string(), |(_, name)| name.to_owned())
    }
}

impl fmt::Display for Vantage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::User => f.write_str("user"),
            Self::Qdisc => f.write_str("qdisc"),
            Self::Kernel => f.write_str("kernel"),
            Self::Hardware => f.write_str("hardware"),
            Self::Tap(tap) => write!(f, "tap {}", tap.index()),
        }
    }
}

/// The vantage points of which a table has stamps both ways, by one clock; from the program
/// outwards.
pub fn vantages(packets: &Packets) -> Vec<Vantage> {
    let taps = |is_own: bool| {
        let those = packets
            .taps()
            .filter(move |(tap, _)| packets.is_own(*tap) == is_own);
        those.map(|(tap, _)| Vantage::Tap(tap))
    };
    let within = [Vantage::User, Vantage::Qdisc]
        .into_iter()
        .chain(taps(true));
    let own = within.chain([Vantage::Kernel, Vantage::Hardware]);
    let sees = |v: &Vantage| {
        let (out, home) = (v.outward(), v.homeward());
        packets.has_any(out) && packets.has_any(home) && packets.clock(out) == packets.clock(home)
    };
    own.chain(taps(false)).filter(sees).collect()
}

/// The round trip of each probe as seen from a vantage point, in nanoseconds, the far end's stay
/// included (`Stays::removed_from` takes it away). Missing where a stamp is, and
/// everywhere where the two stamps are of different clocks.
pub fn round_trips(packets: &Packets, vantage: Vantage) -> Values {
    between(packets, vantage.outward(), vantage.homeward())
}

/// From one stamp to another of the same clock, in nanoseconds; all missing where the clocks
/// differ.
pub(crate) fn between(packets: &Packets, from: Stamp, to: Stamp) -> Values {
    let is_one_clock = packets.clock(from) == packets.clock(to);
    let probes = 0..packets.len();
    probes
        .map(|row| match is_one_clock {
            true => packets.get(row, to)?.checked_sub(packets.get(row, from)?),
            false => None,
        })
        .collect()
}
