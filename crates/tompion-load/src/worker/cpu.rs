//! `cpu`: square roots in many threads, as in Kirova 2019, section 2.1.3.

use std::hint::black_box;

use super::Plan;

/// Square roots between two counts: some microseconds, so that counting costs
/// nothing and a trial of milliseconds still counts many.
const ROOTS: u32 = 1000;

pub fn plan(threads: u32) -> Plan {
    Plan {
        operation: format!("{ROOTS} square roots"),
        jobs: (0..threads)
            .map(|_| -> super::Job {
                Box::new(|counter, gate| {
                    gate.pass();
                    let mut value = 2.0_f64;
                    loop {
                        for step in 0..ROOTS {
                            // Each root waits for the one before it.
                            value = black_box(value + f64::from(step)).sqrt();
                        }
                        counter.add(1);
                    }
                })
            })
            .collect(),
    }
}
