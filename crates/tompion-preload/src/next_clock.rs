//! The clock of another preloaded library that comes after this one (libfaketime, say):
//! nobody preloads one to have it bypassed.
#![allow(unsafe_code)]

use std::ffi::{CStr, c_int, c_void};

use libc::{clockid_t, timespec};

use crate::kernel::{self, ClockGettime, Gettimeofday};
use crate::routes::{ROUTES, Route};

/// Sends the clocks to the next library where that is neither libc nor the vDSO, and
/// tells its name. Uses the dynamic loader: not on any path but the start's.
pub fn respect() -> Option<String> {
    unsafe extern "C" {
        fn gnu_get_libc_version() -> *const std::ffi::c_char;
    }
    let symbol = |name: &CStr| -> *mut c_void {
        // SAFETY: a string that ends; runs nobody's code.
        unsafe { libc::dlsym(libc::RTLD_NEXT, name.as_ptr()) }
    };
    let (clock_gettime, gettimeofday) = (symbol(c"clock_gettime"), symbol(c"gettimeofday"));
    let theirs = object(clock_gettime)?;
    if theirs.0 == object(gnu_get_libc_version as *mut c_void)?.0 {
        return None;
    }
    // SAFETY: functions of these names; the first is not null, or it belonged to no
    // object.
    unsafe {
        NEXT_CLOCK.set(std::mem::transmute::<*mut c_void, ClockGettime>(
            clock_gettime,
        ));
        ROUTES.clock_gettime.set(next_clock_gettime);
        if let Some(gettimeofday) =
            std::mem::transmute::<*mut c_void, Option<Gettimeofday>>(gettimeofday)
        {
            ROUTES.gettimeofday.set(gettimeofday);
        }
    }
    Some(theirs.1)
}

/// Where the object is loaded that a function belongs to, and its file.
fn object(function: *mut c_void) -> Option<(usize, String)> {
    // SAFETY: all zeros are a valid `Dl_info`.
    let mut info: libc::Dl_info = unsafe { std::mem::zeroed() };
    // SAFETY: valid to write to; any address may be asked for.
    if unsafe { libc::dladdr(function, &mut info) } == 0 || info.dli_fname.is_null() {
        return None;
    }
    // SAFETY: the loader's own string.
    let name = unsafe { CStr::from_ptr(info.dli_fname) };
    Some((info.dli_fbase.addr(), name.to_string_lossy().into_owned()))
}

/// A `clock_gettime` by libc's convention: 0, or -1 and `errno`.
// SAFETY: the function has this type; it is exchanged before it is called.
static NEXT_CLOCK: Route<ClockGettime> = unsafe { Route::new(kernel::clock_gettime as *mut ()) };

/// That of the next library, by the kernel's convention.
///
/// # Safety
/// As `clock_gettime`.
unsafe extern "C" fn next_clock_gettime(clock: clockid_t, to: *mut timespec) -> c_int {
    // SAFETY: the caller's promise.
    kernel::by_kernels_convention(|| unsafe { NEXT_CLOCK.get()(clock, to) }.into())
}
