//! The first process of the guest: runs there, not on the host.

use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::kmod::{ModuleInitFlags, finit_module};
use nix::mount::{MsFlags, mount};
use nix::sys::reboot::{RebootMode, reboot};

use super::frame::{self, Report};
use super::initramfs::{COMMAND_FILE, MODULE_DIR};

/// Where the report goes.
const DISK: &str = "/dev/vda";
/// How long the disk may take to appear: long for an emulator on a busy host.
const DISK_WAIT: Duration = Duration::from_secs(60);

/// Does the work of `/init` in a guest made by [`Guest`](super::Guest), and powers
/// it off. Anywhere else it refuses, and ends the process with status 2.
pub fn run_as_init() -> ! {
    if std::process::id() != 1 || !Path::new(COMMAND_FILE).exists() {
        eprintln!(
            "tompion-guest-init: only for the first process of a guest made by tompion-guest"
        );
        std::process::exit(2);
    }
    if let Err(problem) = run() {
        // The one way out without a disk: the host shows the console's end.
        eprintln!("tompion-guest-init: {problem}");
    }
    nix::unistd::sync();
    let refused = reboot(RebootMode::RB_POWER_OFF);
    // Ending the first process makes the kernel panic, which ends the guest too.
    panic!("power-off: {refused:?}");
}

fn run() -> Result<(), String> {
    for (kind, at) in [("proc", "/proc"), ("sysfs", "/sys"), ("devtmpfs", "/dev")] {
        mount(Some(kind), at, Some(kind), MsFlags::empty(), None::<&str>)
            .map_err(|error| format!("cannot mount {kind} on {at}: {error}"))?;
    }
    load_modules()?;
    let (mut disk, disk_bytes) = result_disk()?;
    let room = disk_bytes.saturating_sub(frame::HEADER_BYTES as u64);
    let report = run_command(room).unwrap_or_else(|problem| Report::Refused { problem });
    disk.write_all(&frame::encode(&report))
        .and_then(|()| disk.sync_all())
        .map_err(|error| format!("cannot write the result: {error}"))
}

fn load_modules() -> Result<(), String> {
    let listed = || -> io::Result<Vec<_>> {
        let mut paths = fs::read_dir(MODULE_DIR)?
            .map(|entry| Ok(entry?.path()))
            .collect::<io::Result<Vec<_>>>()?;
        paths.sort();
        Ok(paths)
    };
    for path in listed().map_err(|error| format!("{MODULE_DIR}: {error}"))? {
        let load = || match finit_module(File::open(&path)?, c"", ModuleInitFlags::empty()) {
            Ok(()) | Err(Errno::EEXIST) => Ok(()),
            Err(error) => Err(io::Error::from(error)),
        };
        load().map_err(|error| format!("cannot load {}: {error}", path.display()))?;
    }
    Ok(())
}

/// The disk and its length in bytes, once it is there.
fn result_disk() -> Result<(File, u64), String> {
    let start = Instant::now();
    let open = || -> io::Result<(File, u64)> {
        let mut disk = OpenOptions::new().write(true).open(DISK)?;
        let bytes = disk.seek(SeekFrom::End(0))?;
        disk.rewind()?;
        Ok((disk, bytes))
    };
    loop {
        match open() {
            Ok(found) => return Ok(found),
            Err(error) if start.elapsed() > DISK_WAIT => return Err(format!("{DISK}: {error}")),
            Err(_) => thread::sleep(Duration::from_millis(10)),
        }
    }
}

/// Runs the command to its end and keeps up to `room` bytes of its output.
fn run_command(room: u64) -> Result<Report, String> {
    let command = fs::read(COMMAND_FILE).map_err(|error| format!("{COMMAND_FILE}: {error}"))?;
    let mut parts = command.split(|byte| *byte == 0).map(OsStr::from_bytes);
    let program = parts.next().unwrap_or_default();
    let mut child = Command::new(program)
        .args(parts)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| {
            format!(
                "cannot start {}: {error} (is it an x86-64 program, static or added by dynamic()?)",
                Path::new(program).display()
            )
        })?;
    let stdout = child.stdout.take().ok_or("no pipe for standard output")?;
    let stderr = child.stderr.take().ok_or("no pipe for standard error")?;
    let stdout = thread::spawn(move || keep_first(stdout, room, io::sink()));
    // Seen on the host even when the command never ends.
    let stderr = thread::spawn(move || keep_first(stderr, room, io::stderr()));
    let join = |thread: thread::JoinHandle<Kept>| thread.join().map_err(|_| "reader panicked");
    let (stdout, stderr) = (join(stdout)?, join(stderr)?);
    let status = child.wait().map_err(|error| format!("wait: {error}"))?;
    let written = stdout.written + stderr.written;
    if written > room {
        return Err(format!(
            "the command wrote {written} bytes, the result holds {room}: set result_mb higher"
        ));
    }
    Ok(Report::Ran {
        wait_status: status.into_raw(),
        stdout: stdout.bytes,
        stderr: stderr.bytes,
    })
}

struct Kept {
    bytes: Vec<u8>,
    written: u64,
}

/// Reads to the end, so that the writer never waits for us; keeps `room` bytes.
fn keep_first(mut stream: impl Read, room: u64, mut copy: impl Write) -> Kept {
    let mut kept = Kept {
        bytes: Vec::new(),
        written: 0,
    };
    let mut buffer = [0; 16384];
    while let Ok(count @ 1..) = stream.read(&mut buffer) {
        let chunk = &buffer[..count];
        kept.written += count as u64;
        if kept.written <= room {
            kept.bytes.extend(chunk);
        }
        // A console that cannot be written is no reason to lose the result.
        let _ = copy.write_all(chunk);
    }
    kept
}
