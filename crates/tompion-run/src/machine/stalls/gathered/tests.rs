//! The very loop over a planted clock, with a ring that nobody empties in time.

use tompion_cause::{Counters, Stall};
use tompion_model::Mark;
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

/// One stall of 50 us in the loop's own work, beside those of the loop.
#[test]
fn stalls_in_own_work_have_rows_and_count_in_no_summary() {
    const THRESHOLD_NS: u64 = 1_000;
    let settings = stalls::Settings {
        threshold_ns: THRESHOLD_NS,
        counters_above_ns: u64::MAX,
        time_ns: 1_000_000,
        ..stalls::Settings::default()
    };
    let (mut producer, mut consumer) = ring(1 << 10);
    let outcome = stalls::run(&mut Planted(0), Counters::default, &settings, &mut producer);
    let (stalls, stalled_ns) = (outcome.stalls, outcome.stalled_ns);
    let (observed_ns, own_ns) = (outcome.observed_ns, outcome.own_ns);
    assert!(stalls > 100 && outcome.lost_rows == 0);

    let mut gathered = Gathered::new(1 << 10);
    let rows = &mut gathered.waiting;
    rows.extend(std::iter::from_fn(|| consumer.pop()));
    let last_ns = rows[rows.len() - 1].stall.until_ns;
    rows.push_back(Row {
        stall: Stall {
            from_ns: last_ns + 100,
            until_ns: last_ns + 50_100,
        },
        length_ps: 50_000_000,
        own: true,
        ..Row::default()
    });
    let wanted = events::Settings {
        cpu_events: CpuEvents::None,
        ..events::Settings::default()
    };
    let (recorder, _) = events::Recorder::attach_with(&wanted, &[], &[]);
    gathered.settle(&[], u64::MAX, &recorder);
    let measured = gathered.finish(None, THRESHOLD_NS, outcome, Observation::default());
    let found = measured.stalls;
    assert_eq!((found.stalls, found.lost_ns), (stalls, stalled_ns));
    assert_eq!((found.observed_ns, found.own_ns), (observed_ns, own_ns));
    let with_cause: u64 = found.causes.iter().map(|c| c.ns).sum();
    assert_eq!(with_cause, stalled_ns);
    let data = measured.outcome.data;
    let parts: u64 = data.stall_parts().iter().map(|p| p.ns).sum();
    assert_eq!(parts, stalled_ns);
    let last = data.samples[data.samples.len() - 1];
    assert_eq!((last.mark, last.value_ps), (Mark::Recorder, 50_000_000));
    assert_eq!(data.samples.len() as u64, stalls + 1);
}
