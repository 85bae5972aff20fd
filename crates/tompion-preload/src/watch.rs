//! Whether the kernel still keeps time by the counter, told without a system call.
//!
//! The file that names the clocksource cannot be asked here: a program may have
//! closed our descriptor, and in a sandbox the call may kill it. But a kernel that
//! leaves the counter for a device answers by system call from then on, and that
//! takes many times as long. (Where it changes to another clock that the vDSO can
//! read, this does not notice; the comparison at each anchor still does, once the
//! two differ.)

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// So many times as long as at the start, and a bit: more than what a CPU at its
/// lowest frequency takes, less than a system call that asks a device.
const TIMES: u64 = 6;
const AND_TICKS: u64 = 300;

/// So many anchors in a row, each the best of several tries.
const IN_A_ROW: u32 = 3;

/// The cost of reading the kernel's clock, watched.
pub struct Watch {
    /// At the start, in ticks; 0 while unknown.
    usual_ticks: AtomicU64,
    slow_in_a_row: AtomicU32,
}

impl Watch {
    pub const fn new() -> Self {
        Self {
            usual_ticks: AtomicU64::new(0),
            slow_in_a_row: AtomicU32::new(0),
        }
    }

    /// What a reading took when the kernel was known to use the counter.
    pub fn set_usual(&self, ticks: u64) {
        self.usual_ticks.store(ticks, Ordering::Relaxed);
    }

    /// Whether the kernel still uses it, now that the reading of an anchor took so
    /// many ticks.
    pub fn still_uses_counter(&self, ticks: u64) -> bool {
        let usual = self.usual_ticks.load(Ordering::Relaxed);
        if usual == 0 || ticks <= usual * TIMES + AND_TICKS {
            self.slow_in_a_row.store(0, Ordering::Relaxed);
            return true;
        }
        self.slow_in_a_row.fetch_add(1, Ordering::Relaxed) + 1 < IN_A_ROW
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(readings: &[u64]) -> bool {
        let watch = Watch::new();
        watch.set_usual(100);
        readings
            .iter()
            .map(|ticks| watch.still_uses_counter(*ticks))
            .last()
            .unwrap()
    }

    #[test]
    fn readings_that_stay_slow_are_noticed_and_single_ones_are_not() {
        assert!(after(&[100, 120, 900, 80]));
        assert!(after(&[2_000, 2_000, 100, 2_000, 2_000]));
        assert!(!after(&[2_000, 2_000, 2_000]));
        assert!(!after(&[100, 2_000, 2_000, 2_000, 2_000]));
        assert!(after(&[2_000, 2_000, 2_000, 110]));
    }

    #[test]
    fn without_a_beginning_nothing_is_claimed() {
        let watch = Watch::new();
        assert!((0..10).all(|_| watch.still_uses_counter(1 << 40)));
    }
}
