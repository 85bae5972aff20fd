//! The kernel's own clocks: by the vDSO where there is one, or by system call.
//!
//! Everything here follows the kernel's convention: 0, or a negative error number.
#![allow(unsafe_code)]

use std::ffi::{CStr, c_int, c_long, c_void};
use std::ptr;

use libc::{clockid_t, time_t, timespec, timeval};

/// `clock_gettime`, by the kernel's convention.
pub type ClockGettime = unsafe extern "C" fn(clockid_t, *mut timespec) -> c_int;
/// `gettimeofday`.
pub type Gettimeofday = unsafe extern "C" fn(*mut timeval, *mut c_void) -> c_int;
/// `time`.
pub type Time = unsafe extern "C" fn(*mut time_t) -> time_t;

/// A system call's result by the kernel's convention, `errno` as it was.
pub fn by_kernels_convention(call: impl FnOnce() -> c_long) -> c_int {
    // SAFETY: the address of the calling thread's errno, always valid.
    let errno = unsafe { libc::__errno_location() };
    // SAFETY: as above.
    let before = unsafe { *errno };
    let result = call();
    if result != -1 {
        return result as c_int;
    }
    // SAFETY: as above.
    unsafe {
        let code = -*errno;
        *errno = before;
        code
    }
}

/// Runs what the program has not asked for, and leaves its `errno` as it was.
pub fn keeping_errno(work: impl FnOnce()) {
    // SAFETY: the address of the calling thread's errno, always valid.
    let errno = unsafe { libc::__errno_location() };
    // SAFETY: as above.
    let before = unsafe { *errno };
    work();
    // SAFETY: as above.
    unsafe { *errno = before };
}

/// Turns a negative error number into libc's convention.
#[cold]
pub fn fail(code: c_int) -> c_int {
    // SAFETY: the address of the calling thread's errno, always valid.
    unsafe { *libc::__errno_location() = -code };
    -1
}

/// By system call, whatever the vDSO would do.
///
/// # Safety
/// As `clock_gettime`; the kernel answers EFAULT for a bad address.
pub unsafe extern "C" fn clock_gettime(clock: clockid_t, to: *mut timespec) -> c_int {
    // SAFETY: the caller's promise; the kernel checks the address.
    by_kernels_convention(|| unsafe { libc::syscall(libc::SYS_clock_gettime, clock, to) })
}

/// By system call. Not on the path of programs that care for its cost, hence by
/// libc's convention like the vDSO's, which never fails.
///
/// # Safety
/// As `gettimeofday`.
pub unsafe extern "C" fn gettimeofday(to: *mut timeval, zone: *mut c_void) -> c_int {
    // SAFETY: the caller's promise; the kernel checks the addresses.
    unsafe { libc::syscall(libc::SYS_gettimeofday, to, zone) as c_int }
}

/// By system call, as [`gettimeofday`]; the seconds are the kernel's at its last tick,
/// like the vDSO's.
///
/// # Safety
/// As `time`.
pub unsafe extern "C" fn time(to: *mut time_t) -> time_t {
    // SAFETY: the caller's promise.
    unsafe { seconds_of(libc::CLOCK_REALTIME_COARSE, to) }
}

/// The same of this moment, up to a tick later: for after the counter's.
///
/// # Safety
/// As `time`.
pub unsafe extern "C" fn exact_time(to: *mut time_t) -> time_t {
    // SAFETY: the caller's promise.
    unsafe { seconds_of(libc::CLOCK_REALTIME, to) }
}

/// # Safety
/// `to` is null or valid to write to.
unsafe fn seconds_of(clock: clockid_t, to: *mut time_t) -> time_t {
    let mut now = timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `now` is valid to write to. Both clocks exist since Linux 2.6.32.
    unsafe { libc::syscall(libc::SYS_clock_gettime, clock, &mut now) };
    if !to.is_null() {
        // SAFETY: the caller's promise.
        unsafe { *to = now.tv_sec };
    }
    now.tv_sec
}

/// What the kernel maps into every process.
#[derive(Clone, Copy)]
pub struct Vdso {
    pub clock_gettime: Option<ClockGettime>,
    pub gettimeofday: Option<Gettimeofday>,
}

impl Vdso {
    /// Finds it. Uses the dynamic loader: not on any path but the start's.
    pub fn find() -> Self {
        let names = if cfg!(target_arch = "aarch64") {
            [c"__kernel_clock_gettime", c"__kernel_gettimeofday"]
        } else {
            [c"__vdso_clock_gettime", c"__vdso_gettimeofday"]
        };
        let object = c"linux-vdso.so.1";
        // SAFETY: looks for an object that is there already; runs nobody's code.
        let vdso = unsafe { libc::dlopen(object.as_ptr(), libc::RTLD_LAZY | libc::RTLD_NOLOAD) };
        let symbol = |name: &CStr| -> *mut c_void {
            if vdso.is_null() {
                return ptr::null_mut();
            }
            // SAFETY: a handle that dlopen gave, and a string that ends.
            unsafe { libc::dlsym(vdso, name.as_ptr()) }
        };
        // SAFETY: null or functions of these types, as the kernel documents them
        // (vdso(7)); null is `None`.
        unsafe {
            Self {
                clock_gettime: std::mem::transmute::<*mut c_void, Option<ClockGettime>>(symbol(
                    names[0],
                )),
                gettimeofday: std::mem::transmute::<*mut c_void, Option<Gettimeofday>>(symbol(
                    names[1],
                )),
            }
        }
    }
}

/// Whether this thread is forbidden to read the counter, and the vDSO's clocks with it.
pub fn counter_is_forbidden() -> bool {
    let mut mode: c_int = 0;
    // SAFETY: PR_GET_TSC writes one int through its pointer argument.
    let code = unsafe { libc::syscall(libc::SYS_prctl, libc::PR_GET_TSC, &raw mut mode) };
    code == 0 && mode == libc::PR_TSC_SIGSEGV
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_vdso_is_found_and_agrees_with_the_system_call() {
        let vdso = Vdso::find();
        let read = vdso.clock_gettime.expect("every kernel here has one");
        let mut times = [timespec {
            tv_sec: 0,
            tv_nsec: 0,
        }; 3];
        // SAFETY: valid to write to.
        unsafe {
            assert_eq!(clock_gettime(libc::CLOCK_MONOTONIC, &mut times[0]), 0);
            assert_eq!(read(libc::CLOCK_MONOTONIC, &mut times[1]), 0);
            assert_eq!(clock_gettime(libc::CLOCK_MONOTONIC, &mut times[2]), 0);
        }
        let ns = times.map(|t| t.tv_sec * 1_000_000_000 + t.tv_nsec);
        assert!(ns.is_sorted(), "{ns:?}");
    }

    #[test]
    fn the_seconds_are_those_of_libc() {
        let mut written = [0; 2];
        // SAFETY: valid to write to.
        unsafe {
            let before = libc::time(&mut written[0]);
            let ours = time(&mut written[1]);
            assert_eq!(written, [before, ours]);
            assert!(before <= ours && ours <= libc::time(ptr::null_mut()));
        }
    }

    #[test]
    fn an_error_is_a_number_and_errno_stays() {
        // SAFETY: no such clock; nothing is written.
        unsafe {
            *libc::__errno_location() = 99;
            assert_eq!(clock_gettime(1234, ptr::null_mut()), -libc::EINVAL);
            assert_eq!(*libc::__errno_location(), 99);
            assert_eq!(fail(-libc::EINVAL), -1);
            assert_eq!(*libc::__errno_location(), libc::EINVAL);
        }
    }
}
