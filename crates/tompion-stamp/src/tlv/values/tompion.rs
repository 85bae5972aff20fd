//! Tompion's own TLV, of a type for private use: what no other one says.

use crate::bytes::{put, u16_at, u32_at, u64_at};
use crate::stamp::StampKind;

/// Private values begin with the number of an enterprise. Tompion has none: zero is reserved, so
/// that it is nobody's (RFC 9371), and the name after it says whose the value is.
const WHOSE: [u8; 8] = *b"\0\0\0\0TMPN";
/// Of the fields as they are here. Later ones may only add behind them.
const VERSION: u8 = 1;

/// Which software this is: the first two numbers of its version.
pub const SOFTWARE: (u8, u8) = (
    decimal(env!("CARGO_PKG_VERSION_MAJOR")),
    decimal(env!("CARGO_PKG_VERSION_MINOR")),
);

/// A number below 256 by its digits; 255 for a larger one.
const fn decimal(digits: &str) -> u8 {
    let digits = digits.as_bytes();
    let (mut value, mut at) = (0_u8, 0);
    while at < digits.len() {
        value = value.saturating_mul(10).saturating_add(digits[at] - b'0');
        at += 1;
    }
    value
}

/// How long an earlier request of the session stayed in the reflector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TompionStay {
    /// That request's sequence number.
    pub sender_sequence: u32,
    /// From the kernel's, or the device's, receive stamp to its transmit stamp, in ns.
    pub stay_ns: u64,
}

/// What held up an earlier request of the session in the reflector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TompionMark {
    /// That request's sequence number.
    pub sender_sequence: u32,
    /// The cause, by its number in docs/wire.md.
    pub cause: u8,
    /// Where that is known from, by its number there.
    pub source: u8,
}

/// The fields. Those of a request are all unset.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tompion {
    /// The first two numbers of the version of Tompion that answers.
    pub software: (u8, u8),
    /// Who took T2 of this reply; nothing where it is not said.
    pub received: Option<StampKind>,
    /// Who took T3.
    pub sent: Option<StampKind>,
    /// The latest stay that is known.
    pub stay: Option<TompionStay>,
    /// What held up one of the requests before.
    pub mark: Option<TompionMark>,
    /// Requests from the sender's address that were left unanswered, as they came faster than they are answered; 65,535
    /// stand for more.
    pub unanswered: Option<u16>,
}

impl Tompion {
    /// Bytes of the value.
    pub const BYTES: usize = 32;
    /// Bytes of one without a mark.
    pub const LEAST: usize = 24;

    /// Whether a private value is one of these, of this version or a later one.
    pub fn is_ours(value: &[u8]) -> bool {
        value.len() >= Self::LEAST && value.starts_with(&WHOSE) && value[8] >= VERSION
    }

    /// The fields; nothing where it is somebody else's value.
    pub fn read(value: &[u8]) -> Option<Self> {
        Self::is_ours(value).then(|| {
            let stamps = value[9];
            Self {
                software: (value[10], value[11]),
                received: kind(stamps),
                sent: kind(stamps >> 2),
                stay: (stamps & 0x10 != 0).then(|| TompionStay {
                    sender_sequence: u32_at(value, 12),
                    stay_ns: u64_at(value, 16),
                }),
                mark: (stamps & 0x20 != 0 && value.len() >= Self::BYTES).then(|| TompionMark {
                    sender_sequence: u32_at(value, 24),
                    cause: value[28],
                    source: value[29],
                }),
                unanswered: (stamps & 0x40 != 0 && value.len() >= Self::BYTES)
                    .then(|| u16_at(value, 30)),
            }
        })
    }

    /// As a value.
    pub fn to_bytes(self) -> [u8; Self::BYTES] {
        let mut value = [0; Self::BYTES];
        put(&mut value, 0, &WHOSE);
        value[8] = VERSION;
        value[9] = bits(self.received) | (bits(self.sent) << 2);
        (value[10], value[11]) = self.software;
        if let Some(stay) = self.stay {
            value[9] |= 0x10;
            put(&mut value, 12, &stay.sender_sequence.to_be_bytes());
            put(&mut value, 16, &stay.stay_ns.to_be_bytes());
        }
        if let Some(mark) = self.mark {
            value[9] |= 0x20;
            put(&mut value, 24, &mark.sender_sequence.to_be_bytes());
            (value[28], value[29]) = (mark.cause, mark.source);
        }
        if let Some(unanswered) = self.unanswered {
            value[9] |= 0x40;
            put(&mut value, 30, &unanswered.to_be_bytes());
        }
        value
    }
}

fn kind(bits: u8) -> Option<StampKind> {
    match bits & 3 {
        1 => Some(StampKind::User),
        2 => Some(StampKind::Kernel),
        3 => Some(StampKind::Hardware),
        _ => None,
    }
}

fn bits(kind: Option<StampKind>) -> u8 {
    match kind {
        None => 0,
        Some(StampKind::User) => 1,
        Some(StampKind::Kernel) => 2,
        Some(StampKind::Hardware) => 3,
    }
}
