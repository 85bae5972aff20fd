//! The functions that programs are bound to.
#![allow(unsafe_code)]

use std::ffi::{c_int, c_uint, c_ulong, c_void};

use libc::{clockid_t, time_t, timespec, timeval, useconds_t};

use crate::kernel;
use crate::routes::ROUTES;

/// `clock_gettime(2)`.
///
/// # Safety
/// As libc's.
#[cfg_attr(not(test), unsafe(no_mangle))]
pub unsafe extern "C" fn clock_gettime(clock: clockid_t, to: *mut timespec) -> c_int {
    // SAFETY: the caller's promise.
    match unsafe { (ROUTES.clock_gettime.get())(clock, to) } {
        0 => 0,
        code => kernel::fail(code),
    }
}

/// `gettimeofday(2)`.
///
/// # Safety
/// As libc's.
#[cfg_attr(not(test), unsafe(no_mangle))]
pub unsafe extern "C" fn gettimeofday(to: *mut timeval, zone: *mut c_void) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { (ROUTES.gettimeofday.get())(to, zone) }
}

/// `time(2)`. Where it is not replaced the program calls libc's itself: see
/// [`bindings`](crate::bindings).
///
/// # Safety
/// As libc's.
#[cfg_attr(not(test), unsafe(no_mangle))]
pub unsafe extern "C" fn time(to: *mut time_t) -> time_t {
    // SAFETY: the caller's promise.
    unsafe { (ROUTES.time.get())(to) }
}

/// `clock_nanosleep(2)`.
///
/// # Safety
/// As libc's.
#[cfg_attr(not(test), unsafe(no_mangle))]
pub unsafe extern "C-unwind" fn clock_nanosleep(
    clock: clockid_t,
    flags: c_int,
    request: *const timespec,
    remainder: *mut timespec,
) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { (ROUTES.sleeps.clock_nanosleep.get())(clock, flags, request, remainder) }
}

/// `nanosleep(2)`.
///
/// # Safety
/// As libc's.
#[cfg_attr(not(test), unsafe(no_mangle))]
pub unsafe extern "C-unwind" fn nanosleep(
    request: *const timespec,
    remainder: *mut timespec,
) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { (ROUTES.sleeps.nanosleep.get())(request, remainder) }
}

/// `usleep(3)`.
///
/// # Safety
/// As libc's.
#[cfg_attr(not(test), unsafe(no_mangle))]
pub unsafe extern "C-unwind" fn usleep(microseconds: useconds_t) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { (ROUTES.sleeps.usleep.get())(microseconds) }
}

/// `sleep(3)`.
///
/// # Safety
/// As libc's.
#[cfg_attr(not(test), unsafe(no_mangle))]
pub unsafe extern "C-unwind" fn sleep(seconds: c_uint) -> c_uint {
    // SAFETY: the caller's promise.
    unsafe { (ROUTES.sleeps.sleep.get())(seconds) }
}

/// `prctl(2)`: watched, because it can forbid the counter, and because a sandbox that
/// it builds may kill the program for the calls of a hybrid sleep. Variadic in C; all its
/// arguments are of a register's size, so that five of them serve every call.
///
/// # Safety
/// As libc's.
#[cfg_attr(not(test), unsafe(no_mangle))]
pub unsafe extern "C" fn prctl(
    option: c_int,
    a: c_ulong,
    b: c_ulong,
    c: c_ulong,
    d: c_ulong,
) -> c_int {
    if option == libc::PR_SET_TSC && a as c_int == libc::PR_TSC_SIGSEGV {
        ROUTES.forbid_counter();
    }
    // A filter may come by `seccomp(2)` too; this flag goes before it.
    if option == libc::PR_SET_SECCOMP || option == libc::PR_SET_NO_NEW_PRIVS {
        ROUTES.leave_sleeps();
    }
    // SAFETY: the caller's promise; handed on unchanged, errno set by libc.
    unsafe { libc::syscall(libc::SYS_prctl, option, a, b, c, d) as c_int }
}
