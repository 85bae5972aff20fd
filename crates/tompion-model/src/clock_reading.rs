//! The clocks read side by side as a run goes on.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Synchronisation;

/// Several clocks at one moment, each since the first reading of the run. Their
/// differences tell how the clocks drift and whether the wall clock was set.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ClockReading {
    /// Nanoseconds from the run's start.
    pub at_ns: u64,
    /// The CPU's counter in ticks; absent where programs cannot read one.
    pub counter_ticks: Option<i64>,
    /// `CLOCK_MONOTONIC_RAW`, which nothing corrects, in nanoseconds.
    pub monotonic_raw_ns: i64,
    /// `CLOCK_MONOTONIC`, which NTP slews and nobody sets, in nanoseconds.
    pub monotonic_ns: i64,
    /// `CLOCK_REALTIME`, which is slewed with it and may be set, in nanoseconds.
    pub realtime_ns: i64,
    /// Within how many nanoseconds all of them were read.
    pub within_ns: u64,
    /// What the kernel said of its synchronisation; absent where it may not be asked.
    pub synchronisation: Option<Synchronisation>,
}
