//! A program that ends with this process, and takes all with it that it started.
//!
//! It runs below a guardian, the first process of a PID namespace. The kernel kills the
//! guardian when the thread ends that started it, however that ends, and everything in the
//! namespace with the guardian; a supervisor of ordinary processes could be killed itself.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::sync::atomic::{AtomicI32, Ordering};

use nix::libc;

/// Whom a guardian passes SIGTERM on to. Of the guardian alone, which is a copy of this process.
static GUARDED: AtomicI32 = AtomicI32::new(0);

/// Lets the command run below a guardian, which writes the command's wait status, a C `int`, to
/// `tells` when it ends. `told` is the other end of that pipe.
///
/// Started by a thread that was moved into a new PID namespace for its children
/// (`unshare(CLONE_NEWPID)`), and which has to stay as long as the program runs.
pub fn contain(command: &mut Command, told: &OwnedFd, tells: OwnedFd) {
    let told = told.as_raw_fd();
    // SAFETY: runs between fork and exec. Whatever it calls is a system call or
    // async-signal-safe, and nothing is allocated.
    unsafe {
        command.pre_exec(move || guard(told, tells.as_raw_fd()));
    }
}

/// In the child: becomes the guardian, and returns only in the process that is to run the command.
///
/// # Safety
/// Between fork and exec alone.
unsafe fn guard(told: RawFd, tells: RawFd) -> io::Result<()> {
    // SAFETY: system calls on numbers, and on memory of this function.
    unsafe {
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
        // Whoever started it may have ended before the line above: then nobody reads the pipe.
        libc::close(told);
        let mut pipe = libc::pollfd {
            fd: tells,
            events: 0,
            revents: 0,
        };
        if libc::poll(&raw mut pipe, 1, 0) > 0 {
            libc::_exit(1);
        }
        // Processes of this namespace alone. Where that is refused, the old /proc still names
        // each process to itself.
        let proc = c"proc".as_ptr();
        libc::mount(proc, c"/proc".as_ptr(), proc, 0, std::ptr::null());
        match libc::fork() {
            -1 => Err(io::Error::last_os_error()),
            0 => Ok(()),
            guarded => watch(guarded, tells),
        }
    }
}

/// The guardian's life: reaps, passes SIGTERM on, and ends with the command.
///
/// # Safety
/// In a process of its own, after fork.
unsafe fn watch(guarded: libc::pid_t, tells: RawFd) -> ! {
    // SAFETY: system calls and async-signal-safe functions; the handler only loads an atomic and
    // sends a signal.
    unsafe {
        GUARDED.store(guarded, Ordering::Relaxed);
        for signal in 1..=libc::SIGRTMAX() {
            // A child's end has to be noticed; the two that cannot be ignored are refused.
            if signal != libc::SIGCHLD {
                libc::signal(signal, libc::SIG_IGN);
            }
        }
        libc::signal(libc::SIGCHLD, libc::SIG_DFL);
        libc::signal(libc::SIGTERM, pass_on as *const () as libc::sighandler_t);
        // Not the pipe alone: as long as this process has what the standard library waits on, or
        // a descriptor of a namespace, others wait for it.
        close_others(tells);
        loop {
            let mut status: libc::c_int = 0;
            let ended = libc::waitpid(-1, &raw mut status, 0);
            if ended == guarded {
                let bytes = std::ptr::from_ref(&status).cast();
                libc::write(tells, bytes, size_of::<libc::c_int>());
                libc::_exit(0);
            }
            if ended == -1 && *libc::__errno_location() != libc::EINTR {
                libc::_exit(1);
            }
        }
    }
}

extern "C" fn pass_on(signal: libc::c_int) {
    // SAFETY: kill is async-signal-safe.
    unsafe { libc::kill(GUARDED.load(Ordering::Relaxed), signal) };
}

/// Closes all descriptors above the standard ones but one.
///
/// # Safety
/// In a process of its own, after fork.
unsafe fn close_others(kept: RawFd) {
    let kept = kept as libc::c_uint;
    let ranges = [(3, kept.saturating_sub(1)), (kept + 1, libc::c_uint::MAX)];
    for (first, last) in ranges {
        if first > last {
            continue;
        }
        // SAFETY: numbers alone.
        unsafe {
            if libc::syscall(libc::SYS_close_range, first, last, 0) == -1 {
                // Before Linux 5.9.
                for fd in first..=last.min(4096) {
                    libc::close(fd as libc::c_int);
                }
            }
        }
    }
}
