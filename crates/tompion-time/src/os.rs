//! The kernel's clocks and sleeps, in nanoseconds.
#![allow(unsafe_code)]

use std::io;
use std::sync::atomic::AtomicU32;
use std::time::Duration;

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

/// The length of the scheduler's tick, 1/HZ, in nanoseconds: the coarse clock moves once a tick. `CONFIG_HZ` cannot be asked
/// for, and `sysconf(_SC_CLK_TCK)` is the fixed `USER_HZ`. 0 where the kernel lacks that clock.
pub fn tick_ns() -> u64 {
    resolution_ns(ClockId::MonotonicCoarse)
}

/// Sleeps in the kernel until `CLOCK_MONOTONIC` reads `deadline_ns`; goes on
/// after signals. Where a sandbox refuses `clock_nanosleep`, by the next call that
/// it allows; where it refuses them all, by giving up the CPU again and again.
pub fn sleep_until_ns(deadline_ns: u64) {
    let t = to_timespec(deadline_ns);
    loop {
        // SAFETY: `t` is a valid timespec; no remainder is asked for.
        match unsafe {
            libc::clock_nanosleep(
                libc::CLOCK_MONOTONIC,
                libc::TIMER_ABSTIME,
                &t,
                std::ptr::null_mut(),
            )
        } {
            0 => return,
            libc::EINTR => {}
            _ => return sleep_otherwise_until_ns(deadline_ns),
        }
    }
}

/// Sleeps for `length`, as [`sleep_until_ns`] does: unlike `std::thread::sleep`,
/// which panics where `clock_nanosleep` is refused.
pub fn sleep(length: Duration) {
    let ns = u64::try_from(length.as_nanos()).unwrap_or(u64::MAX);
    sleep_until_ns(now_ns(ClockId::Monotonic).saturating_add(ns));
}

/// Sleeps that a sandbox may have left, for so many nanoseconds or until a signal;
/// false where they are refused.
const OTHER_SLEEPS: [fn(u64) -> bool; 3] = [by_nanosleep, by_ppoll, by_futex];

#[cold]
fn sleep_otherwise_until_ns(deadline_ns: u64) {
    let mut sleeps = OTHER_SLEEPS.into_iter();
    let mut sleep = sleeps.next();
    while let left_ns @ 1.. = deadline_ns.saturating_sub(now_ns(ClockId::Monotonic)) {
        match sleep {
            Some(allowed) if allowed(left_ns) => {}
            Some(_) => sleep = sleeps.next(),
            None => std::thread::yield_now(),
        }
    }
}

fn by_nanosleep(ns: u64) -> bool {
    // SAFETY: the timespec is valid; no remainder is asked for.
    slept(unsafe { libc::nanosleep(&to_timespec(ns), std::ptr::null_mut()) }.into())
}

fn by_ppoll(ns: u64) -> bool {
    // SAFETY: zero descriptors need no array; the timespec is valid.
    slept(
        unsafe { libc::ppoll(std::ptr::null_mut(), 0, &to_timespec(ns), std::ptr::null()) }.into(),
    )
}

fn by_futex(ns: u64) -> bool {
    let nobody_wakes_it = AtomicU32::new(0);
    let t = to_timespec(ns);
    // SAFETY: the futex and the timespec, relative to now, live until the call returns.
    slept(unsafe {
        libc::syscall(
            libc::SYS_futex,
            nobody_wakes_it.as_ptr(),
            libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG,
            0,
            &raw const t,
        )
    })
}

/// Whether a sleep took place, or part of it.
fn slept(result: libc::c_long) -> bool {
    let error = io::Error::last_os_error().raw_os_error();
    result == 0 || matches!(error, Some(libc::EINTR | libc::ETIMEDOUT))
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

#[cfg(test)]
mod tests;
