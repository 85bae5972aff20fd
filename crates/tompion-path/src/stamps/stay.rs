//! How long the far end kept each packet, by its own stamps.

use crate::stamps::packets::Packets;
use crate::stamps::place::Stamp;
use crate::stamps::values::Values;
use crate::stamps::vantage::{Vantage, between, round_trips};

/// By which stamp a reply left the far end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StayBy {
    /// The stamp within the reply (T3 of RFC 8762), taken before it was sent.
    Reply,
    /// The transmit stamp of the far end's kernel, which followed (the Follow-Up Telemetry
    /// TLV of RFC 8972).
    FollowUp,
    /// The kernel's where it followed, else that within the reply.
    #[default]
    Best,
}

/// How long the far end kept each packet.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stays {
    /// From receipt to sending by the far end's clock, in nanoseconds. Missing where it gave no
    /// stamps, where they cannot be true, and everywhere where all are zero: who gives one stamp
    /// twice does not say how long it kept anything.
    pub values: Values,
    /// Packets that it says it sent before it received them.
    pub negative: u64,
    /// Packets that it says it kept longer than their whole round trip lasted here.
    pub too_long: u64,
    /// Packets that it says it kept for no time at all.
    pub zero: u64,
}

impl Stays {
    /// Round trips without the far end's stay, in nanoseconds; missing where either is.
    pub fn removed_from(&self, round_trips: &Values) -> Values {
        round_trips.minus(&self.values)
    }
}

/// How long the far end kept each packet. What it says is believed as far as it can be true: from
/// 0 to the round trip as the kernel saw it, or where that is missing the program.
pub fn stays(packets: &Packets, by: StayBy) -> Stays {
    let reply = between(packets, Stamp::FarReceived, Stamp::FarSent);
    let follow_up = between(packets, Stamp::FarReceived, Stamp::FarSentKernel);
    let kernel = round_trips(packets, Vantage::Kernel);
    let user = round_trips(packets, Vantage::User);
    let mut stays = Stays::default();
    let values = (0..packets.len()).map(|probe| {
        let given = match by {
            StayBy::Reply => reply.get(probe),
            StayBy::FollowUp => follow_up.get(probe),
            StayBy::Best => follow_up.get(probe).or_else(|| reply.get(probe)),
        }?;
        let whole = kernel.get(probe).or_else(|| user.get(probe));
        if given < 0 {
            stays.negative += 1;
            return None;
        }
        if whole.is_some_and(|w| given > w) {
            stays.too_long += 1;
            return None;
        }
        stays.zero += u64::from(given == 0);
        Some(given)
    });
    let mut values: Values = values.collect();
    if values.present().all(|stay| stay == 0) {
        values = (0..packets.len()).map(|_| None).collect();
    }
    Stays { values, ..stays }
}

#[cfg(test)]
mod tests;
