//! Packets with a right tag that were seen before.

#[cfg(test)]
mod tests;

use std::collections::TryReserveError;

use crate::bytes::u64_at;
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
    /// Halves of tags, in a ring: a new one takes the place of the oldest.
    tags: Vec<u64>,
    /// Of each of them another one that begins alike; [`NONE`] for none.
    next: Vec<u32>,
    /// The first of those that begin alike.
    first: Vec<u32>,
    /// The place of the next one, and how many there are.
    at: usize,
    known: usize,
}

/// No place.
const NONE: u32 = u32::MAX;
/// Tags that are known in all, more than half a second of the fastest sender.
const TAGS: usize = 1 << 16;

impl RecentTags {
    pub(crate) fn new() -> Result<Self, TryReserveError> {
        Self::of(TAGS)
    }

    fn of(tags: usize) -> Result<Self, TryReserveError> {
        Ok(Self {
            tags: filled(tags, 0)?,
            next: filled(tags, NONE)?,
            first: filled(tags, NONE)?,
            at: 0,
            known: 0,
        })
    }

    /// Whether a tag was among them; from now on it is.
    pub(crate) fn arrive(&mut self, tag: &[u8; TAG_BYTES]) -> bool {
        let is_known = self.has(tag);
        if !is_known {
            self.put(u64_at(tag, 0));
        }
        is_known
    }

    fn has(&self, tag: &[u8; TAG_BYTES]) -> bool {
        let half = u64_at(tag, 0);
        let mut place = self.first[self.beginning(half)];
        while let Some(known) = self.tags.get(place as usize) {
            if *known == half {
                return true;
            }
            place = self.next[place as usize];
        }
        false
    }

    fn put(&mut self, half: u64) {
        let here = self.at as u32;
        if self.known == self.tags.len() {
            self.forget(here);
        } else {
            self.known += 1;
        }
        let beginning = self.beginning(half);
        self.tags[self.at] = half;
        self.next[self.at] = self.first[beginning];
        self.first[beginning] = here;
        self.at = (self.at + 1) % self.tags.len();
    }

    /// Takes a tag out of those that begin alike.
    fn forget(&mut self, here: u32) {
        let beginning = self.beginning(self.tags[here as usize]);
        let after = self.next[here as usize];
        let mut place = self.first[beginning];
        if place == here {
            self.first[beginning] = after;
            return;
        }
        while self.next[place as usize] != here {
            place = self.next[place as usize];
        }
        self.next[place as usize] = after;
    }

    /// Tags are as good as random.
    fn beginning(&self, half: u64) -> usize {
        half as usize % self.first.len()
    }

    /// Bytes of memory, which never change.
    pub(crate) fn bytes(&self) -> usize {
        self.tags.capacity() * size_of::<u64>()
            + (self.next.capacity() + self.first.capacity()) * size_of::<u32>()
    }
}

/// The requests that had more or longer replies than one, for as long as they would be fresh: none has them twice.
#[derive(Debug)]
pub(crate) struct Grants {
    tags: RecentTags,
    /// When each was granted, in ns since 1970.
    granted_ns: Vec<i64>,
}

/// Grants that are known: 273 a second.
const GRANTS: usize = 1 << 15;

impl Grants {
    pub(crate) fn new() -> Result<Self, TryReserveError> {
        Ok(Self {
            tags: RecentTags::of(GRANTS)?,
            granted_ns: filled(GRANTS, 0)?,
        })
    }

    /// Whether a request is granted more now: not where it was before, nor where one that is as young as `fresh_ns` would
    /// have to be forgotten for it.
    pub(crate) fn grant(&mut self, tag: &[u8; TAG_BYTES], now_ns: i64, fresh_ns: i64) -> bool {
        let oldest_ns = self.granted_ns[self.tags.at];
        let is_full = self.tags.known == GRANTS && now_ns.saturating_sub(oldest_ns) <= fresh_ns;
        if is_full || self.tags.has(tag) {
            return false;
        }
        self.granted_ns[self.tags.at] = now_ns;
        self.tags.put(u64_at(tag, 0));
        true
    }

    /// Bytes of memory, which never change.
    pub(crate) fn bytes(&self) -> usize {
        self.tags.bytes() + self.granted_ns.capacity() * size_of::<i64>()
    }
}

fn filled<T: Copy>(length: usize, with: T) -> Result<Vec<T>, TryReserveError> {
    let mut all = Vec::new();
    all.try_reserve_exact(length)?;
    all.resize(length, with);
    Ok(all)
}
