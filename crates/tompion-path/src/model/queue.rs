//! A queue that is served at a rate.

use std::collections::VecDeque;

use crate::model::chance::Chance;
use crate::model::cross_traffic::Cross;
use crate::model::plan::{Bottleneck, QueueLimit};

/// Work is counted in bits times 10^9, so that a rate of R bits a second does R of it a
/// nanosecond: no sum is ever rounded.
pub(crate) type Work = u128;

const WORK_PER_BYTE: Work = 8_000_000_000;

/// A first-come, first-served queue with tail drop, alone or with virtual cross traffic.
#[derive(Clone, Debug)]
pub(crate) struct Queue {
    rate: Work,
    overhead_bytes: u32,
    limit: QueueLimit,
    cross: Option<Cross>,
    /// The time to which the queue is reckoned; `None` before the first packet.
    now_ns: Option<i64>,
    /// What waits, or is being sent, at that time.
    work: Work,
    /// Packets of our own in the queue: when the last bit of each leaves, and its bytes.
    own: VecDeque<(i64, u64)>,
    own_bytes: u64,
    most_own: usize,
}

/// How a packet got on at the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Queued {
    /// Its last bit leaves then, in nanoseconds.
    LeavesAt(i64),
    /// There was no room.
    Full,
    /// There was room, and too many packets to keep in mind.
    TooMany,
}

impl Queue {
    /// An empty queue for at most so many packets of our own, with all its memory.
    pub(crate) fn new(
        plan: &Bottleneck,
        most_own: u32,
        chance: Chance,
    ) -> Result<Self, std::collections::TryReserveError> {
        let mut own = VecDeque::new();
        own.try_reserve_exact(most_own as usize)?;
        let overhead_bytes = plan.overhead_bytes;
        let cross = plan.cross_traffic.as_ref();
        let cross = cross.map(|c| Cross::new(c, plan.rate_bps, overhead_bytes, chance));
        Ok(Self {
            rate: plan.rate_bps.into(),
            overhead_bytes,
            limit: plan.limit,
            cross,
            now_ns: None,
            work: 0,
            own,
            own_bytes: 0,
            most_own: most_own as usize,
        })
    }

    /// Bytes that others sent so far.
    pub(crate) fn others_bytes(&self) -> u128 {
        self.cross.as_ref().map_or(0, Cross::came_bytes)
    }

    /// A packet arrives; not before one that arrived already.
    pub(crate) fn arrive(&mut self, arrival_ns: i64, bytes: u32) -> Queued {
        self.advance(arrival_ns);
        let bytes = u64::from(bytes) + u64::from(self.overhead_bytes);
        if !self.has_room(bytes) {
            return Queued::Full;
        }
        if self.own.len() >= self.most_own {
            return Queued::TooMany;
        }
        self.work += Work::from(bytes) * WORK_PER_BYTE;
        let takes_ns = i64::try_from(self.work.div_ceil(self.rate)).unwrap_or(i64::MAX);
        let leaves_ns = arrival_ns.saturating_add(takes_ns);
        self.own.push_back((leaves_ns, bytes));
        self.own_bytes += bytes;
        Queued::LeavesAt(leaves_ns)
    }

    /// Serves the queue until then, with what others send meanwhile.
    fn advance(&mut self, until_ns: i64) {
        let most = self.most_work();
        self.work = match (&mut self.cross, self.now_ns) {
            (Some(cross), None) => cross.begin(until_ns, most),
            (Some(cross), Some(now_ns)) => cross.advance(self.work, now_ns, until_ns, most),
            (None, _) => {
                let from_ns = self.now_ns.unwrap_or(until_ns);
                let served = Work::from(until_ns.abs_diff(from_ns)) * self.rate;
                self.work.saturating_sub(served)
            }
        };
        self.now_ns = Some(until_ns);
        while let Some(&(_, bytes)) = self.own.front().filter(|&&(leaves, _)| leaves <= until_ns) {
            self.own.pop_front();
            self.own_bytes -= bytes;
        }
    }

    /// As much as others may fill the queue.
    fn most_work(&self) -> Work {
        let cross_bytes = self.cross.as_ref().map_or(0, Cross::packet_bytes);
        let bytes = match self.limit {
            QueueLimit::Bytes(bytes) => bytes,
            QueueLimit::Packets(packets) => {
                let free = u64::from(packets).saturating_sub(self.own.len() as u64);
                self.own_bytes + free * cross_bytes
            }
        };
        (Work::from(bytes) * WORK_PER_BYTE).max(self.work)
    }

    /// Whether a further packet fits. Packets of our own count whole until they have left; what is
    /// left beyond them is of others.
    fn has_room(&self, bytes: u64) -> bool {
        let all = u64::try_from(self.work.div_ceil(WORK_PER_BYTE)).unwrap_or(u64::MAX);
        match self.limit {
            QueueLimit::Bytes(most) => all.max(self.own_bytes).saturating_add(bytes) <= most,
            QueueLimit::Packets(most) => {
                let cross_bytes = self.cross.as_ref().map_or(1, Cross::packet_bytes);
                let others = all.saturating_sub(self.own_bytes).div_ceil(cross_bytes);
                (self.own.len() as u64).saturating_add(others) < u64::from(most)
            }
        }
    }
}

#[cfg(test)]
mod tests;
