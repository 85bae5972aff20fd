//! Floating point in the middle of somebody else's: the clock is renewed wherever a
//! program reads it, in a signal handler too, and may neither raise the program's
//! exceptions, nor set its flags, nor round in its direction.
#![allow(unsafe_code)]

/// Runs `work` with the default floating-point environment, and puts the caller's back.
/// (Not by a destructor: a thread that is cancelled in between is unwound without
/// any.)
#[inline(always)]
pub fn by_default<R>(work: impl FnOnce() -> R) -> R {
    let callers = exchange(DEFAULT);
    let result = work();
    exchange(callers);
    result
}

#[cfg(target_arch = "x86_64")]
type Environment = u32;
/// All exceptions masked, no flags, to nearest.
#[cfg(target_arch = "x86_64")]
const DEFAULT: Environment = 0x1f80;

#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn exchange(new: Environment) -> Environment {
    let mut old: Environment = 0;
    // SAFETY: stores and loads MXCSR by way of two locals; `new` is the default or a
    // value that was stored before.
    unsafe {
        core::arch::asm!(
            "stmxcsr [{old}]",
            "ldmxcsr [{new}]",
            old = in(reg) &raw mut old,
            new = in(reg) &raw const new,
            options(nostack, preserves_flags),
        );
    }
    old
}

#[cfg(target_arch = "aarch64")]
type Environment = (u64, u64);
#[cfg(target_arch = "aarch64")]
const DEFAULT: Environment = (0, 0);

#[cfg(target_arch = "aarch64")]
#[inline(always)]
fn exchange(new: Environment) -> Environment {
    let (control, status);
    // SAFETY: FPCR and FPSR may be read and written by programs; zeros are the
    // default, the others were read before.
    unsafe {
        core::arch::asm!(
            "mrs {control}, fpcr",
            "mrs {status}, fpsr",
            "msr fpcr, {new_control}",
            "msr fpsr, {new_status}",
            control = out(reg) control,
            status = out(reg) status,
            new_control = in(reg) new.0,
            new_status = in(reg) new.1,
            options(nostack),
        );
    }
    (control, status)
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
type Environment = ();
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
const DEFAULT: Environment = ();

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn exchange(_new: Environment) -> Environment {}

#[cfg(test)]
mod tests {
    use super::*;
    use std::hint::black_box;

    #[test]
    #[cfg(target_arch = "x86_64")]
    fn the_callers_flags_masks_and_rounding_are_as_before() {
        const INEXACT: u32 = 1 << 5;
        // Division by zero unmasked, rounding up, no flags.
        let odd = 0x1f80 & !(1 << 9) | 0x4000;
        let before = exchange(odd);
        let inside = by_default(|| {
            let third = black_box(1.0) / black_box(3.0);
            let infinite = black_box(1.0) / black_box(0.0);
            (third, infinite, exchange(DEFAULT) & INEXACT)
        });
        let after = exchange(before);
        assert_eq!(after, odd);
        assert_eq!(inside, (1.0 / 3.0, f64::INFINITY, INEXACT));
    }
}
