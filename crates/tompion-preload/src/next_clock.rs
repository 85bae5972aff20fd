//! The clocks that come after this library: libc's, or those of another preloaded one
//! (libfaketime, say), which nobody preloads to have it bypassed.
//!
//! Uses the dynamic loader: not on any path but the start's.
#![allow(unsafe_code)]

use std::ffi::{c_char, c_int, c_void};

use libc::{clockid_t, timespec};

use crate::kernel::{self, ClockGettime, Gettimeofday, Time};
use crate::next::{FIRST, FROM_LIBRT, object, symbol};
use crate::routes::{ROUTES, Route};

/// The `time` that comes next.
pub fn time() -> Option<Time> {
    // SAFETY: null, which is `None`, or a function of this name.
    unsafe { std::mem::transmute::<*mut c_void, Option<Time>>(symbol(c"time", FIRST)) }
}

/// Sends the clocks to the next library where one of them is neither libc's nor the
/// vDSO's, and tells its name.
pub fn respect() -> Option<String> {
    unsafe extern "C" {
        fn gnu_get_libc_version() -> *const c_char;
    }
    let clock_gettime = symbol(c"clock_gettime", FROM_LIBRT);
    let gettimeofday = symbol(c"gettimeofday", FIRST);
    // SAFETY: only looks the value up.
    let vdso = unsafe { libc::getauxval(libc::AT_SYSINFO_EHDR) } as usize;
    let own = [object(gnu_get_libc_version as *mut c_void)?.0, vdso];
    let (_, theirs) = [clock_gettime, gettimeofday, symbol(c"time", FIRST)]
        .into_iter()
        .filter_map(object)
        .find(|(base, _)| !own.contains(base))?;
    // SAFETY: null, which is `None`, or functions of these names.
    unsafe {
        if let Some(next) = std::mem::transmute::<*mut c_void, Option<ClockGettime>>(clock_gettime)
        {
            NEXT_CLOCK.set(next);
            ROUTES.clock_gettime.set(next_clock_gettime);
        }
        if let Some(next) = std::mem::transmute::<*mut c_void, Option<Gettimeofday>>(gettimeofday) {
            ROUTES.gettimeofday.set(next);
        }
    }
    Some(theirs)
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
