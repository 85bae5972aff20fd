//! Keeps a relay's book on another thread: the file, the counts, and what was false.

use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rtrb::Consumer;
use tompion_path::Way;
use tompion_time::os::{self, ClockId, now_ns};

use crate::TestbedError;
use crate::relay::false_time::{FalseInterval, FalseTime, Reason};
use crate::relay::line::now;
use crate::relay::record::{Fate, Record};
use crate::relay::truth::TruthWriter;
use crate::sys;

/// How often records are taken.
const EVERY: Duration = Duration::from_millis(20);
/// A clock is slewed by at most 500 us a second (adjtimex(2)), 10 us in this time; more is a step.
const STEP_NS: i64 = 100_000;

/// What became of packets on one way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    counts: [u64; Fate::ALL.len()],
    /// Copies among those that were sent.
    pub copies: u64,
    /// Packets sent with a flipped bit.
    pub flipped: u64,
    /// Packets sent later than they were due by more than the tolerance.
    pub late: u64,
    /// The worst lateness, in nanoseconds.
    pub worst_late_ns: i64,
}

impl Counts {
    /// How many packets had this fate.
    pub fn of(&self, fate: Fate) -> u64 {
        self.counts[fate as usize]
    }

    fn count(&mut self, record: &Record, tolerance_ns: i64) {
        self.counts[record.fate as usize] += 1;
        if record.fate == Fate::Sent {
            self.copies += u64::from(record.is_copy);
            self.flipped += u64::from(record.flipped.is_some());
        }
        let late_ns = record.late_ns().unwrap_or(0);
        self.late += u64::from(late_ns > tolerance_ns);
        self.worst_late_ns = self.worst_late_ns.max(late_ns);
    }
}

/// What a relay did.
#[derive(Clone, Debug, Default)]
pub struct Summary {
    /// From the sender to the far end.
    pub outward: Counts,
    /// From the far end to the sender.
    pub homeward: Counts,
    /// When it was not the path that it stands for.
    pub false_time: FalseTime,
}

impl Summary {
    /// One way.
    pub fn way(&self, way: Way) -> &Counts {
        match way {
            Way::Outward => &self.outward,
            Way::Homeward => &self.homeward,
        }
    }

    /// Whether anything was false within these ends (nanoseconds by `CLOCK_REALTIME`).
    pub fn is_false_within(&self, from_ns: i64, to_ns: i64) -> bool {
        let intervals = self.false_time.intervals();
        intervals.iter().any(|i| i.overlaps(from_ns, to_ns))
    }
}

/// The thread that keeps the book.
#[derive(Debug)]
pub(super) struct Keeper {
    pub records: Consumer<Record>,
    /// How many records found no room so far, told by the relay's thread.
    pub unrecorded: Arc<AtomicU64>,
    /// The sockets, to ask for what they missed.
    pub sockets: [(Way, OwnedFd); 2],
    pub truth: Option<TruthWriter>,
    pub tolerance_ns: i64,
    pub summary: Arc<Mutex<Summary>>,
}

impl Keeper {
    /// Until the relay's thread has ended and its last record is taken.
    pub fn run(mut self, relay_ended: &AtomicBool) -> Result<(), TestbedError> {
        let mut looked_ns = now();
        let mut offset_ns = clocks_apart();
        let mut unrecorded = 0;
        loop {
            let is_last = relay_ended.load(Ordering::Acquire);
            self.take()?;
            let now_ns = now();
            let found = |reason, way, packets, worst_ns| {
                let interval = FalseInterval {
                    from_ns: looked_ns.min(now_ns),
                    to_ns: now_ns.max(looked_ns),
                    reason,
                    way,
                    worst_ns,
                    packets,
                };
                locked(&self.summary).false_time.add(interval);
            };
            for (way, socket) in &self.sockets {
                let missed = sys::dropped(socket.as_fd());
                let missed = missed.map_err(TestbedError::system("ask a ring for its losses"))?;
                if missed > 0 {
                    found(Reason::Overrun, Some(*way), missed.into(), 0);
                }
            }
            let lost = self.unrecorded.load(Ordering::Relaxed);
            if lost > unrecorded {
                found(Reason::Unrecorded, None, lost - unrecorded, 0);
                unrecorded = lost;
            }
            let apart_ns = clocks_apart();
            let step_ns = (apart_ns - offset_ns).abs();
            if step_ns > STEP_NS {
                found(Reason::ClockSet, None, 0, step_ns);
            }
            (looked_ns, offset_ns) = (now_ns, apart_ns);
            if is_last {
                return self.truth.map_or(Ok(()), TruthWriter::finish);
            }
            os::sleep(EVERY);
        }
    }

    fn take(&mut self) -> Result<(), TestbedError> {
        while let Ok(record) = self.records.pop() {
            if let Some(truth) = &mut self.truth {
                truth.write(&record)?;
            }
            let mut summary = locked(&self.summary);
            let counts = match record.way {
                Way::Outward => &mut summary.outward,
                Way::Homeward => &mut summary.homeward,
            };
            counts.count(&record, self.tolerance_ns);
            if let Some(interval) = is_false(&record, self.tolerance_ns) {
                summary.false_time.add(interval);
            }
        }
        Ok(())
    }
}

/// The interval that a packet makes false, if it does.
fn is_false(record: &Record, tolerance_ns: i64) -> Option<FalseInterval> {
    let late_ns = record.late_ns().unwrap_or(0);
    let reason = match record.fate {
        Fate::FlightFull => Reason::NoRoom,
        Fate::TooLong => Reason::TooLong,
        Fate::Refused => Reason::Refused,
        Fate::Sent if record.lacks_checksum => Reason::NoChecksum,
        Fate::Sent if late_ns > tolerance_ns => Reason::Late,
        Fate::Sent | Fate::Lost | Fate::QueueFull | Fate::Passed => return None,
    };
    Some(FalseInterval {
        from_ns: record.due_ns.unwrap_or(record.arrival_ns),
        to_ns: record.sent_ns.unwrap_or(record.arrival_ns),
        reason,
        way: Some(record.way),
        worst_ns: late_ns,
        packets: 1,
    })
}

/// How far the wall clock is from the steady one. Read again where the thread was kept from running between
/// the two reads.
fn clocks_apart() -> i64 {
    let read = || {
        let before = now_ns(ClockId::Monotonic).cast_signed();
        let wall = now();
        let after = now_ns(ClockId::Monotonic).cast_signed();
        (after - before, wall - before)
    };
    let narrowest = (0..5).map(|_| read()).min_by_key(|(width, _)| *width);
    narrowest.map_or(0, |(_, apart)| apart)
}

/// What nobody who holds it can leave half done.
pub(super) fn locked<T>(shared: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}
