//! Pinning of threads to CPUs.
#![allow(unsafe_code)]

/// One bit a CPU, for more CPUs than Linux can be built for (8192).
const WORDS: usize = 8192 / 64;

fn errno() -> i32 {
    std::io::Error::last_os_error().raw_os_error().unwrap_or(0)
}

/// The CPUs that the calling thread may run on, ascending; or the error number.
pub(super) fn allowed_cpus() -> Result<Vec<usize>, i32> {
    let mut mask = [0u64; WORDS];
    // SAFETY: the kernel writes at most the size given, which is `mask`'s.
    let answer =
        unsafe { libc::sched_getaffinity(0, size_of_val(&mask), mask.as_mut_ptr().cast()) };
    if answer != 0 {
        return Err(errno());
    }
    Ok((0..WORDS * 64)
        .filter(|cpu| mask[cpu / 64] >> (cpu % 64) & 1 != 0)
        .collect())
}

/// Binds the calling thread to one CPU; or the error number.
pub(super) fn pin(cpu: usize) -> Result<(), i32> {
    let mut mask = [0u64; WORDS];
    let Some(word) = mask.get_mut(cpu / 64) else {
        return Err(libc::EINVAL);
    };
    *word |= 1 << (cpu % 64);
    // SAFETY: the kernel reads at most the size given, which is `mask`'s.
    match unsafe { libc::sched_setaffinity(0, size_of_val(&mask), mask.as_ptr().cast()) } {
        0 => Ok(()),
        _ => Err(errno()),
    }
}

/// Keeps the program's signal handlers off the calling thread, but for those of
/// faults, which belong to the thread that caused them.
pub(super) fn block_signals() {
    // SAFETY: all zero bytes are a valid, if unspecified, `sigset_t`; it is
    // filled before use, and every pointer is to that local.
    unsafe {
        let mut set: libc::sigset_t = std::mem::zeroed();
        libc::sigfillset(&mut set);
        for fault in [
            libc::SIGSEGV,
            libc::SIGBUS,
            libc::SIGILL,
            libc::SIGFPE,
            libc::SIGTRAP,
        ] {
            libc::sigdelset(&mut set, fault);
        }
        libc::pthread_sigmask(libc::SIG_BLOCK, &set, std::ptr::null_mut());
    }
}
