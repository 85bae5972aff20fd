//! `clock_gettime(CLOCK_MONOTONIC)` by a real system call.

use tompion_model::{MethodRow, Way};
use tompion_time::os::{self, ClockId};

use super::{CLOCK, measured};
use crate::read_cost::{Pairing, ReadSource, Reading};

pub(super) static ENTRY: Reading = Reading {
    row: MethodRow {
        name: "syscall-clock-monotonic",
        about: "clock_gettime(CLOCK_MONOTONIC) by a real system call",
        way: Way::SystemCall,
        ..CLOCK
    },
    is_available: || true,
    // It costs some ten times a read.
    sample_divisor: 10,
    measure: |rate, limits| measured(rate, limits, |_| Syscall),
};

struct Syscall;

impl ReadSource for Syscall {
    const PAIRING: Pairing = Pairing::Bracketed;

    #[inline(always)]
    fn read(&mut self) -> u64 {
        os::now_ns_by_syscall(ClockId::Monotonic)
    }

    fn unit_ns(&self) -> f64 {
        1.0
    }
}
