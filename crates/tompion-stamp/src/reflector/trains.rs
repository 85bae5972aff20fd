//! When packets arrived that want no reply: a train is asked for afterwards, all of it at once.
//!
//! There is room for a few senders at a time, each with so many of its latest packets; all of it is there from the start. Whoever
//! asks hears of its own session alone.

use std::collections::TryReserveError;

use super::sessions::SessionKey;
use crate::stamp::{Stamp, StampKind};
use crate::tlv::values::TrainArrival;

/// Senders whose trains are remembered; the one that sent longest ago goes first.
const SENDERS: usize = 16;
/// Packets of each: the latest ones, each in the place of its number.
const PACKETS: usize = 1 << 12;
/// A number that comes again after so long is that of another packet, in nanoseconds.
const AGAIN_NS: i64 = 10_000_000_000;

#[derive(Clone, Copy, Debug)]
struct Arrived {
    sequence: u32,
    arrival: Option<TrainArrival>,
}

const NEVER: Arrived = Arrived {
    sequence: 0,
    arrival: None,
};

/// The trains of one session.
#[derive(Debug)]
pub(super) struct Train {
    of: Option<SessionKey>,
    /// Counts up with each packet of any session.
    used: u64,
    packets: Vec<Arrived>,
}

impl Train {
    /// Of a packet by its number.
    pub(super) fn arrival(&self, sequence: u32) -> Option<TrainArrival> {
        let place = self.packets.get(place(sequence))?;
        place.arrival.filter(|_| place.sequence == sequence)
    }
}

fn place(sequence: u32) -> usize {
    sequence as usize & (PACKETS - 1)
}

/// The trains of all sessions.
#[derive(Debug)]
pub(super) struct Trains {
    all: Vec<Train>,
    used: u64,
}

impl Trains {
    /// With room for all of them; without any where none are to be remembered.
    pub(super) fn new(are_kept: bool) -> Result<Self, TryReserveError> {
        let mut all = Vec::new();
        for _ in 0..if are_kept { SENDERS } else { 0 } {
            let mut packets = Vec::new();
            packets.try_reserve_exact(PACKETS)?;
            packets.resize(PACKETS, NEVER);
            all.push(Train {
                of: None,
                used: 0,
                packets,
            });
        }
        Ok(Self { all, used: 0 })
    }

    /// Whether there is room for any.
    pub(super) fn are_kept(&self) -> bool {
        !self.all.is_empty()
    }

    /// Bytes of it, which never change.
    pub(super) fn bytes(&self) -> usize {
        let packets = self.all.iter().map(|train| train.packets.capacity());
        packets.sum::<usize>() * size_of::<Arrived>()
    }

    /// Takes in a packet. The first of a number counts: copies come later.
    pub(super) fn note(&mut self, of: SessionKey, sequence: u32, received: Stamp, ecn: Option<u8>) {
        self.used += 1;
        let used = self.used;
        let known = self.all.iter().position(|train| train.of == Some(of));
        let oldest = || (0..self.all.len()).min_by_key(|at| self.all[*at].used);
        let Some(train) = known.or_else(oldest).and_then(|at| self.all.get_mut(at)) else {
            return;
        };
        if train.of != Some(of) {
            train.of = Some(of);
            train.packets.fill(NEVER);
        }
        train.used = used;
        let arrived = &mut train.packets[place(sequence)];
        let is_copy = arrived.sequence == sequence
            && arrived
                .arrival
                .is_some_and(|a| received.utc_ns.abs_diff(a.utc_ns) < AGAIN_NS.cast_unsigned());
        if is_copy {
            return;
        }
        *arrived = Arrived {
            sequence,
            arrival: Some(TrainArrival {
                utc_ns: received.utc_ns,
                is_by_kernel: received.kind != StampKind::User,
                is_marked: ecn == Some(3),
            }),
        };
    }

    /// Those of a session.
    pub(super) fn of(&self, session: SessionKey) -> Option<&Train> {
        self.all.iter().find(|train| train.of == Some(session))
    }
}
