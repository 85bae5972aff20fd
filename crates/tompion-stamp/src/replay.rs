//! Packets with a right tag that were seen before.

#[cfg(test)]
mod tests;

use std::collections::TryReserveError;

use crate::bytes::{u16_at, u64_at};
use crate::key::TAG_BYTES;

/// Sequence numbers behind the newest one that are still known one by one: 20 ms of the fastest
/// sender that is reckoned with, since packets are not reordered over longer than that.
const WINDOW: u32 = 1024;
const WORDS: usize = WINDOW as usize / 64;

/// What a sequence number is for a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Arrival {
    /// Not seen before.
    New,
    /// The sender has begun again with lower numbers.
    Restart,
    /// Seen before, or so old that nobody knows.
    Replay,
}

/// The sequence numbers that a session has used: the sliding window of RFC 4303, section 3.4.3,
/// over numbers that wrap.
#[derive(Clone, Debug, Default)]
pub(crate) struct Window {
    /// Of numbers up to the newest, each at its place modulo the window's length.
    seen: [u64; WORDS],
    newest: u32,
    /// The latest T1, in ns since 1970.
    latest_ns: Option<i64>,
    has_begun: bool,
}

impl Window {
    /// Takes note of a packet whose tag was right: its number, and its T1 where it has one.
    ///
    /// A sender that begins again from the same port would be taken for a replay for as long as
    /// its numbers are lower. Its tag covers T1, however, and no replay can have a later one
    /// than all that came before.
    pub(crate) fn arrive(&mut self, sequence: u32, sent_ns: Option<i64>) -> Arrival {
        let is_later = sent_ns.is_some_and(|sent| self.latest_ns.is_some_and(|last| sent > last));
        let ahead = sequence.wrapping_sub(self.newest);
        let behind = self.newest.wrapping_sub(sequence);
        let arrival = if !self.has_begun {
            self.restart(sequence);
            Arrival::New
        } else if ahead != 0 && ahead < 1 << 31 {
            for number in 1..=ahead.min(WINDOW) {
                self.forget(sequence.wrapping_sub(ahead.min(WINDOW) - number));
            }
            self.newest = sequence;
            Arrival::New
        } else if behind < WINDOW && !self.has_seen(sequence) {
            Arrival::New
        } else if is_later {
            self.restart(sequence);
            Arrival::Restart
        } else {
            return Arrival::Replay;
        };
        self.see(sequence);
        self.latest_ns = self.latest_ns.max(sent_ns);
        arrival
    }

    fn restart(&mut self, sequence: u32) {
        self.seen = [0; WORDS];
        self.newest = sequence;
        self.has_begun = true;
    }

    fn place(sequence: u32) -> (usize, u64) {
        let place = sequence % WINDOW;
        (place as usize / 64, 1 << (place % 64))
    }

    fn has_seen(&self, sequence: u32) -> bool {
        let (word, bit) = Self::place(sequence);
        self.seen[word] & bit != 0
    }

    fn see(&mut self, sequence: u32) {
        let (word, bit) = Self::place(sequence);
        self.seen[word] |= bit;
    }

    fn forget(&mut self, sequence: u32) {
        let (word, bit) = Self::place(sequence);
        self.seen[word] &= !bit;
    }
}

/// The tags of the packets seen last, of all sessions. A packet's tag does not cover where it
/// came from: a recorded one that is sent again from elsewhere would be the first of a session
/// of its own.
#[derive(Debug)]
pub(crate) struct RecentTags {
    /// Halves of tags, in sets that the tag's last bits say, the latest first: as many as a
    /// cache line has. Zero for none.
    sets: Vec<[u64; WAYS]>,
}

/// Tags in a set.
const WAYS: usize = 8;
/// Sets: 65,536 tags are known in all, more than a second of the fastest sender.
const SETS: usize = 1 << 13;

impl RecentTags {
    pub(crate) fn new() -> Result<Self, TryReserveError> {
        let mut sets = Vec::new();
        sets.try_reserve_exact(SETS)?;
        sets.resize(SETS, [0; WAYS]);
        Ok(Self { sets })
    }

    /// Whether a tag was among them; from now on it is.
    pub(crate) fn arrive(&mut self, tag: &[u8; TAG_BYTES]) -> bool {
        let half = u64_at(tag, 0);
        // As good as random.
        let set = usize::from(u16_at(tag, TAG_BYTES - 2)) % SETS;
        let set = &mut self.sets[set];
        if set.contains(&half) {
            return true;
        }
        set.rotate_right(1);
        set[0] = half;
        false
    }

    /// Bytes of memory, which never change.
    pub(crate) fn bytes(&self) -> usize {
        self.sets.capacity() * size_of::<[u64; WAYS]>()
    }
}
