//! What a loop brought.

use tompion_model::Measurement;
use tompion_stats::Bins;

/// What one loop brought, its rows aside.
#[derive(Clone, Debug)]
pub struct StallsOutcome {
    /// Every interval below the threshold, in picoseconds.
    pub below: Bins,
    /// Every stall, in picoseconds, rows that were lost included.
    pub above: Bins,
    /// Intervals counted.
    pub iterations: u64,
    /// Intervals of at least the threshold.
    pub stalls: u64,
    /// Their sum, in nanoseconds.
    pub stalled_ns: u64,
    /// The longest, in picoseconds.
    pub longest_ps: u64,
    /// All intervals together, in nanoseconds.
    pub observed_ns: u64,
    /// First stamp to last by `CLOCK_MONOTONIC`, in nanoseconds.
    pub wall_ns: u64,
    /// Tompion's own work between intervals, in nanoseconds, stalls included that
    /// fell into it.
    pub own_ns: u64,
    /// The longest piece of it, in nanoseconds.
    pub own_longest_ns: u64,
    /// The loop's own period: the median interval, in nanoseconds.
    pub period_ns: f64,
    /// Rows that found the ring full; their stalls are in the bins.
    pub lost_rows: u64,
    /// Intervals longer than any bin (75 minutes): counted, in no bin.
    pub beyond_bins: u64,
    /// How often the clock went back between two stamps; such intervals are in the
    /// bins as negative ones.
    pub backward_steps: u64,
    /// How often counters were read.
    pub counter_reads: u64,
    /// The first stamp, in nanoseconds of `CLOCK_MONOTONIC`.
    pub began_ns: u64,
    /// The CPU at the end, where known.
    pub cpu: Option<u32>,
    /// How the values came about.
    pub measurement: Measurement,
}

impl StallsOutcome {
    /// The share of the time that was observed, 0 to 1.
    pub fn coverage(&self) -> f64 {
        if self.wall_ns == 0 {
            return 0.0;
        }
        (self.observed_ns as f64 / self.wall_ns as f64).min(1.0)
    }

    /// All intervals.
    pub fn bins(&self) -> Bins {
        let mut bins = self.below.clone();
        bins.merge(&self.above);
        bins
    }
}
