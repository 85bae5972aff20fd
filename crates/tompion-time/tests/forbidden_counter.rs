//! A counter that `prctl` forbids before the first read is refused cleanly; one
//! process, one test, because the clock is the process's.
#![cfg(target_arch = "x86_64")]

use tompion_time::{Clock, Instant, Policy, Reason, Source};

#[test]
fn a_forbidden_counter_is_never_read() {
    // In a thread of its own: the kernel forbids by thread, and the test
    // harness reads clocks too.
    std::thread::spawn(|| {
        // SAFETY: forbids this thread RDTSC; touches no memory.
        let done = unsafe { libc::prctl(libc::PR_SET_TSC, libc::PR_TSC_SIGSEGV) };
        assert_eq!(done, 0);
        let first = Instant::now();
        assert_eq!(Clock::source(), Source::Kernel(Reason::Forbidden));
        let second = Instant::now_ordered();
        assert!(second >= first && first.as_nanos() > 0);
        // Nor by request.
        Clock::set_policy(Policy::Tsc);
        assert_eq!(Clock::source(), Source::Kernel(Reason::Forbidden));
        assert!(Instant::now() >= second);
        // Nor by a check, nor by a sleep.
        assert_eq!(Clock::check(), Source::Kernel(Reason::Forbidden));
        tompion_time::sleep::sleep(std::time::Duration::from_micros(50));
        tompion_time::sleep::Sleeper::new(tompion_time::sleep::Policy::hybrid())
            .sleep(std::time::Duration::from_micros(50));
        let report = Clock::report().to_string();
        assert!(report.contains("may not read the counter"), "{report}");
    })
    .join()
    .unwrap();
}
