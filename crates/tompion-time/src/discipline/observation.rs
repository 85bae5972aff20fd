//! What an anchor is about: what was seen, why it was taken, on what terms.

use crate::evidence::Watched;

/// What an anchor saw.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Observation {
    /// Counter before the kernel's clock was read.
    pub before: u64,
    /// `CLOCK_MONOTONIC`, in nanoseconds.
    pub ns: u64,
    /// Counter after it.
    pub after: u64,
    /// Bounds of `CLOCK_BOOTTIME - CLOCK_MONOTONIC`, in nanoseconds: time spent
    /// in suspend.
    pub suspended_ns: (i64, i64),
    /// Bounds of `CLOCK_REALTIME - CLOCK_MONOTONIC`, in nanoseconds.
    pub realtime_ns: (i64, i64),
    /// What may change while the clock runs.
    pub watched: Watched,
}

/// Whether the kernel's clocksource has to be the counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Terms {
    /// Trust only while the kernel keeps time by the counter.
    pub kernel_must_use_it: bool,
    /// A rate that somebody stated, in Hz.
    pub hint_hz: Option<u64>,
    /// Time is held no longer than this, whatever was told before: a kernel's clock
    /// that is further behind is another one (a time namespace was entered).
    pub longest_hold_ns: u64,
}

/// Why a reader came before its piece was used up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cause {
    /// The piece is used up.
    Due,
    /// One thread saw the counter go back by this many ticks within the piece.
    WentBack(u64),
    /// One thread read the same value very often.
    StoodStill,
}
