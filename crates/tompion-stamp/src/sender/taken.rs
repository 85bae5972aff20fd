//! What a sender makes of a datagram that came.

use crate::error_estimate::ErrorEstimate;
use crate::stamp::Stamp;
use crate::tlv::values::{
    ClassOfService, DirectMeasurement, StampMethod, TimestampInformation, Tompion,
};

/// What a datagram is to a sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Taken {
    /// The first reply to a request.
    Reply(Answer),
    /// One more reply to a request that has one.
    Duplicate(Answer),
    /// A reply to a request that was given up, or whose place was needed.
    Late {
        /// The request's number.
        sequence: u32,
    },
    /// No reply to this sender.
    NotOurs(NotOurs),
}

/// Why a datagram is none of ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum NotOurs {
    /// Shorter than a base packet.
    #[error("shorter than a base packet")]
    TooShort,
    /// Of another session.
    #[error("of another session")]
    OtherSsid,
    /// To a request that was never sent.
    #[error("to a request that was never sent")]
    NeverSent,
    /// It does not carry the T1 of the request whose number it has.
    #[error("it has not the time of its request")]
    OtherTime,
    /// Its tag is wrong.
    #[error("a wrong tag")]
    WrongTag,
}

/// A reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The request's number.
    pub sequence: u32,
    /// The reflector's number of the reply.
    pub reply_sequence: u32,
    /// T1 as it was handed in, ns since 1970.
    pub sent_utc_ns: i64,
    /// T2, ns since 1970 by the reflector's clock; nothing where there is none.
    pub reflector_received_utc_ns: Option<i64>,
    /// T3, likewise.
    pub reflector_sent_utc_ns: Option<i64>,
    /// T4.
    pub received: Stamp,
    /// What the reflector says of its clock, synchronized by its own account or not.
    pub reflector_error: ErrorEstimate,
    /// TTL or hop limit with which the request arrived.
    pub ttl: Option<u8>,
    /// What is odd about the reply.
    pub oddities: Oddities,
    /// What its TLVs say.
    pub options: Options,
}

/// What came of a TLV that was asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Told<T> {
    /// It did not come back, or what came back may not be used.
    #[default]
    Nothing,
    /// The reflector does not know or serve it.
    Unrecognized,
    /// The reflector, or we, found its length wrong.
    Malformed,
    /// This.
    Given(T),
}

impl<T> Told<T> {
    /// The value, if there is one.
    pub fn given(self) -> Option<T> {
        match self {
            Self::Given(value) => Some(value),
            _ => None,
        }
    }
}

/// When an earlier reply left the reflector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FollowedUp {
    /// The request to which it was the reply; nothing where that reply is not known here.
    pub sequence: Option<u32>,
    /// The reflector's number of it.
    pub reply_sequence: u32,
    /// When it left, ns since 1970 by the reflector's clock.
    pub sent_utc_ns: i64,
    /// How that was found out.
    pub method: StampMethod,
}

/// What TLVs say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Timestamp Information.
    pub timestamp_information: Told<TimestampInformation>,
    /// Class of Service.
    pub class_of_service: Told<ClassOfService>,
    /// Direct Measurement.
    pub direct_measurement: Told<DirectMeasurement>,
    /// Follow-Up Telemetry; nothing is given as long as the reflector knows nothing.
    pub follow_up: Told<Option<FollowedUp>>,
    /// Tompion's own.
    pub tompion: Told<Tompion>,
    /// Reflected Test Packet Control: whether what was asked for was done.
    pub control: Told<bool>,
}

/// Something odd about a reply that counts all the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum Oddity {
    /// T2 and T3 are the same: the reflector took one stamp, so that its stay is in the delay.
    #[error("the reflector's two stamps are the same")]
    SameStamps = 0,
    /// No T2, or none that is valid.
    #[error("the reflector does not say when it received")]
    NoReceived = 1,
    /// No T3, or none that is valid.
    #[error("the reflector does not say when it sent")]
    NoSent = 2,
    /// T3 is before T2.
    #[error("the reflector's clock went backwards")]
    Backwards = 3,
    /// A multiplier of zero.
    #[error("the reflector gives no error estimate")]
    NoErrorEstimate = 4,
    /// An SSID of zero.
    #[error("the reflector does not know sessions by identifier")]
    NoSsid = 5,
    /// The reply is shorter than the request.
    #[error("the reply is shorter than the request")]
    Shorter = 6,
    /// The reply is longer than the request, and was not asked to be.
    #[error("the reply is longer than the request")]
    Longer = 7,
    /// The tag of the TLVs is wrong or missing, or was so to the reflector: none is used.
    #[error("the TLVs are not authentic")]
    NotAuthentic = 8,
}

impl Oddity {
    /// All of them.
    pub const ALL: [Self; 9] = [
        Self::SameStamps,
        Self::NoReceived,
        Self::NoSent,
        Self::Backwards,
        Self::NoErrorEstimate,
        Self::NoSsid,
        Self::Shorter,
        Self::Longer,
        Self::NotAuthentic,
    ];
}

/// A set of oddities.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Oddities(u16);

impl Oddities {
    pub(super) fn add(&mut self, oddity: Oddity, is_there: bool) {
        self.0 |= u16::from(is_there) << oddity as u16;
    }

    /// Whether one is among them.
    pub fn contains(self, oddity: Oddity) -> bool {
        self.0 & (1 << oddity as u16) != 0
    }

    /// Whether there is none.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Each of them.
    pub fn iter(self) -> impl Iterator<Item = Oddity> {
        Oddity::ALL
            .into_iter()
            .filter(move |oddity| self.contains(*oddity))
    }
}
