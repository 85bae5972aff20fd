//! Whether stamps are in the order in which a packet passes the places.

use crate::stamps::packets::Packets;
use crate::stamps::place::{Clock, Stamp};

/// How often one place stamped a packet before an earlier place did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OrderPair {
    /// The place that a packet passes first.
    pub earlier: Stamp,
    /// The place of the same clock that it passes next, of those that stamped it.
    pub later: Stamp,
    /// How many probes have both stamps.
    pub compared: u64,
    /// Of how many the later place has the earlier stamp.
    pub violations: u64,
    /// By how much at most, in nanoseconds; 0 without violations.
    pub worst_ns: i64,
}

/// Whether stamps are in the order of the places.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Order {
    /// Every pair that was compared, in the order of the places.
    pub pairs: Vec<OrderPair>,
    /// How many probes have two stamps to compare.
    pub probes: u64,
    /// How many of them violate the order somewhere.
    pub violated: u64,
}

/// Holds the stamps of each probe against the order of the places, of which `Packets::places` has
/// the list: user-sent ≤ scheduled ≤ sent ≤ taps ≤ far end ≤ …. Each stamp is compared with
/// the one before it of the same clock, never with one of another clock.
pub fn order(packets: &Packets) -> Order {
    let places: Vec<(Stamp, Option<Clock>)> = packets
        .places()
        .into_iter()
        .filter(|&place| packets.has_any(place))
        .map(|place| (place, packets.clock(place)))
        .collect();
    let n = places.len();
    let mut pairs: Vec<Option<OrderPair>> = vec![None; n * n];
    let mut order = Order::default();
    // The last place of each clock that stamped the probe at hand.
    let mut before: Vec<(Option<Clock>, usize, i64)> = Vec::with_capacity(n);
    for probe in 0..packets.len() {
        before.clear();
        let (mut compared, mut violated) = (false, false);
        for (later, &(place, clock)) in places.iter().enumerate() {
            let Some(at) = packets.get(probe, place) else {
                continue;
            };
            let Some(last) = before.iter_mut().find(|b| b.0 == clock) else {
                before.push((clock, later, at));
                continue;
            };
            let (_, earlier, earlier_at) = *last;
            *last = (clock, later, at);
            let pair = pairs[earlier * n + later].get_or_insert(OrderPair {
                earlier: places[earlier].0,
                later: place,
                compared: 0,
                violations: 0,
                worst_ns: 0,
            });
            pair.compared += 1;
            compared = true;
            if at < earlier_at {
                pair.violations += 1;
                pair.worst_ns = pair.worst_ns.max(earlier_at.saturating_sub(at));
                violated = true;
            }
        }
        order.probes += u64::from(compared);
        order.violated += u64::from(violated);
    }
    order.pairs = pairs.into_iter().flatten().collect();
    order
}

#[cfg(test)]
mod tests;
