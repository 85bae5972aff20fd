//! Ordered reads by all CPUs against one shared maximum: no backward step.
//!
//! 10^7 reads; 10^9 where `TOMPION_LONG` is set (`make test-full`).

use tompion_time::{Clock, Instant, Policy};

#[path = "common/reads.rs"]
mod reads;

fn wanted() -> u64 {
    match std::env::var_os("TOMPION_LONG") {
        Some(_) => 1_000_000_000,
        None => 10_000_000,
    }
}

#[test]
fn ordered_reads_of_all_cpus_never_go_back() {
    let report = Clock::init(Policy::Auto);
    println!("{report}");
    let reads = wanted();
    let (steps, largest) = reads::backward_steps(reads, || Instant::now_ordered().as_nanos());
    println!("{reads} reads: {steps} backward steps, largest {largest} ns");
    assert_eq!(steps, 0, "largest {largest} ns");
    println!("{}", Clock::report());
}
