//! Reading the clock until it is time.

use tompion_model::{InCheck, MethodRow, Way};

use super::{SLEEP, monotonic};
use crate::wake_up::{Waiter, Waiting, run};

pub(super) static ENTRY: Waiting = Waiting {
    row: MethodRow {
        name: "busy-wait",
        about: "reading the clock until it is time, on a grid",
        way: Way::Spins,
        has_grid: true,
        has_slack: false,
        in_check: InCheck::Always,
        ..SLEEP
    },
    available: || Ok(()),
    measure: |target_ns, limits| run(&mut BusyWait, target_ns, limits),
};

struct BusyWait;

impl Waiter for BusyWait {
    const GRID: bool = true;

    #[inline(always)]
    fn wait(&mut self, target_ns: u64, _ahead_ns: u64) {
        while monotonic() < target_ns {}
    }
}
