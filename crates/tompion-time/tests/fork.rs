//! Children of `fork` start a clock of their own: their kernel's clock may be
//! another one (time namespaces).

use tompion_time::{Clock, Instant, Policy, Reason, Source};

#[test]
fn a_child_begins_anew_and_goes_on() {
    Clock::init(Policy::Auto);
    let parent = Clock::source();
    let before = Instant::now();
    // SAFETY: the child calls nothing that needs another thread's lock: it reads
    // clocks and exits.
    let child = unsafe { libc::fork() };
    if child == 0 {
        let now = Instant::now();
        let fresh = match Clock::source() {
            // Nothing was inherited, so the counter needs a new proof.
            Source::Kernel(Reason::Calibrating) => true,
            other => other == parent && parent != Source::Counter,
        };
        let code = i32::from(now < before) + 2 * i32::from(!fresh);
        // SAFETY: ends the child without running the parent's destructors.
        unsafe { libc::_exit(code) };
    }
    let mut status = 0;
    // SAFETY: waits for our own child; `status` is valid to write to.
    let waited = unsafe { libc::waitpid(child, &mut status, 0) };
    assert_eq!(waited, child);
    assert_eq!(status, 0, "1: went back, 2: took over the parent's pieces");
    assert!(Instant::now() >= before);
}
