//! What a lab makes on the machine, written down before it is made, and how what dead
//! labs left is found and removed.
//!
//! Each lab has a directory `PID-START` of its own below [`base`], which a reboot
//! empties: START is the start time of its process, so that a process that got the same
//! number later is told apart. It is held as long as that process lives. The journal in it names the rest.

mod cgroups;
mod held;
mod home;
mod workspace;

use std::fs;
use std::io::{self, Read};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tompion_host::remove_tree;
use tompion_model::{Unavailable, shortened};

use rustix::fs::OFlags;
use rustix::mount::UnmountFlags;
use serde::{Deserialize, Serialize};

use crate::{Error, process};

use held::{Held, Holder};

pub use cgroups::remove as remove_cgroups;
pub use workspace::Workspace;

/// What the names of everything that a lab makes begin with.
const PREFIX: &str = "tompion-lab";
const JOURNAL: &str = "journal";
/// The longest that is read of one: some hundred thousand instances.
const MOST_BYTES: u64 = 64 << 20;
/// What a command takes at most that removes something, by ssh too.
const REMOVAL: Duration = Duration::from_secs(60);

/// Something that a lab makes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Made {
    /// A directory with all that is in it.
    Directory(PathBuf),
    /// A container.
    Container {
        /// Its name, and that of its control group.
        id: String,
        /// Where its runtime keeps it while it is there.
        state: PathBuf,
        /// The command that removes it, running or not.
        delete: Vec<String>,
    },
    /// Something on another machine.
    Elsewhere {
        /// What it is, and where.
        what: String,
        /// The command that removes it, and succeeds where there is none any more.
        remove: Vec<String>,
    },
}

/// Which process a lab is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Owner {
    boot_id: String,
    pid: i32,
    start: u64,
}

impl Owner {
    fn this() -> io::Result<Self> {
        let pid = rustix::process::getpid().as_raw_nonzero().get();
        let start =
            start_of(pid).ok_or_else(|| io::Error::other("/proc/self/stat cannot be read"))?;
        Ok(Self {
            boot_id: boot_id(),
            pid,
            start,
        })
    }

    fn stem(&self) -> String {
        format!("{}-{}", self.pid, self.start)
    }

    /// Whether it lives, or nobody can tell.
    fn is_alive(&self) -> bool {
        let boot_id = boot_id();
        let may_be = || match start_of(self.pid) {
            Some(start) => start == self.start,
            None => Self::this().is_err(),
        };
        boot_id.is_empty() || self.boot_id == boot_id && may_be()
    }
}

fn start_of(pid: i32) -> Option<u64> {
    let stat = procfs::process::Process::new(pid).ok()?.stat().ok()?;
    // A zombie holds nothing any more.
    (stat.state != 'Z' && stat.state != 'X').then_some(stat.starttime)
}

fn boot_id() -> String {
    let read = fs::read_to_string("/proc/sys/kernel/random/boot_id");
    read.map(|id| id.trim().to_owned()).unwrap_or_default()
}

/// Where labs keep their journals: the first of these that is nobody else's.
pub fn base() -> PathBuf {
    let bases = bases();
    let free = bases.iter().find(|base| !is_somebody_elses(base));
    free.unwrap_or(&bases[0]).clone()
}

/// Places for journals. In the temporary directory anybody may have taken a name.
fn bases() -> Vec<PathBuf> {
    let user = rustix::process::geteuid();
    if user.is_root() {
        return vec![Path::new("/run").join(PREFIX)];
    }
    match std::env::var_os("XDG_RUNTIME_DIR").filter(|dir| Path::new(dir).is_absolute()) {
        Some(dir) => vec![Path::new(&dir).join(PREFIX)],
        None => bases_below(&std::env::temp_dir(), user.as_raw()),
    }
}

fn bases_below(directory: &Path, user: u32) -> Vec<PathBuf> {
    let first = format!("{PREFIX}-{user}");
    let others = (2..100).map(|n| format!("{first}-{n}"));
    let names = std::iter::once(first.clone()).chain(others);
    names.map(|name| directory.join(name)).collect()
}

fn is_somebody_elses(base: &Path) -> bool {
    let own = rustix::process::geteuid().as_raw();
    fs::symlink_metadata(base).is_ok_and(|found| found.uid() != own)
}

/// Something that a dead lab left.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Leftover {
    /// What it is, with its path or name.
    pub what: String,
    /// Why it could not be removed; absent where it was, or nobody tried.
    pub problem: Option<String>,
}

/// What [`clean`] found.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Cleaning {
    /// Processes of labs at work, whose things were left alone.
    pub at_work: Vec<i32>,
    /// What dead labs left.
    pub found: Vec<Leftover>,
}

/// What is done about things that dead labs left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// They are told.
    Tell,
    /// They are removed; those on machines that cannot be reached are tried again next time.
    Remove,
    /// They are removed; those on machines that cannot be reached are forgotten.
    Forget,
}

/// Finds what dead labs of this user left, and does away with it in this way.
///
/// # Errors
/// If the journals cannot be listed.
pub fn clean(way: Way) -> Result<Cleaning, Error> {
    let mut cleaning = Cleaning::default();
    let own = bases().into_iter().filter(|base| !is_somebody_elses(base));
    for base in own {
        let here = clean_below(&base, way)?;
        cleaning.at_work.extend(here.at_work);
        cleaning.found.extend(here.found);
    }
    Ok(cleaning)
}

fn clean_below(base: &Path, way: Way) -> Result<Cleaning, Error> {
    let mut cleaning = Cleaning::default();
    let entries = match fs::read_dir(base) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(cleaning),
        entries => entries.map_err(Error::io(base.display().to_string()))?,
    };
    trust(base)?;
    // Two that clean up would take one another for labs.
    let turn = (way != Way::Tell).then(|| Held::wait(base)).transpose();
    let _turn = turn.map_err(Error::io(base.display().to_string()))?;
    for directory in entries.flatten().map(|entry| entry.path()) {
        // In another namespace its process may have another number, or none. What it has made is read once nothing is added.
        let holder = Holder::of(&directory);
        let (owner, made) = read_journal(&directory);
        let Some(owner) = owner else {
            continue;
        };
        match holder {
            Holder::Gone => {}
            Holder::Lab => cleaning.at_work.push(owner.pid),
            Holder::Nobody(_) if owner.is_alive() => cleaning.at_work.push(owner.pid),
            Holder::Nobody(held) => {
                one_lab(&directory, &owner, &made, way, &mut cleaning.found);
                drop(held);
            }
        }
    }
    Ok(cleaning)
}

/// Refuses a place that others can have filled: a journal holds commands that are run
/// and directories that are removed.
fn trust(base: &Path) -> Result<(), Error> {
    let at = base.display();
    let found = fs::symlink_metadata(base).map_err(Error::io(at.to_string()))?;
    let problem = if !found.is_dir() {
        "is no directory".to_owned()
    } else if found.uid() != rustix::process::geteuid().as_raw() {
        format!("belongs to user {}", found.uid())
    } else if found.mode() & 0o022 != 0 {
        "can be written to by others".to_owned()
    } else {
        return Ok(());
    };
    Err(Error::Request(format!(
        "{at} {problem}, so that its journals are not gone by; remove it"
    )))
}

/// Who made a directory, and what else. A last line that was cut off names nothing that
/// was made.
fn read_journal(directory: &Path) -> (Option<Owner>, Vec<Made>) {
    let text = text_of(&directory.join(JOURNAL)).unwrap_or_default();
    let mut lines = text.lines();
    let first = lines
        .next()
        .and_then(|line| serde_json::from_str(line).ok());
    // Killed before it wrote a line: the directory's name tells enough.
    let owner = first.or_else(|| {
        let (pid, start) = directory.file_name()?.to_str()?.split_once('-')?;
        Some(Owner {
            boot_id: boot_id(),
            pid: pid.parse().ok()?,
            start: start.parse().ok()?,
        })
    });
    let made = lines.filter_map(|line| serde_json::from_str(line).ok());
    (owner, made.collect())
}

/// What a regular file says: no pipe is waited for, and a file without end has an end.
fn text_of(path: &Path) -> io::Result<String> {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY;
    let file = fs::File::options()
        .read(true)
        .custom_flags(flags.bits().cast_signed())
        .open(path)?;
    let mut text = String::new();
    if file.metadata()?.is_file() {
        file.take(MOST_BYTES).read_to_string(&mut text)?;
    }
    Ok(text)
}

fn one_lab(directory: &Path, owner: &Owner, made: &[Made], way: Way, found: &mut Vec<Leftover>) {
    let mut tell = |what: String, remove: &dyn Fn() -> Result<(), Unavailable>| {
        let problem = match way {
            Way::Tell => None,
            Way::Remove | Way::Forget => remove().err().map(|why| why.to_string()),
        };
        let is_done = problem.is_none();
        found.push(Leftover { what, problem });
        is_done
    };
    let mut done = true;
    for container in made {
        if let Made::Container { id, state, delete } = container
            && is_kept(id, state)
        {
            // A runtime may refuse what it made by half; its group and its state
            // go below.
            done &= tell(format!("container {id}"), &|| {
                let _ = run(delete);
                Ok(())
            });
        }
    }
    for elsewhere in made {
        if let Made::Elsewhere { what, remove } = elsewhere {
            done &= tell(what.clone(), &|| run(remove)) || way == Way::Forget;
        }
    }
    for group in cgroups::find(&format!("{PREFIX}-{}-", owner.stem())) {
        done &= tell(format!("control group {}", group.display()), &|| {
            cgroups::remove_one(&group)
        });
    }
    for path in made.iter().filter_map(|made| match made {
        Made::Directory(path) if path.exists() => Some(path),
        _ => None,
    }) {
        done &= tell(format!("directory {}", path.display()), &|| {
            remove_directory(path).map_err(|e| e.to_string().into())
        });
    }
    // The journal goes last, and only when there is nothing left to know.
    if done {
        tell(format!("directory {}", directory.display()), &|| {
            remove_directory(directory).map_err(|e| e.to_string().into())
        });
    }
}

/// An empty directory for a moment, where `lab clean` finds it if this process is killed
/// in it: the place of a lab that has not written anything yet.
#[derive(Debug)]
pub struct EmptyPlace {
    path: PathBuf,
    _held: Held,
}

impl EmptyPlace {
    /// Makes one.
    ///
    /// # Errors
    /// Whatever the system refuses.
    pub fn make() -> Result<Self, Error> {
        static NUMBER: AtomicUsize = AtomicUsize::new(0);
        let owner = Owner::this().map_err(Error::io("this process"))?;
        let base = base();
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let own = base.join(owner.stem());
        let path = own.join(format!("empty-{number}"));
        // Another one's end may take the directory above away just now.
        let made = (0..100).find_map(|_| {
            let held = Held::make(&own).ok()?;
            let mut builder = fs::DirBuilder::new();
            builder.mode(0o700).create(&path).ok().map(|()| held)
        });
        let held = made.ok_or_else(|| {
            Error::Request(format!("{}: no directory can be made", path.display()))
        })?;
        trust(&base)?;
        Ok(Self { path, _held: held })
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for EmptyPlace {
    fn drop(&mut self) {
        let _ = remove_directory(&self.path);
        // Stays where another one is still in it.
        let _ = self.path.parent().map(fs::remove_dir);
    }
}

/// Removes the scratch directories of dead labs in a run's directory, whose journals a
/// reboot has taken with it. As far as that goes: what is left there harms nothing. Where labs
/// have none since it is not safe, none is removed either.
pub fn remove_scratch(out: &Path) {
    // As mounts are listed.
    let Ok(out) = fs::canonicalize(out) else {
        return;
    };
    if !matches!(tompion_host::others_above(&out), Ok(None)) {
        return;
    }
    for entry in fs::read_dir(out).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        if name.starts_with("scratch-") && entry.path().is_dir() {
            let _ = remove_directory(&entry.path());
        }
    }
}

/// Whether a runtime still keeps a container, in a directory of its name, or in a file
/// whose name has more before or after it (runsc).
fn is_kept(id: &str, state: &Path) -> bool {
    let entries = state.parent().map(fs::read_dir);
    let mut names = entries.into_iter().flatten().flatten().flatten();
    names.any(|entry| {
        let name = entry.file_name().to_string_lossy().into_owned();
        let digit = |c: char| c.is_ascii_digit();
        let mut after = name.match_indices(id).map(|(at, _)| &name[at + id.len()..]);
        // Not instance 12 for instance 1.
        after.any(|rest| !rest.starts_with(digit))
    })
}

/// Runs a command that removes something.
pub fn run(command: &[String]) -> Result<(), Unavailable> {
    let (program, arguments) = command.split_first().ok_or("no command")?;
    let mut command = Command::new(program);
    command.args(arguments);
    let done = process::ask(command, REMOVAL).map_err(|why| format!("{program}: {why}"))?;
    match done.success {
        true => Ok(()),
        // Another machine's words, it may be.
        false => Err(shortened(String::from_utf8_lossy(&done.stderr).trim()).into()),
    }
}

/// Removes a directory with all that is in it. What a runtime has mounted there (runsc
/// a network namespace) is unmounted first, so that nothing outside is ever removed.
pub fn remove_directory(path: &Path) -> io::Result<()> {
    use procfs::FromRead;
    let mounts = procfs::process::MountInfos::from_file("/proc/self/mountinfo");
    let mounts = mounts.map_err(|e| io::Error::other(e.to_string()))?;
    let below = |point: &PathBuf| point.starts_with(path);
    let points: Vec<PathBuf> = mounts
        .into_iter()
        .map(|m| m.mount_point)
        .filter(below)
        .collect();
    // Later ones may lie within earlier ones.
    for point in points.iter().rev() {
        rustix::mount::unmount(point, UnmountFlags::DETACH)
            .map_err(|e| io::Error::other(format!("{} is mounted there: {e}", point.display())))?;
    }
    remove_tree(path)
}

#[cfg(test)]
mod tests;
