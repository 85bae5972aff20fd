//! Memory is touched for the first time.

use std::time::Duration;

use tompion_cause::{Cause, Counters, describe_stall};
use tompion_probe::stalls::{CounterStamps, Row, Settings, Stamps, ring, run};
use tompion_time::Rate;
use tompion_time::os::{self, ClockId};

use super::counters::{Proc, causes, ns_of};

/// A clock that now and then, when it is read, touches fresh memory first.
struct Touching {
    clock: CounterStamps,
    /// Never written before.
    memory: Vec<u8>,
    reads: u64,
    /// From when to when, in nanoseconds.
    times: Vec<(u64, u64)>,
}

const PAGES: usize = 256;
const PAGE: usize = 4096;
const BLOCKS: usize = 24;
const EVERY: u64 = 300_000;

impl Stamps for Touching {
    fn now(&mut self) -> u64 {
        self.reads += 1;
        let block = self.times.len();
        if self.reads.is_multiple_of(EVERY) && block < BLOCKS {
            let from = os::now_ns(ClockId::Monotonic);
            for page in block * PAGES..(block + 1) * PAGES {
                self.memory[page * PAGE] = 1;
            }
            self.times.push((from, os::now_ns(ClockId::Monotonic)));
        }
        self.clock.now()
    }

    fn ps(&self, ticks: u64) -> u64 {
        self.clock.ps(ticks)
    }

    fn ticks(&self, ns: u64) -> u64 {
        self.clock.ticks(ns)
    }

    fn anchor(&mut self) -> (u64, u64) {
        self.clock.anchor()
    }

    fn cpu(&mut self) -> Option<u32> {
        self.clock.cpu()
    }

    fn hz(&self) -> f64 {
        self.clock.hz()
    }

    fn name(&self) -> &'static str {
        self.clock.name()
    }
}

#[test]
fn a_first_touch_is_page_faults_and_nothing_else_is() {
    let Some((_, rate)) = Rate::measure(Duration::from_millis(20)) else {
        println!("skipped: this CPU has no counter that programs can read");
        return;
    };
    let settings = Settings {
        time_ns: 600_000_000,
        ..Settings::default()
    };
    let (mut producer, mut consumer) = ring(1 << 15);
    let mut counters = Proc::of_this_thread();
    let mut stamps = Touching {
        clock: CounterStamps(rate),
        // Zeroed pages come from the kernel when they are first touched.
        memory: vec![0; BLOCKS * PAGES * PAGE],
        reads: 0,
        times: Vec::with_capacity(BLOCKS),
    };
    let outcome = run(&mut stamps, || counters.read(), &settings, &mut producer);
    let rows: Vec<Row> = std::iter::from_fn(|| consumer.pop()).collect();
    assert_eq!(outcome.lost_rows, 0);

    let blocks = stamps.times.len();
    assert!(blocks > 5, "only {blocks} blocks were touched");
    // Counters enclose more than the touching: judge by the rows that hold it.
    let (mut found, mut right) = (0, 0);
    for &(from, until) in &stamps.times {
        // A block touched during own work has no row of the loop.
        let near = 2_000;
        let holds =
            |r: &&Row| !r.own && r.stall.from_ns <= from + near && r.stall.until_ns + near >= until;
        let Some(row) = rows.iter().find(holds) else {
            continue;
        };
        found += 1;
        let parts = causes(row);
        println!(
            "touched for {} ns; {}",
            until - from,
            describe_stall(&parts)
        );
        // A neighbour may have had the CPU in between.
        let length = row.stall.until_ns - row.stall.from_ns;
        let (faults, preempted) = (
            ns_of(&parts, Cause::PageFault),
            ns_of(&parts, Cause::Preempted),
        );
        right += usize::from(faults > 0 && faults + preempted >= length * 9 / 10);
        assert_eq!(ns_of(&parts, Cause::Stopped), 0);
    }
    println!("{blocks} touched, {found} found, {right} told rightly");
    assert!(found >= blocks * 3 / 4 && right >= found * 3 / 4);

    // Without growth of the faults there is no talk of them.
    let grown = |row: &Row, of: fn(&Counters) -> Option<u64>| {
        row.before.as_ref().and_then(of) != row.after.as_ref().and_then(of)
    };
    for row in rows.iter().filter(|r| r.after.is_some()) {
        if !grown(row, |c| c.minor_faults) && !grown(row, |c| c.major_faults) {
            assert_eq!(ns_of(&causes(row), Cause::PageFault), 0);
        }
    }
}
