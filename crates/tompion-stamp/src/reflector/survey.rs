//! A look at all TLVs of a request before any is used: RFC 8972, section 4.8, has the tag
//! verified first.

use crate::key::Key;
use crate::packet::Mode;
use crate::tlv::values::ReplyControl;
use crate::tlv::{HEADER_BYTES, Step, Steps, kinds, length_fits};

/// What the HMAC TLV says of all TLVs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Integrity {
    /// There is none, and none is needed.
    Open,
    /// It is right; here its header begins.
    Shown(usize),
    /// It is wrong, missing, in a wrong place, or there is no key to verify it with.
    Failed,
}

/// What a request asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Survey {
    pub(super) integrity: Integrity,
    /// The first well-formed Reflected Test Packet Control TLV.
    pub(super) control: Option<ReplyControl>,
}

/// Looks at the TLVs of a request, at least of the base length. The key is the one that is for
/// them, if there is one.
pub(super) fn survey(mode: Mode, request: &[u8], key: Option<&Key>) -> Survey {
    let base = mode.base_bytes();
    let mut steps = Steps::new(request, base);
    let (mut tag, mut others, mut misplaced) = (None, false, false);
    let mut control = None;
    // Whether what is malformed has come, behind which nothing is used.
    let mut is_whole = true;
    loop {
        let at = steps.at();
        let (kind, value) = match steps.next(request) {
            Step::Tlv { kind, value, .. } => (kind, value),
            Step::Overrun { .. } => {
                others = true;
                break;
            }
            // Padding, or what is too short to be anything.
            Step::End | Step::Zeros | Step::Fragment => break,
        };
        match kind {
            kinds::EXTRA_PADDING => continue,
            kinds::HMAC => {
                misplaced |= tag.is_some();
                tag = Some((at, value));
                continue;
            }
            _ => {}
        }
        others = true;
        // Nothing but padding may follow the tag.
        misplaced |= tag.is_some();
        is_whole &= length_fits(kind, value.len());
        if kind == kinds::REPLY_CONTROL && is_whole && control.is_none() {
            control = ReplyControl::read(&request[value]);
        }
    }
    let integrity = match (tag, key) {
        (Some((at, value)), Some(key))
            if !misplaced && is_right(key, request, base, at, &value) =>
        {
            Integrity::Shown(at)
        }
        (Some(_), _) => Integrity::Failed,
        // In authenticated mode padding alone needs no tag.
        (None, _) if mode == Mode::Authenticated && others => Integrity::Failed,
        (None, _) => Integrity::Open,
    };
    let control = control.filter(|_| integrity != Integrity::Failed);
    Survey { integrity, control }
}

fn is_right(
    key: &Key,
    packet: &[u8],
    base: usize,
    at: usize,
    value: &std::ops::Range<usize>,
) -> bool {
    let tag = packet[value.clone()].try_into();
    tag.is_ok_and(|tag| key.verifies(&[&packet[..4], &packet[base..at]], tag))
}

/// Writes the tag of all TLVs before the one whose header begins at `at`.
pub(super) fn seal_tlvs(key: &Key, packet: &mut [u8], base: usize, at: usize) {
    let tag = key.tag(&[&packet[..4], &packet[base..at]]);
    crate::bytes::put(packet, at + HEADER_BYTES, &tag);
}
