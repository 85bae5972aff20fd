//! Reading a clock from all CPUs at once.

use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

/// Each thread takes what the others have read, then reads: never less.
/// Returns how many steps went back, and the largest.
pub fn backward_steps(reads: u64, read: fn() -> u64) -> (u64, u64) {
    let threads = thread::available_parallelism()
        .map_or(2, |n| n.get())
        .max(2) as u64;
    let greatest = AtomicU64::new(0);
    let worst = thread::scope(|scope| {
        let handles: Vec<_> = (0..threads)
            .map(|_| {
                scope.spawn(|| {
                    let mut worst = (0, 0);
                    for _ in 0..reads / threads {
                        let before = greatest.load(Ordering::Acquire);
                        let now = read();
                        if now < before {
                            worst = (worst.0 + 1, worst.1.max(before - now));
                        }
                        greatest.fetch_max(now, Ordering::AcqRel);
                    }
                    worst
                })
            })
            .collect();
        handles
            .into_iter()
            .map(|h| h.join().unwrap())
            .fold((0, 0), |a, b| (a.0 + b.0, a.1.max(b.1)))
    });
    assert!(greatest.into_inner() > 0);
    worst
}
