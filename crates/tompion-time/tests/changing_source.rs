//! Ordered reads by all CPUs never go back while the clock changes between the
//! counter and the kernel's clock, which is where it could go wrong.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use tompion_time::{Clock, Instant, Policy, Source};

#[path = "common/reads.rs"]
mod reads;

#[test]
fn ordered_reads_never_go_back_while_the_source_changes() {
    let done = AtomicBool::new(false);
    let (sources, (steps, largest)) = thread::scope(|scope| {
        let changer = scope.spawn(|| {
            let mut sources = [0u32; 2];
            while !done.load(Ordering::Relaxed) {
                for policy in [Policy::Kernel, Policy::Auto, Policy::Tsc] {
                    let used = Clock::init(policy).source == Source::Counter;
                    sources[usize::from(used)] += 1;
                }
            }
            sources
        });
        let result = reads::backward_steps(3_000_000, || Instant::now_ordered().as_nanos());
        done.store(true, Ordering::Relaxed);
        (changer.join().unwrap(), result)
    });
    println!("kernel {} times, counter {} times", sources[0], sources[1]);
    assert!(sources[0] > 0);
    assert_eq!(steps, 0, "largest {largest} ns");
}
