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
    // A record may say anything.
    let apart = |r: &ClockReading| r.realtime_ns.saturating_sub(r.monotonic_ns);
    let step = |pair: &[ClockReading]| {
        let [a, b] = pair else { return None };
        let ns = apart(b).saturating_sub(apart(a));
        (ns.unsigned_abs() > a.within_ns.saturating_add(b.within_ns)).then_some(Step {
            ns,
            between_ns: (a.at_ns, b.at_ns),
        })
    };
    readings.windows(2).filter_map(step).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clocks_that_nobody_has_are_no_trouble() {
        let reading = |realtime_ns, monotonic_ns, within_ns| ClockReading {
            realtime_ns,
            monotonic_ns,
            within_ns,
            ..ClockReading::default()
        };
        let far = [
            reading(i64::MAX, i64::MIN, u64::MAX),
            reading(0, 0, u64::MAX),
            reading(i64::MIN, i64::MAX, 0),
        ];
        assert!(steps(&far).len() <= 2);
    }
}
