//! Rust's `std::thread::sleep`.

use std::time::Duration;

use tompion_model::MethodRow;

use super::SLEEP;
use crate::sys;
use crate::wake_up::{Waiter, Waiting, run};

pub(super) static ENTRY: Waiting = Waiting {
    row: MethodRow {
        name: "std-sleep",
        about: "Rust's std::thread::sleep, relative",
        usual: Some(1),
        ..SLEEP
    },
    available: || sys::try_nanosleep().and_then(|()| sys::try_clock_nanosleep()),
    measure: |target_ns, limits| run(&mut StdSleep, target_ns, limits),
};

struct StdSleep;

impl Waiter for StdSleep {
    const GRID: bool = false;

    #[inline(always)]
    fn wait(&mut self, _target_ns: u64, ahead_ns: u64) {
        std::thread::sleep(Duration::from_nanos(ahead_ns));
    }
}
