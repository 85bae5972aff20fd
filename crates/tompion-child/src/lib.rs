//! Child processes that end with whoever started them.
#![allow(
    unsafe_code,
    reason = "what runs between fork and exec is unsafe to name"
)]

use std::io::{self, Read};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Output, Stdio};
use std::thread;

use nix::errno::Errno;
use nix::sys::signal::Signal;
use nix::sys::wait::{WaitPidFlag, waitpid};

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

/// Whether children may be waited for.
fn ends_are_heard() -> io::Result<()> {
    match waitpid(nix::unistd::getpid(), Some(WaitPidFlag::WNOHANG)) {
        // Nobody is a child of himself.
        Err(Errno::ECHILD) => Ok(()),
        other => Ok(other.map(drop)?),
    }
}

/// Starts a child where that is heard of; the standard library alone would panic or wait for ever
/// in a sandbox that does not let it hear.
///
/// # Errors
/// What the system refuses.
pub fn spawn(command: &mut Command) -> io::Result<Child> {
    starts_are_heard()?;
    command.spawn()
}

/// What a short command tells, which ends with the caller's thread at the latest. The standard
/// library's way panics where a sandbox refuses what it reads both outputs with, and leaves the
/// child behind where it may not wait for it.
///
/// # Errors
/// What the system refuses; then the child is killed.
pub fn output(command: &mut Command) -> io::Result<Output> {
    // Nor does it end by itself where it may not wait for children of its own.
    ends_are_heard()?;
    kill_with_parent(command);
    let mut child = spawn(command.stdout(Stdio::piped()).stderr(Stdio::piped()))?;
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    let told = thread::scope(|scope| -> io::Result<_> {
        let words = thread::Builder::new().spawn_scoped(scope, || all_of(stderr))?;
        let told = all_of(stdout);
        let words = words.join().map_err(|_| io::ErrorKind::Other)?;
        Ok((told?, words?))
    });
    let ended = told.and_then(|told| Ok((child.wait()?, told)));
    let (status, (stdout, stderr)) = ended.inspect_err(|_| {
        // Fails only where it has ended by now.
        let _ = child.kill();
        let _ = child.wait();
    })?;
    Ok(Output {
        status,
        stdout,
        stderr,
    })
}

fn all_of(stream: Option<impl Read>) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    if let Some(mut stream) = stream {
        stream.read_to_end(&mut bytes)?;
    }
    Ok(bytes)
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

/// Kills a child that leads a process group of its own, and whoever else is in that group. That it
/// has ended already is no error.
pub fn kill_group(child: &Child) {
    let group = nix::unistd::Pid::from_raw(child.id().cast_signed());
    let _ = nix::sys::signal::killpg(group, Signal::SIGKILL);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_outputs_come_however_long_they_are() {
        let script = "head -c 300000 /dev/zero >&2; head -c 200000 /dev/zero; exit 3";
        let done = output(Command::new("sh").args(["-c", script])).unwrap();
        assert_eq!(
            (done.stdout.len(), done.stderr.len(), done.status.code()),
            (200_000, 300_000, Some(3))
        );
        let missing = output(&mut Command::new("/no/such")).unwrap_err();
        assert_eq!(missing.kind(), io::ErrorKind::NotFound);
    }
}
