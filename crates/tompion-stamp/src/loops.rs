//! Replies that are taken for requests.
//!
//! A reply of a reflector is a valid request too: RFC 8762 lets both have the same size, and
//! tells receivers to ignore the bytes in which they differ. One packet with the source address
//! and port of another reflector would set the two on each other for ever. So a packet with the
//! shape of a reply is not answered:
//!
//! - where a reply has T2 there is something, within an hour of where it has T3: both are of one
//!   clock, so that no clocks of two machines are compared; or
//! - where a reply has the T1 that it copies there is a moment within an hour of now, which our
//!   own stamp in the reply before would be. That holds for reflectors that leave T2 out, too;
//! - and the bytes that are zero in replies are zero.
//!
//! A conforming sender has zeros in all these places. TWAMP senders may have random bytes there:
//! one of some 10^10 packets would look like a reply. A loop of two reflectors of ours ends so
//! with the first reply, and one with any other that follows the RFC with the second.

#[cfg(test)]
mod tests;

use crate::bytes::{u16_at, u64_at};
use crate::packet::Mode;

/// Seconds. Longer stays in a reflector are no loop to be afraid of.
const NEAR: u32 = 3600;

/// Whether a packet, at least of the base length, looks like a reply. `now` is the moment at
/// which it came, as our own replies would have it.
pub(crate) fn looks_like_reply(mode: Mode, packet: &[u8], now: u64) -> bool {
    let at = mode.layout();
    let sent = u64_at(packet, at.time);
    let received = u64_at(packet, at.received);
    let copied = u64_at(packet, at.sender_time);
    let is_near = |one: u64, other: u64| one != 0 && seconds_between(one, other) <= NEAR;
    // Two bytes behind the Error Estimate that is copied.
    u16_at(packet, at.sender_error + 2) == 0 && (is_near(received, sent) || is_near(copied, now))
}

/// Seconds between two stamps of one format, whatever their era.
fn seconds_between(one: u64, other: u64) -> u32 {
    let ahead = ((one >> 32) as u32).wrapping_sub((other >> 32) as u32);
    ahead.cast_signed().unsigned_abs()
}
