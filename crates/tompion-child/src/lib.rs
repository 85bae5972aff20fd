//! Child processes that end with whoever started them.
#![allow(
    unsafe_code,
    reason = "what runs between fork and exec is unsafe to name"
)]

use std::io::{self, Read};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::Command;

use nix::errno::Errno;
use nix::sys::signal::Signal;

/// Whether it can be heard how the start of a child went. The standard library hears of it
/// over a socket, and where a sandbox does not let it read there it waits for the child's end:
/// for ever, where that is a load.
///
/// # Errors
/// What the system refuses.
pub fn starts_are_heard() -> io::Result<()> {
    let (mut here, there) = UnixStream::pair()?;
    drop(there);
    here.read(&mut [0]).map(drop)
}

/// Lets the kernel kill the command's process when the calling thread ends.
///
/// The thread, not the process: whoever starts the command has to stay with it
/// until it has ended.
pub fn kill_with_parent(command: &mut Command) {
    let parent = nix::unistd::getpid();
    // SAFETY: runs between fork and exec; prctl and getppid are async-signal-safe
    // and nothing is allocated.
    unsafe {
        command.pre_exec(move || {
            nix::sys::prctl::set_pdeathsig(Signal::SIGKILL)?;
            // The parent may have died before the line above took effect.
            if nix::unistd::getppid() == parent {
                Ok(())
            } else {
                Err(io::Error::from(Errno::ESRCH))
            }
        });
    }
}
