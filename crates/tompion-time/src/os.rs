//! The kernel's clocks and sleeps, in nanoseconds.
#![allow(unsafe_code)]

use std::io;

/// A clock of the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ClockId {
    /// `CLOCK_MONOTONIC`: slewed by NTP, never stepped.
    Monotonic,
    /// `CLOCK_MONOTONIC_RAW`: never slewed.
    MonotonicRaw,
    /// `CLOCK_MONOTONIC_COARSE`: of the last tick.
    MonotonicCoarse,
    /// `CLOCK_REALTIME`.
    Realtime,
    /// `CLOCK_BOOTTIME`: goes on in suspend.
    Boottime,
    /// `CLOCK_TAI`.
    Tai,
    /// CPU time of the calling thread.
    ThreadCpu,
}

impl ClockId {
    /// The number by which C knows it.
    pub const fn raw(self) -> libc::clockid_t {
        match self {
            Self::Monotonic => libc::CLOCK_MONOTONIC,
            Self::MonotonicRaw => libc::CLOCK_MONOTONIC_RAW,
            Self::MonotonicCoarse => libc::CLOCK_MONOTONIC_COARSE,
            Self::Realtime => libc::CLOCK_REALTIME,
            Self::Boottime => libc::CLOCK_BOOTTIME,
            Self::Tai => libc::CLOCK_TAI,
            Self::ThreadCpu => libc::CLOCK_THREAD_CPUTIME_ID,
        }
    }
}

fn to_ns(t: libc::timespec) -> u64 {
    (t.tv_sec as u64)
        .wrapping_mul(1_000_000_000)
        .wrapping_add(t.tv_nsec as u64)
}

fn to_timespec(ns: u64) -> libc::timespec {
    libc::timespec {
        tv_sec: (ns / 1_000_000_000) as libc::time_t,
        tv_nsec: (ns % 1_000_000_000) as _,
    }
}

/// Reads a clock through the C library, hence the vDSO where there is one.
/// A clock that the kernel lacks reads 0.
#[inline]
pub fn now_ns(clock: ClockId) -> u64 {
    let mut t = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `t` is a valid timespec to write to.
    unsafe { libc::clock_gettime(clock.raw(), &mut t) };
    to_ns(t)
}

/// Reads a clock by a real system call.
#[inline]
pub fn now_ns_by_syscall(clock: ClockId) -> u64 {
    let mut t = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `t` is a valid timespec to write to.
    unsafe { libc::syscall(libc::SYS_clock_gettime, clock.raw(), &raw mut t) };
    to_ns(t)
}

/// The step of a clock as the kernel states it; that of the coarse clocks is the
/// scheduler's tick. 0 for a clock that the kernel lacks.
pub fn resolution_ns(clock: ClockId) -> u64 {
    let mut t = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `t` is a valid timespec to write to.
    unsafe { libc::clock_getres(clock.raw(), &mut t) };
    to_ns(t)
}

/// Sleeps in the kernel until `CLOCK_MONOTONIC` reads `deadline_ns`; goes on
/// after signals.
pub fn sleep_until_ns(deadline_ns: u64) {
    let t = to_timespec(deadline_ns);
    // SAFETY: `t` is a valid timespec; no remainder is asked for.
    while unsafe {
        libc::clock_nanosleep(
            libc::CLOCK_MONOTONIC,
            libc::TIMER_ABSTIME,
            &t,
            std::ptr::null_mut(),
        )
    } == libc::EINTR
    {}
}

/// Sets the calling thread's timer slack: by how much the kernel may delay its
/// wake-ups. 0 restores the thread's default. Real-time threads have none.
pub fn set_timer_slack_ns(ns: u64) -> io::Result<()> {
    // SAFETY: PR_SET_TIMERSLACK takes one number and touches no memory.
    match unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, ns as libc::c_ulong) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// The calling thread's timer slack.
pub fn timer_slack_ns() -> io::Result<u64> {
    // SAFETY: PR_GET_TIMERSLACK takes nothing and returns a number.
    match unsafe { libc::prctl(libc::PR_GET_TIMERSLACK) } {
        n if n >= 0 => Ok(n as u64),
        _ => Err(io::Error::last_os_error()),
    }
}
