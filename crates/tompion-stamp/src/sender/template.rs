//! A request but for what changes from one to the next.

use std::ops::Range;

use super::config::{Ask, Padding, SenderConfig, SenderError};
use crate::bytes::put;
use crate::key::{Key, TAG_BYTES};
use crate::packet::Mode;
use crate::tlv::values::{
    ClassOfService, DirectMeasurement, FollowUp, TimestampInformation, Tompion, TrainArrivals,
};
use crate::tlv::{HEADER_BYTES, flags, kinds, put_header};

/// The longest payload of UDP over IPv4.
const LONGEST: usize = 65_507;

/// The bytes, and where what changes is.
#[derive(Debug)]
pub(super) struct Template {
    pub(super) bytes: Vec<u8>,
    /// Where the value of Direct Measurement begins.
    pub(super) counted_at: Option<usize>,
    /// Where the header of the HMAC TLV begins.
    pub(super) tag_at: Option<usize>,
    /// Where the value that asks for arrivals is.
    pub(super) arrivals: Option<Range<usize>>,
}

impl Template {
    pub(super) fn new(
        mode: Mode,
        config: &SenderConfig,
        tlv_key: Option<&Key>,
    ) -> Result<Self, SenderError> {
        let mut bytes = vec![0; mode.base_bytes()];
        let counted_at = add_asked(&mut bytes, &config.ask)?;
        let arrivals = add_arrivals(&mut bytes, config.ask.arrivals);
        let has_tlvs = bytes.len() > mode.base_bytes();
        let tag = HEADER_BYTES + TAG_BYTES;
        // In authenticated mode padding alone needs none (RFC 8972, section 4.8); a key for
        // TLVs alone is there for them.
        let tag_bytes = if tlv_key.is_some() && has_tlvs {
            tag
        } else {
            0
        };
        let least = bytes.len() + tag_bytes;
        let wanted = config.bytes.unwrap_or(least);
        let padded = least + HEADER_BYTES;
        if least > LONGEST || wanted != least && !(padded..=LONGEST).contains(&wanted) {
            return Err(SenderError::Length {
                wanted,
                least,
                padded,
                longest: LONGEST,
            });
        }
        if wanted > least {
            // Before the tag: it may stand behind, but not every reflector knows that.
            let value = padding(config.padding, wanted - padded);
            add(&mut bytes, kinds::EXTRA_PADDING, &value);
        }
        let tag_at = (tag_bytes > 0).then_some(bytes.len());
        if tag_bytes > 0 {
            add(&mut bytes, kinds::HMAC, &[0; TAG_BYTES]);
        }
        Ok(Self {
            bytes,
            counted_at,
            tag_at,
            arrivals,
        })
    }
}

fn add(bytes: &mut Vec<u8>, kind: u8, value: &[u8]) {
    let at = bytes.len();
    bytes.resize(at + HEADER_BYTES + value.len(), 0);
    // A sender sets U: whoever does not know TLVs at all returns them with it.
    put_header(bytes, at, flags::UNRECOGNIZED, kind, value.len());
    put(bytes, at + HEADER_BYTES, value);
}

/// All TLVs that ask for something, and where the one that counts is.
fn add_asked(bytes: &mut Vec<u8>, ask: &Ask) -> Result<Option<usize>, SenderError> {
    if ask.timestamp_information {
        let value = TimestampInformation::default().to_bytes();
        add(bytes, kinds::TIMESTAMP_INFORMATION, &value);
    }
    if let Some(wanted_dscp) = ask.dscp {
        if wanted_dscp > 63 {
            return Err(SenderError::Dscp(wanted_dscp));
        }
        let value = ClassOfService {
            wanted_dscp,
            ..ClassOfService::default()
        };
        add(bytes, kinds::CLASS_OF_SERVICE, &value.to_bytes());
    }
    let counted_at = ask.direct_measurement.then_some(bytes.len() + HEADER_BYTES);
    if ask.direct_measurement {
        let value = DirectMeasurement::default().to_bytes();
        add(bytes, kinds::DIRECT_MEASUREMENT, &value);
    }
    if ask.follow_up {
        add(bytes, kinds::FOLLOW_UP, &FollowUp::default().to_bytes());
    }
    if ask.tompion {
        add(bytes, kinds::PRIVATE, &Tompion::default().to_bytes());
    }
    if let Some(control) = &ask.control {
        add(bytes, kinds::REPLY_CONTROL, &control.to_bytes());
    }
    Ok(counted_at)
}

/// What asks for arrivals, and where its value is.
fn add_arrivals(bytes: &mut Vec<u8>, arrivals: u16) -> Option<Range<usize>> {
    let mut value = vec![0; TrainArrivals::bytes(arrivals.into())];
    TrainArrivals::ask(&mut value, 0).then(|| {
        add(bytes, kinds::PRIVATE, &value);
        bytes.len() - value.len()..bytes.len()
    })
}

fn padding(padding: Padding, length: usize) -> Vec<u8> {
    let mut state = match padding {
        Padding::Zeros => return vec![0; length],
        Padding::Random(seed) => seed,
    };
    // SplitMix64 (Steele, Lea and Flood, 2014).
    let words = std::iter::repeat_with(|| {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    });
    words.flat_map(u64::to_be_bytes).take(length).collect()
}
