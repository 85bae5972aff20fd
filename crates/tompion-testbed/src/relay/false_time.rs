//! Intervals in which a relay was not the path that it stands for.

use tompion_path::Way;

/// Most intervals that are told one by one; further ones are counted.
const MOST: usize = 4096;
/// What follows within this time, in nanoseconds, belongs to the same interval.
const SAME_NS: i64 = 10_000_000;

/// Why an interval is false.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Reason {
    /// Packets left later than they were due.
    Late,
    /// The relay did not read its ring in time: packets are missing that the model never saw.
    Overrun,
    /// As many packets were under way as the plan allows, so that others were dropped.
    NoRoom,
    /// A packet was longer than the path's MTU.
    TooLong,
    /// The kernel did not take a packet.
    Refused,
    /// Packets came without a transport checksum, which nobody adds here: the far end drops them.
    NoChecksum,
    /// Records are missing in the file.
    Unrecorded,
    /// The clock that stamps packets was set.
    ClockSet,
}

impl Reason {
    /// In words.
    pub fn name(self) -> &'static str {
        match self {
            Self::Late => "late",
            Self::Overrun => "packets missed",
            Self::NoRoom => "too many packets under way",
            Self::TooLong => "packets beyond the MTU",
            Self::Refused => "packets refused by the kernel",
            Self::NoChecksum => "checksums left to a device that adds none",
            Self::Unrecorded => "records missing",
            Self::ClockSet => "clock set",
        }
    }
}

/// An interval in which the truth is not what was planned. Times are nanoseconds by `CLOCK_REALTIME`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FalseInterval {
    /// Its start.
    pub from_ns: i64,
    /// Its end.
    pub to_ns: i64,
    /// Why.
    pub reason: Reason,
    /// Which way, where it is one of them.
    pub way: Option<Way>,
    /// How late the worst packet was, in nanoseconds; for a clock, by how much it was set.
    pub worst_ns: i64,
    /// How many packets it is about.
    pub packets: u64,
}

impl FalseInterval {
    /// Whether it has anything in common with an interval of these ends.
    pub fn overlaps(&self, from_ns: i64, to_ns: i64) -> bool {
        self.from_ns <= to_ns && from_ns <= self.to_ns
    }
}

/// All of them, in bounded memory.
#[derive(Clone, Debug, Default)]
pub struct FalseTime {
    intervals: Vec<FalseInterval>,
    untold: u64,
}

impl FalseTime {
    /// Adds one, to the last of its kind where that has just ended.
    pub fn add(&mut self, new: FalseInterval) {
        let same = |old: &&mut FalseInterval| old.reason == new.reason && old.way == new.way;
        if let Some(last) = self.intervals.iter_mut().rev().take(8).find(same)
            && new.from_ns - last.to_ns <= SAME_NS
        {
            last.from_ns = last.from_ns.min(new.from_ns);
            last.to_ns = last.to_ns.max(new.to_ns);
            last.worst_ns = last.worst_ns.max(new.worst_ns);
            last.packets += new.packets;
        } else if self.intervals.len() < MOST {
            self.intervals.push(new);
        } else {
            self.untold += 1;
        }
    }

    /// The intervals, in the order in which they were noticed.
    pub fn intervals(&self) -> &[FalseInterval] {
        &self.intervals
    }

    /// How many there were beyond those that are told.
    pub fn untold(&self) -> u64 {
        self.untold
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn late(from_ms: i64, to_ms: i64, worst_ns: i64) -> FalseInterval {
        FalseInterval {
            from_ns: from_ms * 1_000_000,
            to_ns: to_ms * 1_000_000,
            reason: Reason::Late,
            way: Some(Way::Outward),
            worst_ns,
            packets: 1,
        }
    }

    #[test]
    fn what_follows_at_once_is_one_interval() {
        let mut all = FalseTime::default();
        all.add(late(0, 1, 5));
        let refused = FalseInterval {
            reason: Reason::Refused,
            ..late(2, 2, 0)
        };
        all.add(refused);
        all.add(late(3, 4, 9));
        all.add(late(100, 101, 1));
        let joined = FalseInterval {
            packets: 2,
            ..late(0, 4, 9)
        };
        assert_eq!(all.intervals(), [joined, refused, late(100, 101, 1)]);
        assert!(all.intervals()[0].overlaps(4_000_000, 7_000_000));
        assert!(!all.intervals()[0].overlaps(4_000_001, 7_000_000));
    }

    #[test]
    fn memory_is_bounded() {
        let mut all = FalseTime::default();
        for i in 0..5_000 {
            all.add(late(100 * i, 100 * i, 1));
        }
        assert_eq!(
            (all.intervals().len(), all.untold()),
            (MOST, 5_000 - MOST as u64)
        );
    }
}
