//! The scheduling of the calling thread.

use std::io;

use nix::libc;

/// Puts the calling thread under `SCHED_FIFO`. What it starts begins under the ordinary policy.
pub fn real_time(priority: i32) -> io::Result<()> {
    let parameters = libc::sched_param {
        sched_priority: priority,
    };
    let policy = libc::SCHED_FIFO | libc::SCHED_RESET_ON_FORK;
    // SAFETY: reads the parameters, which outlive the call; 0 is the calling thread.
    match unsafe { libc::sched_setscheduler(0, policy, &raw const parameters) } {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}
