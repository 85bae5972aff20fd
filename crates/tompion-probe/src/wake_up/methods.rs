//! The waiting functions, each retried to its original target after a signal.

use std::time::Duration;

use tompion_time::os::{self, ClockId};
use tompion_time::sleep::{self, Policy, Sleeper};

use super::Waiter;
use crate::sys::{self, PeriodicTimer};

#[inline(always)]
fn monotonic() -> u64 {
    os::now_ns(ClockId::Monotonic)
}

/// Repeats a relative wait with what is left until it was not cut short.
#[inline(always)]
fn until(target_ns: u64, ahead_ns: u64, wait: impl Fn(u64) -> bool) {
    let mut left = ahead_ns;
    while !wait(left) {
        left = target_ns.saturating_sub(monotonic());
        if left == 0 {
            return;
        }
    }
}

macro_rules! waiter {
    ($name:ident, $grid:literal, |$target:ident, $ahead:ident| $wait:expr) => {
        pub(super) struct $name;

        impl Waiter for $name {
            const GRID: bool = $grid;

            #[inline(always)]
            fn now_ns(&mut self) -> u64 {
                monotonic()
            }

            #[inline(always)]
            fn wait(&mut self, $target: u64, $ahead: u64) {
                $wait
            }
        }
    };
}

waiter!(Usleep, false, |target, ahead| until(
    target,
    ahead,
    |left| {
        // usleep counts whole microseconds and may refuse a second or more.
        sys::usleep(u32::try_from(left.div_ceil(1000)).unwrap_or(u32::MAX))
    }
));
waiter!(Nanosleep, false, |target, ahead| until(
    target,
    ahead,
    sys::nanosleep
));
waiter!(Ppoll, false, |target, ahead| until(
    target,
    ahead,
    sys::ppoll
));
waiter!(StdSleep, false, |_target, ahead| std::thread::sleep(
    Duration::from_nanos(ahead)
));
waiter!(
    ClockNanosleepAbs,
    true,
    |target, _ahead| os::sleep_until_ns(target)
);
waiter!(
    BusyWait,
    true,
    |target, _ahead| while monotonic() < target {}
);

#[derive(Default)]
pub(super) struct Timerfd(Option<PeriodicTimer>);

impl Waiter for Timerfd {
    const GRID: bool = true;

    #[inline(always)]
    fn now_ns(&mut self) -> u64 {
        monotonic()
    }

    fn start(&mut self, first_ns: u64, period_ns: u64) -> std::io::Result<()> {
        match &self.0 {
            Some(timer) => timer.restart(first_ns, period_ns),
            None => {
                self.0 = Some(PeriodicTimer::start(first_ns, period_ns)?);
                Ok(())
            }
        }
    }

    #[inline(always)]
    fn wait(&mut self, target_ns: u64, _ahead_ns: u64) {
        let Some(timer) = &self.0 else { return };
        // A point that passed between the last expiration and the clock read
        // after it has been counted as missed already; skip its expiration.
        loop {
            timer.wait();
            if monotonic() >= target_ns {
                return;
            }
        }
    }
}

pub(super) struct Hybrid(Sleeper);

impl Hybrid {
    pub(super) fn new() -> Self {
        Self(Sleeper::new(Policy::hybrid()))
    }
}

impl Drop for Hybrid {
    fn drop(&mut self) {
        // Trials set the slack themselves: the library must not remember that
        // this thread's is 1 ns.
        sleep::restore_timer_slack();
    }
}

impl Waiter for Hybrid {
    const GRID: bool = true;

    #[inline(always)]
    fn now_ns(&mut self) -> u64 {
        monotonic()
    }

    #[inline(always)]
    fn wait(&mut self, target_ns: u64, _ahead_ns: u64) {
        self.0.sleep_until_ns(target_ns);
    }
}
