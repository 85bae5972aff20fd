//! Signal handlers that read the clock disturb nobody's trust, whatever they
//! interrupt; changing the policy meanwhile hangs nowhere.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tompion_time::{Clock, Instant, Policy, Source};

static HANDLED: AtomicU64 = AtomicU64::new(0);
static LATEST: AtomicU64 = AtomicU64::new(0);
static BACKWARD: AtomicU64 = AtomicU64::new(0);

extern "C" fn handler(_signal: libc::c_int) {
    let now = Instant::now_ordered().as_nanos();
    if now < LATEST.load(Ordering::Relaxed) {
        BACKWARD.fetch_add(1, Ordering::Relaxed);
    }
    LATEST.store(now, Ordering::Relaxed);
    // Long enough to look like a jump back to the reading it interrupted.
    while Instant::now_ordered().as_nanos() < now + 20_000 {}
    HANDLED.fetch_add(1, Ordering::Relaxed);
}

fn alarm_every(us: libc::suseconds_t) {
    let every = libc::timeval {
        tv_sec: 0,
        tv_usec: us,
    };
    let timer = libc::itimerval {
        it_interval: every,
        it_value: every,
    };
    // SAFETY: `timer` is valid to read; the old value is not asked for.
    let set = unsafe { libc::setitimer(libc::ITIMER_REAL, &timer, std::ptr::null_mut()) };
    assert_eq!(set, 0);
}

#[test]
fn handlers_may_read_the_clock_at_any_moment() {
    let source = Clock::init(Policy::Auto).source;
    let handler: extern "C" fn(libc::c_int) = handler;
    // SAFETY: the handler only reads clocks and stores to atomics.
    unsafe { libc::signal(libc::SIGALRM, handler as libc::sighandler_t) };
    alarm_every(200);
    let end = Instant::now() + Duration::from_secs(2);
    let mut last = Instant::now();
    while last < end {
        let now = Instant::now();
        assert!(now >= last);
        last = now;
        LATEST.fetch_max(now.as_nanos(), Ordering::Relaxed);
    }
    let losses = Clock::report().losses;
    for policy in [Policy::Kernel, Policy::Tsc, Policy::Auto].repeat(5) {
        Clock::set_policy(policy);
    }
    alarm_every(0);
    let handled = HANDLED.load(Ordering::Relaxed);
    println!("{handled} signals");
    assert!(handled > 1_000, "{handled}");
    assert_eq!(losses, 0, "{:?}", Clock::report().last_loss);
    if source == Source::Counter {
        assert_eq!(Clock::init(Policy::Auto).source, Source::Counter);
    }
}
