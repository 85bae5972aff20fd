//! Where a thread's control group counts how long it was throttled.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use crate::kept::Kept;

/// The groups above a thread that have a CPU quota.
#[derive(Debug)]
pub(crate) struct Throttling {
    files: Vec<Kept>,
}

impl Throttling {
    /// Opens the counters of each group with a quota, at present and as far as can
    /// be seen from here; without any, those of the thread's own group.
    ///
    /// # Errors
    /// In a few words: why no group tells.
    pub(crate) fn of(tid: i32) -> Result<Self, String> {
        let text = |path: String| fs::read_to_string(path).unwrap_or_default();
        let mounts = text("/proc/self/mountinfo".to_owned());
        let member = text(format!("/proc/{tid}/cgroup"));
        let groups = groups(&mounts, &member);
        let counts = |group: &PathBuf| {
            let mut kept = Kept::new(File::open(group.join("cpu.stat")).ok()?);
            throttled_ns(kept.read()?)?;
            Some(kept)
        };
        let limited = groups.iter().filter(|g| has_quota(g));
        let mut files: Vec<_> = limited.filter_map(counts).collect();
        if files.is_empty() {
            files.extend(groups.iter().find_map(counts));
        }
        if files.is_empty() {
            return Err("no control group with CPU counters is seen from here".to_owned());
        }
        Ok(Self { files })
    }

    /// How long those groups stood still so far, all their CPUs added.
    pub(crate) fn throttled_ns(&mut self) -> Option<u64> {
        self.files
            .iter_mut()
            .try_fold(0, |sum, f| Some(sum + throttled_ns(f.read()?)?))
    }
}

/// Version 1 counts nanoseconds, version 2 microseconds.
fn throttled_ns(stat: &[u8]) -> Option<u64> {
    let of = |name: &[u8]| {
        let mut lines = stat.split(|b| *b == b'\n');
        let digits = lines.find_map(|l| l.strip_prefix(name))?;
        std::str::from_utf8(digits).ok()?.parse::<u64>().ok()
    };
    of(b"throttled_time ").or_else(|| Some(of(b"throttled_usec ")? * 1000))
}

fn has_quota(group: &Path) -> bool {
    let read = |name: &str| fs::read_to_string(group.join(name)).ok();
    let v1 = read("cpu.cfs_quota_us").is_some_and(|q| !q.starts_with('-'));
    v1 || read("cpu.max").is_some_and(|q| !q.starts_with("max"))
}

/// The thread's group of the CPU controller and those above it, nearest first.
fn groups(mountinfo: &str, member: &str) -> Vec<PathBuf> {
    // Version 1 names the controller in the mount's options.
    let mount = |v1: bool| {
        mountinfo.lines().find_map(|line| {
            let (front, back) = line.split_once(" - ")?;
            let mut words = back.split(' ');
            let kind = words.next()?;
            let fits = match v1 {
                true => kind == "cgroup" && words.nth(1)?.split(',').any(|o| o == "cpu"),
                false => kind == "cgroup2",
            };
            let mut fields = front.split(' ').skip(3);
            fits.then(|| Some((fields.next()?, fields.next()?)))?
        })
    };
    let group = |v1: bool| {
        member.lines().find_map(|line| {
            let (controllers, group) = line.split_once(':')?.1.split_once(':')?;
            let fits = match v1 {
                true => controllers.split(',').any(|c| c == "cpu"),
                false => controllers.is_empty(),
            };
            fits.then_some(group)
        })
    };
    let found = |v1| Some((mount(v1)?, group(v1)?));
    let Some(((top, point), group)) = found(true).or_else(|| found(false)) else {
        return Vec::new();
    };
    // Without a cgroup namespace a container is told its whole path but sees only
    // its own part of the tree.
    let group = Path::new(group);
    let below = group
        .strip_prefix(top)
        .or_else(|_| group.strip_prefix("/"))
        .unwrap_or(group);
    let own = Path::new(point).join(below);
    own.ancestors()
        .take_while(|dir| dir.starts_with(point))
        .map(Path::to_path_buf)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_versions_count() {
        assert_eq!(throttled_ns(b"nr_periods 3\nthrottled_time 77\n"), Some(77));
        assert_eq!(
            throttled_ns(b"usage_usec 3\nthrottled_usec 77\n"),
            Some(77_000)
        );
        assert_eq!(throttled_ns(b"usage_usec 3\n"), None);
    }

    #[test]
    fn groups_of_a_container_and_of_a_host() {
        let v1 = "25 20 0:22 / /sys/fs/cgroup/cpu rw shared:9 - cgroup cgroup rw,cpu,cpuacct\n\
                  26 20 0:23 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n";
        let member = "2:cpu,cpuacct:/a/b\n0::/x\n";
        let expected = [
            "/sys/fs/cgroup/cpu/a/b",
            "/sys/fs/cgroup/cpu/a",
            "/sys/fs/cgroup/cpu",
        ];
        assert_eq!(groups(v1, member), expected.map(PathBuf::from));
        let v2 = "30 20 0:27 /docker/1 /sys/fs/cgroup ro - cgroup2 cgroup rw\n";
        let own = groups(v2, "0::/docker/1\n");
        assert_eq!(own, [PathBuf::from("/sys/fs/cgroup/")]);
        assert!(groups("", "").is_empty());
    }
}
