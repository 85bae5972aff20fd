//! The machine's clocks, read side by side.

use tompion_model::{ClockReading, Synchronisation};
use tompion_time::counter;
use tompion_time::os::{ClockId, now_ns};

/// Several clocks at one moment, as they are.
#[derive(Clone, Debug, Default)]
pub struct Clocks {
    /// The CPU's counter; `None` where there is none.
    pub counter_ticks: Option<u64>,
    /// `CLOCK_MONOTONIC_RAW` in nanoseconds.
    pub monotonic_raw_ns: u64,
    /// `CLOCK_MONOTONIC` in nanoseconds.
    pub monotonic_ns: u64,
    /// `CLOCK_REALTIME` in nanoseconds.
    pub realtime_ns: u64,
    /// Within how many nanoseconds all were read.
    pub within_ns: u64,
    /// What the kernel said of its synchronisation.
    pub synchronisation: Option<Synchronisation>,
}

impl Clocks {
    /// Reads the clocks of this machine: of many tries the quickest, in which least
    /// can have come between two of them.
    pub(crate) fn read() -> Self {
        const TRIES: u32 = 100;
        let tries = (0..TRIES).map(|_| {
            let began = now_ns(ClockId::MonotonicRaw);
            // The counter stands in the middle of the two clocks that it is held against.
            let raw_before = now_ns(ClockId::MonotonicRaw);
            let ticks = counter::read_ordered();
            let raw = now_ns(ClockId::MonotonicRaw);
            let monotonic = now_ns(ClockId::Monotonic);
            let realtime = now_ns(ClockId::Realtime);
            let ended = now_ns(ClockId::MonotonicRaw);
            Self {
                counter_ticks: counter::AVAILABLE.then_some(ticks),
                monotonic_raw_ns: raw_before.midpoint(raw),
                monotonic_ns: monotonic,
                realtime_ns: realtime,
                within_ns: ended.saturating_sub(began),
                synchronisation: None,
            }
        });
        Self {
            synchronisation: tompion_host::synchronisation(),
            ..tries.min_by_key(|t| t.within_ns).unwrap_or_default()
        }
    }

    /// How far each clock has gone since `first`.
    pub(crate) fn since(&self, first: &Self, at_ns: u64) -> ClockReading {
        let gone = |now: u64, then: u64| now.wrapping_sub(then) as i64;
        ClockReading {
            at_ns,
            counter_ticks: self
                .counter_ticks
                .zip(first.counter_ticks)
                .map(|(now, then)| gone(now, then)),
            monotonic_raw_ns: gone(self.monotonic_raw_ns, first.monotonic_raw_ns),
            monotonic_ns: gone(self.monotonic_ns, first.monotonic_ns),
            realtime_ns: gone(self.realtime_ns, first.realtime_ns),
            within_ns: self.within_ns,
            synchronisation: self.synchronisation.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clocks_of_this_machine_go_together() {
        let first = Clocks::read();
        std::thread::sleep(std::time::Duration::from_millis(20));
        let r = Clocks::read().since(&first, 0);
        assert!(r.monotonic_raw_ns >= 20_000_000 * 99 / 100, "{r:?}");
        // NTP slews by at most 500 ppm, adjtime by as much again.
        let apart = (r.monotonic_ns - r.monotonic_raw_ns).unsigned_abs();
        let read_within = first.within_ns + r.within_ns;
        assert!(
            apart <= r.monotonic_raw_ns as u64 / 500 + read_within,
            "{r:?}"
        );
        assert_eq!(r.counter_ticks.is_some(), counter::AVAILABLE);
        assert!(r.counter_ticks.is_none_or(|t| t > 0));
    }

    #[test]
    fn a_wall_clock_set_back_reads_negative() {
        let at = |realtime_ns| Clocks {
            realtime_ns,
            ..Clocks::default()
        };
        assert_eq!(at(5_000).since(&at(9_000), 7).realtime_ns, -4_000);
    }
}
