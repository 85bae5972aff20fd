//! Test packets as somebody else on their path sees them: pure.

use tompion_net::frame::{Content, Frame};
use tompion_net::icmp::{HEADER_BYTES, MARK_BYTES, Version};
use tompion_path::Way;
use tompion_path::stamps::Key;
use tompion_stamp::{Mode, ReplyFields, RequestFields};

use crate::target::Protocol;

/// A test packet that somebody saw.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sighted {
    /// By which protocol.
    pub protocol: Protocol,
    /// A request is on its way out, a reply on its way home.
    pub way: Way,
    /// By what it is known again.
    pub key: Key,
}

impl Sighted {
    /// What a frame is: a STAMP test packet in either mode, where it is UDP and may be one, or an
    /// ICMP echo request or reply. `None` of anything else, and where too little of it was
    /// captured.
    pub fn of(frame: &Frame<'_>) -> Option<Self> {
        let (protocol, (way, key)) = match frame.content {
            Content::Udp { payload, .. } => (Protocol::Stamp, stamp(payload)?),
            Content::Icmp { message, .. } => {
                let version = match frame.source.is_ipv4() {
                    true => Version::V4,
                    false => Version::V6,
                };
                (Protocol::Icmp, echo(version, message)?)
            }
            Content::Fragment { .. } | Content::Other { .. } => return None,
        };
        Some(Self { protocol, way, key })
    }
}

/// Where a request must be zero, and where a reply has what it repeats of the request and its
/// reflector's stamps (RFC 8762, sections 4.2 and 4.3).
fn zeros(mode: Mode) -> std::ops::Range<usize> {
    match mode {
        Mode::Unauthenticated => 16..44,
        Mode::Authenticated => 28..96,
    }
}

fn stamp(payload: &[u8]) -> Option<(Way, Key)> {
    // The sequence number is followed by T1, in authenticated mode by zeros.
    let is_zero = |bytes: &[u8]| bytes.iter().all(|byte| *byte == 0);
    let mode = match is_zero(payload.get(4..12)?) {
        true => Mode::Authenticated,
        false => Mode::Unauthenticated,
    };
    let request = RequestFields::read(mode, payload)?;
    if is_zero(payload.get(zeros(mode))?) {
        let key = Key::stamp(request.ssid, request.sequence, request.time);
        return Some((Way::Outward, key));
    }
    let reply = ReplyFields::read(mode, payload)?;
    let key = Key::stamp(reply.ssid, reply.sender_sequence, reply.sender_time);
    Some((Way::Homeward, key))
}

fn echo(version: Version, message: &[u8]) -> Option<(Way, Key)> {
    let head = message.get(..HEADER_BYTES)?;
    let mark = message.get(HEADER_BYTES..HEADER_BYTES + MARK_BYTES)?;
    let way = match (head[0], head[1]) {
        (kind, 0) if kind == version.request() => Way::Outward,
        (kind, 0) if kind == version.reply() => Way::Homeward,
        _ => return None,
    };
    let number = |at: usize| u16::from_be_bytes([head[at], head[at + 1]]);
    Some((way, Key::icmp(number(4), number(6), mark)))
}

#[cfg(test)]
pub(crate) mod tests;
