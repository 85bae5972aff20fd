//! Packets under way, the next to leave first, in bounded memory.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, TryReserveError};

use crate::model::truth::Corruption;

/// A packet that leaves the path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Departure {
    /// Number of the packet in the order in which they were offered, from 0.
    pub number: u64,
    /// Whether it is the packet's copy.
    pub is_copy: bool,
    /// When it is due to leave, in nanoseconds as the caller counts them.
    pub due_ns: i64,
    /// Its size in bytes.
    pub bytes: u32,
    /// Where the caller keeps its bytes: a number below the plan's `most_in_flight` that no other
    /// packet under way has.
    pub slot: u32,
    /// The bit to flip in it.
    pub corruption: Option<Corruption>,
}

/// In the order of leaving; packets due at once leave as they were offered, copies last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct ByDue(Departure);

impl Ord for ByDue {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        let key = |d: &Departure| (d.due_ns, d.number, d.is_copy);
        key(&self.0).cmp(&key(&other.0))
    }
}

impl PartialOrd for ByDue {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

/// Packets under way.
#[derive(Clone, Debug)]
pub(crate) struct Flight {
    heap: BinaryHeap<Reverse<ByDue>>,
    /// Slots that were used and are free again; those from `unused` on never were.
    free: Vec<u32>,
    unused: u32,
    most: u32,
}

impl Flight {
    /// Room for so many packets, all of it taken at once.
    pub(crate) fn new(most: u32) -> Result<Self, TryReserveError> {
        let mut entries = Vec::new();
        let mut free = Vec::new();
        entries.try_reserve_exact(most as usize)?;
        free.try_reserve_exact(most as usize)?;
        Ok(Self {
            heap: BinaryHeap::from(entries),
            free,
            unused: 0,
            most,
        })
    }

    pub(crate) fn len(&self) -> usize {
        self.heap.len()
    }

    pub(crate) fn is_full(&self) -> bool {
        self.len() >= self.most as usize
    }

    /// Takes a packet on its way and gives its slot; `None` where there is no room.
    pub(crate) fn push(&mut self, departure: Departure) -> Option<u32> {
        if self.is_full() {
            return None;
        }
        let slot = self.free.pop().unwrap_or_else(|| {
            self.unused += 1;
            self.unused - 1
        });
        self.heap
            .push(Reverse(ByDue(Departure { slot, ..departure })));
        Some(slot)
    }

    pub(crate) fn next_due(&self) -> Option<i64> {
        self.heap.peek().map(|Reverse(ByDue(d))| d.due_ns)
    }

    /// The next packet to leave, if it is due by then.
    pub(crate) fn take_due(&mut self, now_ns: i64) -> Option<Departure> {
        if self.next_due()? > now_ns {
            return None;
        }
        let Reverse(ByDue(departure)) = self.heap.pop()?;
        self.free.push(departure.slot);
        Some(departure)
    }
}

#[cfg(test)]
mod tests;
