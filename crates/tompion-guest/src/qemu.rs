//! From the description of a guest to its outcome: QEMU, started and outlived.

use std::ffi::OsString;
use std::fs::OpenOptions;
use std::io::{self, Read, Seek, Write};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::frame::{self, FrameError, Report};
use super::memory_file::MemoryFile;
use super::outcome::console_text;
use super::{Accel, Guest, GuestError, Outcome};
use crate::sys;

/// How often QEMU is looked at; short beside any boot.
const POLL: Duration = Duration::from_millis(10);
/// What is kept of the console, in bytes.
const CONSOLE_BYTES: usize = 1 << 20;

pub fn run(guest: &Guest, initramfs: &[u8]) -> Result<Outcome, GuestError> {
    accelerator_present(guest.accel)?;
    let (initrd, mut disk) = files(guest, initramfs).map_err(|source| GuestError::Host {
        what: "make the guest's files in memory".into(),
        source,
    })?;
    let start = Instant::now();
    let mut running = Running::start(guest, &initrd, &disk)?;
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
        let message = message.trim().replace('\n', "; ");
        return Err(GuestError::QemuFailed { status, message });
    }
    let read = disk.file.rewind().map_err(FrameError::from);
    match read.and_then(|()| frame::decode(&disk.file)) {
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

fn files(guest: &Guest, initramfs: &[u8]) -> io::Result<(MemoryFile, MemoryFile)> {
    let mut initrd = MemoryFile::new("tompion-initramfs")?;
    initrd.file.write_all(initramfs)?;
    let disk = MemoryFile::new("tompion-result")?;
    // Sparse: only what the guest writes takes memory. One MiB more than promised
    // holds the header.
    disk.file.set_len((u64::from(guest.result_mb) + 1) << 20)?;
    Ok((initrd, disk))
}

/// The command line; the module's documentation has the reasons.
fn arguments(guest: &Guest, initrd: &MemoryFile, disk: &MemoryFile) -> Vec<OsString> {
    let (accel, cpu) = match guest.accel {
        Accel::Tcg => ("tcg,thread=multi", "max"),
        Accel::Kvm => ("kvm", "host"),
    };
    let mut boot = vec!["console=ttyS0", "quiet", "panic=-1"];
    boot.extend(guest.kernel_args.iter().map(String::as_str));
    let mut arguments: Vec<OsString> = [
        "-nodefaults",
        "-no-user-config",
        "-no-reboot",
        "-display",
        "none",
        "-serial",
        "stdio",
        "-machine",
        "pc",
        "-accel",
        accel,
        "-cpu",
        cpu,
    ]
    .map(OsString::from)
    .into();
    arguments.extend(["-smp".into(), guest.cpus.to_string().into()]);
    arguments.extend(["-m".into(), guest.memory_mb.to_string().into()]);
    arguments.extend(["-kernel".into(), guest.kit.kernel().into()]);
    arguments.extend(["-initrd".into(), initrd.path().into()]);
    arguments.extend(["-append".into(), boot.join(" ").into()]);
    arguments.extend([
        "-drive".into(),
        // Unsafe: written to the host's memory, which needs no flushing.
        format!("file={},if=virtio,format=raw,cache=unsafe", disk.path()).into(),
    ]);
    arguments.extend(guest.qemu_args.iter().cloned());
    arguments
}

/// A QEMU that is killed at the latest when this is dropped.
struct Running {
    child: Child,
    console: Option<JoinHandle<Vec<u8>>>,
    message: Option<JoinHandle<Vec<u8>>>,
}

impl Running {
    fn start(guest: &Guest, initrd: &MemoryFile, disk: &MemoryFile) -> Result<Self, GuestError> {
        let mut command = Command::new(&guest.qemu);
        command
            .args(arguments(guest, initrd, disk))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        sys::kill_with_parent(&mut command);
        let program = guest.qemu.display().to_string();
        let mut child = command.spawn().map_err(|source| match source.kind() {
            io::ErrorKind::NotFound => GuestError::QemuMissing { program },
            _ => GuestError::Host {
                what: format!("start {program}"),
                source,
            },
        })?;
        let console = child.stdout.take().map(keep_last);
        let message = child.stderr.take().map(keep_last);
        Ok(Self {
            child,
            console,
            message,
        })
    }

    /// How QEMU ended, or none if it had to be killed at the deadline or by `stop`.
    fn wait(
        &mut self,
        deadline: Instant,
        stop: &AtomicBool,
    ) -> Result<Option<ExitStatus>, GuestError> {
        loop {
            let ended = self.child.try_wait().map_err(|source| GuestError::Host {
                what: "wait for QEMU".into(),
                source,
            })?;
            if ended.is_some() {
                return Ok(ended);
            }
            if Instant::now() >= deadline || stop.load(Ordering::Relaxed) {
                self.end();
                return Ok(None);
            }
            thread::sleep(POLL);
        }
    }

    /// Console and standard error of a QEMU that has ended.
    fn output(&mut self) -> (String, String) {
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

/// Reads to the end, so that QEMU never waits for us, and keeps the last of it.
fn keep_last(mut stream: impl Read + Send + 'static) -> JoinHandle<Vec<u8>> {
    thread::spawn(move || {
        let mut kept = Vec::new();
        let mut buffer = [0; 4096];
        while let Ok(count @ 1..) = stream.read(&mut buffer) {
            kept.extend(&buffer[..count]);
            if kept.len() > 2 * CONSOLE_BYTES {
                kept.drain(..kept.len() - CONSOLE_BYTES);
            }
        }
        kept.drain(..kept.len().saturating_sub(CONSOLE_BYTES));
        kept
    })
}
