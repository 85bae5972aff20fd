//! `clock_nanosleep(2)` for what is left.

use std::io;

use tompion_model::MethodRow;

use super::{EVENTS, monotonic};
use crate::timer_events::{Firing, Mechanism, one_event, sys};

pub(super) static ENTRY: Firing = Firing {
    row: MethodRow {
        name: "clock-nanosleep-rel",
        about: "clock_nanosleep(2) for what is left",
        ..EVENTS
    },
    spin_budget: None,
    available: || one_event(&mut ClockNanosleepRel),
    trial: |trial| Ok(trial.on(&mut ClockNanosleepRel)),
    advice: |_| "",
};

struct ClockNanosleepRel;

impl Mechanism for ClockNanosleepRel {
    #[inline(always)]
    fn wait_point(&mut self, _point: u64, target_ns: u64) -> io::Result<()> {
        sys::sleep_for(target_ns.saturating_sub(monotonic()))
    }

    #[inline(always)]
    fn rearm(&mut self, _target_ns: u64, period_ns: u64) -> io::Result<()> {
        sys::sleep_for(period_ns)
    }
}
