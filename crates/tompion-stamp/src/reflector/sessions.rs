//! What a reflector remembers of a session.

use std::net::{IpAddr, SocketAddr};

use crate::replay::Window;
use crate::stamp::{Stamp, StampKind};
use crate::table::Place;
use crate::tlv::values::TompionMark;

/// Which session: one address, one port and one SSID of the sender. The other half of the
/// addresses is the socket's, which a reflector does not know.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct SessionKey {
    address: IpAddr,
    port: u16,
    ssid: u16,
}

impl SessionKey {
    pub(super) fn new(source: SocketAddr, ssid: u16) -> Self {
        Self {
            address: source.ip().to_canonical(),
            port: source.port(),
            ssid,
        }
    }
}

/// A reply whose transmit stamp has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Left {
    /// Our number of the reply.
    pub(super) sequence: u32,
    /// The request's number.
    pub(super) sender_sequence: u32,
    /// When it left.
    pub(super) stamp: Stamp,
    /// Since the request came, in ns, where neither stamp is the program's.
    pub(super) stay_ns: Option<u64>,
}

/// What a TLV may tell of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Told {
    pub(super) received: u32,
    pub(super) sent: u32,
    pub(super) left: Option<Left>,
    /// What held up an earlier request; each is told once.
    pub(super) mark: Option<TompionMark>,
}

/// Marks that wait to be told, of one session; the oldest go first.
const MARKS: usize = 8;

/// One session.
#[derive(Debug, Default)]
pub(super) struct Session {
    /// Of keyed sessions.
    pub(super) window: Window,
    received: u32,
    sent: u32,
    left: Option<Left>,
    /// In the order in which they came.
    marks: [Option<TompionMark>; MARKS],
}

impl Session {
    /// The sender has begun again: so do our numbers.
    pub(super) fn restart(&mut self) {
        (self.received, self.sent, self.left) = (0, 0, None);
        self.marks = [None; MARKS];
    }

    /// One of its requests was held up.
    pub(super) fn mark(&mut self, mark: TompionMark) {
        if self.marks[MARKS - 1].is_some() {
            self.next_mark();
        }
        if let Some(free) = self.marks.iter_mut().find(|kept| kept.is_none()) {
            *free = Some(mark);
        }
    }

    fn next_mark(&mut self) -> Option<TompionMark> {
        let first = self.marks[0].take();
        self.marks.rotate_left(1);
        first
    }

    /// Counts a request.
    pub(super) fn receive(&mut self) {
        self.received = self.received.wrapping_add(1);
    }

    /// Counts a reply: its number, and what its TLVs may tell.
    pub(super) fn send(&mut self) -> (u32, Told) {
        let sequence = self.sent;
        self.sent = self.sent.wrapping_add(1);
        let told = Told {
            received: self.received,
            sent: self.sent,
            left: self.left,
            mark: self.next_mark(),
        };
        (sequence, told)
    }

    /// A reply has left: it is told from now on, unless a later one is told already.
    pub(super) fn leave(&mut self, awaited: &Awaited, stamp: Stamp) {
        let is_later = self
            .left
            .is_none_or(|left| awaited.sequence.wrapping_sub(left.sequence) < 1 << 31);
        // Of a session that has begun again since, the number is still to come.
        let is_sent = self.sent.wrapping_sub(awaited.sequence) > 0
            && self.sent.wrapping_sub(awaited.sequence) < 1 << 31;
        if is_later && is_sent {
            self.left = Some(Left {
                sequence: awaited.sequence,
                sender_sequence: awaited.sender_sequence,
                stamp,
                stay_ns: stay_ns(awaited.received, stamp),
            });
        }
    }
}

/// From one stamp to another; nothing where one is the program's, where they are of two clocks
/// (the kernel's and the device's), or where the clock went backwards.
fn stay_ns(received: Stamp, sent: Stamp) -> Option<u64> {
    if received.kind != sent.kind || received.kind == StampKind::User {
        return None;
    }
    let ns = sent.utc_ns.checked_sub(received.utc_ns)?;
    u64::try_from(ns).ok()
}

/// A reply whose transmit stamp may still come.
#[derive(Clone, Copy, Debug)]
pub(super) struct Awaited {
    /// Of all replies of this reflector.
    pub(super) number: u32,
    pub(super) place: Place,
    /// Of the replies of the session.
    pub(super) sequence: u32,
    pub(super) sender_sequence: u32,
    pub(super) received: Stamp,
}
