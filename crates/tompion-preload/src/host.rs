//! The program's thread, as the hybrid sleep sees it.
#![allow(unsafe_code)]

use std::ptr;

use libc::timespec;
use tompion_time::os::ClockId;
use tompion_time::sleep::{self, Interrupted, Slack};

use crate::routes::{ROUTES, kernel_now_ns};

/// In nanoseconds.
pub const SECOND: u64 = 1_000_000_000;

/// A sleeping thread of the program.
#[derive(Debug)]
pub struct Host;

impl sleep::Host for Host {
    #[inline]
    fn now_ns(&mut self) -> u64 {
        program_now_ns(ClockId::Monotonic)
    }

    #[inline]
    fn kernel_now_ns(&mut self) -> u64 {
        earlier_now_ns(ClockId::Monotonic)
    }

    fn sleep_until_ns(&mut self, deadline_ns: u64) -> Result<(), Interrupted> {
        let until = to_timespec(deadline_ns);
        // SAFETY: `until` is valid; no remainder is asked for.
        let code = unsafe {
            (ROUTES.libc.clock_nanosleep.get())(
                libc::CLOCK_MONOTONIC,
                libc::TIMER_ABSTIME,
                &until,
                ptr::null_mut(),
            )
        };
        match code {
            0 => Ok(()),
            // Of a signal, or of a sandbox that refuses the call: not to be waited
            // out by spinning.
            _ => Err(Interrupted),
        }
    }

    fn set_slack(&mut self, _slack: Slack) {
        // Around each sleep instead: see `wait`.
    }

    #[inline]
    fn pause(&mut self, _left_ns: u64) {
        std::hint::spin_loop();
    }

    fn tick_ns(&mut self) -> u64 {
        // Asked by another policy.
        0
    }
}

/// A clock by the reading that is behind, the kernel's or the program's: a sleep that has
/// ended by it is early by neither.
#[inline]
pub fn earlier_now_ns(clock: ClockId) -> u64 {
    kernel_now_ns(clock).min(program_now_ns(clock))
}

/// A clock as the program reads it.
#[inline]
pub fn program_now_ns(clock: ClockId) -> u64 {
    let mut now = to_timespec(0);
    // SAFETY: `now` is valid to write to.
    unsafe { (ROUTES.clock_gettime.get())(clock.raw(), &mut now) };
    to_ns(&now)
}

/// As C has it.
pub fn to_timespec(ns: u64) -> timespec {
    timespec {
        tv_sec: (ns / SECOND) as _,
        tv_nsec: (ns % SECOND) as _,
    }
}

/// As C has it; saturated, and not to be asked for negative times.
pub fn to_ns(time: &timespec) -> u64 {
    (time.tv_sec as u64)
        .saturating_mul(SECOND)
        .saturating_add(time.tv_nsec as u64)
}
