//! `clock_nanosleep(2)` to an absolute time.

use tompion_model::{InCheck, MethodRow};
use tompion_time::os;

use super::SLEEP;
use crate::sys;
use crate::wake_up::{Waiter, Waiting, run};

pub(super) static ENTRY: Waiting = Waiting {
    row: MethodRow {
        name: "clock-nanosleep-abs",
        about: "clock_nanosleep(2) to an absolute time, on a grid",
        has_grid: true,
        in_check: InCheck::Always,
        usual: Some(3),
        ..SLEEP
    },
    available: sys::try_clock_nanosleep,
    measure: |target_ns, limits| run(&mut ClockNanosleepAbs, target_ns, limits),
};

struct ClockNanosleepAbs;

impl Waiter for ClockNanosleepAbs {
    const GRID: bool = true;

    #[inline(always)]
    fn wait(&mut self, target_ns: u64, _ahead_ns: u64) {
        os::sleep_until_ns(target_ns);
    }
}
