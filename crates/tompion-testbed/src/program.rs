//! Programs at the places of a testbed.
//!
//! A program runs in its place's network namespace, and in PID and mount namespaces of its own, so
//! that it and all that it starts end with it, with this process, and with the thread that started
//! it. It sees the devices of its place under /sys/class/net.

use std::ffi::{OsStr, OsString};
use std::io::{self, PipeReader, Read, pipe};
use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, ExitStatus};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread;
use std::time::Duration;

use nix::libc::c_int;
use nix::mount::{MntFlags, MsFlags, mount, umount2};
use nix::sched::{CloneFlags, unshare};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::TestbedError;
use crate::place::Place;
use crate::sys;

/// A program that runs at a place, and ends when this is dropped.
#[derive(Debug)]
pub struct Program {
    name: OsString,
    guardian: Pid,
    ended: Receiver<io::Result<ExitStatus>>,
    status: Option<ExitStatus>,
}

impl Program {
    /// Starts a program. Its standard streams, its directory and its environment are what `command`
    /// says; its namespaces are chosen here.
    ///
    /// # Errors
    /// [`TestbedError::Start`] where it is not there or may not be started.
    pub fn start(place: &Place, command: Command) -> Result<Self, TestbedError> {
        let name = command.get_program().to_owned();
        let entered = place.namespace.try_clone();
        let (tell_start, started) = sync_channel(1);
        let (tell_end, ended) = sync_channel(1);
        let keep = move || -> io::Result<()> {
            let namespace = entered?;
            let begun = namespace.enter().and_then(|()| begin(command));
            look_after(begun, &tell_start, &tell_end);
            Ok(())
        };
        // The kernel ends the program with the thread that started it: this one stays.
        let begun = thread::Builder::new()
            .name("program".to_owned())
            .spawn(keep)
            .and_then(|_| {
                let lost = |_| io::Error::other("its thread ended");
                started.recv().map_err(lost).and_then(|begun| begun)
            });
        match begun {
            Ok(guardian) => Ok(Self {
                name,
                guardian,
                ended,
                status: None,
            }),
            Err(source) => Err(TestbedError::Start {
                program: name,
                source,
            }),
        }
    }

    /// Its name, as it was given.
    pub fn name(&self) -> &OsStr {
        &self.name
    }

    /// The process below which it runs, as this process sees it.
    pub fn guardian(&self) -> u32 {
        self.guardian.as_raw().cast_unsigned()
    }

    /// How it ended, if it does within this time.
    ///
    /// # Errors
    /// Where it cannot be waited for.
    pub fn wait_for(&mut self, time: Duration) -> Result<Option<ExitStatus>, TestbedError> {
        if self.status.is_none() {
            let what = "wait for a program";
            match self.ended.recv_timeout(time) {
                Ok(ended) => self.status = Some(ended.map_err(TestbedError::system(what))?),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(TestbedError::Thread("thread of a program"));
                }
            }
        }
        Ok(self.status)
    }

    /// Asks it to end, and ends it where it does not within `grace`, with all that it started.
    ///
    /// # Errors
    /// Where it cannot be waited for.
    pub fn end(&mut self, grace: Duration) -> Result<ExitStatus, TestbedError> {
        if self.wait_for(Duration::ZERO)?.is_none() {
            // Its guardian passes it on. That it has ended by now is no error.
            let _ = kill(self.guardian, Signal::SIGTERM);
        }
        loop {
            if let Some(status) = self.wait_for(grace)? {
                return Ok(status);
            }
            let _ = kill(self.guardian, Signal::SIGKILL);
        }
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        if self.status.is_none() && self.ended.try_recv().is_err() {
            let _ = kill(self.guardian, Signal::SIGKILL);
            // Until it is gone, its namespaces are not.
            let _ = self.ended.recv();
        }
    }
}

/// A guardian that was started, and where it tells how its program ended.
struct Begun {
    guardian: Child,
    status: PipeReader,
}

fn look_after(
    begun: io::Result<Begun>,
    tell_start: &SyncSender<io::Result<Pid>>,
    tell_end: &SyncSender<io::Result<ExitStatus>>,
) {
    let mut begun = match begun {
        Ok(begun) => begun,
        Err(refused) => {
            let _ = tell_start.send(Err(refused));
            return;
        }
    };
    let id = Pid::from_raw(begun.guardian.id().cast_signed());
    // Nobody listens any more where the testbed was dropped meanwhile; it is waited for all the same.
    let _ = tell_start.send(Ok(id));
    let mut word = [0; size_of::<c_int>()];
    let told = begun.status.read_exact(&mut word);
    let ended = begun.guardian.wait();
    let _ = tell_end.send(ended.map(|guardian| match told {
        Ok(()) => ExitStatus::from_raw(c_int::from_ne_bytes(word)),
        // It was killed, and its program with it.
        Err(_) => guardian,
    }));
}

/// Starts the program from this thread, which is in the right network by now.
fn begin(mut command: Command) -> io::Result<Begun> {
    unshare(CloneFlags::CLONE_NEWNS)?;
    // What is mounted from here on is seen by nobody else; what others mount still arrives.
    let none = None::<&str>;
    mount(none, "/", none, MsFlags::MS_SLAVE | MsFlags::MS_REC, none)?;
    // Without it a program sees this machine's devices there, but uses its own all the same.
    let _ = show_devices();
    unshare(CloneFlags::CLONE_NEWPID)?;
    let (status, tells) = pipe()?;
    let told = OwnedFd::from(status);
    sys::contain(&mut command, &told, OwnedFd::from(tells));
    let guardian = tompion_child::spawn(&mut command)?;
    // What writes to the pipe is the guardian alone.
    drop(command);
    Ok(Begun {
        guardian,
        status: PipeReader::from(told),
    })
}

/// Shows the devices of this network under /sys, and leaves the rest of /sys as it is: control
/// groups and tracing are mounted there.
fn show_devices() -> nix::Result<()> {
    const SCRATCH: &str = "/tmp";
    let none = None::<&str>;
    mount(
        Some("sysfs"),
        SCRATCH,
        Some("sysfs"),
        MsFlags::empty(),
        none,
    )?;
    let shown = ["class/net", "devices/virtual/net"].map(|part| {
        let (from, to) = (format!("{SCRATCH}/{part}"), format!("/sys/{part}"));
        mount(Some(&*from), &*to, none, MsFlags::MS_BIND, none)
    });
    umount2(SCRATCH, MntFlags::MNT_DETACH)?;
    shown.into_iter().collect()
}
