//! The four stamps of a probe and its reply, two by each clock.

use crate::stamps::{Clock, Packets, Stamp, left_far_end};

/// A probe and its reply: two stamps by the own clock, two by the far end's. In nanoseconds since
/// the zero of each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exchange {
    /// Row of the probe in its table.
    pub row: usize,
    /// When the probe was sent, by the own clock.
    pub sent_ns: i64,
    /// When it came, by the far end's.
    pub far_received_ns: i64,
    /// When the reply was sent, by the far end's.
    pub far_sent_ns: i64,
    /// When it came, by the own clock.
    pub received_ns: i64,
}

impl Exchange {
    /// The round trip less what the far end says that it kept the probe, in nanoseconds: never negative.
    pub fn path_ns(&self) -> i64 {
        (self.received_ns - self.sent_ns) - (self.far_sent_ns - self.far_received_ns)
    }
}

/// Those of answered probes, in the order of sending. By the kernel's stamps where it gave them. What the far end
/// cannot have seen is left out: it sends before it receives, or keeps a probe longer than its
/// round trip took.
pub fn exchanges(packets: &Packets) -> Vec<Exchange> {
    let own = |row, stamps: [Stamp; 2]| {
        let is_own = |stamp: &Stamp| packets.clock(*stamp) == Some(Clock::SENDER);
        let mut of_row = stamps.into_iter().filter(is_own);
        of_row.find_map(|stamp| packets.get(row, stamp))
    };
    let left = left_far_end(packets);
    let of_row = |row: usize| {
        let exchange = Exchange {
            row,
            sent_ns: own(row, [Stamp::Sent, Stamp::UserSent])?,
            far_received_ns: packets.get(row, Stamp::FarReceived)?,
            far_sent_ns: left[row]?,
            received_ns: own(row, [Stamp::Received, Stamp::UserReceived])?,
        };
        let is_true = exchange.far_sent_ns >= exchange.far_received_ns && exchange.path_ns() >= 0;
        is_true.then_some(exchange)
    };
    (0..packets.len()).filter_map(of_row).collect()
}
