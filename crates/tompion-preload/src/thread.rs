//! Memory of each thread, without the dynamic loader's help.
//!
//! Rust's `thread_local!` in a shared library asks `__tls_get_addr`, which may
//! allocate when other libraries were loaded since, and is not safe in signal
//! handlers then. The *initial-exec* access used here is two instructions. It wants
//! the library to be there when the program starts, as preloaded ones are.
#![allow(unsafe_code)]

use std::sync::atomic::{AtomicBool, AtomicI32};

use tompion_time::sleep::Sleeper;

use crate::host::Host;

/// All zeros in a new thread.
#[repr(C, align(64))]
pub struct Thread {
    /// The newest count of the counter that the thread saw.
    pub last: u64,
    /// A count seen again and again, and how often.
    pub same: (u64, u32),
    /// The sleeper is in use: by the sleep that a signal handler interrupted.
    pub sleeping: AtomicBool,
    /// The slack that a sleep took from the thread, in nanoseconds; 0 where none did.
    pub slack_ns: AtomicI32,
    /// What the thread learned of its wake-up latency. Zeros are a sleeper that has
    /// learned nothing.
    pub sleeper: Sleeper<Host>,
}

core::arch::global_asm!(
    r#"
    .pushsection .tbss.tompion_preload,"awT",@nobits
    .balign 64
    .hidden tompion_preload_thread
    .globl tompion_preload_thread
    .type tompion_preload_thread, @tls_object
    .size tompion_preload_thread, {size}
tompion_preload_thread:
    .zero {size}
    .popsection
    "#,
    size = const size_of::<Thread>(),
);

/// The calling thread's memory. Valid while the thread lives; others never touch it,
/// but a signal handler in the thread may.
#[inline(always)]
pub fn this() -> *mut Thread {
    let address: *mut Thread;
    #[cfg(target_arch = "x86_64")]
    // SAFETY: reads the thread pointer and the constant that the loader stored for
    // the symbol above.
    unsafe {
        core::arch::asm!(
            "mov {address}, qword ptr fs:[0]",
            "add {address}, qword ptr [rip + tompion_preload_thread@GOTTPOFF]",
            address = out(reg) address,
            options(pure, readonly, nostack),
        );
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: as above, by the registers of this architecture.
    unsafe {
        core::arch::asm!(
            "mrs {address}, tpidr_el0",
            "adrp {offset}, :gottprel:tompion_preload_thread",
            "ldr {offset}, [{offset}, #:gottprel_lo12:tompion_preload_thread]",
            "add {address}, {address}, {offset}",
            address = out(reg) address,
            offset = out(reg) _,
            options(pure, readonly, nostack),
        );
    }
    address
}

/// Stores the thread's newest count and returns the one before.
#[inline(always)]
pub fn exchange_last(ticks: u64) -> u64 {
    let thread = this();
    // SAFETY: the calling thread's own memory; plain accesses, so that a signal
    // handler between them leaves a count that was read, whichever.
    unsafe {
        let last = (*thread).last;
        (*thread).last = ticks;
        last
    }
}

/// Counts reads of the same count; whether there were so many that the counter may
/// stand still.
pub fn same_again(ticks: u64) -> bool {
    const READS: u32 = 1000;
    let thread = this();
    // SAFETY: as above.
    unsafe {
        let (at, count) = (*thread).same;
        let count = if at == ticks { count + 1 } else { 1 };
        (*thread).same = (ticks, count % READS);
        count == READS
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tompion_time::sleep::Policy;

    #[test]
    fn every_thread_has_its_own_and_it_begins_as_zeros() {
        assert_eq!(exchange_last(7), 0);
        let here = this() as usize;
        std::thread::spawn(move || {
            assert_ne!(this() as usize, here);
            assert_eq!(exchange_last(9), 0);
            assert_eq!(exchange_last(10), 9);
        })
        .join()
        .unwrap();
        assert_eq!(exchange_last(8), 7);
        assert_eq!(here % 64, 0);
    }

    #[test]
    fn zeroed_memory_is_a_sleeper_that_has_learned_nothing() {
        std::thread::spawn(|| {
            // SAFETY: the thread's own memory, and nobody else's here.
            let zeros = unsafe { &(*this()).sleeper };
            let fresh = Sleeper::with_host(Policy::Kernel, Host);
            assert_eq!(format!("{zeros:?}"), format!("{fresh:?}"));
        })
        .join()
        .unwrap();
    }

    #[test]
    fn a_thousand_equal_counts_are_told_once() {
        std::thread::spawn(|| {
            let told = (0..3_000).filter(|_| same_again(5)).count();
            assert_eq!(told, 3);
            assert!(!same_again(6));
        })
        .join()
        .unwrap();
    }
}
