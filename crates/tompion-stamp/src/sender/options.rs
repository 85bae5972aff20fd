//! The TLVs of a reply.

use super::taken::{FollowedUp, Options, Told};
use crate::key::Key;
use crate::packet::ReplyFields;
use crate::tlv::values::{
    ClassOfService, DirectMeasurement, FollowUp, TimestampInformation, Tompion,
};
use crate::tlv::{Step, Steps, flags, kinds, length_fits};

/// What is needed to understand them.
pub(super) struct Context<'a> {
    pub(super) base: usize,
    /// Of TLVs.
    pub(super) key: Option<&'a Key>,
    pub(super) fields: &'a ReplyFields,
    /// T4, ns since 1970.
    pub(super) received_utc_ns: i64,
    /// Knows requests by the reflector's numbers of their replies.
    pub(super) request_of: &'a dyn Fn(u32) -> Option<u32>,
}

/// What the TLVs of a reply say; nothing where they are not authentic (RFC 8972, section 4.8).
pub(super) fn read(packet: &[u8], context: &Context<'_>) -> Option<Options> {
    if !are_authentic(packet, context.base, context.key) {
        return None;
    }
    let mut options = Options::default();
    let mut steps = Steps::new(packet, context.base);
    loop {
        let (bits, kind, value) = match steps.next(packet) {
            Step::Tlv { flags, kind, value } => (flags, kind, &packet[value]),
            Step::Overrun { kind } => {
                set(&mut options, kind, Verdict::Malformed, context);
                return Some(options);
            }
            Step::End | Step::Zeros | Step::Fragment => return Some(options),
        };
        // RFC 8972, section 4: what a flag tells a sender to do.
        if bits & flags::MALFORMED != 0 || !length_fits(kind, value.len()) {
            set(&mut options, kind, Verdict::Malformed, context);
            return Some(options);
        }
        if bits & flags::UNRECOGNIZED != 0 {
            set(&mut options, kind, Verdict::Unrecognized, context);
            continue;
        }
        set(&mut options, kind, Verdict::Value(bits, value), context);
    }
}

/// Whether the tag is right where there is a key, and no flag says that the reflector found
/// another one wrong.
pub(super) fn are_authentic(packet: &[u8], base: usize, key: Option<&Key>) -> bool {
    let mut steps = Steps::new(packet, base);
    let (mut is_shown, mut others) = (false, false);
    loop {
        let at = steps.at();
        match steps.next(packet) {
            Step::Tlv { flags, .. } if flags & flags::INTEGRITY != 0 => return false,
            Step::Tlv { kind, value, .. } if kind == kinds::HMAC => {
                let Some(key) = key else { continue };
                let tag = packet[value].try_into();
                let covered = [&packet[..4], &packet[base..at]];
                if is_shown || !tag.is_ok_and(|tag| key.verifies(&covered, tag)) {
                    return false;
                }
                is_shown = true;
            }
            Step::Tlv { kind, .. } if kind == kinds::EXTRA_PADDING => {}
            // Behind the tag nothing but padding is covered by anything.
            Step::Tlv { .. } | Step::Overrun { .. } if is_shown => return false,
            Step::Tlv { .. } => others = true,
            Step::Overrun { .. } => {
                others = true;
                break;
            }
            Step::End | Step::Zeros | Step::Fragment => break,
        }
    }
    key.is_none() || is_shown || !others
}

/// What there is to say about one TLV.
#[derive(Clone, Copy)]
enum Verdict<'a> {
    Unrecognized,
    Malformed,
    /// Its flags and its value.
    Value(u8, &'a [u8]),
}

impl Verdict<'_> {
    fn told<T>(self, read: impl FnOnce(&[u8]) -> Option<T>) -> Told<T> {
        match self {
            Self::Unrecognized => Told::Unrecognized,
            Self::Malformed => Told::Malformed,
            // Of a private one, somebody else's.
            Self::Value(_, value) => read(value).map_or(Told::Nothing, Told::Given),
        }
    }
}

fn set(options: &mut Options, kind: u8, verdict: Verdict<'_>, context: &Context<'_>) {
    match kind {
        kinds::TIMESTAMP_INFORMATION => {
            options.timestamp_information = verdict.told(TimestampInformation::read);
        }
        kinds::CLASS_OF_SERVICE => options.class_of_service = verdict.told(ClassOfService::read),
        kinds::DIRECT_MEASUREMENT => {
            options.direct_measurement = verdict.told(DirectMeasurement::read);
        }
        kinds::FOLLOW_UP => {
            options.follow_up = verdict.told(|value| Some(followed_up(value, context)));
        }
        kinds::PRIVATE => options.tompion = verdict.told(Tompion::read),
        kinds::REPLY_CONTROL => {
            let is_done = matches!(verdict, Verdict::Value(bits, _)
                if bits & flags::NOT_CONFORMANT == 0);
            options.control = verdict.told(|_| Some(is_done));
        }
        _ => {}
    }
}

fn followed_up(value: &[u8], context: &Context<'_>) -> Option<FollowedUp> {
    let follow_up = FollowUp::read(value)?;
    let format = context.fields.error.format;
    let sent_utc_ns = format.decode(follow_up.time, context.received_utc_ns)?;
    Some(FollowedUp {
        sequence: (context.request_of)(follow_up.sequence),
        reply_sequence: follow_up.sequence,
        sent_utc_ns,
        method: follow_up.method,
    })
}
