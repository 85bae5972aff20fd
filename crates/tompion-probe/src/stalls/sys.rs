//! Two facts about the calling thread, behind safe faces.

/// The CPU that the calling thread is on; `None` where the system does not tell.
pub(super) fn cpu() -> Option<u32> {
    // SAFETY: takes nothing and returns a number.
    u32::try_from(unsafe { libc::sched_getcpu() }).ok()
}

/// The kernel's number of the calling thread.
pub(super) fn tid() -> i32 {
    // SAFETY: takes nothing and returns a number.
    unsafe { libc::gettid() }
}
