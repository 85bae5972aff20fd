//! The very loop over a planted clock, with a ring that nobody empties in time.

use tompion_cause::Counters;
use tompion_observe::events::{self, CpuEvents};
use tompion_probe::stalls::{self, Stamps, ring};

use super::*;

/// A clock of one tick a nanosecond: 20 ns a read, and at every hundredth 5 us more.
struct Planted(u64);

impl Stamps for Planted {
    fn now(&mut self) -> u64 {
        self.0 += 1;
        (1 << 50) + 20 * self.0 + 5_000 * (self.0 / 100)
    }

    fn ps(&self, ticks: u64) -> u64 {
        ticks * 1000
    }

    fn ticks(&self, ns: u64) -> u64 {
        ns
    }

    fn anchor(&mut self) -> (u64, u64) {
        let now = self.now();
        (now, now)
    }

    fn cpu(&mut self) -> Option<u32> {
        None
    }

    fn hz(&self) -> f64 {
        1e9
    }

    fn name(&self) -> &'static str {
        "planted"
    }
}

/// What a thread that comes late finds of 10 ms with some 1400 stalls: as many rows as
/// the ring holds. The others are counted, and their time is lost time without a cause.
#[test]
fn stalls_that_nobody_took_in_time_are_counted_and_their_time_is_lost_time() {
    const ROOM: usize = 8;
    const THRESHOLD_NS: u64 = 1_000;
    let settings = stalls::Settings {
        threshold_ns: THRESHOLD_NS,
        counters_above_ns: u64::MAX,
        time_ns: 10_000_000,
        ..stalls::Settings::default()
    };
    let (mut producer, mut consumer) = ring(ROOM);
    let outcome = stalls::run(&mut Planted(0), Counters::default, &settings, &mut producer);
    let (lost_rows, stalled_ns) = (outcome.lost_rows, outcome.stalled_ns);
    assert!(lost_rows > 1_000 && outcome.stalls == lost_rows + ROOM as u64);

    let mut late = Gathered::new(1 << 10);
    late.waiting.extend(std::iter::from_fn(|| consumer.pop()));
    let wanted = events::Settings {
        cpu_events: CpuEvents::None,
        ..events::Settings::default()
    };
    let (recorder, _) = events::Recorder::attach_with(&wanted, &[], &[]);
    late.settle(&[], u64::MAX, &recorder);
    let measured = late.finish(None, THRESHOLD_NS, outcome, Observation::default());
    let found = measured.stalls;
    assert_eq!(
        (found.stalls, found.rows_lost),
        (lost_rows + ROOM as u64, lost_rows)
    );
    let with_cause: u64 = found.causes.iter().map(|c| c.ns).sum();
    assert_eq!(with_cause, 5_020 * ROOM as u64);
    assert_eq!(found.lost_ns, stalled_ns);
    assert_eq!(found.lost_ns - with_cause, 5_020 * lost_rows);
    // Every one of them is in a bin.
    let bins = measured.outcome.data.bins.unwrap();
    let above = bins.distribution().count_above(1_000_000);
    assert_eq!(above, lost_rows);
}
