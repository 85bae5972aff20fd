//! The counter's own instruction, as written by hand: the floor that every clock
//! is held against.
#![allow(unsafe_code)]

/// What [`bare`] is on this architecture.
#[cfg(target_arch = "x86_64")]
pub const BARE: &str = "rdtsc instruction";
/// What [`bare_ordered`] is.
#[cfg(target_arch = "x86_64")]
pub const BARE_ORDERED: &str = "lfence; rdtsc";

/// The bare instruction.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub fn bare() -> u64 {
    // SAFETY: every x86-64 CPU has RDTSC; it touches only registers.
    unsafe { core::arch::x86_64::_rdtsc() }
}

/// The instruction after all earlier ones.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub fn bare_ordered() -> u64 {
    // SAFETY: LFENCE and RDTSC exist on every x86-64 CPU.
    unsafe {
        core::arch::x86_64::_mm_lfence();
        core::arch::x86_64::_rdtsc()
    }
}

/// Waits until all earlier instructions have their results.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub fn complete() {
    // SAFETY: every x86-64 CPU has LFENCE; it changes nothing.
    unsafe { core::arch::x86_64::_mm_lfence() }
}

/// What [`bare`] is on this architecture.
#[cfg(target_arch = "aarch64")]
pub const BARE: &str = "mrs cntvct_el0";
/// What [`bare_ordered`] is.
#[cfg(target_arch = "aarch64")]
pub const BARE_ORDERED: &str = "isb; mrs cntvct_el0";

/// The bare instruction.
#[cfg(target_arch = "aarch64")]
#[inline(always)]
pub fn bare() -> u64 {
    let ticks: u64;
    // SAFETY: CNTVCT_EL0 is readable from user space under Linux.
    unsafe {
        core::arch::asm!("mrs {}, cntvct_el0", out(reg) ticks, options(nomem, nostack));
    }
    ticks
}

/// The instruction after all earlier ones.
#[cfg(target_arch = "aarch64")]
#[inline(always)]
pub fn bare_ordered() -> u64 {
    let ticks: u64;
    // SAFETY: as in `bare`; ISB only orders.
    unsafe {
        core::arch::asm!("isb", "mrs {}, cntvct_el0", out(reg) ticks, options(nostack));
    }
    ticks
}

/// Waits until all earlier instructions are done with.
#[cfg(target_arch = "aarch64")]
#[inline(always)]
pub fn complete() {
    // SAFETY: ISB changes nothing.
    unsafe { core::arch::asm!("isb", options(nostack)) }
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
compile_error!("this benchmark compares reads of a CPU counter, which this architecture lacks");
