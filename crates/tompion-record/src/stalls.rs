//! What a busy loop found, and why it stood still.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tompion_cause::{Cause, Source};

/// The stalls of one trial (the "clock tick processing duration" of Perneel 2015).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Stalls {
    /// CPU that the loop was pinned to; absent when free.
    pub cpu: Option<u32>,
    /// Iterations longer than this are stalls and have rows of their own, in
    /// nanoseconds.
    pub threshold_ns: u64,
    /// Iterations of the loop.
    pub iterations: u64,
    /// What an iteration takes undisturbed (median), in nanoseconds.
    pub loop_period_ns: f64,
    /// When the loop began, in nanoseconds since 1970 by the system clock as it stood
    /// when the loop ended; absent in runs of older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub began_unix_ns: Option<u64>,
    /// Wall time of the trial, in nanoseconds.
    pub wall_ns: u64,
    /// Part of it that lies in recorded intervals, in nanoseconds.
    pub observed_ns: u64,
    /// Part of it in which the loop itself read counters, in nanoseconds.
    pub own_ns: u64,
    /// Stalls.
    pub stalls: u64,
    /// Time lost in them, in nanoseconds.
    pub lost_ns: u64,
    /// Stalls that found no room: they are in the bins, and have no cause.
    pub rows_lost: u64,
    /// Time lost by cause, the greatest first; adds up to `lost_ns`, but for stalls
    /// that found no room.
    pub causes: Vec<CauseTotal>,
}

/// Time lost to one cause.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CauseTotal {
    /// The cause.
    #[schemars(with = "String")]
    pub cause: Cause,
    /// By whom or what, where known.
    pub by: Option<String>,
    /// Time lost, in nanoseconds.
    pub ns: u64,
    /// Parts of stalls.
    pub parts: u64,
    /// The longest of them, in nanoseconds.
    pub longest_ns: u64,
}

/// A stall, or the part of it that has one cause.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StallPart {
    /// When the stall began, in nanoseconds since the trial began.
    pub at_ns: u64,
    /// Length of the part in nanoseconds; the parts of a stall add up to it.
    pub ns: u64,
    /// Its cause.
    pub cause: Cause,
    /// By whom or what, where known.
    pub by: Option<String>,
    /// How that is known; nothing where the cause is unknown.
    pub source: Option<Source>,
    /// What the statement rests on, in a few words.
    pub because: String,
}
