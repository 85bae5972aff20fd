//! Pacing of writes so that a budget lasts for the planned time.

use std::time::{Duration, Instant};
use tompion_model::Unavailable;
use tompion_time::os;

use crate::spec::Size;

/// What a load may write in all, and how long it will be running in all.
#[derive(Clone, Copy, Debug)]
pub struct Budget {
    pub bytes: u64,
    pub time: Duration,
}

/// Part of the budget that the pace spends in the planned time. The rest is for
/// the operation that may be due at once after each pause, and for late pauses.
const SPENT: f64 = 0.8;

/// Operations per second below which a trial of tens of milliseconds would often
/// see none at all.
const MIN_OPERATIONS_PER_SECOND: f64 = 100.0;

impl Budget {
    /// The least that lasts for `time` at operations of `unit` bytes.
    pub fn least_bytes(time: Duration, unit: u64) -> u64 {
        let paced = unit as f64 * MIN_OPERATIONS_PER_SECOND * time.as_secs_f64() / SPENT;
        // One more, which also outweighs rounding.
        (paced.ceil() as u64).saturating_add(unit)
    }

    fn bytes_per_second(&self) -> f64 {
        self.bytes as f64 * SPENT / self.time.as_secs_f64().max(1e-3)
    }

    /// The largest operation, up to `most` and in whole pages of `unit` bytes,
    /// that can be done often enough.
    pub fn operation_bytes(&self, unit: u64, most: u64) -> Result<u64, Unavailable> {
        let affordable = self.bytes_per_second() / MIN_OPERATIONS_PER_SECOND;
        match (affordable as u64 / unit * unit).min(most) {
            0 => Err(format!(
                "{} MB of writing in {:.1} s is too little: {MIN_OPERATIONS_PER_SECOND} writes of \
                 {} a second need a budget of {:.1} MB",
                self.bytes as f64 / 1e6,
                self.time.as_secs_f64(),
                Size(unit),
                // Upwards, so that what is told suffices.
                (Self::least_bytes(self.time, unit) as f64 / 1e5).ceil() / 10.0,
            )
            .into()),
            bytes => Ok(bytes),
        }
    }

    /// A pace for operations that write `bytes` each.
    pub fn pace(&self, bytes: u64) -> Pace {
        Pace {
            interval: Duration::from_secs_f64(bytes as f64 / self.bytes_per_second()),
            next: None,
            left: self.bytes / bytes,
        }
    }
}

/// A token bucket that holds one operation: time spent stopped or in a slow
/// write earns one operation at most, never a burst.
pub struct Pace {
    interval: Duration,
    next: Option<Instant>,
    left: u64,
}

impl Pace {
    /// Waits until an operation may be done; false once the budget is used up.
    pub fn wait(&mut self) -> bool {
        let delay = match self.delay(Instant::now()) {
            Some(delay) => delay,
            None => return false,
        };
        if !delay.is_zero() {
            os::sleep(delay);
        }
        true
    }

    /// How long to wait for the next operation; absent once none is left.
    fn delay(&mut self, now: Instant) -> Option<Duration> {
        self.left = self.left.checked_sub(1)?;
        let start = self.next.map_or(now, |next| next.max(now));
        self.next = Some(start + self.interval);
        Some(start - now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BUDGET: Budget = Budget {
        bytes: 1_000_000,
        time: Duration::from_secs(1),
    };

    #[test]
    fn the_budget_is_spread_over_the_time_and_never_exceeded() {
        let mut pace = BUDGET.pace(1000);
        let start = Instant::now();
        let mut now = start;
        let mut done_in_time = 0;
        for operation in 0..1000 {
            now += pace.delay(now).expect("within the budget");
            if now < start + BUDGET.time {
                done_in_time = operation + 1;
            }
        }
        assert_eq!(done_in_time, 800);
        assert_eq!(pace.delay(now + Duration::from_secs(100)), None);
        assert!(!pace.wait());
    }

    #[test]
    fn a_pause_earns_one_operation_at_most() {
        let mut pace = BUDGET.pace(1000);
        let start = Instant::now();
        assert_eq!(pace.delay(start), Some(Duration::ZERO));
        let later = start + Duration::from_secs(3600);
        assert_eq!(pace.delay(later), Some(Duration::ZERO));
        assert_eq!(pace.delay(later), Some(Duration::from_micros(1250)));
    }

    #[test]
    fn operations_shrink_until_they_are_frequent() {
        assert_eq!(BUDGET.operation_bytes(4096, 1 << 20), Ok(4096));
        let large = Budget {
            bytes: 100_000_000,
            ..BUDGET
        };
        assert_eq!(large.operation_bytes(4096, 1 << 20), Ok(195 * 4096));
        assert_eq!(large.operation_bytes(4096, 8192), Ok(8192));
        for bytes in [0, 100_000] {
            let small = Budget { bytes, ..BUDGET };
            let message = small
                .operation_bytes(4096, 1 << 20)
                .unwrap_err()
                .to_string();
            assert!(message.contains("need a budget of 0.6 MB"), "{message}");
        }
        let enough = Budget {
            bytes: 512_000,
            ..BUDGET
        };
        assert_eq!(enough.operation_bytes(4096, 1 << 20), Ok(4096));
    }
}
