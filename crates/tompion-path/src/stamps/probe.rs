//! A row of the table of probes, and what cannot be in one.

use serde::{Deserialize, Serialize};

use crate::stamps::place::TapId;

/// Most probes of one table.
pub const MOST_PROBES: usize = 1 << 31;
/// Most taps of one table.
pub const MOST_TAPS: usize = 32;

/// What became of a probe.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// Its reply may still come.
    #[default]
    Pending,
    /// Its reply came.
    Answered,
    /// No reply came as long as one was waited for.
    Lost,
    /// It was never sent.
    NotSent,
}

/// What a table says of a probe besides its stamps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Probe {
    /// Size of its IP packet in bytes.
    pub bytes: u32,
    /// What became of it.
    pub outcome: Outcome,
    /// How many replies came beyond the first.
    pub duplicates: u32,
    /// Place of its first reply among the first replies of all probes, from 0.
    pub arrival: Option<u32>,
}

/// What the arrival of a reply was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrival {
    /// The probe's first reply, at this place in the order of arrival.
    First(u32),
    /// A further one; so many came beyond the first.
    Duplicate(u32),
}

/// Why something cannot be in a table of packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PacketsError {
    /// More probes than a table holds.
    #[error("a table holds at most {MOST_PROBES} probes, not {probes}")]
    TooManyProbes {
        /// How many there would be.
        probes: usize,
    },
    /// The memory is not there.
    #[error("there is no memory for a table of {probes} probes")]
    NoMemory {
        /// How many there would be.
        probes: usize,
    },
    /// No such row.
    #[error("there is no probe {probe}: the table has {probes}")]
    NoSuchProbe {
        /// The row that was named.
        probe: usize,
        /// How many there are.
        probes: usize,
    },
    /// A stamp so far from its clock's zero that differences would not fit.
    #[error("a stamp of {at_ns} ns is too far from its clock's zero: within 2^62 ns (146 years)")]
    OutOfRange {
        /// The stamp.
        at_ns: i64,
    },
    /// More taps than a table holds.
    #[error("a table holds at most {MOST_TAPS} taps")]
    TooManyTaps,
    /// A tap without a name, or a second one of a name.
    #[error("a tap needs a name that no other tap has")]
    TapName,
    /// A tap of another table.
    #[error("the table has no tap {}", .0.index())]
    NoSuchTap(TapId),
}
