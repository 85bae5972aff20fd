//! The counter as the program's clock.
#![allow(unsafe_code)]

use std::ffi::{c_int, c_void};
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

use libc::{clockid_t, time_t, timespec, timeval};
use tompion_time::embed::{Current, DisruptionMarker, Embedded, Memory, Process, Watched};
use tompion_time::os::ClockId;

use crate::kernel;
use crate::routes::{ROUTES, kernel_now_ns};
use crate::thread;
use crate::watch::Watch;

/// The clock of this process.
pub static CLOCK: Embedded<ThisProcess> = Embedded::new(ThisProcess {
    watch: Watch::new(),
    marker: AtomicPtr::new(ptr::null_mut()),
});

/// Zeros, in pages of their own: see [`Memory::wipe_on_fork`].
pub static MEMORY: Memory = Memory::new();

/// What the clock is embedded in.
pub struct ThisProcess {
    pub watch: Watch,
    marker: AtomicPtr<DisruptionMarker>,
}

impl ThisProcess {
    /// Watches the hypervisor's notice of disruptions too. Once, at the start.
    pub fn set_marker(&self, marker: DisruptionMarker) {
        self.marker
            .store(Box::into_raw(Box::new(marker)), Ordering::Release);
    }
}

impl Process for ThisProcess {
    #[inline(always)]
    fn memory(&self) -> &Memory {
        &MEMORY
    }

    fn kernel_ns(&self, clock: ClockId) -> u64 {
        kernel_now_ns(clock)
    }

    #[inline(always)]
    fn exchange_last(&self, ticks: u64) -> u64 {
        thread::exchange_last(ticks)
    }

    fn same_again(&self, ticks: u64) -> bool {
        thread::same_again(ticks)
    }

    fn watched(&self, read_ticks: u64) -> Watched {
        // SAFETY: null, or a box leaked by `set_marker` for good.
        let marker = unsafe { self.marker.load(Ordering::Acquire).as_ref() };
        Watched {
            clocksource: match self.watch.still_uses_counter(read_ticks) {
                true => Current::Counter,
                false => Current::Other,
            },
            disruption_marker: marker.map(DisruptionMarker::value),
        }
    }
}

const SECOND: u64 = 1_000_000_000;

/// `clock_gettime` by the counter, for the two clocks; other clocks pass through.
///
/// # Safety
/// As `clock_gettime`.
pub unsafe extern "C" fn clock_gettime(clock: clockid_t, to: *mut timespec) -> c_int {
    let ns = match clock {
        libc::CLOCK_MONOTONIC => CLOCK.now(),
        libc::CLOCK_REALTIME => CLOCK.realtime(),
        // SAFETY: the caller's promise.
        _ => return unsafe { (ROUTES.kernel_clock.get())(clock, to) },
    };
    // SAFETY: the caller's promise; as with the vDSO, a bad address is a fault.
    unsafe {
        (*to).tv_sec = (ns / SECOND) as _;
        (*to).tv_nsec = (ns % SECOND) as _;
    }
    0
}

/// `gettimeofday` by the counter.
///
/// # Safety
/// As `gettimeofday`.
pub unsafe extern "C" fn gettimeofday(to: *mut timeval, zone: *mut c_void) -> c_int {
    if !zone.is_null() {
        // SAFETY: the caller's promise. The kernel keeps the zone.
        let result = unsafe { kernel::gettimeofday(ptr::null_mut(), zone) };
        if result != 0 {
            return result;
        }
    }
    if !to.is_null() {
        let us = CLOCK.realtime() / 1_000;
        // SAFETY: the caller's promise.
        unsafe {
            (*to).tv_sec = (us / 1_000_000) as _;
            (*to).tv_usec = (us % 1_000_000) as _;
        }
    }
    0
}

/// `time` by the counter: the seconds that `clock_gettime` would give.
///
/// # Safety
/// As `time`.
pub unsafe extern "C" fn time(to: *mut time_t) -> time_t {
    let seconds = (CLOCK.realtime() / SECOND) as time_t;
    if !to.is_null() {
        // SAFETY: the caller's promise.
        unsafe { *to = seconds };
    }
    seconds
}
