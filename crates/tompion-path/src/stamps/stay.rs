//! How long the far end kept each packet, by its own stamps.

use crate::stamps::packets::Packets;
use crate::stamps::place::Stamp;
use crate::stamps::values::Values;
use crate::stamps::vantage::{Vantage, round_trips};

/// By which stamp a reply left the far end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StayBy {
    /// The stamp within the reply (T3 of RFC 8762), taken before it was sent.
    Reply,
    /// The transmit stamp of the far end's kernel, which followed (the Follow-Up Telemetry
    /// TLV of RFC 8972).
    FollowUp,
    /// The kernel's where it followed, else that within the reply; neither where replies beside it waited in the far end's
    /// queue, so that this one may have, too.
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

/// A reply that is sent so much later than its program handed it over waited in the far end's queue, in nanoseconds.
const WAITED_NS: i64 = 200_000;

/// When each reply left the far end, by its clock: as its kernel told it afterwards, or else by the stamp of its program, which
/// the reply has. Nothing where the replies next to it, before and behind, waited in the far end's queue, or the one of them that
/// there is: nobody knows for how long this one did. One alone that left late was held up otherwise.
pub fn left_far_end(packets: &Packets) -> Vec<Option<i64>> {
    let rows = || 0..packets.len();
    let waited = |row: usize| {
        let handed_over = packets.get(row, Stamp::FarSent)?;
        let left = packets.get(row, Stamp::FarSentKernel)?;
        Some(left.saturating_sub(handed_over) > WAITED_NS)
    };
    // What the nearest told one before each row did, and the nearest behind it.
    let nearest = |rows: &mut dyn Iterator<Item = usize>| {
        let (mut latest, mut all) = (None, vec![None; packets.len()]);
        for row in rows {
            latest = waited(row).or(latest);
            all[row] = latest;
        }
        all
    };
    let (before, behind) = (nearest(&mut rows()), nearest(&mut rows().rev()));
    rows()
        .map(|row| {
            let by_kernel = packets.get(row, Stamp::FarSentKernel);
            let both = [before[row], behind[row]];
            let has_queue = both.contains(&Some(true)) && !both.contains(&Some(false));
            let is_known = !has_queue;
            let by_program = || packets.get(row, Stamp::FarSent).filter(|_| is_known);
            by_kernel.or_else(by_program)
        })
        .collect()
}

fn stamps_of(packets: &Packets, stamp: Stamp) -> Vec<Option<i64>> {
    (0..packets.len())
        .map(|row| packets.get(row, stamp))
        .collect()
}

/// How long the far end kept each packet. What it says is believed as far as it can be true: from
/// 0 to the round trip as the kernel saw it, or where that is missing the program.
pub fn stays(packets: &Packets, by: StayBy) -> Stays {
    let left = match by {
        StayBy::Best => left_far_end(packets),
        StayBy::Reply => stamps_of(packets, Stamp::FarSent),
        StayBy::FollowUp => stamps_of(packets, Stamp::FarSentKernel),
    };
    let kernel = round_trips(packets, Vantage::Kernel);
    let user = round_trips(packets, Vantage::User);
    let mut stays = Stays::default();
    let values = (0..packets.len()).map(|probe| {
        let came = packets.get(probe, Stamp::FarReceived)?;
        let given = left[probe]?.checked_sub(came)?;
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
