//! `clock_nanosleep(2)` to an absolute time.

use std::io;

use tompion_model::{InCheck, MethodRow};

use super::EVENTS;
use crate::timer_events::{Firing, Mechanism, one_event, sys};

pub(super) static ENTRY: Firing = Firing {
    row: MethodRow {
        name: "clock-nanosleep-abs",
        about: "clock_nanosleep(2) to an absolute time",
        in_check: InCheck::Once,
        ..EVENTS
    },
    spin_budget: None,
    available: || one_event(&mut ClockNanosleepAbs),
    trial: |trial| Ok(trial.on(&mut ClockNanosleepAbs)),
    advice: |_| "",
};

struct ClockNanosleepAbs;

impl Mechanism for ClockNanosleepAbs {
    #[inline(always)]
    fn wait_point(&mut self, _point: u64, target_ns: u64) -> io::Result<()> {
        sys::sleep_until(target_ns)
    }

    #[inline(always)]
    fn rearm(&mut self, target_ns: u64, _period_ns: u64) -> io::Result<()> {
        sys::sleep_until(target_ns)
    }
}
