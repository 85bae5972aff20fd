//! From the description of a guest to its outcome: its program, started and outlived.

use std::fs::OpenOptions;
use std::io::{self, Read};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use tompion_time::os;

use super::frame::{self, Report};
use super::listener::Listener;
use super::outcome::console_text;
use super::vmm::{self, Files, Launch};
use super::{Accel, Guest, GuestError, Outcome};

/// How often the program is looked at; short beside any boot.
const POLL: Duration = Duration::from_millis(10);
/// Within this time it ends that has closed its connection.
const END: Duration = Duration::from_secs(10);
/// What is kept of the console, in bytes.
const CONSOLE_BYTES: usize = 1 << 20;

pub fn run(guest: &Guest, initramfs: &[u8]) -> Result<Outcome, GuestError> {
    accelerator_present(guest.accel)?;
    let files = Files::make(guest, initramfs)?;
    let start = Instant::now();
    let launch = vmm::launch(guest, &files)?;
    let mut running = Running::start(guest, launch)?;
    let ended = running.wait(start + guest.timeout, &guest.stop)?;
    let seconds = start.elapsed().as_secs_f64();
    let (console, message) = running.output();
    let Some(status) = ended else {
        if guest.stop.load(Ordering::Relaxed) {
            return Err(GuestError::Stopped);
        }
        return Err(GuestError::Timeout {
            seconds: guest.timeout.as_secs_f64(),
            accel: guest.accel,
            console,
        });
    };
    // Power-off and, with -no-reboot, a panic both end QEMU with status 0.
    if !status.success() {
        return Err(failed(guest, status, &message));
    }
    match frame::read(&files.result.file) {
        Err(problem) => Err(GuestError::NoResult { problem, console }),
        Ok(Report::Refused { problem }) => Err(GuestError::Command { problem, console }),
        Ok(Report::Ran {
            wait_status,
            stdout,
            stderr,
        }) => Ok(Outcome {
            status: ExitStatus::from_raw(wait_status),
            stdout,
            stderr,
            console,
            seconds,
            accel: guest.accel,
        }),
    }
}

pub fn try_machine(guest: &Guest) -> Result<(), GuestError> {
    accelerator_present(guest.accel)?;
    // Stopped before it runs, as one that is to be pinned.
    let mut guest = guest.clone();
    guest.pin = vec![Vec::new()];
    let files = Files::make(&guest, &[])?;
    let launch = vmm::launch(&guest, &files)?;
    let mut running = Running::spawn(&guest, launch)?;
    let quit = running.monitor.as_mut().map_or(Ok(()), vmm::Monitor::quit);
    quit.map_err(|error| running.why_not(&guest, error))
}

fn failed(guest: &Guest, status: ExitStatus, message: &str) -> GuestError {
    GuestError::VmmFailed {
        vmm: guest.vmm,
        status,
        message: message.trim().replace('\n', "; "),
    }
}

fn accelerator_present(accel: Accel) -> Result<(), GuestError> {
    if accel != Accel::Kvm {
        return Ok(());
    }
    let opened = OpenOptions::new().read(true).write(true).open("/dev/kvm");
    opened.map(drop).map_err(|error| GuestError::Accel {
        accel,
        problem: format!("/dev/kvm: {error}; use tcg"),
    })
}

/// A program that is killed at the latest when this is dropped.
struct Running {
    child: Child,
    console: Option<JoinHandle<Vec<u8>>>,
    message: Option<JoinHandle<Vec<u8>>>,
    /// Open as long as it runs.
    monitor: Option<vmm::Monitor>,
}

impl Running {
    /// Starts it and, where it waits for its monitor, lets it go.
    fn start(guest: &Guest, launch: Launch) -> Result<Self, GuestError> {
        let mut running = Self::spawn(guest, launch)?;
        let pin = |monitor: &mut vmm::Monitor| monitor.pin_and_continue(&guest.pin);
        let pinned = running.monitor.as_mut().map_or(Ok(()), pin);
        pinned.map_err(|error| running.why_not(guest, error))?;
        Ok(running)
    }

    fn spawn(guest: &Guest, launch: Launch) -> Result<Self, GuestError> {
        let Launch {
            mut command,
            monitor,
            theirs,
        } = launch;
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let program = command.get_program().display().to_string();
        let started = tompion_child::spawn(&mut command);
        let mut child = started.map_err(|source| match source.kind() {
            io::ErrorKind::NotFound => GuestError::VmmMissing {
                program,
                vmm: guest.vmm,
            },
            _ => GuestError::Host {
                what: format!("start {program}"),
                source,
            },
        })?;
        // Closed here, so that its death is the end of the connection.
        drop(theirs);
        let told = guest.console_to.clone();
        // Where there is no thread to be had it is not heard, and its end tells.
        let console = child.stdout.take();
        let console = console.and_then(|out| keep_last(out, told).ok());
        let message = child.stderr.take();
        let message = message.and_then(|err| keep_last(err, None).ok());
        Ok(Self {
            child,
            console,
            message,
            monitor,
        })
    }

    /// Its own words, where it has ended, say more than a broken connection.
    fn why_not(&mut self, guest: &Guest, error: GuestError) -> GuestError {
        match self.wait(Instant::now() + END, &guest.stop) {
            Ok(Some(status)) if !status.success() => {
                let (_, message) = self.output();
                failed(guest, status, &message)
            }
            _ => error,
        }
    }

    /// How it ended, or none if it had to be killed at the deadline or by `stop`.
    fn wait(
        &mut self,
        deadline: Instant,
        stop: &AtomicBool,
    ) -> Result<Option<ExitStatus>, GuestError> {
        loop {
            let ended = self.child.try_wait().map_err(|source| GuestError::Host {
                what: "wait for the guest".into(),
                source,
            })?;
            if ended.is_some() {
                return Ok(ended);
            }
            if Instant::now() >= deadline || stop.load(Ordering::Relaxed) {
                self.end();
                return Ok(None);
            }
            os::sleep(POLL);
        }
    }

    /// Console and standard error of one that has ended.
    fn output(&mut self) -> (String, String) {
        self.monitor = None;
        let text = |thread: Option<JoinHandle<Vec<u8>>>| {
            let bytes = thread.and_then(|t| t.join().ok()).unwrap_or_default();
            console_text(&bytes)
        };
        (text(self.console.take()), text(self.message.take()))
    }

    fn end(&mut self) {
        // Both fail only when it has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.end();
    }
}

/// Reads to the end, so that the guest never waits for us, and keeps the last of it.
fn keep_last(
    mut stream: impl Read + Send + 'static,
    told: Option<Listener>,
) -> io::Result<JoinHandle<Vec<u8>>> {
    thread::Builder::new().spawn(move || {
        let mut kept = Vec::new();
        let mut buffer = [0; 4096];
        while let Ok(count @ 1..) = stream.read(&mut buffer) {
            kept.extend(&buffer[..count]);
            if let Some(told) = &told {
                told.hear(&buffer[..count]);
            }
            if kept.len() > 2 * CONSOLE_BYTES {
                kept.drain(..kept.len() - CONSOLE_BYTES);
            }
        }
        kept.drain(..kept.len().saturating_sub(CONSOLE_BYTES));
        kept
    })
}
