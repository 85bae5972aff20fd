//! The base packets of RFC 8762 with the SSID of RFC 8972: where each field is.

#[cfg(test)]
mod tests;

use crate::bytes::{put, u16_at, u32_at, u64_at};
use crate::error_estimate::ErrorEstimate;
use crate::key::{Key, TAG_BYTES};

/// Whether base packets carry a tag: they look different then.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Mode {
    /// Without a key: 44 bytes.
    #[default]
    Unauthenticated,
    /// With a key: 112 bytes, of which the last 16 are the tag of the 96 before.
    Authenticated,
}

/// Places of the fields of both packets in one mode. The sequence number always comes first.
pub(crate) struct Layout {
    pub(crate) base: usize,
    pub(crate) time: usize,
    pub(crate) error: usize,
    pub(crate) ssid: usize,
    pub(crate) received: usize,
    pub(crate) sender_sequence: usize,
    pub(crate) sender_time: usize,
    pub(crate) sender_error: usize,
    pub(crate) ttl: usize,
}

const UNAUTHENTICATED: Layout = Layout {
    base: 44,
    time: 4,
    error: 12,
    ssid: 14,
    received: 16,
    sender_sequence: 24,
    sender_time: 28,
    sender_error: 36,
    ttl: 40,
};

const AUTHENTICATED: Layout = Layout {
    base: 112,
    time: 16,
    error: 24,
    ssid: 26,
    received: 32,
    sender_sequence: 48,
    sender_time: 64,
    sender_error: 72,
    ttl: 80,
};

/// Where the tag of an authenticated base packet begins, and what it covers ends.
const TAG_AT: usize = 96;

impl Mode {
    pub(crate) fn layout(self) -> &'static Layout {
        match self {
            Self::Unauthenticated => &UNAUTHENTICATED,
            Self::Authenticated => &AUTHENTICATED,
        }
    }

    /// Bytes of a base packet, in both directions alike.
    pub fn base_bytes(self) -> usize {
        self.layout().base
    }
}

/// The fields of a Session-Sender's base packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestFields {
    /// Counts the packets of a session, from zero.
    pub sequence: u32,
    /// When it was sent (T1), in the format that `error` names.
    pub time: u64,
    /// Of the sender's clock.
    pub error: ErrorEstimate,
    /// The session's identifier; zero where there is none.
    pub ssid: u16,
}

impl RequestFields {
    /// Those of a packet; nothing where it is shorter than a base packet. Neither the zeros nor
    /// the tag are looked at.
    pub fn read(mode: Mode, packet: &[u8]) -> Option<Self> {
        let at = mode.layout();
        (packet.len() >= at.base).then(|| Self {
            sequence: u32_at(packet, 0),
            time: u64_at(packet, at.time),
            error: ErrorEstimate::from_wire(u16_at(packet, at.error)),
            ssid: u16_at(packet, at.ssid),
        })
    }

    /// Writes the base packet, zeros elsewhere, no tag. False, and nothing done, where there is
    /// no room for it.
    #[must_use]
    pub fn write(&self, mode: Mode, packet: &mut [u8]) -> bool {
        let at = mode.layout();
        let Some(base) = packet.get_mut(..at.base) else {
            return false;
        };
        base.fill(0);
        put(base, 0, &self.sequence.to_be_bytes());
        put(base, at.time, &self.time.to_be_bytes());
        put(base, at.error, &self.error.to_wire().to_be_bytes());
        put(base, at.ssid, &self.ssid.to_be_bytes());
        true
    }
}

/// The fields of a Session-Reflector's base packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReplyFields {
    /// The reflector's own count, or, of one that keeps no state, the sender's.
    pub sequence: u32,
    /// When the reply was sent (T3), in the format that `error` names.
    pub time: u64,
    /// Of the reflector's clock, for `time` and `received`.
    pub error: ErrorEstimate,
    /// The request's.
    pub ssid: u16,
    /// When the request was received (T2).
    pub received: u64,
    /// The request's sequence number.
    pub sender_sequence: u32,
    /// The request's T1.
    pub sender_time: u64,
    /// The request's.
    pub sender_error: ErrorEstimate,
    /// TTL or hop limit with which the request arrived; zero where that is not known.
    pub sender_ttl: u8,
}

impl ReplyFields {
    /// As [`RequestFields::read`].
    pub fn read(mode: Mode, packet: &[u8]) -> Option<Self> {
        let at = mode.layout();
        // The first four fields are where a request has its own.
        let RequestFields {
            sequence,
            time,
            error,
            ssid,
        } = RequestFields::read(mode, packet)?;
        Some(Self {
            sequence,
            time,
            error,
            ssid,
            received: u64_at(packet, at.received),
            sender_sequence: u32_at(packet, at.sender_sequence),
            sender_time: u64_at(packet, at.sender_time),
            sender_error: ErrorEstimate::from_wire(u16_at(packet, at.sender_error)),
            sender_ttl: packet[at.ttl],
        })
    }

    /// As [`RequestFields::write`].
    #[must_use]
    pub fn write(&self, mode: Mode, packet: &mut [u8]) -> bool {
        let Self {
            sequence,
            time,
            error,
            ssid,
            ..
        } = *self;
        let first = RequestFields {
            sequence,
            time,
            error,
            ssid,
        };
        if !first.write(mode, packet) {
            return false;
        }
        let at = mode.layout();
        let fields: [(usize, &[u8]); 5] = [
            (at.received, &self.received.to_be_bytes()),
            (at.sender_sequence, &self.sender_sequence.to_be_bytes()),
            (at.sender_time, &self.sender_time.to_be_bytes()),
            (at.sender_error, &self.sender_error.to_wire().to_be_bytes()),
            (at.ttl, &[self.sender_ttl]),
        ];
        for (place, bytes) in fields {
            put(packet, place, bytes);
        }
        true
    }
}

/// Writes the stamp of either packet into it.
pub(crate) fn put_time(mode: Mode, packet: &mut [u8], time: u64) {
    put(packet, mode.layout().time, &time.to_be_bytes());
}

/// Writes the tag of an authenticated base packet of either kind. False, and nothing done, where
/// the packet is shorter.
#[must_use]
pub fn seal(key: &Key, packet: &mut [u8]) -> bool {
    if packet.len() < AUTHENTICATED.base {
        return false;
    }
    let tag = key.tag(&[&packet[..TAG_AT]]);
    put(packet, TAG_AT, &tag);
    true
}

/// The tag of an authenticated base packet, where it is long enough to have one.
pub(crate) fn tag_of(packet: &[u8]) -> Option<&[u8; TAG_BYTES]> {
    packet.get(TAG_AT..TAG_AT + TAG_BYTES)?.try_into().ok()
}

/// Whether an authenticated base packet carries the tag of this key.
#[must_use]
pub fn is_authentic(key: &Key, packet: &[u8]) -> bool {
    tag_of(packet).is_some_and(|tag| key.verifies(&[&packet[..TAG_AT]], tag))
}
