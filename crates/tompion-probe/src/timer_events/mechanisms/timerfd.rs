//! A timerfd.

use std::io;

use tompion_model::{InCheck, MethodRow};

use super::{EVENTS, Told};
use crate::timer_events::{Firing, Mechanism, one_event, sys};

pub(super) static ENTRY: Firing = Firing {
    row: MethodRow {
        name: "timerfd",
        about: "read(2) of a timerfd",
        // The kernel gives timers none.
        has_slack: false,
        in_check: InCheck::Always,
        ..EVENTS
    },
    spin_budget: None,
    available: || one_event(&mut Timerfd::open()?),
    trial: |trial| Ok(trial.on(&mut Timerfd::open()?)),
    advice: |_| "",
};

/// Periodic on a grid, one-shot when armed again.
struct Timerfd {
    timer: sys::TimerFd,
    told: Told,
}

impl Timerfd {
    fn open() -> io::Result<Self> {
        Ok(Self {
            timer: sys::TimerFd::open()?,
            told: Told::default(),
        })
    }
}

impl Mechanism for Timerfd {
    fn start(&mut self, first_ns: u64, period_ns: u64) -> io::Result<()> {
        self.told = Told::default();
        self.timer.arm(first_ns, period_ns)
    }

    #[inline(always)]
    fn wait_point(&mut self, point: u64, target_ns: u64) -> io::Result<()> {
        let timer = &self.timer;
        self.told.wait_point(point, target_ns, || timer.wait())
    }

    #[inline(always)]
    fn rearm(&mut self, target_ns: u64, _period_ns: u64) -> io::Result<()> {
        self.timer.arm(target_ns, 0)?;
        self.timer.wait().map(drop)
    }
}
