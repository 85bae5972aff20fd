//! Delay variation, in the two forms that RFC 5481 compares.

use crate::stamps::packets::Packets;
use crate::stamps::place::Stamp;
use crate::stamps::values::Values;

/// From one stamp to another in nanoseconds, whatever their clocks: where these differ, each
/// value contains the unknown offset between them. Variation needs no more, as long as the clocks
/// do not drift by as much as it tells; the delay itself can be read from [`super::round_trips`]
/// and [`super::Layer`] alone.
pub fn delays(packets: &Packets, from: Stamp, to: Stamp) -> Values {
    let probes = 0..packets.len();
    probes
        .map(|row| packets.get(row, to)?.checked_sub(packets.get(row, from)?))
        .collect()
}

/// Packet delay variation (PDV of RFC 5481): each delay less the smallest of all, in nanoseconds;
/// never negative.
pub fn pdv(delays: &Values) -> Values {
    let least = delays.min();
    let less = |delay: i64| delay.checked_sub(least?);
    delays.iter().map(|delay| less(delay?)).collect()
}

/// Inter-packet delay variation (IPDV of RFC 5481, after RFC 3393): each delay less that of the
/// packet sent before it, in nanoseconds. Missing for the first packet, and where either packet
/// has no delay.
pub fn ipdv(delays: &Values) -> Values {
    let before = std::iter::once(None).chain(delays.iter());
    delays
        .iter()
        .zip(before)
        .map(|(delay, before)| delay?.checked_sub(before?))
        .collect()
}

#[cfg(test)]
mod tests;
