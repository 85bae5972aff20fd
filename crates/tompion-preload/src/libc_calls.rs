//! libc's own sleeps, which are cancellation points, and what stands for them until
//! they are found.
#![allow(unsafe_code)]

use std::ffi::{c_int, c_uint, c_void};
use std::ptr;

use libc::{clockid_t, timespec, useconds_t};

use crate::next::{FIRST, FROM_LIBRT, symbol};

/// `clock_nanosleep`. Unwinding passes through: a thread may be cancelled in it.
pub type ClockNanosleep =
    unsafe extern "C-unwind" fn(clockid_t, c_int, *const timespec, *mut timespec) -> c_int;
/// `nanosleep`.
pub type Nanosleep = unsafe extern "C-unwind" fn(*const timespec, *mut timespec) -> c_int;
/// `usleep`.
pub type Usleep = unsafe extern "C-unwind" fn(useconds_t) -> c_int;
/// `sleep`.
pub type Sleep = unsafe extern "C-unwind" fn(c_uint) -> c_uint;

unsafe extern "C-unwind" {
    /// Acts on a cancellation that is pending.
    pub fn pthread_testcancel();
}

fn errno() -> *mut c_int {
    // SAFETY: has no preconditions.
    unsafe { libc::__errno_location() }
}

/// By system call, for the time before libc's was found.
///
/// # Safety
/// As `clock_nanosleep`.
pub unsafe extern "C-unwind" fn clock_nanosleep(
    clock: clockid_t,
    flags: c_int,
    request: *const timespec,
    remainder: *mut timespec,
) -> c_int {
    // SAFETY: the address of the calling thread's errno.
    let before = unsafe { *errno() };
    // SAFETY: the caller's promise; the kernel checks the addresses.
    let failed =
        unsafe { libc::syscall(libc::SYS_clock_nanosleep, clock, flags, request, remainder) } != 0;
    if !failed {
        return 0;
    }
    // SAFETY: as above. The error is returned; errno is not touched.
    unsafe {
        let code = *errno();
        *errno() = before;
        code
    }
}

/// By system call.
///
/// # Safety
/// As `nanosleep`.
pub unsafe extern "C-unwind" fn nanosleep(
    request: *const timespec,
    remainder: *mut timespec,
) -> c_int {
    // SAFETY: the caller's promise; the kernel checks the addresses.
    unsafe { libc::syscall(libc::SYS_nanosleep, request, remainder) as c_int }
}

/// `usleep` by whatever `nanosleep` is given.
///
/// # Safety
/// As that of `nanosleep`.
pub unsafe fn usleep_by(nanosleep: Nanosleep, microseconds: useconds_t) -> c_int {
    let request = timespec {
        tv_sec: (microseconds / 1_000_000).into(),
        tv_nsec: (microseconds % 1_000_000 * 1_000).into(),
    };
    // SAFETY: `request` is valid and no remainder is asked for.
    unsafe { nanosleep(&request, ptr::null_mut()) }
}

/// `sleep` by whatever `nanosleep` is given: whole seconds left after a signal, and
/// `errno` as it was where none came.
///
/// # Safety
/// As that of `nanosleep`.
pub unsafe fn sleep_by(nanosleep: Nanosleep, seconds: c_uint) -> c_uint {
    let mut left = timespec {
        tv_sec: seconds.into(),
        tv_nsec: 0,
    };
    // SAFETY: the address of the calling thread's errno.
    let before = unsafe { *errno() };
    // SAFETY: `left` is valid to read and to write.
    if unsafe { nanosleep(&raw const left, &raw mut left) } < 0 {
        return left.tv_sec as c_uint;
    }
    // SAFETY: as above.
    unsafe { *errno() = before };
    0
}

/// By system call.
///
/// # Safety
/// None beyond the call's own.
pub unsafe extern "C-unwind" fn usleep(microseconds: useconds_t) -> c_int {
    // SAFETY: as there.
    unsafe { usleep_by(nanosleep, microseconds) }
}

/// By system call.
///
/// # Safety
/// None beyond the call's own.
pub unsafe extern "C-unwind" fn sleep(seconds: c_uint) -> c_uint {
    // SAFETY: as there.
    unsafe { sleep_by(nanosleep, seconds) }
}

/// The sleeps of the library that comes after this one: libc's, as a rule.
pub struct Next {
    pub clock_nanosleep: Option<ClockNanosleep>,
    pub nanosleep: Option<Nanosleep>,
    pub usleep: Option<Usleep>,
    pub sleep: Option<Sleep>,
}

impl Next {
    /// Finds them. Uses the dynamic loader: not on any path but the start's.
    pub fn find() -> Self {
        // SAFETY: null or functions of these types, as POSIX has them; null is
        // `None`.
        unsafe {
            Self {
                clock_nanosleep: std::mem::transmute::<*mut c_void, Option<ClockNanosleep>>(
                    symbol(c"clock_nanosleep", FROM_LIBRT),
                ),
                nanosleep: std::mem::transmute::<*mut c_void, Option<Nanosleep>>(symbol(
                    c"nanosleep",
                    FIRST,
                )),
                usleep: std::mem::transmute::<*mut c_void, Option<Usleep>>(symbol(
                    c"usleep", FIRST,
                )),
                sleep: std::mem::transmute::<*mut c_void, Option<Sleep>>(symbol(c"sleep", FIRST)),
            }
        }
    }
}
