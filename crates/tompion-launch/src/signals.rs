//! Signals as they were when this process began.
//!
//! Rust's startup ignores SIGPIPE and programs catch what they like; `execve`
//! then hands on what is ignored and resets what is caught. A program that takes
//! this one's place is to find what it would have found: systemd starts services
//! with SIGPIPE ignored, Python ignores SIGXFSZ.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};

/// Those whose disposition is changed between the start and the exec.
const CHANGED: [libc::c_int; 2] = [libc::SIGPIPE, libc::SIGXFSZ];

/// Whether each was ignored at the start.
static IGNORED: [AtomicBool; CHANGED.len()] = [const { AtomicBool::new(false) }; CHANGED.len()];

extern "C" fn remember() {
    for (signal, ignored) in CHANGED.iter().zip(&IGNORED) {
        // SAFETY: all zeros are a valid sigaction, and this one is only written
        // by the call below.
        let mut found: libc::sigaction = unsafe { std::mem::zeroed() };
        // SAFETY: asks only; `found` is valid for writing.
        let asked = unsafe { libc::sigaction(*signal, std::ptr::null(), &mut found) };
        let is_ignored = asked == 0 && found.sa_sigaction == libc::SIG_IGN;
        ignored.store(is_ignored, Ordering::Relaxed);
    }
}

// SAFETY: the C library's startup calls what this section lists, with arguments
// that the function may leave alone; it runs before `main`, needs nothing of
// Rust's runtime, and cannot unwind. (Miri knows no sigaction.)
#[cfg_attr(not(miri), used, unsafe(link_section = ".init_array"))]
static REMEMBER: extern "C" fn() = remember;

/// Sets them as they were.
fn restore() -> io::Result<()> {
    for (signal, ignored) in CHANGED.iter().zip(&IGNORED) {
        let disposition = if ignored.load(Ordering::Relaxed) {
            libc::SIG_IGN
        } else {
            libc::SIG_DFL
        };
        // SAFETY: no handler is set, only one of the two fixed dispositions.
        if unsafe { libc::signal(*signal, disposition) } == libc::SIG_ERR {
            return Err(io::Error::last_os_error());
        }
    }
    Ok(())
}

/// Replaces this process by `command`, signals as they were at the start.
/// Returns only if that fails.
pub(crate) fn exec(command: &mut Command) -> io::Error {
    // SAFETY: `restore` makes system calls only, and there was no fork.
    unsafe { command.pre_exec(restore) }.exec()
}
