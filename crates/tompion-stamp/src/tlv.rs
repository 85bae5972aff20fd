//! The options of a packet: type, length, value (RFC 8972, section 4), walked without copying.

pub mod values;

#[cfg(test)]
mod tests;

use std::ops::Range;

use crate::bytes::{put, u16_at};
use crate::key::TAG_BYTES;

/// Bytes before a value: flags, type, length of the value.
pub const HEADER_BYTES: usize = 4;

/// Flags of a TLV, as bits of its first byte. A sender sets U and nothing else; a reflector says
/// by all of them what it made of the TLV.
pub mod flags {
    /// The reflector did not understand it, or does not serve it.
    pub const UNRECOGNIZED: u8 = 0x80;
    /// Its length is not one that its type has, or goes beyond the packet.
    pub const MALFORMED: u8 = 0x40;
    /// The tag over all TLVs was wrong or missing.
    pub const INTEGRITY: u8 = 0x20;
    /// Of the Reflected Test Packet Control TLV: what it asks for was not done
    /// (draft-ietf-ippm-asymmetrical-pkts).
    pub const NOT_CONFORMANT: u8 = 0x10;
}

/// Types of TLVs that are understood here.
pub mod kinds {
    /// Bytes that make the packet longer.
    pub const EXTRA_PADDING: u8 = 1;
    /// Addresses and ports as the reflector saw them.
    pub const LOCATION: u8 = 2;
    /// How the reflector's stamps came about.
    pub const TIMESTAMP_INFORMATION: u8 = 3;
    /// DSCP and ECN of both ways.
    pub const CLASS_OF_SERVICE: u8 = 4;
    /// Packets counted by both ends.
    pub const DIRECT_MEASUREMENT: u8 = 5;
    /// Whether an access network is there.
    pub const ACCESS_REPORT: u8 = 6;
    /// When an earlier reply truly left.
    pub const FOLLOW_UP: u8 = 7;
    /// The tag over the sequence number and all TLVs before it.
    pub const HMAC: u8 = 8;
    /// Replies of another length or number (draft-ietf-ippm-asymmetrical-pkts).
    pub const REPLY_CONTROL: u8 = 12;
    /// The first of three for private use; one of those that bear it is Tompion's.
    pub const PRIVATE: u8 = 252;
}

/// What stands at a place behind the base packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Nothing more.
    End,
    /// Nothing but zeros to the end: padding, as TWAMP senders have it.
    Zeros,
    /// Fewer bytes than a TLV begins with.
    Fragment,
    /// A TLV that goes beyond the packet.
    Overrun {
        /// Its type.
        kind: u8,
    },
    /// A whole one.
    Tlv {
        /// Its flags, as they are.
        flags: u8,
        /// Its type.
        kind: u8,
        /// Where its value is, in the packet.
        value: Range<usize>,
    },
}

/// A walk over the TLVs of one packet. It keeps no hold of the packet, so that values may be
/// changed on the way; lengths may not.
#[derive(Clone, Debug)]
pub struct Steps {
    at: usize,
    /// From here on there are only zeros: found once, since a packet that is made of zeros but
    /// for its last byte would otherwise be searched again at every step.
    zeros_from: usize,
}

impl Steps {
    /// From behind the base packet, of `base` bytes.
    pub fn new(packet: &[u8], base: usize) -> Self {
        let last = packet.iter().rposition(|byte| *byte != 0);
        Self {
            at: base,
            zeros_from: last.map_or(0, |last| last + 1),
        }
    }

    /// Where the next step begins.
    pub fn at(&self) -> usize {
        self.at
    }

    /// What stands there. After anything but a whole TLV there is no next one.
    pub fn next(&mut self, packet: &[u8]) -> Step {
        let at = self.at;
        self.at = packet.len();
        let rest = packet.get(at..).unwrap_or_default();
        if rest.is_empty() {
            return Step::End;
        }
        if at >= self.zeros_from {
            return Step::Zeros;
        }
        if rest.len() < HEADER_BYTES {
            return Step::Fragment;
        }
        let kind = rest[1];
        let begins = at + HEADER_BYTES;
        let ends = begins + usize::from(u16_at(rest, 2));
        if ends > packet.len() {
            return Step::Overrun { kind };
        }
        self.at = ends;
        Step::Tlv {
            flags: rest[0],
            kind,
            value: begins..ends,
        }
    }
}

/// Whether values of this type may have that length; of types that are not understood here any
/// may, but for private ones, which begin with four bytes that say whose they are.
pub fn length_fits(kind: u8, length: usize) -> bool {
    match kind {
        kinds::LOCATION => length >= values::LOCATION_LEAST,
        kinds::TIMESTAMP_INFORMATION => length == values::TimestampInformation::BYTES,
        kinds::CLASS_OF_SERVICE => length == values::ClassOfService::BYTES,
        kinds::DIRECT_MEASUREMENT => length == values::DirectMeasurement::BYTES,
        kinds::ACCESS_REPORT => length == values::AccessReport::BYTES,
        kinds::FOLLOW_UP => length == values::FollowUp::BYTES,
        kinds::HMAC => length == TAG_BYTES,
        kinds::REPLY_CONTROL => length >= values::ReplyControl::LEAST,
        252..=254 => length >= values::ENTERPRISE_BYTES,
        _ => true,
    }
}

/// Writes the header of a TLV. The length is of at most 65,535 bytes: a UDP datagram has no more.
pub(crate) fn put_header(packet: &mut [u8], at: usize, flags: u8, kind: u8, length: usize) {
    packet[at] = flags;
    packet[at + 1] = kind;
    let length = u16::try_from(length).unwrap_or(u16::MAX);
    put(packet, at + 2, &length.to_be_bytes());
}
