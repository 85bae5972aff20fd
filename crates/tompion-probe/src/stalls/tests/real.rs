//! The loop on this machine.

use std::sync::atomic::Ordering;

use tompion_time::os::{self, ClockId};

use super::*;
use crate::ThreadSettings;

/// The real loop on every CPU there is, on both clocks.
#[test]
fn real_loops_observe_nearly_all_of_the_time() {
    let rate = Rate::measure(std::time::Duration::from_millis(20)).map(|m| m.1);
    for rate in [rate, None] {
        let mut enough = false;
        // A disturbance of our own work is not the loop's fault: a few tries.
        for _ in 0..20 {
            let placements = [ThreadSettings::default(), ThreadSettings::default()];
            let loops = Loops::prepare(&placements).unwrap();
            assert!(loops.tids().iter().all(|tid| *tid > 0));
            let before = os::now_ns(ClockId::Monotonic);
            let running = loops
                .begin(&settings(200_000_000), rate, 1 << 14, |_tid| {
                    Counters::default
                })
                .unwrap();
            let (mut stalls, mut last) = ([0u64; 2], [0u64; 2]);
            let outcomes = running
                .finish(|index, row| {
                    stalls[index] += u64::from(!row.own);
                    assert!(row.stall.until_ns >= last[index] && row.stall.from_ns >= before);
                    last[index] = row.stall.until_ns;
                })
                .unwrap();
            let after = os::now_ns(ClockId::Monotonic);
            assert_eq!(outcomes.len(), 2);
            for (outcome, rows) in outcomes.iter().zip(stalls) {
                assert_eq!(rows + outcome.lost_rows, outcome.stalls);
                assert_eq!(
                    outcome.bins().len(),
                    outcome.iterations + outcome.beyond_bins
                );
                assert!(outcome.began_ns >= before && last.iter().all(|&at| at <= after));
                assert!(outcome.wall_ns >= 199_000_000 && outcome.measurement.ended_by_time);
            }
            // Tests are not optimised and run beside each other; what the program
            // reaches is tested on the program.
            let observed = |o: &StallsOutcome| o.coverage() >= 0.98;
            enough = outcomes.iter().all(observed);
            for o in &outcomes {
                println!(
                    "{}: {} iterations of {} ns, {:.4} % observed, {} stalls of {} ns in all, own \
                     {} ns, its longest {} ns",
                    o.measurement.clock,
                    o.iterations,
                    o.period_ns,
                    100.0 * o.coverage(),
                    o.stalls,
                    o.stalled_ns,
                    o.own_ns,
                    o.own_longest_ns
                );
            }
            if enough {
                break;
            }
        }
        assert!(enough, "too little of the time was observed: see above");
    }
}

#[test]
fn a_stop_ends_loops_soon_and_a_dropped_one_too() {
    let l = settings(u64::MAX);
    let loops = Loops::prepare(&[ThreadSettings::default()]).unwrap();
    let mut running = loops.begin(&l, None, 64, |_| Counters::default).unwrap();
    std::thread::sleep(std::time::Duration::from_millis(30));
    assert!(!running.has_ended());
    l.stop.store(true, Ordering::Relaxed);
    let outcomes = running.finish(|_, _| ()).unwrap();
    assert!(!outcomes[0].measurement.ended_by_time);

    let l = settings(u64::MAX);
    let loops = Loops::prepare(&[ThreadSettings::default()]).unwrap();
    drop(loops.begin(&l, None, 64, |_| Counters::default).unwrap());
    assert!(l.stop.load(Ordering::Relaxed));
}
