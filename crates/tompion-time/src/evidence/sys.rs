//! The system calls and memory accesses behind the evidence.
//!
//! Nothing here reads a clock: where the counter is forbidden to a thread, the
//! vDSO's clocks fault as well.
#![allow(unsafe_code)]

use std::fs::File;
use std::os::fd::{AsRawFd, FromRawFd, IntoRawFd, OwnedFd, RawFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};

use super::CounterAccess;

/// Asks the kernel whether this thread may read the counter.
pub fn counter_access() -> CounterAccess {
    let mut mode: libc::c_int = 0;
    // SAFETY: PR_GET_TSC writes one int through its pointer argument.
    let answer = unsafe { libc::prctl(libc::PR_GET_TSC, &raw mut mode) };
    match (answer, mode) {
        (0, libc::PR_TSC_ENABLE) => CounterAccess::Allowed,
        (0, libc::PR_TSC_SIGSEGV) => CounterAccess::Refused,
        _ => CounterAccess::NotTold,
    }
}

/// Allows or forbids the counter to this thread.
#[cfg(all(test, target_arch = "x86_64"))]
pub fn set_counter_access(allowed: bool) -> std::io::Result<()> {
    let mode = if allowed {
        libc::PR_TSC_ENABLE
    } else {
        libc::PR_TSC_SIGSEGV
    };
    // SAFETY: PR_SET_TSC takes one number and touches no memory.
    match unsafe { libc::prctl(libc::PR_SET_TSC, mode as libc::c_ulong) } {
        0 => Ok(()),
        _ => Err(std::io::Error::last_os_error()),
    }
}

/// The rate that the firmware states for the generic timer, in Hz.
#[cfg(target_arch = "aarch64")]
pub fn stated_rate_hz() -> u64 {
    let hz: u64;
    // SAFETY: Linux lets user space read CNTFRQ_EL0; only a register is written.
    unsafe {
        core::arch::asm!("mrs {}, cntfrq_el0", out(reg) hz, options(nomem, nostack));
    }
    hz
}

/// Copies from any address of this process into `to`; `false` where nothing is
/// mapped or the mapping has no page behind it.
///
/// The kernel does the reading (into a pipe), so that a missing page is an
/// error and not a signal.
pub fn copy_from(address: usize, to: &mut [u8]) -> bool {
    let mut ends = [0; 2];
    // SAFETY: `ends` has room for the two descriptors.
    if unsafe { libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC | libc::O_NONBLOCK) } != 0 {
        return false;
    }
    // SAFETY: both descriptors are new and nobody else's.
    let [reader, writer] = ends.map(|fd| unsafe { OwnedFd::from_raw_fd(fd) });
    // SAFETY: the kernel checks the range and answers EFAULT; we never
    // dereference `address`.
    let sent = unsafe {
        libc::write(
            writer.as_raw_fd(),
            std::ptr::without_provenance(address),
            to.len(),
        )
    };
    if usize::try_from(sent) != Ok(to.len()) {
        return false;
    }
    // SAFETY: `to` is valid for writes of its length.
    let got = unsafe { libc::read(reader.as_raw_fd(), to.as_mut_ptr().cast(), to.len()) };
    got == sent
}

/// Reads from the start of a file; `None` on any error.
///
/// The descriptor may have been closed, or belong to another file by now.
pub fn read_at_start(fd: RawFd, to: &mut [u8]) -> Option<usize> {
    // SAFETY: `to` is valid for writes of its length; a bad descriptor is an error.
    let got = unsafe { libc::pread(fd, to.as_mut_ptr().cast(), to.len(), 0) };
    usize::try_from(got).ok()
}

/// Device and inode of an open file.
pub fn identity(fd: RawFd) -> Option<(u64, u64)> {
    // SAFETY: all zero bytes are a valid `stat`.
    let mut stat: libc::stat = unsafe { std::mem::zeroed() };
    // SAFETY: `stat` is valid to write to; a bad descriptor is an error.
    (unsafe { libc::fstat(fd, &mut stat) } == 0).then_some((stat.st_dev as _, stat.st_ino as _))
}

/// Gives up a file for a descriptor with a high number, which programs that
/// close and reopen the low numbers do not meet by accident.
pub fn keep_high(file: File) -> RawFd {
    const LOWEST: libc::c_int = 200;
    // SAFETY: duplicates a descriptor that we own; touches no memory.
    let high = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_DUPFD_CLOEXEC, LOWEST) };
    if high >= 0 { high } else { file.into_raw_fd() }
}

/// Closes a descriptor that the caller has found to be its own.
pub fn close(fd: RawFd) {
    // SAFETY: the caller made sure that the descriptor is its own.
    unsafe { libc::close(fd) };
}

/// Puts an open file at a descriptor's place in one step.
#[cfg(test)]
pub fn replace(file: &File, at: RawFd) {
    // SAFETY: touches no memory; the test owns `at`.
    let now = unsafe { libc::dup3(file.as_raw_fd(), at, libc::O_CLOEXEC) };
    assert_eq!(now, at);
}

/// A page of another party (the hypervisor), mapped shared and read-only.
#[derive(Debug)]
pub struct SharedPage(NonNull<u8>);

// SAFETY: the page is only read, through atomics, and unmapped by its owner.
unsafe impl Send for SharedPage {}
// SAFETY: as above.
unsafe impl Sync for SharedPage {}

impl SharedPage {
    /// Bytes that are mapped: one page, of whatever size.
    pub const BYTES: usize = 4096;

    /// Maps the start of `file`; the descriptor is not needed afterwards.
    pub fn map(file: &File) -> std::io::Result<Self> {
        // SAFETY: a new mapping at an address of the kernel's choice.
        let at = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                Self::BYTES,
                libc::PROT_READ,
                libc::MAP_SHARED,
                file.as_raw_fd(),
                0,
            )
        };
        match NonNull::new(at.cast()) {
            Some(page) if at != libc::MAP_FAILED => Ok(Self(page)),
            _ => Err(std::io::Error::last_os_error()),
        }
    }

    /// The little-endian word at a byte offset.
    ///
    /// # Panics
    /// When the offset is not aligned or outside the page.
    pub fn u32_at(&self, offset: usize) -> u32 {
        assert!(offset.is_multiple_of(4) && offset + 4 <= Self::BYTES);
        // SAFETY: in bounds and aligned, as checked; mapped while `self` lives;
        // a relaxed load of a read-only page is a plain load.
        let word = unsafe { AtomicU32::from_ptr(self.0.as_ptr().add(offset).cast()) };
        u32::from_le(word.load(Ordering::Relaxed))
    }

    /// As [`SharedPage::u32_at`], for 64 bits.
    pub fn u64_at(&self, offset: usize) -> u64 {
        assert!(offset.is_multiple_of(8) && offset + 8 <= Self::BYTES);
        // SAFETY: as above.
        let word = unsafe { AtomicU64::from_ptr(self.0.as_ptr().add(offset).cast()) };
        u64::from_le(word.load(Ordering::Relaxed))
    }

    /// Orders the reads before against the reads after.
    pub fn read_barrier() {
        fence(Ordering::Acquire);
    }
}

impl Drop for SharedPage {
    fn drop(&mut self) {
        // SAFETY: our own mapping, of this length, not used any more.
        unsafe { libc::munmap(self.0.as_ptr().cast(), Self::BYTES) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_copied_and_missing_memory_is_an_answer() {
        let from = *b"known bytes";
        let mut to = [0; 11];
        assert!(copy_from(from.as_ptr().expose_provenance(), &mut to));
        assert_eq!(from, to);
        // The lowest page is never mapped.
        assert!(!copy_from(16, &mut to));
    }
}
