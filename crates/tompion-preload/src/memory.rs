//! Copying, without leaving the library.
//!
//! The compiler calls `memcpy`, `memmove` and `memset` for large values. As the dynamic loader
//! binds them these may be anybody's: a sanitizer's runtime that watches every access
//! and knows nothing of our atomics, or another preloaded library's that reads the
//! clock. The version script keeps these to ourselves.
#![allow(unsafe_code)]

use std::ffi::{c_int, c_void};

/// As libc's.
///
/// # Safety
/// As libc's.
#[cfg_attr(not(test), unsafe(no_mangle))]
pub unsafe extern "C" fn memcpy(to: *mut c_void, from: *const c_void, n: usize) -> *mut c_void {
    // SAFETY: the caller's promise: both are valid for `n` bytes, and apart. The
    // direction flag is clear, as the calling convention has it.
    unsafe {
        core::arch::asm!(
            "rep movsb",
            inout("rdi") to => _, inout("rsi") from => _, inout("rcx") n => _,
            options(nostack, preserves_flags),
        );
    }
    to
}

/// As libc's.
///
/// # Safety
/// As libc's.
#[cfg_attr(not(test), unsafe(no_mangle))]
pub unsafe extern "C" fn memmove(to: *mut c_void, from: *const c_void, n: usize) -> *mut c_void {
    if to.addr().wrapping_sub(from.addr()) >= n {
        // Forwards nothing is overwritten before it is read.
        // SAFETY: the caller's promise.
        return unsafe { memcpy(to, from, n) };
    }
    // SAFETY: the caller's promise; from the last byte to the first, and the direction
    // flag as it was.
    unsafe {
        core::arch::asm!(
            "std",
            "rep movsb",
            "cld",
            inout("rdi") to.cast::<u8>().wrapping_add(n).wrapping_sub(1) => _,
            inout("rsi") from.cast::<u8>().wrapping_add(n).wrapping_sub(1) => _,
            inout("rcx") n => _,
            options(nostack),
        );
    }
    to
}

/// As libc's.
///
/// # Safety
/// As libc's.
#[cfg_attr(not(test), unsafe(no_mangle))]
pub unsafe extern "C" fn memset(to: *mut c_void, byte: c_int, n: usize) -> *mut c_void {
    // SAFETY: as above.
    unsafe {
        core::arch::asm!(
            "rep stosb",
            inout("rdi") to => _, in("al") byte as u8, inout("rcx") n => _,
            options(nostack, preserves_flags),
        );
    }
    to
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_copied_and_set_and_no_more() {
        for n in 0..40 {
            let from: Vec<u8> = (1..=40).collect();
            let mut to = [0u8; 41];
            // SAFETY: both hold 40 bytes and more.
            unsafe { memcpy(to.as_mut_ptr().cast(), from.as_ptr().cast(), n) };
            assert_eq!(to[..n], from[..n]);
            assert!(to[n..].iter().all(|b| *b == 0));
            // SAFETY: as above.
            unsafe { memset(to.as_mut_ptr().cast(), 0x1ff, n) };
            assert!(to[..n].iter().all(|b| *b == 0xff) && to[n] == 0);
        }
    }

    #[test]
    fn overlapping_bytes_move_whole_either_way() {
        for (to, from) in [(0, 5), (5, 0), (3, 3), (0, 30), (30, 0), (1, 0)] {
            let mut bytes: Vec<u8> = (0..40).collect();
            let at = bytes.as_mut_ptr();
            // SAFETY: both lie within the 40 bytes.
            unsafe { memmove(at.add(to).cast(), at.add(from).cast(), 10) };
            let moved: Vec<u8> = (from as u8..from as u8 + 10).collect();
            assert_eq!(bytes[to..to + 10], moved);
            let others = |i: &usize| !(to..to + 10).contains(i);
            assert!((0..40).filter(others).all(|i| bytes[i] == i as u8));
        }
    }
}
