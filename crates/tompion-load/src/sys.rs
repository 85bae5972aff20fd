//! All unsafe code of this crate: mapped memory, and two system calls that no
//! crate wraps safely.
#![allow(unsafe_code)]

use std::io;
use std::num::NonZeroUsize;
use std::os::fd::AsFd;
use std::ptr::NonNull;
use std::sync::atomic::AtomicU64;

use nix::libc;
use nix::sys::mman::{MapFlags, ProtFlags, mmap, mmap_anonymous, munmap};
use nix::unistd::Pid;

/// A counter alone in two cache lines: adjacent lines are fetched in pairs, so
/// one line of distance would still let two writers disturb each other.
#[repr(C, align(128))]
pub struct Slot {
    /// Operations done by one thread.
    pub operations: AtomicU64,
    /// Bytes that they moved.
    pub bytes: AtomicU64,
}

/// Counters mapped from a memory file shared by two processes.
pub struct SharedSlots {
    start: NonNull<Slot>,
    count: usize,
}

// SAFETY: the mapping belongs to no thread, and it is only ever seen as a slice
// of atomics.
unsafe impl Send for SharedSlots {}
// SAFETY: as above.
unsafe impl Sync for SharedSlots {}

impl SharedSlots {
    /// Maps `count` slots of a memory file that is at least that long.
    ///
    /// Only for files that nobody shortens: touching a mapping beyond the end
    /// of its file ends the process (it does not corrupt memory).
    pub fn map(file: impl AsFd, count: NonZeroUsize) -> io::Result<Self> {
        let length = count.saturating_mul(NonZeroUsize::new(size_of::<Slot>()).expect("not empty"));
        let protection = ProtFlags::PROT_READ | ProtFlags::PROT_WRITE;
        // SAFETY: a new shared mapping at an address of the kernel's choice
        // touches no existing memory.
        let start = unsafe { mmap(None, length, protection, MapFlags::MAP_SHARED, file, 0) }?;
        Ok(Self {
            start: start.cast(),
            count: count.get(),
        })
    }

    /// The counters.
    pub fn slots(&self) -> &[Slot] {
        // SAFETY: the mapping is page-aligned, `count` slots long and lives as
        // long as `self`; every bit pattern is a valid atomic, and all access by
        // either process is atomic.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.count) }
    }
}

impl Drop for SharedSlots {
    fn drop(&mut self) {
        // SAFETY: start and length are those of the mapping made in `map`, and
        // no slice outlives `self`. Failure would leak address space, no more.
        let _ = unsafe { munmap(self.start.cast(), self.count * size_of::<Slot>()) };
    }
}

/// Maps fresh memory, writes one byte into each page, and unmaps it.
///
/// A map of its own, not the allocator: malloc keeps freed blocks below its
/// moving threshold, and then neither page faults nor zeroing would happen.
pub fn map_touch_unmap(bytes: NonZeroUsize, page_bytes: usize) -> io::Result<()> {
    let protection = ProtFlags::PROT_READ | ProtFlags::PROT_WRITE;
    // SAFETY: a new private mapping at an address of the kernel's choice
    // touches no existing memory.
    let start = unsafe { mmap_anonymous(None, bytes, protection, MapFlags::MAP_PRIVATE) }?;
    let first: *mut u8 = start.cast().as_ptr();
    for offset in (0..bytes.get()).step_by(page_bytes) {
        // SAFETY: `offset` is below the length of the writable mapping. Volatile,
        // so that the compiler cannot drop a write that nobody reads.
        unsafe { first.add(offset).write_volatile(1) };
    }
    // SAFETY: exactly the mapping made above; no reference into it exists.
    unsafe { munmap(start, bytes.get()) }?;
    Ok(())
}

/// Makes the calling process an ordinary one: SCHED_OTHER, nice not below 0.
///
/// Both are inherited, and a load at the priority of the measurement would be
/// another experiment. Lowering one's own priority needs no privilege.
pub fn be_ordinary() -> io::Result<()> {
    // The kernel's `struct sched_param` is just this; musl's type is larger, and
    // musl's wrapper of the call only returns ENOSYS.
    let priority: libc::c_int = 0;
    // SAFETY: the kernel reads one int at the pointer, which outlives the call.
    let result = unsafe {
        libc::syscall(
            libc::SYS_sched_setscheduler,
            0,
            libc::SCHED_OTHER,
            &raw const priority,
        )
    };
    let refused = io::Error::last_os_error();
    // Where the call is refused altogether, nobody has raised it.
    // SAFETY: takes and returns numbers.
    if result != 0 && unsafe { libc::syscall(libc::SYS_sched_getscheduler, 0) } != 0 {
        return Err(refused);
    }
    // SAFETY: takes and returns numbers. A result of -1 can be a nice value, and
    // is below zero in both cases.
    if unsafe { libc::getpriority(libc::PRIO_PROCESS, 0) } < 0 {
        // SAFETY: takes and returns numbers.
        unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, 0) };
    }
    Ok(())
}

/// CPU time that a process has used so far, with its ended threads but without
/// its children, in nanoseconds.
pub fn cpu_time_ns(pid: Pid) -> io::Result<u64> {
    let time = nix::time::clock_gettime(nix::time::clock_getcpuclockid(pid)?)?;
    Ok(time.tv_sec() as u64 * 1_000_000_000 + time.tv_nsec() as u64)
}
