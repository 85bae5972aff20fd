//! The CPU's free-running counter, in ticks.
//!
//! x86-64: the time-stamp counter. aarch64: the generic timer's virtual count
//! (compiled, never run by us). Elsewhere [`AVAILABLE`] is false and every read
//! returns 0.
#![allow(unsafe_code)]

/// Whether this architecture has a counter that programs can read.
pub const AVAILABLE: bool = cfg!(any(target_arch = "x86_64", target_arch = "aarch64"));

/// Reads the counter without ordering: the CPU may move the read across
/// neighbouring instructions.
#[inline(always)]
pub fn read() -> u64 {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: every x86-64 CPU has RDTSC; it touches only registers.
    unsafe {
        core::arch::x86_64::_rdtsc()
    }
    #[cfg(target_arch = "aarch64")]
    {
        let ticks: u64;
        // SAFETY: CNTVCT_EL0 is readable from user space under Linux.
        unsafe {
            core::arch::asm!("mrs {}, cntvct_el0", out(reg) ticks, options(nomem, nostack));
        }
        ticks
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    0
}

/// Reads the counter after all earlier instructions have completed (LFENCE and
/// RDTSC, or ISB and the count).
#[inline(always)]
pub fn read_ordered() -> u64 {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: LFENCE and RDTSC exist on every x86-64 CPU.
    unsafe {
        core::arch::x86_64::_mm_lfence();
        core::arch::x86_64::_rdtsc()
    }
    #[cfg(target_arch = "aarch64")]
    {
        let ticks: u64;
        // SAFETY: as in `read`; ISB only orders.
        unsafe {
            core::arch::asm!("isb", "mrs {}, cntvct_el0", out(reg) ticks, options(nostack));
        }
        ticks
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    0
}

/// Reads the counter with RDTSCP, which waits for earlier instructions by
/// itself. The CPU must have it: see [`has_rdtscp`].
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub fn read_rdtscp() -> u64 {
    let mut aux = 0;
    // SAFETY: touches only registers and the local above; callers checked the CPU.
    unsafe { core::arch::x86_64::__rdtscp(&mut aux) }
}

/// Reads the end of a bracket: earlier instructions have completed, and later
/// ones do not start before the read.
#[inline(always)]
pub fn read_closing() -> u64 {
    let ticks = read_ordered();
    #[cfg(target_arch = "x86_64")]
    // SAFETY: LFENCE exists on every x86-64 CPU.
    unsafe {
        core::arch::x86_64::_mm_lfence();
    }
    ticks
}

/// Whether the CPU has RDTSCP (CPUID 0x80000001, EDX bit 27).
#[cfg(target_arch = "x86_64")]
pub fn has_rdtscp() -> bool {
    // CPUID exists on every x86-64 CPU.
    let highest = core::arch::x86_64::__cpuid(0x8000_0000).eax;
    highest >= 0x8000_0001 && core::arch::x86_64::__cpuid(0x8000_0001).edx & (1 << 27) != 0
}

#[cfg(test)]
mod tests {
    #[test]
    fn ordered_reads_advance() {
        if super::AVAILABLE {
            let a = super::read_ordered();
            let b = super::read_closing();
            assert!(b >= a);
        }
    }
}
