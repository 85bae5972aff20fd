//! On the real machine: only what noise cannot break.

use super::*;
use crate::os::{self, ClockId};

#[test]
fn no_policy_wakes_early_on_this_machine() {
    for name in Policy::NAMES {
        let mut s = Sleeper::new(name.parse().unwrap());
        for _ in 0..20 {
            let deadline = os::now_ns(ClockId::Monotonic) + 200 * US;
            s.sleep_until_ns(deadline);
            assert!(os::now_ns(ClockId::Monotonic) >= deadline, "{name}");
        }
    }
    let deadline = os::now_ns(ClockId::Monotonic) + 200 * US;
    sleep(Duration::from_micros(200));
    assert!(os::now_ns(ClockId::Monotonic) >= deadline);
}

#[test]
fn kernel_sleeps_leave_the_cpu_alone_and_spins_do_not() {
    let cpu_of = |policy| {
        let mut s = Sleeper::new(policy);
        let before = os::now_ns(ClockId::ThreadCpu);
        s.sleep(Duration::from_millis(100));
        os::now_ns(ClockId::ThreadCpu) - before
    };
    assert!(cpu_of(Policy::Kernel) < 10 * MS);
    // Not a lower bound for Spin: others may have the CPU all the while.
    assert!(cpu_of(Policy::hybrid()) < 20 * MS);
}

#[test]
fn the_slack_comes_back_when_asked_for() {
    std::thread::spawn(|| {
        let before = os::timer_slack_ns().unwrap();
        sleep(Duration::from_nanos(1));
        assert_eq!(os::timer_slack_ns().unwrap(), 1);
        Sleeper::new(Policy::System).sleep(Duration::from_nanos(100_000));
        assert_eq!(os::timer_slack_ns().unwrap(), before);
        Sleeper::new(Policy::Kernel).sleep(Duration::from_nanos(100_000));
        assert_eq!(os::timer_slack_ns().unwrap(), 1);
        restore_timer_slack();
        assert_eq!(os::timer_slack_ns().unwrap(), before);
    })
    .join()
    .unwrap();
}

#[test]
fn a_ticker_accounts_for_every_period_on_this_machine() {
    let mut t = Ticker::new(Duration::from_micros(500), Policy::hybrid()).unwrap();
    let first = t.tick();
    let (mut ticks, mut missed, mut last) = (1, first.missed, first);
    for _ in 0..200 {
        last = t.tick();
        ticks += 1;
        missed += last.missed;
    }
    assert_eq!(last.number, ticks + missed - last.missed - 1);
    assert_eq!(
        last.scheduled_ns,
        first.scheduled_ns + last.number * 500 * US
    );
}
