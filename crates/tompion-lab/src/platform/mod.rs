//! Platforms: whether they are here, and how each runs one command in a fresh instance
//! of its own. A new one is a file beside these and a line in [`of`].

#[cfg(test)]
mod bubblewrap;
mod cloud_hypervisor;
mod elsewhere;
mod firecracker;
mod guest;
mod host;
mod microvm;
mod oci;
mod qemu;
mod running;
mod seat;
mod ssh;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::Sender;
use std::time::Duration;

use object::read::elf::ElfFile64;
use object::{Object, ObjectSection};

use crate::leftovers::Workspace;
use crate::plan::{Kind, PlatformPlan};
use crate::process::{self, ask};

pub use crate::process::{Output, TaskError};
pub(crate) use host::Host;
pub(crate) use running::{Running, Start};
pub use seat::{Seat, Seating};

/// What a program takes at most to tell its version or the like, on a busy machine.
const ANSWER: Duration = Duration::from_secs(30);

/// Whether a platform can be used on this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Presence {
    /// By these programs, each with its version.
    Present(Vec<String>),
    /// It cannot, for this reason, in one line.
    Absent(String),
}

/// What is run in an instance.
pub struct Task<'a> {
    /// The program: this file of the machine that the lab runs on.
    pub program: &'a Path,
    /// Its arguments.
    pub arguments: &'a [String],
    /// A number that no other instance of this lab has.
    pub number: usize,
    /// Where the instance may keep what it needs.
    pub workspace: &'a Workspace,
    /// From its start to its end, after which it is killed.
    pub limit: Duration,
    /// Ends it early.
    pub stop: &'a Arc<AtomicBool>,
    /// Its CPUs and control group; those of the lab itself where absent. The calling
    /// thread is then the instance's own.
    pub seat: Option<&'a Seat>,
    /// Takes what the program writes to standard error, as it comes.
    pub telling: Option<&'a Sender<Vec<u8>>>,
}

/// A kind of platform, set up as a plan says.
pub trait Platform: Sync {
    /// Whether it can be used here, with `program` as the one that measures.
    fn presence(&self, program: &Path) -> Presence;

    /// A directory where the program may write, as an instance sees it.
    fn scratch(&self, workspace: &Workspace) -> PathBuf {
        let _ = workspace;
        PathBuf::from("/tmp")
    }

    /// What a start takes at most, beside what the program does.
    fn patience(&self) -> Duration {
        Duration::from_secs(60)
    }

    /// How its instances take the seat of a task.
    fn seating(&self) -> Seating {
        Seating::Nowhere
    }

    /// CPUs of an instance, which may be pinned each by itself.
    fn cpus(&self) -> usize {
        1
    }

    /// Runs the task in a fresh instance, of which nothing is left on return.
    ///
    /// # Errors
    /// Everything that leaves no output: it did not start, or not end in time.
    fn run(&self, task: &Task<'_>) -> Result<Output, TaskError>;
}

/// The platform that a plan describes.
pub fn of(plan: &PlatformPlan) -> Box<dyn Platform> {
    match &plan.kind {
        Kind::Host => Box::new(host::Host),
        Kind::Oci(settings) => Box::new(oci::Oci::new(settings)),
        Kind::Qemu(settings) => Box::new(qemu::Qemu::new(settings)),
        Kind::Ssh(settings) => Box::new(ssh::Ssh::new(&plan.name, settings)),
        Kind::Firecracker(settings) => Box::new(firecracker::Firecracker(settings.clone())),
        Kind::CloudHypervisor(settings) => {
            Box::new(cloud_hypervisor::CloudHypervisor(settings.clone()))
        }
        Kind::Elsewhere => Box::new(elsewhere::Elsewhere),
    }
}

/// Platforms for a first look, as `tompion lab platforms` lists them.
pub fn usual() -> Vec<PlatformPlan> {
    let runtimes = ["runc", "crun", "runsc", "kata-runtime", "youki"];
    let of_kind = |accel: &str| {
        format!("[[platforms]]\nname = \"qemu-{accel}\"\nkind = \"qemu\"\naccel = \"{accel}\"\n")
    };
    let oci = runtimes.map(|r| format!("[[platforms]]\nkind = \"oci\"\nruntime = \"{r}\"\n"));
    let micro = ["firecracker", "cloud-hypervisor"]
        .map(|kind| format!("[[platforms]]\nkind = \"{kind}\"\n"));
    let tables = std::iter::once("[[platforms]]\nkind = \"host\"\n".to_owned())
        .chain(oci)
        .chain(micro)
        .chain(["kvm", "tcg"].map(of_kind))
        .collect::<String>();
    let plan = crate::LabPlan::parse(&format!("{tables}[[probes]]\nkind = \"stalls\"\n"));
    plan.map(|plan| plan.platforms).unwrap_or_default()
}

/// Refuses a program that needs files which an instance does not have, or another
/// processor.
fn require_static(program: &Path) -> Result<(), String> {
    static_for(program)?;
    require_here(program)
}

/// Refuses a program for another processor than this machine's, and others than tompion.
fn require_here(program: &Path) -> Result<(), String> {
    let (built_for, _) = look_into(program)?;
    let here = match std::env::consts::ARCH {
        "aarch64" => object::Architecture::Aarch64,
        _ => object::Architecture::X86_64,
    };
    if built_for != here {
        return Err(format!(
            "{} is built for another architecture, {built_for:?}",
            program.display()
        ));
    }
    // Instances would only say what they make of arguments that are not meant for them.
    match version(program) {
        Ok(told) if told.starts_with("tompion ") => Ok(()),
        Ok(told) => Err(format!("{} is no tompion: it is {told}", program.display())),
        Err(why) => Err(format!("no tompion: {why}")),
    }
}

/// The architecture of a program that needs no other files.
fn static_for(program: &Path) -> Result<object::Architecture, String> {
    let (built_for, is_static) = look_into(program)?;
    if !is_static {
        return Err(format!(
            "{} is not static, and an instance has no libraries; build the static one with \
             `make static` and name it: --program dist/tompion",
            program.display()
        ));
    }
    Ok(built_for)
}

/// What a program is built for, and whether it needs no other files.
fn look_into(program: &Path) -> Result<(object::Architecture, bool), String> {
    let at = program.display();
    let bytes = fs::read(program).map_err(|e| format!("{at}: {e}"))?;
    let file = ElfFile64::<object::Endianness>::parse(bytes.as_slice())
        .map_err(|e| format!("{at} is no program for 64 bits: {e}"))?;
    let interpreter = file
        .sections()
        .any(|section| section.name() == Ok(".interp"));
    Ok((file.architecture(), !interpreter))
}

/// The file of a program that is named, or a path to it.
fn find(program: &Path) -> Option<PathBuf> {
    if program.components().count() > 1 {
        return program.is_file().then(|| program.to_path_buf());
    }
    // Runtimes lie in sbin, which users do not search.
    let path = std::env::var_os("PATH").unwrap_or_default();
    let sbin = ["/usr/local/sbin", "/usr/sbin"].map(PathBuf::from);
    std::env::split_paths(&path)
        .chain(sbin)
        .map(|directory| directory.join(program))
        .find(|file| file.is_file())
}

/// The first line that a program prints of its version.
fn version(program: &Path) -> Result<String, String> {
    let mut command = Command::new(program);
    command.arg("--version");
    let at = program.display();
    let done = ask(command, ANSWER).map_err(|why| format!("{at} --version: {why}"))?;
    let text = String::from_utf8_lossy(&done.stdout);
    match text.lines().next().map(str::trim) {
        Some(line) if done.success && !line.is_empty() => Ok(line.to_owned()),
        _ => Err(format!("{at} --version fails ({})", done.status)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_run_in_an_instance_is_refused_beforehand() {
        // Tests are linked with shared libraries.
        let shared = std::env::current_exe().unwrap();
        let error = require_static(&shared).unwrap_err();
        assert!(error.contains("make static"), "{error}");
        let error = require_static(Path::new("/etc/passwd")).unwrap_err();
        assert!(error.contains("no program"), "{error}");
        let error = require_static(Path::new("/no/such")).unwrap_err();
        assert!(error.starts_with("/no/such: No such file"), "{error}");
    }

    #[test]
    fn a_runtime_that_is_not_there_is_absent_in_one_line() {
        let text = "[[platforms]]\nkind = \"oci\"\nruntime = \"no-such-runtime\"\n\
            [[probes]]\nkind = \"stalls\"\n";
        let plan = crate::LabPlan::parse(text).unwrap();
        let presence = of(&plan.platforms[0]).presence(Path::new("/proc/self/exe"));
        let want = "there is no program no-such-runtime";
        assert_eq!(presence, Presence::Absent(want.to_owned()));
    }

    #[test]
    fn the_platform_shown_to_contributors_is_one() {
        let shown = include_str!("../../../../CONTRIBUTING.md");
        let block = shown.split("```rust\n").nth(1).expect("a block");
        let block = block.split("```").next().expect("its end");
        assert_eq!(block, include_str!("bubblewrap.rs"));
        let platform: Box<dyn Platform> = Box::new(bubblewrap::Bubblewrap);
        let Presence::Absent(why) = platform.presence(Path::new("/no/such")) else {
            panic!("without a program");
        };
        assert!(why.contains("bwrap") || why.contains("/no/such"), "{why}");
    }

    #[test]
    fn microvms_that_are_not_there_are_absent_in_one_line() {
        for kind in ["firecracker", "cloud-hypervisor"] {
            let text = format!(
                "[[platforms]]\nkind = \"{kind}\"\nprogram = \"/no/such\"\n\
                 [[platforms]]\nname = \"b\"\nkind = \"{kind}\"\nprogram = \"/bin/false\"\n\
                 [[probes]]\nkind = \"stalls\"\n"
            );
            let plan = crate::LabPlan::parse(&text).unwrap();
            for (platform, want) in [
                (0, "there is no program /no/such (a release of "),
                (1, "/bin/false --version fails (exit status: 1)"),
            ] {
                let presence = of(&plan.platforms[platform]).presence(Path::new("/bin/true"));
                let Presence::Absent(why) = presence else {
                    panic!()
                };
                assert!(why.starts_with(want) && !why.contains('\n'), "{why}");
            }
        }
    }

    #[test]
    fn the_usual_platforms_are_a_plan_of_their_own() {
        let levels: Vec<_> = usual().iter().map(PlatformPlan::level).collect();
        assert_eq!(levels.first().map(String::as_str), Some("host"));
        assert_eq!(
            levels.last().map(String::as_str),
            Some("qemu-tcg (emulated)")
        );
    }
}
