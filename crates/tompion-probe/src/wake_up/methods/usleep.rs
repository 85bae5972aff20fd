//! `usleep(3)`.

use tompion_model::{InCheck, MethodRow};

use super::{SLEEP, until};
use crate::sys;
use crate::wake_up::{Waiter, Waiting, run};

pub(super) static ENTRY: Waiting = Waiting {
    row: MethodRow {
        name: "usleep",
        about: "usleep(3), relative",
        in_check: InCheck::EveryTarget,
        usual: Some(0),
        ..SLEEP
    },
    available: sys::try_usleep,
    measure: |target_ns, limits| run(&mut Usleep, target_ns, limits),
};

struct Usleep;

impl Waiter for Usleep {
    const GRID: bool = false;

    #[inline(always)]
    fn wait(&mut self, target_ns: u64, ahead_ns: u64) {
        until(target_ns, ahead_ns, |left| {
            // It counts whole microseconds and may refuse a second or more.
            sys::usleep(u32::try_from(left.div_ceil(1000)).unwrap_or(u32::MAX))
        });
    }
}
