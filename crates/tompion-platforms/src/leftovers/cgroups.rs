//! Control groups by the beginning of their names.

use std::ffi::CString;
use std::fs;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use tompion_model::Unavailable;
use tompion_time::os;

use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, openat, unlinkat};
use rustix::io::Errno;
use rustix::path::Arg;
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
        match remove_tree(group) {
            Ok(()) => return Ok(()),
            Err(e) if Instant::now() > until => return Err(e.to_string().into()),
            // Killed processes leave it a moment later.
            Err(_) => os::sleep(Duration::from_millis(10)),
        }
    }
}

fn kill_members(group: &OwnedFd) {
    let Ok(members) = open(group, c"cgroup.procs", OFlags::RDONLY) else {
        return;
    };
    let members = std::io::read_to_string(fs::File::from(members)).unwrap_or_default();
    for pid in members
        .lines()
        .filter_map(|line| Pid::from_raw(line.parse().ok()?))
    {
        let _ = kill_process(pid, Signal::KILL);
    }
}

/// Kills what is in a group and in those in it, and removes them all, however deep they lie: an instance may have made them.
fn remove_tree(group: &Path) -> std::io::Result<()> {
    let mut at = match open(CWD, group, OFlags::DIRECTORY) {
        Err(Errno::NOENT) => return Ok(()),
        opened => opened?,
    };
    let mut above: Vec<CString> = Vec::new();
    loop {
        kill_members(&at);
        if let Some(name) = group_in(&at)? {
            at = open(&at, name.as_c_str(), OFlags::DIRECTORY)?;
            above.push(name);
        } else if let Some(name) = above.pop() {
            at = open(&at, c"..", OFlags::DIRECTORY)?;
            unlinkat(&at, name, AtFlags::REMOVEDIR)?;
        } else {
            break;
        }
    }
    match fs::remove_dir(group) {
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}

/// A group within this one.
fn group_in(group: &OwnedFd) -> std::io::Result<Option<CString>> {
    for entry in Dir::read_from(group)? {
        let entry = entry?;
        let name = entry.file_name();
        let is_group = entry.file_type() == FileType::Directory;
        if is_group && name != c"." && name != c".." {
            return Ok(Some(name.to_owned()));
        }
    }
    Ok(None)
}

fn open(at: impl AsFd, name: impl Arg, flags: OFlags) -> Result<OwnedFd, Errno> {
    let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    openat(at, name, flags, Mode::empty())
}

fn directories(path: &Path) -> impl Iterator<Item = PathBuf> {
    let entries = fs::read_dir(path).into_iter().flatten().flatten();
    entries
        .map(|entry| entry.path())
        .filter(|path| path.is_dir())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_are_removed_however_deep_they_lie() {
        let place = tempfile::tempdir().unwrap();
        let top = place.path().join("top");
        fs::create_dir_all(top.join("a/b")).unwrap();
        fs::create_dir_all(top.join("c")).unwrap();
        // Deeper than the name of a file may be long.
        let mut at = open(CWD, top.as_path(), OFlags::DIRECTORY).unwrap();
        for _ in 0..3_000 {
            rustix::fs::mkdirat(&at, "d", Mode::RWXU).unwrap();
            at = open(&at, c"d", OFlags::DIRECTORY).unwrap();
        }
        drop(at);
        remove_one(&top).unwrap();
        assert!(!top.exists());
        remove_one(&top).unwrap();
    }
}
