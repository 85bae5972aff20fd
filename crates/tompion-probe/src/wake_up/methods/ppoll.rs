//! The timeout of `ppoll(2)`.

use tompion_model::MethodRow;

use super::{SLEEP, until};
use crate::sys;
use crate::wake_up::{Waiter, Waiting, run};

pub(super) static ENTRY: Waiting = Waiting {
    row: MethodRow {
        name: "ppoll",
        about: "ppoll(2) timeout, relative",
        usual: Some(5),
        ..SLEEP
    },
    available: sys::try_ppoll,
    measure: |target_ns, limits| run(&mut Ppoll, target_ns, limits),
};

struct Ppoll;

impl Waiter for Ppoll {
    const GRID: bool = false;

    #[inline(always)]
    fn wait(&mut self, target_ns: u64, ahead_ns: u64) {
        until(target_ns, ahead_ns, sys::ppoll);
    }
}
