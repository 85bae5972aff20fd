//! Stamps of a tap joined with the probes that they are of, by what the packets carry.

use std::collections::HashMap;

use crate::Way;
use crate::stamps::column::{Missing, is_in_range};
use crate::stamps::packets::Packets;
use crate::stamps::place::{Stamp, TapId};
use crate::stamps::probe::PacketsError;

mod key;

pub use key::Key;

/// A packet that a tap recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TapRecord {
    /// When, in nanoseconds since the zero of the tap's clock.
    pub at_ns: i64,
    /// Whether it is a probe on its way out or a reply on its way home.
    pub way: Way,
    /// What it carries; probe and reply have the same.
    pub key: Key,
}

/// What came of joining a tap.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Joined {
    /// Records in all.
    pub records: u64,
    /// Probes that the tap saw on their way out.
    pub outward: u64,
    /// Probes whose reply it saw on its way home.
    pub homeward: u64,
    /// Records of a packet that the tap had seen before; the earliest stamp counts.
    pub duplicates: u64,
    /// Records that are of no probe.
    pub unmatched: u64,
    /// Records whose stamp is out of range; they are left out.
    pub out_of_range: u64,
}

/// The first and the last of some stamps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    /// The earliest, in nanoseconds since the clock's zero.
    pub from_ns: i64,
    /// The latest.
    pub until_ns: i64,
}

/// Why a tap cannot be joined.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum JoinError {
    /// Keys that are not those of the table.
    #[error("{keys} keys for {probes} probes: there has to be one for each")]
    KeyCount {
        /// How many keys.
        keys: usize,
        /// How many probes.
        probes: usize,
    },
    /// Two probes that cannot be told apart.
    #[error(
        "probes {first} and {second} carry the same: probes can be joined that carry a sequence \
         number and a stamp"
    )]
    SameKey {
        /// Row of the one.
        first: usize,
        /// Row of the other.
        second: usize,
    },
    /// A tap without any record.
    #[error("the tap recorded no packet")]
    Empty,
    /// A tap of another time.
    #[error(
        "the tap is of another time: it recorded from {} to {} ns, the probes are from {} to {} ns",
        .tap.from_ns, .tap.until_ns, .probes.from_ns, .probes.until_ns
    )]
    AnotherTime {
        /// When probes were sent and replies came, by the sender's clock.
        probes: Range,
        /// When the tap recorded, by its own.
        tap: Range,
    },
    /// A tap of the same time, of other packets.
    #[error("none of the tap's {records} packets is one of the probes: was it at their path?")]
    NothingMatches {
        /// How many it recorded.
        records: u64,
    },
    /// A tap that the table does not know.
    #[error(transparent)]
    Packets(#[from] PacketsError),
}

/// Joins the records of a tap, in any order, with the probes: where a record's key is that of a
/// probe, its stamp becomes the probe's. `keys` has what each probe carries, in the order of the
/// table.
///
/// Takes about 70 bytes for each probe and none for a record; time grows with the sum of both. On
/// an error about the records no stamp of the table has changed.
///
/// # Errors
/// Where there is not one key a probe, or two probes have the same; where the tap has no record,
/// none of the probes' time, or none of their packets. A tap whose clock is not the sender's is
/// of another time only if none of its packets matches: its clock may be far off. By the same
/// clock, the times have to overlap.
pub fn join_tap(
    packets: &mut Packets,
    keys: &[Key],
    tap: TapId,
    records: impl IntoIterator<Item = TapRecord>,
) -> Result<Joined, JoinError> {
    let probes = packets.len();
    if keys.len() != probes {
        let keys = keys.len();
        return Err(JoinError::KeyCount { keys, probes });
    }
    let rows = rows_by_key(keys)?;
    let clock = packets.clock(Stamp::Tap(tap, Way::Outward));
    let clock = clock.ok_or(PacketsError::NoSuchTap(tap))?;
    let mut joined = Joined::default();
    let mut seen = Seen::new(probes)?;
    let mut tap_range = None;
    for record in records {
        joined.records += 1;
        tap_range = Some(widened(tap_range, record.at_ns));
        match rows.get(&record.key) {
            None => joined.unmatched += 1,
            Some(&row) => seen.take(row as usize, record, &mut joined),
        }
    }
    let tap_range = tap_range.ok_or(JoinError::Empty)?;
    let sent_range = range(packets);
    let is_apart = sent_range
        .is_some_and(|s| s.until_ns < tap_range.from_ns || tap_range.until_ns < s.from_ns);
    let is_unmatched = joined.outward + joined.homeward == 0;
    let is_one_clock = Some(clock) == packets.clock(Stamp::UserSent);
    match sent_range {
        Some(probes) if is_apart && (is_unmatched || is_one_clock) => {
            let tap = tap_range;
            return Err(JoinError::AnotherTime { probes, tap });
        }
        _ if is_unmatched => {
            let records = joined.records;
            return Err(JoinError::NothingMatches { records });
        }
        _ => {}
    }
    for row in 0..probes {
        for way in Way::BOTH {
            let stamp = Stamp::Tap(tap, way);
            match seen.get(row, way) {
                Some(at_ns) => packets.set(row, stamp, at_ns)?,
                None => packets.set_missing(row, stamp, Missing::NotSeen)?,
            }
        }
    }
    Ok(joined)
}

/// The row of each key. Keys may come from strangers; the map's hashes are keyed.
fn rows_by_key(keys: &[Key]) -> Result<HashMap<Key, u32>, JoinError> {
    let probes = keys.len();
    let mut rows = HashMap::new();
    rows.try_reserve(probes)
        .map_err(|_| PacketsError::NoMemory { probes })?;
    for (second, &key) in keys.iter().enumerate() {
        if let Some(first) = rows.insert(key, second as u32) {
            let first = first as usize;
            return Err(JoinError::SameKey { first, second });
        }
    }
    Ok(rows)
}

/// The earliest stamp of each probe at the tap, each way.
struct Seen([Vec<i64>; 2]);

const UNSEEN: i64 = i64::MAX;

impl Seen {
    fn new(probes: usize) -> Result<Self, PacketsError> {
        let mut seen = [Vec::new(), Vec::new()];
        for way in &mut seen {
            way.try_reserve_exact(probes)
                .map_err(|_| PacketsError::NoMemory { probes })?;
            way.resize(probes, UNSEEN);
        }
        Ok(Self(seen))
    }

    fn take(&mut self, row: usize, record: TapRecord, joined: &mut Joined) {
        if !is_in_range(record.at_ns) {
            joined.out_of_range += 1;
            return;
        }
        let cell = &mut self.0[usize::from(record.way == Way::Homeward)][row];
        match (*cell == UNSEEN, record.way) {
            (false, _) => joined.duplicates += 1,
            (true, Way::Outward) => joined.outward += 1,
            (true, Way::Homeward) => joined.homeward += 1,
        }
        *cell = record.at_ns.min(*cell);
    }

    fn get(&self, row: usize, way: Way) -> Option<i64> {
        let at = self.0[usize::from(way == Way::Homeward)][row];
        (at != UNSEEN).then_some(at)
    }
}

fn widened(range: Option<Range>, at_ns: i64) -> Range {
    match range {
        None => Range {
            from_ns: at_ns,
            until_ns: at_ns,
        },
        Some(r) => Range {
            from_ns: r.from_ns.min(at_ns),
            until_ns: r.until_ns.max(at_ns),
        },
    }
}

/// From the first probe that was sent to the last stamp of the sender's; `None` where nothing
/// was stamped.
fn range(packets: &Packets) -> Option<Range> {
    let own = [
        Stamp::UserSent,
        Stamp::Scheduled,
        Stamp::Sent,
        Stamp::Received,
        Stamp::UserReceived,
    ];
    let rows = 0..packets.len();
    let stamps = rows.flat_map(|row| own.into_iter().filter_map(move |s| packets.get(row, s)));
    stamps.fold(None, |range, at| Some(widened(range, at)))
}

#[cfg(test)]
mod tests;
