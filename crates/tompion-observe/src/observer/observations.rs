//! What an observer has seen.

use tompion_cause::{Access, Disturbance};

use super::series::Series;

/// What was observed.
#[derive(Clone, Debug)]
pub struct Observations {
    /// In the order of their beginnings.
    pub disturbances: Vec<Disturbance>,
    /// The counters over time.
    pub series: Series,
    /// What there was to be observed; each `Err` says why not.
    pub access: Access,
    /// The share of one CPU that the observer used itself.
    pub own_cpu_share: f64,
    /// The observer's thread, for who sees it in other records.
    pub own_tid: i32,
    /// How many records the kernel wrote.
    pub records: u64,
    /// How many it could not keep, as far as it says.
    pub lost_records: u64,
    /// When it began and ended, in ns of `CLOCK_MONOTONIC`.
    pub window_ns: (u64, u64),
}
