//! The bare counter.

use std::ffi::c_int;

use tompion_time::{Clock, Rate, Reason, Source, Ticks};

use crate::border::{Errno, answer, put};

/// The rate, or whether it is worth waiting for.
fn rate() -> Result<Rate, Errno> {
    Ticks::rate().ok_or_else(|| match Clock::source() {
        // The counter: it settled just now.
        Source::Counter | Source::Kernel(Reason::Calibrating) => Errno(libc::EAGAIN),
        Source::Kernel(_) => Errno(libc::EOPNOTSUPP),
    })
}

/// The CPU's counter as it stands: one instruction, for short intervals and hot
/// loops. Promises nothing: whether it may be read, runs steadily and agrees
/// between CPUs is what tompion_clock_get_source() tells. Take differences modulo
/// 2^64, of reads less than a second apart and best on one CPU.
///
/// Always 0 on architectures without a counter. Where prctl(PR_SET_TSC) forbids
/// the counter, this ends the program by SIGSEGV.
///
/// [signal-safe]
#[unsafe(no_mangle)]
pub extern "C" fn tompion_ticks() -> u64 {
    Ticks::now().raw()
}

/// The counter as by tompion_ticks(), read after all earlier instructions have
/// completed.
///
/// [signal-safe]
#[unsafe(no_mangle)]
pub extern "C" fn tompion_ticks_ordered() -> u64 {
    Ticks::now_ordered().raw()
}

/// Converts a difference of ticks to nanoseconds by the clock's present rate.
/// Costs some 50 ns; to convert many, ask for tompion_ticks_hz() once.
///
/// @param ticks up to a day's worth.
/// @param ns gets the nanoseconds, rounded down.
/// @return 0; -EAGAIN while the rate is being measured (tompion_clock_init() waits
///   for that), -EOPNOTSUPP where the counter is not used, -EINVAL where `ns` is
///   NULL. `ns` is left alone then.
///
/// [signal-safe]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tompion_ticks_to_ns(ticks: u64, ns: *mut u64) -> c_int {
    answer(|| {
        // SAFETY: the caller's memory, as the header asks for.
        unsafe { put(ns, rate()?.ns(ticks)) }?;
        Ok(0)
    })
}

/// The clock's present rate: ticks a second of CLOCK_MONOTONIC.
///
/// @param hz gets the rate.
/// @return as of tompion_ticks_to_ns().
///
/// [signal-safe]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tompion_ticks_hz(hz: *mut f64) -> c_int {
    answer(|| {
        // SAFETY: the caller's memory, as the header asks for.
        unsafe { put(hz, rate()?.hz()) }?;
        Ok(0)
    })
}
