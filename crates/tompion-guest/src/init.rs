//! The first process of the guest: runs there, not on the host.

use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::kmod::{ModuleInitFlags, finit_module};
use nix::mount::{MsFlags, mount};
use nix::sys::reboot::{RebootMode, reboot};
use tompion_time::os;

use super::frame::{self, Report};
use super::initramfs::{COMMAND_FILE, MODULE_DIR, SCRATCH};
use super::setup::{SEED_FILE, SETUP_FILE, Setup};
use super::sys;

/// How long disks may take to appear: long for an emulator on a busy host.
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
    let setup = fs::read_to_string(SETUP_FILE)
        .map_err(|error| format!("{SETUP_FILE}: {error}"))
        .and_then(|text| Setup::parse(&text));
    let reset = setup.as_ref().is_ok_and(|setup| setup.reset);
    if let Err(problem) = setup.map_err(Problem::from).and_then(run) {
        // The one way out without a disk: the host shows the console's end.
        eprintln!("tompion-guest-init: {problem}");
    }
    nix::unistd::sync();
    let refused = reboot(match reset {
        true => RebootMode::RB_AUTOBOOT,
        false => RebootMode::RB_POWER_OFF,
    });
    // Ending the first process makes the kernel panic, which ends the guest too.
    panic!("power-off: {refused:?}");
}

/// What init reports where it cannot go on; texts and answers of the system alike.
type Problem = Box<dyn std::error::Error + Send + Sync>;

fn run(setup: Setup) -> Result<(), Problem> {
    for (kind, at) in [("proc", "/proc"), ("sysfs", "/sys"), ("devtmpfs", "/dev")] {
        mount(Some(kind), at, Some(kind), MsFlags::empty(), None::<&str>)
            .map_err(|error| format!("cannot mount {kind} on {at}: {error}"))?;
    }
    let seed = fs::read(SEED_FILE)
        .ok()
        .and_then(|seed| seed.try_into().ok());
    sys::add_entropy(&seed.ok_or_else(|| format!("{SEED_FILE}: no seed"))?)
        .map_err(|error| format!("/dev/random: {error}"))?;
    load_modules()?;
    let (result, scratch) = disks(setup.scratch)?;
    let at = |error| format!("{}: {error}", result.display());
    let mut disk = OpenOptions::new().write(true).open(&result).map_err(at)?;
    let bytes = disk.seek(SeekFrom::End(0)).map_err(at)?;
    let room = bytes.saturating_sub(frame::RESULT_AT + frame::HEADER_BYTES as u64);
    let report = prepare(setup, scratch.as_deref())
        .and_then(|()| run_command(room))
        .unwrap_or_else(|problem| Report::Refused {
            problem: problem.to_string(),
        });
    disk.seek(SeekFrom::Start(frame::RESULT_AT))
        .and_then(|_| disk.write_all(&frame::encode(&report)))
        .and_then(|()| disk.sync_all())
        .map_err(|error| format!("cannot write the result: {error}").into())
}

/// What the command finds: loopback, and as ordered an interface and a file system.
fn prepare(setup: Setup, scratch: Option<&Path>) -> Result<(), Problem> {
    sys::interface_up("lo", None).map_err(|error| format!("interface lo: {error}"))?;
    if let Some(own) = setup.network {
        sys::interface_up("eth0", Some(own)).map_err(|error| format!("interface eth0: {error}"))?;
    }
    if let Some(disk) = scratch {
        let kind = Some("ext4");
        mount(Some(disk), SCRATCH, kind, MsFlags::empty(), None::<&str>)
            .map_err(|error| format!("cannot mount {}: {error}", disk.display()))?;
    }
    Ok(())
}

fn load_modules() -> Result<(), Problem> {
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

/// The result's disk, known by its mark, and if one is wanted the other, once they are
/// there. Their names depend on how they are attached, and on who was first.
fn disks(scratch: bool) -> Result<(PathBuf, Option<PathBuf>), Problem> {
    let start = Instant::now();
    loop {
        let (mut result, mut others) = (None, Vec::new());
        for disk in fs::read_dir("/sys/block").into_iter().flatten().flatten() {
            let path = Path::new("/dev").join(disk.file_name());
            let mut first = [0; frame::MARK.len()];
            match File::open(&path).and_then(|mut disk| disk.read_exact(&mut first)) {
                Ok(()) if first == *frame::MARK => result = Some(path),
                Ok(()) => others.push(path),
                // Not there yet, or a drive without a medium.
                Err(_) => {}
            }
        }
        match (result, others.pop()) {
            (Some(result), other) if other.is_some() || !scratch => {
                return Ok((result, other.filter(|_| scratch)));
            }
            (result, _) if start.elapsed() > DISK_WAIT => {
                let missing = result.map_or("the result", |_| "scratch");
                return Err(format!("no disk for {missing} has appeared").into());
            }
            _ => os::sleep(Duration::from_millis(10)),
        }
    }
}

/// Runs the command to its end and keeps up to `room` bytes of its output.
fn run_command(room: u64) -> Result<Report, Problem> {
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
        )
        .into());
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
