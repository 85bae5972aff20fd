//! The programs that make machines: what each is started with.

mod cloud_hypervisor;
mod firecracker;
mod qemu;
mod qmp;
#[cfg(test)]
mod tests;

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use super::machine::{Accel, Scratch, Vmm};
use super::memory_file::{MemoryFile, path_of};
use super::{Guest, GuestError, frame, sys};

pub use qmp::Monitor;

/// What a machine boots from and writes to. No file has a name, so that nothing is left
/// however this process ends; each goes by its path in /proc.
pub struct Files {
    initrd: MemoryFile,
    /// The result's disk.
    pub result: MemoryFile,
    scratch: Option<File>,
    config: Option<MemoryFile>,
    kernel: PathBuf,
}

impl Files {
    /// Makes them.
    pub fn make(guest: &Guest, initramfs: &[u8]) -> Result<Self, GuestError> {
        let memory = || -> io::Result<_> {
            let mut initrd = MemoryFile::new("tompion-initramfs")?;
            initrd.file.write_all(initramfs)?;
            let mut result = MemoryFile::new("tompion-result")?;
            result.file.write_all(frame::MARK)?;
            // Sparse: only what the guest writes takes memory. One MiB more than
            // promised holds mark and header.
            result
                .file
                .set_len((u64::from(guest.result_mb) + 1) << 20)?;
            Ok((initrd, result))
        };
        let in_memory = |source| GuestError::Host {
            what: "make the guest's files in memory".into(),
            source,
        };
        let (initrd, result) = memory().map_err(in_memory)?;
        let is_micro = guest.vmm != Vmm::Qemu || guest.is_mmio();
        let mut files = Self {
            initrd,
            result,
            scratch: guest.scratch.as_ref().map(scratch).transpose()?,
            config: None,
            kernel: match is_micro {
                true => guest.kit.vmlinux()?,
                false => guest.kit.vmlinuz(),
            },
        };
        if guest.vmm == Vmm::Firecracker {
            let write = || -> io::Result<_> {
                let mut config = MemoryFile::new("tompion-config")?;
                let text = firecracker::config(guest, &files).to_string();
                config.file.write_all(text.as_bytes())?;
                Ok(config)
            };
            files.config = Some(write().map_err(in_memory)?);
        }
        Ok(files)
    }

    /// Names and paths of the disks.
    fn disks(&self) -> Vec<(&'static str, String)> {
        let scratch = self.scratch.as_ref();
        std::iter::once(("result", self.result.path()))
            .chain(scratch.map(|file| ("scratch", path_of(file))))
            .collect()
    }
}

/// A disk with an empty file system, in a file that loses its name at once.
fn scratch(wish: &Scratch) -> Result<File, GuestError> {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let make = || -> io::Result<File> {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("tompion-disk-{}-{number}", std::process::id());
        let path = wish.directory.join(name);
        let mut options = OpenOptions::new();
        let file = options
            .read(true)
            .write(true)
            .create_new(true)
            .open(&path)?;
        fs::remove_file(&path)?;
        file.set_len(u64::from(wish.mb) << 20)?;
        Ok(file)
    };
    let wrong = |what: String| move |source| GuestError::Host { what, source };
    let file = make().map_err(wrong(format!(
        "make a scratch disk in {}",
        wish.directory.display()
    )))?;
    // Tables written now and not by the guest's kernel while it is measured.
    let options = "lazy_itable_init=0,lazy_journal_init=0,nodiscard";
    let mut make = Command::new("mkfs.ext4");
    make.args(["-q", "-F", "-m", "0", "-E", options])
        .arg(path_of(&file))
        .stdin(Stdio::null());
    let made = tompion_child::output(&mut make)
        .map_err(wrong("start mkfs.ext4 (Debian: e2fsprogs)".to_owned()))?;
    if !made.status.success() {
        let told = String::from_utf8_lossy(&made.stderr)
            .trim()
            .replace('\n', "; ");
        return Err(wrong("make a file system with mkfs.ext4".to_owned())(
            io::Error::other(told),
        ));
    }
    Ok(file)
}

/// A program ready to be started.
pub struct Launch {
    /// With its arguments.
    pub command: Command,
    /// Our end of the connection to it, where there is to be one: it then waits.
    pub monitor: Option<Monitor>,
    /// Its end.
    pub theirs: Option<UnixStream>,
}

/// The program of `guest`, which dies with this thread.
pub fn launch(guest: &Guest, files: &Files) -> Result<Launch, GuestError> {
    let usual = || guest.vmm.program().into();
    let program = guest.program.clone().unwrap_or_else(usual);
    let mut words = guest.launcher.iter();
    let mut command = match words.next() {
        None => Command::new(program),
        Some(first) => {
            let mut command = Command::new(first);
            command.args(words).arg(program);
            command
        }
    };
    let (mut monitor, mut theirs) = (None, None);
    let arguments: Vec<OsString> = match guest.vmm {
        Vmm::Firecracker => firecracker::arguments(files),
        Vmm::CloudHypervisor => cloud_hypervisor::arguments(guest, files),
        Vmm::Qemu => {
            if !guest.pin.is_empty() {
                let (ours, other) = UnixStream::pair().map_err(|source| GuestError::Host {
                    what: "make a socket pair".to_owned(),
                    source,
                })?;
                monitor = Some(Monitor::new(ours)?);
                theirs = Some(other);
            }
            let inherited = qemu::Inherited {
                tap: guest.tap.as_ref().map(|tap| tap.device().as_raw_fd()),
                monitor: theirs.as_ref().map(AsRawFd::as_raw_fd),
            };
            for file in [inherited.tap, inherited.monitor].into_iter().flatten() {
                sys::inherit(&mut command, file);
            }
            qemu::arguments(guest, files, &inherited)
        }
    };
    command.args(arguments);
    tompion_child::kill_with_parent(&mut command);
    Ok(Launch {
        command,
        monitor,
        theirs,
    })
}

/// The kernel's command line: `own` is what this machine asks for.
fn boot_parameters(guest: &Guest, own: &[&str]) -> String {
    let mut all = vec!["console=ttyS0", "quiet"];
    all.extend(own);
    all.extend(guest.kernel_args.iter().map(String::as_str));
    all.join(" ")
}

/// QEMU's names of accelerators and of all that their processors have.
fn accelerator(guest: &Guest) -> (&'static str, &'static str) {
    match (guest.accel, guest.icount) {
        (Accel::Tcg, None) => ("tcg,thread=multi", "max"),
        // One thread counts for all.
        (Accel::Tcg, Some(_)) => ("tcg,thread=single", "max"),
        (Accel::Kvm, _) => ("kvm", "host"),
    }
}
