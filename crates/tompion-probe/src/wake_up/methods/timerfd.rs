//! A periodic timerfd.

use tompion_model::{InCheck, MethodRow};

use super::{SLEEP, monotonic};
use crate::sys::PeriodicTimer;
use crate::wake_up::{Waiter, Waiting, run};

pub(super) static ENTRY: Waiting = Waiting {
    row: MethodRow {
        name: "timerfd",
        about: "read(2) of a periodic timerfd, on a grid",
        has_grid: true,
        // The kernel gives timers none.
        has_slack: false,
        in_check: InCheck::EveryTarget,
        usual: Some(4),
        ..SLEEP
    },
    available: || PeriodicTimer::start(u64::MAX >> 1, 1_000_000).map(drop),
    measure: |target_ns, limits| run(&mut Timerfd::default(), target_ns, limits),
};

#[derive(Default)]
struct Timerfd(Option<PeriodicTimer>);

impl Waiter for Timerfd {
    const GRID: bool = true;

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
