//! What a reflector answers to each TLV, in the place where it stands.

use std::ops::Range;

use super::sessions::Told as SessionTold;
use super::survey::Integrity;
use super::trains::Train;
use crate::bytes::put;
use crate::stamp::StampKind;
use crate::time_format::TimeFormat;
use crate::tlv::values::{
    AccessReport, ClassOfService, ClockSource, DirectMeasurement, FollowUp, SOFTWARE,
    TimestampInformation, Tompion, TompionStay, TrainArrivals,
};
use crate::tlv::{Step, Steps, flags, kinds, length_fits};

/// What is known when a request is answered.
pub(super) struct Told<'a> {
    /// Who took T2.
    pub(super) received: StampKind,
    /// What keeps our clock in step.
    pub(super) source: ClockSource,
    /// The format of our stamps.
    pub(super) format: TimeFormat,
    /// DSCP and ECN with which the request arrived, where that is known.
    pub(super) class: Option<(u8, u8)>,
    /// Bit n for a DSCP of n that a sender may ask for.
    pub(super) dscp_permitted: u64,
    /// Of a reflector that counts by session.
    pub(super) session: Option<SessionTold>,
    /// Packets of this source that were left unanswered for a rate.
    pub(super) unanswered: u16,
    /// What the session sent without wanting a reply.
    pub(super) train: Option<&'a Train>,
    /// Whether what sessions send so is remembered.
    pub(super) keeps_trains: bool,
    /// Whether Tompion's own TLV is answered.
    pub(super) tells_software: bool,
    /// Whether what the Reflected Test Packet Control TLV asks for is done.
    pub(super) control_granted: bool,
}

/// What came of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Outcome {
    /// DSCP that the reply has to bear, where a TLV says so.
    pub(super) dscp: Option<u8>,
    /// TLVs with U.
    pub(super) unrecognized: u32,
    /// TLVs with M.
    pub(super) malformed: u32,
    /// Whether it has room for what held up an earlier request.
    pub(super) takes_marks: bool,
}

/// Whether a type is one of those that are served at all.
fn is_served(kind: u8) -> bool {
    matches!(
        kind,
        kinds::EXTRA_PADDING
            | kinds::TIMESTAMP_INFORMATION
            | kinds::CLASS_OF_SERVICE
            | kinds::DIRECT_MEASUREMENT
            | kinds::ACCESS_REPORT
            | kinds::FOLLOW_UP
            | kinds::HMAC
            | kinds::REPLY_CONTROL
    )
}

/// Answers the TLVs of a reply that so far holds the request's.
pub(super) fn answer(
    packet: &mut [u8],
    base: usize,
    integrity: Integrity,
    told: &Told<'_>,
) -> Outcome {
    let mut outcome = Outcome::default();
    let mut steps = Steps::new(packet, base);
    loop {
        let at = steps.at();
        match steps.next(packet) {
            // What is too short to be a TLV goes back as it came, as padding does.
            Step::End | Step::Zeros | Step::Fragment => return outcome,
            Step::Overrun { .. } => {
                outcome.malformed += 1;
                packet[at] = flags::MALFORMED | integrity_flag(integrity);
                return outcome;
            }
            Step::Tlv { kind, value, .. } => {
                let served = if integrity == Integrity::Failed {
                    // Nothing in it is used, not even its length.
                    is_served(kind)
                } else if !length_fits(kind, value.len()) {
                    outcome.malformed += 1;
                    packet[at] = flags::MALFORMED;
                    if kind == kinds::FOLLOW_UP {
                        // RFC 8972, section 4.7: number and stamp, as far as they are there.
                        let ends = value.end.min(value.start + 12);
                        packet[value.start..ends].fill(0);
                    }
                    // What follows goes back as it came.
                    return outcome;
                } else {
                    serve(packet, kind, value, told, &mut outcome)
                };
                outcome.unrecognized += u32::from(!served);
                let refused = kind == kinds::REPLY_CONTROL && !told.control_granted;
                packet[at] = integrity_flag(integrity)
                    | if served { 0 } else { flags::UNRECOGNIZED }
                    | if refused { flags::NOT_CONFORMANT } else { 0 };
            }
        }
    }
}

fn integrity_flag(integrity: Integrity) -> u8 {
    match integrity {
        Integrity::Failed => flags::INTEGRITY,
        Integrity::Open | Integrity::Shown(_) => 0,
    }
}

/// Fills in one value, whose length fits. False where it is not served.
fn serve(
    packet: &mut [u8],
    kind: u8,
    value: Range<usize>,
    told: &Told<'_>,
    outcome: &mut Outcome,
) -> bool {
    let range = value.clone();
    let (at, value) = (value.start, &packet[value]);
    match kind {
        kinds::EXTRA_PADDING | kinds::HMAC | kinds::REPLY_CONTROL => true,
        kinds::TIMESTAMP_INFORMATION => {
            let information = TimestampInformation {
                source_in: told.source,
                method_in: told.received.into(),
                source_out: told.source,
                // T3 is written by the program.
                method_out: StampKind::User.into(),
            };
            put(packet, at, &information.to_bytes());
            true
        }
        kinds::CLASS_OF_SERVICE => {
            let (Some(asked), Some((dscp, ecn))) = (ClassOfService::read(value), told.class) else {
                // A zero for what nobody knows would be taken for a measurement.
                return false;
            };
            let refused = told.dscp_permitted & (1 << asked.wanted_dscp) == 0;
            outcome.dscp = Some(if refused { dscp } else { asked.wanted_dscp });
            let answer = ClassOfService {
                received_dscp: dscp,
                received_ecn: ecn,
                refused,
                ..asked
            };
            put(packet, at, &answer.to_bytes());
            true
        }
        kinds::DIRECT_MEASUREMENT => {
            let (Some(asked), Some(session)) = (DirectMeasurement::read(value), &told.session)
            else {
                return false;
            };
            let answer = DirectMeasurement {
                reflector_received: session.received,
                reflector_sent: session.sent,
                ..asked
            };
            put(packet, at, &answer.to_bytes());
            true
        }
        // It goes back as it came; one of an unknown network has to be discarded, and its bytes
        // stay because the reply is as long as the request.
        kinds::ACCESS_REPORT => AccessReport::read(value).is_some_and(AccessReport::is_valid),
        kinds::FOLLOW_UP => {
            let left = told.session.as_ref().and_then(|session| session.left);
            let answer = left.map_or_else(FollowUp::default, |left| FollowUp {
                sequence: left.sequence,
                time: told.format.encode(left.stamp.utc_ns),
                method: left.stamp.kind.into(),
            });
            put(packet, at, &answer.to_bytes());
            true
        }
        kinds::PRIVATE if told.tells_software && Tompion::is_ours(value) => {
            let left = told.session.as_ref().and_then(|session| session.left);
            let length = value.len().min(Tompion::BYTES);
            let takes_marks = length == Tompion::BYTES;
            let mark = told.session.as_ref().and_then(|session| session.mark);
            outcome.takes_marks = takes_marks;
            let answer = Tompion {
                mark: mark.filter(|_| takes_marks),
                unanswered: takes_marks.then_some(told.unanswered),
                software: SOFTWARE,
                received: Some(told.received),
                sent: Some(StampKind::User),
                stay: left.and_then(|left| {
                    let stay_ns = left.stay_ns?;
                    Some(TompionStay {
                        sender_sequence: left.sender_sequence,
                        stay_ns,
                    })
                }),
            };
            put(packet, at, &answer.to_bytes()[..length]);
            true
        }
        // A session that sent none has none.
        kinds::PRIVATE if told.keeps_trains && TrainArrivals::is_ours(value) => {
            let of = |sequence| told.train.and_then(|train| train.arrival(sequence));
            TrainArrivals::answer(&mut packet[range], of);
            true
        }
        _ => false,
    }
}
