//! The hybrid sleep under the program's own calls.
//!
//! A call that is anything but ordinary (bad arguments, other clocks, nothing to wait
//! for, a sleep within a signal handler that interrupted a sleep) goes to libc.
#![allow(unsafe_code)]

use std::ffi::{c_int, c_long, c_uint};
use std::ptr;
use std::sync::atomic::{AtomicI32, AtomicU32, AtomicU64, Ordering, compiler_fence};

use libc::{clockid_t, timespec, useconds_t};
use tompion_time::os::ClockId;
use tompion_time::sleep::{Budget, Interrupted, Policy};

use crate::host::{SECOND, earlier_now_ns, program_now_ns, to_ns, to_timespec};
use crate::kernel::{self, fail};
use crate::libc_calls::{pthread_testcancel, sleep_by, usleep_by};
use crate::routes::{ROUTES, kernel_now_ns};
use crate::thread;

/// The end of a sleep until a time of day is left to the hybrid sleep only so near to
/// it, because a step of the system's time goes unnoticed in it.
const NEAR_NS: u64 = 2_000_000;

/// Three years: what the kernel makes of longer waits is its own affair.
const LONGEST_NS: u64 = 100_000_000_000_000_000;

/// What each thread may spin, in nanoseconds of each second.
static BUDGET: AtomicU32 = AtomicU32::new(0);

/// What was done, for the line at exit.
pub static DONE: Done = Done {
    sleeps: AtomicU64::new(0),
    spun_ns: AtomicU64::new(0),
    limited: AtomicU64::new(0),
};

/// Counts of all threads.
pub struct Done {
    /// Sleeps that ended in a spin or could have.
    pub sleeps: AtomicU64,
    /// Time spun in all.
    pub spun_ns: AtomicU64,
    /// Sleeps whose spin the budget cut.
    pub limited: AtomicU64,
}

/// Sets the budget, before the routes lead here.
pub fn set_budget(budget: Budget) {
    BUDGET.store(budget.as_nanoseconds_per_second(), Ordering::Relaxed);
}

/// Without floating point: this is the program's thread.
fn policy() -> Policy {
    Policy::Hybrid {
        budget: Budget::nanoseconds_per_second(BUDGET.load(Ordering::Relaxed)),
    }
}

/// Whether a time may be read from there, as the kernel would find it. It is asked,
/// by a wait for a futex that is over before it begins: EFAULT is to be an error of
/// the program's call, not a fault in ours.
fn may_be_read(time: *const timespec) -> bool {
    let word: u32 = 0;
    let code = kernel::by_kernels_convention(|| {
        // SAFETY: `word` is valid and is not the value waited for, so that the call
        // returns at once; the kernel checks the other address.
        unsafe {
            libc::syscall(
                libc::SYS_futex,
                &raw const word,
                libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG,
                1,
                time,
            )
        }
    });
    !time.is_null() && code != -libc::EFAULT
}

/// Whether a time may be written there: the kernel writes one.
fn may_be_written(time: *mut timespec) -> bool {
    // SAFETY: the kernel checks the address; the program has it for a remainder.
    unsafe { kernel::clock_gettime(libc::CLOCK_MONOTONIC, time) != -libc::EFAULT }
}

/// A time that the kernel would wait for or until, in nanoseconds; `None` where it would
/// answer otherwise.
fn ordinary(request: *const timespec) -> Option<u64> {
    if !may_be_read(request) {
        return None;
    }
    // SAFETY: just found readable; as the program says, a timespec, packed among others perhaps.
    let request = &unsafe { request.read_unaligned() };
    let valid = request.tv_sec >= 0 && (0..SECOND as c_long).contains(&request.tv_nsec);
    Some(to_ns(request)).filter(|ns| valid && *ns > 0)
}

/// `PR_SET_TIMERSLACK` and its like.
fn slack_call(option: c_int, ns: c_int) -> c_int {
    // SAFETY: takes numbers only.
    kernel::by_kernels_convention(|| unsafe { libc::syscall(libc::SYS_prctl, option, ns, 0, 0, 0) })
}

/// Sleeps until the deadline; `None` where the thread's sleeper is in use.
fn wait(deadline_ns: u64) -> Option<Result<(), Interrupted>> {
    let thread = thread::this();
    // SAFETY: the thread's own memory; atomics, so that a handler sees each store.
    let (sleeping, kept_slack) = unsafe { (&(*thread).sleeping, &(*thread).slack_ns) };
    if sleeping.load(Ordering::Relaxed) {
        // Within a handler that interrupted a sleep, or after one that left it by
        // longjmp: libc's sleep, with the thread's own slack.
        restore_slack(kept_slack);
        return None;
    }
    sleeping.store(true, Ordering::Relaxed);
    compiler_fence(Ordering::SeqCst);
    // SAFETY: `sleeping` keeps handlers away from it.
    let sleeper = unsafe { &mut (*thread).sleeper };
    sleeper.set_policy(policy());
    // The thread's own slack serves its other waits, and is its children's default.
    let slack = slack_call(libc::PR_GET_TIMERSLACK, 0);
    if slack > 1 && slack_call(libc::PR_SET_TIMERSLACK, 1) == 0 {
        kept_slack.store(slack, Ordering::Relaxed);
    }
    let result = sleeper.try_sleep_until_ns(deadline_ns);
    restore_slack(kept_slack);
    compiler_fence(Ordering::SeqCst);
    sleeping.store(false, Ordering::Relaxed);
    Some(result.map(|slept| {
        DONE.sleeps.fetch_add(1, Ordering::Relaxed);
        DONE.spun_ns.fetch_add(slept.spun_ns, Ordering::Relaxed);
        DONE.limited
            .fetch_add(slept.limited.into(), Ordering::Relaxed);
    }))
}

/// Gives the thread the slack back that a sleep took from it.
fn restore_slack(kept_ns: &AtomicI32) {
    let slack = kept_ns.swap(0, Ordering::Relaxed);
    if slack > 0 {
        slack_call(libc::PR_SET_TIMERSLACK, slack);
    }
}

/// Whether a sleep that ended early was ended by a signal: asked of libc, with a sleep
/// that is over before it begins. Anything else is libc's to tell, for the call as the
/// program made it.
fn sleeps_are_allowed() -> bool {
    let past = to_timespec(1);
    // SAFETY: `past` is valid; no remainder is asked for.
    let code = unsafe {
        (ROUTES.libc.clock_nanosleep.get())(
            libc::CLOCK_MONOTONIC,
            libc::TIMER_ABSTIME,
            &past,
            ptr::null_mut(),
        )
    };
    matches!(code, 0 | libc::EINTR)
}

/// A relative sleep: 0 or an error number; `None` where libc is to do it.
fn relative(request: *const timespec, remainder: *mut timespec) -> Option<c_int> {
    let length = ordinary(request).filter(|length| *length < LONGEST_NS)?;
    let deadline = monotonic_in(length);
    if wait(deadline)?.is_ok() {
        return Some(0);
    }
    let left = deadline.saturating_sub(kernel_now_ns(ClockId::Monotonic));
    if left == 0 {
        return Some(0);
    }
    if !sleeps_are_allowed() {
        return None;
    }
    if !remainder.is_null() {
        if !may_be_written(remainder) {
            return Some(libc::EFAULT);
        }
        // SAFETY: just written to; as the program says, a timespec of its own.
        unsafe { remainder.write_unaligned(to_timespec(left.min(length))) };
    }
    Some(libc::EINTR)
}

/// `CLOCK_MONOTONIC` when so much time has passed, by the kernel and to the program.
fn monotonic_in(ns: u64) -> u64 {
    kernel_now_ns(ClockId::Monotonic)
        .max(program_now_ns(ClockId::Monotonic))
        .saturating_add(ns)
}

/// What is left until a time of a clock, by the kernel and to the program; `None` where
/// that is too long.
fn left_ns(clock: ClockId, deadline_ns: u64) -> Option<u64> {
    // Not held against the time itself: that of day counts from 1970.
    Some(deadline_ns.saturating_sub(earlier_now_ns(clock))).filter(|left| *left < LONGEST_NS)
}

/// Until a time of `CLOCK_MONOTONIC`.
fn until(deadline_ns: u64) -> Option<c_int> {
    left_ns(ClockId::Monotonic, deadline_ns)?;
    Some(match wait(deadline_ns)? {
        Ok(()) => 0,
        Err(Interrupted) if sleeps_are_allowed() => libc::EINTR,
        Err(Interrupted) => return None,
    })
}

/// Until a time of day. The kernel waits for most of it, and notices where the
/// system's time is set.
fn until_realtime(deadline_ns: u64) -> Option<c_int> {
    if left_ns(ClockId::Realtime, deadline_ns)? > NEAR_NS {
        let near = to_timespec(deadline_ns - NEAR_NS);
        // SAFETY: `near` is valid; no remainder is asked for.
        let code = unsafe {
            (ROUTES.libc.clock_nanosleep.get())(
                libc::CLOCK_REALTIME,
                libc::TIMER_ABSTIME,
                &near,
                ptr::null_mut(),
            )
        };
        if code != 0 {
            return Some(code);
        }
    }
    // Once, as a rule: `CLOCK_MONOTONIC` may get there a little sooner.
    loop {
        let left = left_ns(ClockId::Realtime, deadline_ns)?;
        if left == 0 {
            return Some(0);
        }
        // Nearly there, unless the time was set back.
        if left > NEAR_NS {
            return None;
        }
        match until(monotonic_in(left))? {
            0 => {}
            code => return Some(code),
        }
    }
}

/// `clock_nanosleep`.
///
/// # Safety
/// As libc's.
pub unsafe extern "C-unwind" fn clock_nanosleep(
    clock: clockid_t,
    flags: c_int,
    request: *const timespec,
    remainder: *mut timespec,
) -> c_int {
    // SAFETY: may unwind, which nothing here minds.
    unsafe { pthread_testcancel() };
    // The kernel minds no other flag.
    let done = match (clock, flags & libc::TIMER_ABSTIME) {
        (libc::CLOCK_MONOTONIC | libc::CLOCK_REALTIME, 0) => relative(request, remainder),
        (libc::CLOCK_MONOTONIC, libc::TIMER_ABSTIME) => ordinary(request).and_then(until),
        (libc::CLOCK_REALTIME, libc::TIMER_ABSTIME) => ordinary(request).and_then(until_realtime),
        _ => None,
    };
    match done {
        Some(code) => code,
        // SAFETY: the caller's promise.
        None => unsafe { (ROUTES.libc.clock_nanosleep.get())(clock, flags, request, remainder) },
    }
}

/// `nanosleep`.
///
/// # Safety
/// As libc's.
pub unsafe extern "C-unwind" fn nanosleep(
    request: *const timespec,
    remainder: *mut timespec,
) -> c_int {
    // SAFETY: the caller's promise. As the kernel has it, a relative sleep on either
    // clock is one on the monotonic clock.
    match unsafe { clock_nanosleep(libc::CLOCK_REALTIME, 0, request, remainder) } {
        0 => 0,
        code => fail(-code),
    }
}

/// `usleep`.
///
/// # Safety
/// None beyond libc's own.
pub unsafe extern "C-unwind" fn usleep(microseconds: useconds_t) -> c_int {
    // SAFETY: as there.
    unsafe { usleep_by(nanosleep, microseconds) }
}

/// `sleep`.
///
/// # Safety
/// None beyond libc's own.
pub unsafe extern "C-unwind" fn sleep(seconds: c_uint) -> c_uint {
    // SAFETY: as there.
    unsafe { sleep_by(nanosleep, seconds) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packed_time_is_read_and_written_where_it_is() {
        let mut words = [0u64; 3];
        // SAFETY: within `words`.
        let place: *mut timespec = unsafe { words.as_mut_ptr().byte_add(1).cast() };
        assert!(!place.is_aligned());
        // SAFETY: there is room for it.
        unsafe { place.write_unaligned(to_timespec(1_500_000_000)) };
        assert_eq!(ordinary(place), Some(1_500_000_000));
        assert!(may_be_written(place));
        // SAFETY: it is there.
        let now = unsafe { place.read_unaligned() };
        assert!(now.tv_sec >= 0 && now.tv_nsec < SECOND as c_long);
        assert!(!may_be_written(ptr::without_provenance_mut(8)));
    }
}
