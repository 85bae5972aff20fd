//! Replies of another length than their requests, for keys that are allowed it
//! (draft-ietf-ippm-asymmetrical-pkts, section 3).

use super::config::ControlLimits;
use crate::tlv::values::ReplyControl;
use crate::tlv::{HEADER_BYTES, Step, Steps, kinds, put_header};

/// Whether what is asked for is within the limits, and the reply has room.
pub(super) fn is_granted(
    control: &ReplyControl,
    limits: Option<&ControlLimits>,
    room: usize,
) -> bool {
    limits.is_some_and(|limits| {
        let bytes = aligned(control.bytes);
        !control.for_group
            && bytes <= usize::from(limits.longest_bytes)
            && bytes <= room
            && control.replies <= limits.most_replies
            && (control.replies <= 1 || control.interval_ns >= limits.least_interval_ns)
    })
}

fn aligned(bytes: u16) -> usize {
    usize::from(bytes).next_multiple_of(4)
}

/// Gives a reply the length that is asked for, or that of what it has to hold, if that is more:
/// padding is taken out, and put in again behind everything else. Says the new length, and where
/// the HMAC TLV is now.
pub(super) fn reshape(
    buffer: &mut [u8],
    bytes: usize,
    base: usize,
    control: &ReplyControl,
) -> (usize, Option<usize>) {
    let mut steps = Steps::new(&buffer[..bytes], base);
    let (mut ends, mut tag) = (base, None);
    loop {
        let at = steps.at();
        let (kept, is_last) = match steps.next(&buffer[..bytes]) {
            Step::End | Step::Zeros => break,
            Step::Fragment | Step::Overrun { .. } => (at..bytes, true),
            Step::Tlv { kind, .. } if kind == kinds::EXTRA_PADDING => continue,
            Step::Tlv { kind, value, .. } => {
                if kind == kinds::HMAC {
                    tag = Some(ends);
                }
                (at..value.end, false)
            }
        };
        let length = kept.len();
        buffer.copy_within(kept, ends);
        ends += length;
        if is_last {
            break;
        }
    }
    let wanted = aligned(control.bytes);
    if wanted >= ends + HEADER_BYTES {
        let value = wanted - ends - HEADER_BYTES;
        put_header(buffer, ends, 0, kinds::EXTRA_PADDING, value);
        buffer[ends + HEADER_BYTES..wanted].fill(0);
        ends = wanted;
    }
    (ends, tag)
}
