//! `nanosleep(2)`.

use tompion_model::MethodRow;

use super::{SLEEP, until};
use crate::sys;
use crate::wake_up::{Waiter, Waiting, run};

pub(super) static ENTRY: Waiting = Waiting {
    row: MethodRow {
        name: "nanosleep",
        about: "nanosleep(2), relative",
        usual: Some(2),
        ..SLEEP
    },
    available: sys::try_nanosleep,
    measure: |target_ns, limits| run(&mut Nanosleep, target_ns, limits),
};

struct Nanosleep;

impl Waiter for Nanosleep {
    const GRID: bool = false;

    #[inline(always)]
    fn wait(&mut self, target_ns: u64, ahead_ns: u64) {
        until(target_ns, ahead_ns, sys::nanosleep);
    }
}
