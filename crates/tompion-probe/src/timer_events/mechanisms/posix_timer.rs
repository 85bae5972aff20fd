//! POSIX timers, by a blocked signal that the thread itself takes.

use std::io;

use tompion_model::MethodRow;

use super::{EVENTS, Told, monotonic};
use crate::timer_events::sys::{BlockedSignal, SignalTimer};
use crate::timer_events::{Firing, Mechanism, one_event};

pub(super) static ENTRY: Firing = Firing {
    row: MethodRow {
        name: "posix-timer",
        about: "timer_create(2) with a signal to the thread, sigwaitinfo(2)",
        // The kernel gives timers none.
        has_slack: false,
        ..EVENTS
    },
    spin_budget: None,
    // One that is accepted but never signalled would be waited for for ever.
    available: delivers,
    trial: |trial| Ok(trial.on(&mut PosixTimer::open()?)),
    advice: |error| match error {
        libc::EAGAIN => "; a higher limit of pending signals (ulimit -i)",
        _ => "",
    },
};

struct PosixTimer {
    // In this order: the timer must be gone before its signal is let through.
    timer: SignalTimer,
    signal: BlockedSignal,
    told: Told,
}

impl PosixTimer {
    fn open() -> io::Result<Self> {
        let signal = BlockedSignal::new()?;
        Ok(Self {
            timer: SignalTimer::new(&signal)?,
            signal,
            told: Told::default(),
        })
    }
}

/// Waits for a signal; says how many points it stands for. A timer that the
/// thread has not handled yet signals once and counts the rest.
#[inline(always)]
fn passed(signal: &BlockedSignal) -> io::Result<u64> {
    let overrun = signal.wait(None)?;
    Ok(1 + overrun.unwrap_or(0))
}

impl Mechanism for PosixTimer {
    fn start(&mut self, first_ns: u64, period_ns: u64) -> io::Result<()> {
        self.told = Told::default();
        self.timer.arm(first_ns, period_ns)
    }

    #[inline(always)]
    fn wait_point(&mut self, point: u64, target_ns: u64) -> io::Result<()> {
        let signal = &self.signal;
        self.told.wait_point(point, target_ns, || passed(signal))
    }

    #[inline(always)]
    fn rearm(&mut self, target_ns: u64, _period_ns: u64) -> io::Result<()> {
        self.timer.arm(target_ns, 0)?;
        passed(&self.signal).map(drop)
    }
}

/// Whether a timer's signal reaches the thread at all, within a second; in some
/// sandboxes it does not.
fn delivers() -> io::Result<()> {
    const PATIENCE_NS: u64 = 1_000_000_000;
    let timer = PosixTimer::open()?;
    timer.timer.arm(monotonic(), 0)?;
    match timer.signal.wait(Some(PATIENCE_NS))? {
        Some(_) => drop(timer),
        None => {
            return Err(io::Error::new(
                io::ErrorKind::TimedOut,
                "the timer was accepted, but its signal did not come within a second",
            ));
        }
    }
    // The very way that is measured.
    one_event(&mut PosixTimer::open()?)
}
