//! Waiting a moment inside a spin, by the CPU's own means.
//!
//! TPAUSE (x86-64 CPUs with WAITPKG) halts the logical CPU until the counter
//! reaches a value: less power, and more of the core for its sibling. No machine
//! of ours has it; that path was compiled and read, never run.
#![allow(unsafe_code)]

/// How this CPU waits a moment. Decided once: CPUID is a trap to the hypervisor
/// in a virtual machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pause {
    /// The spin-loop hint: PAUSE, or ISB on aarch64.
    Hint,
    /// TPAUSE. Made only by [`Pause::detect`], where CPUID lists WAITPKG.
    #[cfg(target_arch = "x86_64")]
    Timed(Waitpkg),
}

/// Proof that CPUID lists WAITPKG.
#[cfg(target_arch = "x86_64")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Waitpkg(());

impl Pause {
    /// The best this CPU has.
    pub(super) fn detect() -> Self {
        #[cfg(target_arch = "x86_64")]
        {
            use core::arch::x86_64::{__cpuid, __cpuid_count};
            // Leaf 7, ECX bit 5: WAITPKG (Intel SDM, volume 2, CPUID).
            if __cpuid(0).eax >= 7 && __cpuid_count(7, 0).ecx & (1 << 5) != 0 {
                return Self::Timed(Waitpkg(()));
            }
        }
        Self::Hint
    }

    /// Waits a moment, shorter than `left_ns`. May return at once: the caller
    /// loops.
    #[inline]
    pub(super) fn wait(self, left_ns: u64) {
        match self {
            Self::Hint => {
                // The hint takes what it takes.
                let _ = left_ns;
                std::hint::spin_loop();
            }
            #[cfg(target_arch = "x86_64")]
            Self::Timed(proof) => {
                /// Waking from TPAUSE takes a fraction of this.
                const WORTH_A_HALT_NS: u64 = 2_000;
                if left_ns < WORTH_A_HALT_NS {
                    return std::hint::spin_loop();
                }
                // Half as many ticks as there are nanoseconds left: at most half
                // of the time for every counter of 1 GHz and more, in time for
                // those above 500 MHz, and no rate needs to be known. What is
                // left halves at each turn of the caller's loop.
                tpause(proof, crate::counter::read().wrapping_add(left_ns / 2));
            }
        }
    }
}

/// Halts until the counter reaches `deadline_ticks`, an interrupt comes or the
/// kernel's limit (IA32_UMWAIT_CONTROL) is over.
#[cfg(target_arch = "x86_64")]
#[inline]
fn tpause(_proof: Waitpkg, deadline_ticks: u64) {
    /// C0.1: the lighter of the two states, quicker to leave.
    const LIGHT: u32 = 1;
    // SAFETY: the CPU has WAITPKG, as the proof says. TPAUSE reads EDX:EAX and
    // the register named, writes flags only and touches no memory.
    unsafe {
        core::arch::asm!(
            "tpause {state:e}",
            state = in(reg) LIGHT,
            in("eax") deadline_ticks as u32,
            in("edx") (deadline_ticks >> 32) as u32,
            options(nomem, nostack),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, Instant};

    #[test]
    fn a_pause_ends_by_itself_whatever_the_cpu_has() {
        let pause = Pause::detect();
        let start = Instant::now();
        (0..100).for_each(|_| pause.wait(10_000));
        // 1 ms of pauses at most; a pause that never ended would hang here.
        assert!(start.elapsed() < Duration::from_secs(10));
    }
}
