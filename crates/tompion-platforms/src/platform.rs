//! Platforms: how each is described by a plan, whether it is here, and how it runs one
//! command in a fresh instance of its own. One file each.

mod guest;
mod microvm;
mod running;
mod seat;

use std::any::Any;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use std::time::Duration;
use tompion_model::Unavailable;

use object::read::elf::ElfFile64;
use object::{Object, ObjectSection};

use crate::Listener;
use crate::keys::Table;
use crate::leftovers::Workspace;
use crate::network::{Joined, Network};
use crate::process::{self, Bounds, ask};

pub use crate::process::{MOST_ANSWER, MOST_OUTPUT, Output, TaskError};
pub use host::Host;
pub use qemu::QemuSettings;
pub use running::{Running, Start};
pub use seat::{Seat, Seating};

tompion_model::entries! {
    /// Every kind of platform, in the order in which they are shown.
    pub static KINDS: [PlatformKind] =
        host,
        oci,
        firecracker,
        cloud_hypervisor,
        qemu,
        ssh,
        elsewhere,
}

/// An entry in the list of kinds of platforms.
pub struct PlatformKind {
    /// Its name in a plan: `kind = "NAME"`.
    pub name: &'static str,
    /// What it is, in a few words.
    pub about: &'static str,
    /// Reads its keys in a plan: the name that such a platform has if the plan gives none,
    /// and how it is set up. What is wrong is said to the table.
    pub read: fn(&Table<'_, '_>) -> Option<Named>,
    /// Keys of a plan for a first look at what is here, each for one platform.
    pub usual: &'static [&'static str],
}

/// The usual name of a platform, where it has one, and how it is set up.
pub type Named = (Option<String>, Arc<dyn Setup>);

impl fmt::Debug for PlatformKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

/// How a platform of a plan is set up, and what can be told of it without a look.
pub trait Setup: Any + fmt::Debug + Send + Sync {
    /// All that a plan says of it.
    fn as_json(&self) -> serde_json::Value {
        serde_json::Value::Null
    }

    /// Settings that are not left as they are, for people to read.
    fn settings(&self) -> Vec<String> {
        Vec::new()
    }

    /// What imitates its processor, where that is no real one.
    fn emulated(&self) -> Option<&'static str> {
        None
    }

    /// What follows its name wherever it is named.
    fn mark(&self) -> Option<&'static str> {
        self.emulated().map(|_| "emulated")
    }

    /// The machine that it is or runs on, where that is another than this one.
    fn machine(&self) -> Option<&str> {
        None
    }

    /// What starting and removing an instance takes, seen on a machine of two CPUs.
    fn start(&self) -> Duration {
        Duration::ZERO
    }

    /// Whether it can be anywhere.
    fn can_be_here(&self) -> bool {
        true
    }

    /// How its instances are joined to the network of a plan's testbed.
    fn network(&self) -> Network {
        Network::None
    }

    /// CPUs and MiB of memory that an instance takes from this machine, where they are its
    /// own.
    fn size(&self) -> Option<(u32, u32)> {
        None
    }

    /// The platform; `name` is what the plan calls it.
    fn platform(&self, name: &str) -> Box<dyn Platform>;
}

/// What a program takes at most to tell its version or the like, on a busy machine.
const ANSWER: Duration = Duration::from_secs(30);

/// Whether a platform can be used on this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Presence {
    /// By these programs, each with its version.
    Present(Vec<String>),
    /// It cannot, for this reason, in one line.
    Absent(String),
    /// Nobody has asked: that would start programs or call other machines.
    NotAsked,
}

impl Presence {
    /// The same in lines of bounded length that control no terminal: programs and other machines
    /// may have answered anything.
    pub fn shortened(self) -> Self {
        let short = tompion_model::shortened;
        match self {
            Self::Present(versions) => {
                Self::Present(versions.iter().map(|version| short(version)).collect())
            }
            Self::Absent(why) => Self::Absent(short(&why)),
            Self::NotAsked => Self::NotAsked,
        }
    }
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
    /// Bytes that it may write to standard output; beyond these it is killed.
    pub most_output: u64,
    /// Ends it early.
    pub stop: &'a Arc<AtomicBool>,
    /// Its CPUs and control group; those of the lab itself where absent. The calling
    /// thread is then the instance's own.
    pub seat: Option<&'a Seat>,
    /// Its place in the network of a testbed; none as a rule.
    pub joined: Option<&'a Joined>,
    /// Takes what the program writes to standard error, as it comes.
    pub telling: Option<&'a Listener>,
}

impl Task<'_> {
    fn bounds(&self) -> Bounds {
        Bounds {
            time: self.limit,
            output: self.most_output,
        }
    }
}

/// A kind of platform, set up as a plan says.
pub trait Platform: Sync {
    /// Whether it can be used here, with `program` as the one that measures: starts programs,
    /// calls other machines.
    fn presence(&self, program: &Path) -> Presence;

    /// What files alone say of that. Starts nothing: a plan may come from a stranger.
    fn at_a_glance(&self) -> Presence {
        Presence::NotAsked
    }

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

/// Refuses a program that needs files which an instance does not have, or another
/// processor.
fn require_static(program: &Path) -> Result<(), Unavailable> {
    static_for(program)?;
    require_here(program)
}

/// Refuses a program for another processor than this machine's, and others than tompion.
fn require_here(program: &Path) -> Result<(), Unavailable> {
    let (built_for, _) = look_into(program)?;
    let here = match std::env::consts::ARCH {
        "aarch64" => object::Architecture::Aarch64,
        _ => object::Architecture::X86_64,
    };
    if built_for != here {
        return Err(format!(
            "{} is built for another architecture, {built_for:?}",
            program.display()
        )
        .into());
    }
    // Instances would only say what they make of arguments that are not meant for them.
    match version(program) {
        Ok(told) if told.starts_with("tompion ") => Ok(()),
        Ok(told) => Err(format!("{} is no tompion: it is {told}", program.display()).into()),
        Err(why) => Err(format!("no tompion: {why}").into()),
    }
}

/// The architecture of a program that needs no other files.
fn static_for(program: &Path) -> Result<object::Architecture, Unavailable> {
    let (built_for, is_static) = look_into(program)?;
    if !is_static {
        return Err(format!(
            "{} is not static, and an instance has no libraries; build the static one with \
             `make static` and name it: --program dist/tompion",
            program.display()
        )
        .into());
    }
    Ok(built_for)
}

/// What a program is built for, and whether it needs no other files.
fn look_into(program: &Path) -> Result<(object::Architecture, bool), Unavailable> {
    let at = program.display();
    let bytes = fs::read(program).map_err(|e| Unavailable::refused(format!("{at}"))(e))?;
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

/// Absent where there is no such program among those that this user's shell finds. A path is whoever's wrote the plan: looking at
/// it may have an automounter ask another machine, or wait for one.
fn at_a_glance(program: &Path, remedy: &str) -> Presence {
    let is_path = program.components().count() > 1;
    match is_path || find(program).is_some() {
        true => Presence::NotAsked,
        false => Presence::Absent(none(program, remedy)),
    }
}

fn none(program: &Path, remedy: &str) -> String {
    format!("there is no program {}{remedy}", program.display())
}

/// The first line that a program prints of its version.
fn version(program: &Path) -> Result<String, Unavailable> {
    let mut command = Command::new(program);
    command.arg("--version");
    let at = program.display();
    let done = ask(command, ANSWER).map_err(|why| format!("{at} --version: {why}"))?;
    let text = String::from_utf8_lossy(&done.stdout);
    match text.lines().next().map(str::trim) {
        Some(line) if done.success && !line.is_empty() => Ok(line.to_owned()),
        _ => Err(format!("{at} --version fails ({})", done.status).into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_run_in_an_instance_is_refused_beforehand() {
        // Tests are linked with shared libraries.
        let shared = std::env::current_exe().unwrap();
        let error = require_static(&shared).unwrap_err().to_string();
        assert!(error.contains("make static"), "{error}");
        let error = require_static(Path::new("/etc/passwd"))
            .unwrap_err()
            .to_string();
        assert!(error.contains("no program"), "{error}");
        let error = require_static(Path::new("/no/such"))
            .unwrap_err()
            .to_string();
        assert!(error.starts_with("/no/such: No such file"), "{error}");
    }

    #[test]
    fn what_a_machine_says_it_is_is_one_plain_line() {
        let hostile = format!("Linux \u{1b}[2J{}", "r".repeat(1 << 20));
        let shown = [
            Presence::Present(vec![hostile.clone()]).shortened(),
            Presence::Absent(hostile).shortened(),
        ];
        for presence in shown {
            let told = match presence {
                Presence::Present(versions) => versions.concat(),
                Presence::Absent(why) => why,
                Presence::NotAsked => panic!("it was asked"),
            };
            assert!(
                told.starts_with("Linux  [2Jrr") && told.len() < 500,
                "{told}"
            );
        }
    }
}
