//! Whether the wall clock was set while a run went on.

use tompion_model::ClockReading;

/// A step of the wall clock between two readings.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Step {
    /// By how much, in nanoseconds; negative when it was set back.
    pub ns: i64,
    /// It happened between these times of the run, in nanoseconds.
    pub between_ns: (u64, u64),
}

/// Slewing moves wall clock and monotonic clock alike: a change of their difference
/// beyond what reading them takes is a step.
pub fn steps(readings: &[ClockReading]) -> Vec<Step> {
    let apart = |r: &ClockReading| r.realtime_ns - r.monotonic_ns;
    let step = |pair: &[ClockReading]| {
        let [a, b] = pair else { return None };
        let ns = apart(b) - apart(a);
        (ns.unsigned_abs() > a.within_ns + b.within_ns).then_some(Step {
            ns,
            between_ns: (a.at_ns, b.at_ns),
        })
    };
    readings.windows(2).filter_map(step).collect()
}
