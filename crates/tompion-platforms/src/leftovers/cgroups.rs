//! Control groups by the beginning of their names.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use tompion_model::Unavailable;
use tompion_time::os;

use rustix::process::{Pid, Signal, kill_process};

/// Where hierarchies are mounted: version 2 here, those of version 1 one level below.
const MOUNT: &str = "/sys/fs/cgroup";

/// How long killed processes may take to leave their group.
const LEAVE: Duration = Duration::from_secs(5);

/// Groups at the top of any hierarchy whose name is `stem`, or begins with it where it
/// ends with a `-`.
pub(super) fn find(stem: &str) -> Vec<PathBuf> {
    let mount = Path::new(MOUNT);
    let mut found = Vec::new();
    for hierarchy in std::iter::once(mount.to_path_buf()).chain(directories(mount)) {
        // `cpu` may be a link to `cpu,cpuacct`.
        if fs::symlink_metadata(&hierarchy).is_ok_and(|m| m.is_dir()) {
            let named = |path: &PathBuf| {
                let name = path.file_name().and_then(|name| name.to_str());
                name.is_some_and(|name| {
                    name == stem || stem.ends_with('-') && name.starts_with(stem)
                })
            };
            found.extend(directories(&hierarchy).filter(named));
        }
    }
    found.sort();
    found.dedup();
    found
}

/// Removes all of them, as far as that goes; whether none is left.
pub fn remove(stem: &str) -> bool {
    let problems = find(stem)
        .iter()
        .filter(|group| remove_one(group).is_err())
        .count();
    problems == 0
}

/// Kills what is in a group and below, and removes it.
pub(super) fn remove_one(group: &Path) -> Result<(), Unavailable> {
    let until = Instant::now() + LEAVE;
    loop {
        kill_all(group);
        match remove_tree(group) {
            Ok(()) => return Ok(()),
            Err(e) if Instant::now() > until => return Err(e.to_string().into()),
            // Killed processes leave it a moment later.
            Err(_) => os::sleep(Duration::from_millis(10)),
        }
    }
}

fn kill_all(group: &Path) {
    directories(group).for_each(|below| kill_all(&below));
    let members = fs::read_to_string(group.join("cgroup.procs")).unwrap_or_default();
    for pid in members
        .lines()
        .filter_map(|line| Pid::from_raw(line.parse().ok()?))
    {
        let _ = kill_process(pid, Signal::KILL);
    }
}

fn remove_tree(group: &Path) -> std::io::Result<()> {
    for below in directories(group) {
        remove_tree(&below)?;
    }
    match fs::remove_dir(group) {
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}

fn directories(path: &Path) -> impl Iterator<Item = PathBuf> {
    let entries = fs::read_dir(path).into_iter().flatten().flatten();
    entries
        .map(|entry| entry.path())
        .filter(|path| path.is_dir())
}
