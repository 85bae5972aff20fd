//! Tickers: the grid, the numbers, the misses.

use proptest::prelude::*;

use super::*;
use crate::os::{self, ClockId};

fn ticker(policy: Policy, period: u64) -> Ticker<Sim> {
    Ticker::with_sleeper(Duration::from_nanos(period), sleeper(policy, |_| 14 * US)).unwrap()
}

#[test]
fn a_ticker_keeps_to_its_grid_while_the_caller_works() {
    let mut t = ticker(Policy::hybrid(), MS);
    let first = t.tick();
    assert_eq!(first.number, 0);
    for number in 1..1_000 {
        t.sleeper().host().now_ns += 300 * US;
        let tick = t.tick();
        assert_eq!(tick.number, number);
        assert_eq!(tick.scheduled_ns, first.scheduled_ns + number * MS);
        assert_eq!(tick.missed, 0);
    }
}

#[test]
fn a_period_must_be_possible() {
    for bad in [Duration::ZERO, Duration::MAX] {
        let error = Ticker::new(bad, Policy::Kernel).unwrap_err().to_string();
        assert!(error.contains("longer than zero"), "{error}");
    }
}

#[test]
fn a_ticker_falls_in_with_a_phase_past_or_future() {
    let ahead = os::now_ns(ClockId::Monotonic) + 50 * MS;
    let period = Duration::from_millis(1);
    for phase in [12_345, ahead] {
        let mut t = Ticker::starting_at_ns(phase, period, Policy::Kernel).unwrap();
        let tick = t.tick();
        assert_eq!(tick.number, 0);
        assert_eq!(tick.scheduled_ns % MS, phase % MS);
        assert!(tick.scheduled_ns >= phase);
    }
}

proptest! {
    /// The machine stalls for S while the ticker waits: exactly S / period
    /// points are missed, and the next tick is the first point ahead.
    #[test]
    fn a_stall_is_counted_in_whole_periods(
        stall in 0..200 * MS,
        period in 100 * US..20 * MS,
        name in prop::sample::select(&Policy::NAMES[..]),
    ) {
        let mut t = ticker(name.parse().unwrap(), period);
        let before = t.tick();
        let due = before.scheduled_ns + period;
        // Just before the point; what the kernel and the reads add is known to
        // the test only as late_ns, so compare where they cannot matter.
        t.sleeper().host().stall(due - 1, stall);
        let tick = t.tick();
        let after = t.tick();
        prop_assert_eq!(tick.scheduled_ns, due);
        prop_assert!((stall.saturating_sub(1)..stall + 15 * US).contains(&tick.late_ns));
        prop_assert_eq!(tick.missed, tick.late_ns / period);
        if stall % period > 0 && stall % period < period - 15 * US {
            prop_assert_eq!(tick.missed, stall / period);
        }
        prop_assert_eq!(after.number, tick.number + tick.missed + 1);
        prop_assert_eq!(after.scheduled_ns, due + (tick.missed + 1) * period);
        prop_assert!(after.scheduled_ns > due + tick.late_ns);
    }
}
