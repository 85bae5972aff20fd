//! Control groups from inside: which groups a process or a thread is in, by version 1 or 2 of
//! the kernel's interface, and what they limit. The texts come from whoever reads files;
//! here nothing is opened.
#![forbid(unsafe_code)]

use std::path::{Path, PathBuf};

/// Version of the kernel's interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    /// A hierarchy for each controller.
    V1,
    /// One hierarchy.
    V2,
}

/// The group of a process or a thread and those above it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Groups {
    /// The version that has the controller.
    pub version: Version,
    /// Their directories as seen from here, the nearest first.
    pub directories: Vec<PathBuf>,
}

/// CPU time that a group has in each period.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quota {
    /// That time, in microseconds.
    pub quota_us: u64,
    /// The period, in microseconds.
    pub period_us: u64,
}

/// A memory limit and what is used of it, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Memory {
    /// The limit.
    pub limit: u64,
    /// The usage.
    pub used: u64,
}

/// How a CPU quota held up a group since it was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Throttled {
    /// Periods in which the group ran.
    pub periods: Option<u64>,
    /// Periods in which it had used up its quota.
    pub throttled_periods: Option<u64>,
    /// How long it stood still then, all its CPUs added, in nanoseconds.
    pub throttled_ns: Option<u64>,
}

impl Groups {
    /// The groups of the hierarchy that has `controller`, such as `cpu`. `mountinfo` is the
    /// text of `/proc/self/mountinfo`, `member` that of `/proc/PID/cgroup`. With both
    /// versions mounted, version 1 goes first.
    pub fn of(controller: &str, mountinfo: &str, member: &str) -> Option<Self> {
        let of = |version| {
            let mount = mount(version, controller, mountinfo)?;
            let group = group(version, controller, member)?;
            let directories = own_and_above(&mount, group);
            Some(Self {
                version,
                directories,
            })
        };
        of(Version::V1).or_else(|| of(Version::V2))
    }

    /// The CPU quota of one of them, where it has any; `read` gives the text of a file.
    pub fn quota(&self, group: &Path, read: impl Fn(&Path) -> Option<String>) -> Option<Quota> {
        let text = |name: &str| read(&group.join(name));
        let (quota, period) = match self.version {
            // -1 stands for no limit and does not parse as unsigned.
            Version::V1 => (text("cpu.cfs_quota_us")?, text("cpu.cfs_period_us")?),
            // `max 100000` stands for no limit.
            Version::V2 => {
                let both = text("cpu.max")?;
                let (quota, period) = both.trim().split_once(' ')?;
                (quota.to_owned(), period.to_owned())
            }
        };
        let quota_us = quota.trim().parse().ok()?;
        let period_us = period.trim().parse().ok()?;
        (period_us > 0).then_some(Quota {
            quota_us,
            period_us,
        })
    }

    /// The memory limit of one of them, where it has any, and its usage.
    pub fn memory(&self, group: &Path, read: impl Fn(&Path) -> Option<String>) -> Option<Memory> {
        let number = |name: &str| read(&group.join(name))?.trim().parse().ok();
        let (limit, used) = match self.version {
            Version::V1 => ("memory.limit_in_bytes", "memory.usage_in_bytes"),
            // `max` is no number, and so no limit.
            Version::V2 => ("memory.max", "memory.current"),
        };
        Some(Memory {
            limit: number(limit)?,
            used: number(used)?,
        })
    }
}

impl Quota {
    /// The same as a number of CPUs.
    pub fn cpus(self) -> f64 {
        self.quota_us as f64 / self.period_us as f64
    }
}

impl Throttled {
    /// The text of `cpu.stat`, of either version. Allocates nothing.
    pub fn read(stat: &[u8]) -> Self {
        let of = |name: &[u8]| {
            let mut lines = stat.split(|byte| *byte == b'\n');
            let digits = lines.find_map(|line| line.strip_prefix(name))?;
            std::str::from_utf8(digits).ok()?.trim().parse::<u64>().ok()
        };
        Self {
            periods: of(b"nr_periods "),
            throttled_periods: of(b"nr_throttled "),
            // Version 1 counts nanoseconds, version 2 microseconds.
            throttled_ns: of(b"throttled_time ")
                .or_else(|| Some(of(b"throttled_usec ")?.saturating_mul(1000))),
        }
    }
}

/// Where a hierarchy is mounted and which of its groups is seen as its root.
struct Mount {
    point: PathBuf,
    top: PathBuf,
}

fn mount(version: Version, controller: &str, mountinfo: &str) -> Option<Mount> {
    mountinfo.lines().find_map(|line| {
        let (front, back) = line.split_once(" - ")?;
        let mut words = back.split(' ');
        let kind = words.next()?;
        let fits = match version {
            // Version 1 names its controllers in the options.
            Version::V1 => {
                kind == "cgroup" && words.nth(1)?.split(',').any(|one| one == controller)
            }
            Version::V2 => kind == "cgroup2",
        };
        // Fields 4 and 5: root within the file system, and mount point.
        let mut fields = front.split(' ').skip(3);
        fits.then(|| {
            Some(Mount {
                top: PathBuf::from(fields.next()?),
                point: PathBuf::from(fields.next()?),
            })
        })?
    })
}

fn group<'a>(version: Version, controller: &str, member: &'a str) -> Option<&'a str> {
    member.lines().find_map(|line| {
        let (controllers, group) = line.split_once(':')?.1.split_once(':')?;
        let fits = match version {
            Version::V1 => controllers.split(',').any(|one| one == controller),
            Version::V2 => controllers.is_empty(),
        };
        fits.then_some(group)
    })
}

fn own_and_above(mount: &Mount, group: &str) -> Vec<PathBuf> {
    // Without a cgroup namespace a container is told its whole path but sees only its own
    // part of the tree.
    let group = Path::new(group);
    let below = group
        .strip_prefix(&mount.top)
        .or_else(|_| group.strip_prefix("/"))
        .unwrap_or(group);
    let own = mount.point.join(below);
    own.ancestors()
        .take_while(|directory| directory.starts_with(&mount.point))
        .map(Path::to_path_buf)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOTH: &str = "25 20 0:22 / /sys/fs/cgroup/cpu rw shared:9 - cgroup cgroup rw,cpu,cpuacct\n\
         26 20 0:23 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n";

    fn directories(controller: &str, mounts: &str, member: &str) -> Vec<PathBuf> {
        let groups = Groups::of(controller, mounts, member);
        groups.map(|all| all.directories).unwrap_or_default()
    }

    #[test]
    fn groups_of_a_container_and_of_a_host() {
        let member = "2:cpu,cpuacct:/a/b\n0::/x\n";
        let expected = [
            "/sys/fs/cgroup/cpu/a/b",
            "/sys/fs/cgroup/cpu/a",
            "/sys/fs/cgroup/cpu",
        ];
        assert_eq!(
            directories("cpu", BOTH, member),
            expected.map(PathBuf::from)
        );
        // Another controller is in the hierarchy of version 2.
        let memory = Groups::of("memory", BOTH, member).unwrap();
        assert_eq!(memory.version, Version::V2);
        assert_eq!(memory.directories[0], Path::new("/sys/fs/cgroup/unified/x"));
        let v2 = "30 20 0:27 /docker/1 /sys/fs/cgroup ro - cgroup2 cgroup rw\n";
        let own = directories("cpu", v2, "0::/docker/1\n");
        assert_eq!(own, [PathBuf::from("/sys/fs/cgroup/")]);
        // The path of the host, of which nothing is seen here.
        let far = directories("cpu", v2, "0::/user.slice\n");
        assert_eq!(far.last(), Some(&PathBuf::from("/sys/fs/cgroup")));
        assert!(directories("cpu", "", "").is_empty());
    }

    #[test]
    fn limits_are_read_by_either_version() {
        let of = |version| Groups {
            version,
            directories: Vec::new(),
        };
        let file = |files: &'static [(&str, &str)]| {
            move |path: &Path| {
                let found = files
                    .iter()
                    .find(|(name, _)| Path::new("/g").join(name) == path);
                found.map(|(_, text)| (*text).to_owned())
            }
        };
        let group = Path::new("/g");
        let half = Some(Quota {
            quota_us: 50_000,
            period_us: 100_000,
        });
        let v1 = &[
            ("cpu.cfs_quota_us", "50000\n"),
            ("cpu.cfs_period_us", "100000\n"),
            ("memory.limit_in_bytes", "1000\n"),
            ("memory.usage_in_bytes", "1\n"),
        ];
        let v2 = &[
            ("cpu.max", "50000 100000\n"),
            ("memory.max", "50\n"),
            ("memory.current", "60\n"),
        ];
        assert_eq!(of(Version::V1).quota(group, file(v1)), half);
        assert_eq!(of(Version::V2).quota(group, file(v2)), half);
        assert_eq!(half.map(Quota::cpus), Some(0.5));
        let memory = |limit, used| Some(Memory { limit, used });
        assert_eq!(of(Version::V1).memory(group, file(v1)), memory(1000, 1));
        assert_eq!(of(Version::V2).memory(group, file(v2)), memory(50, 60));
        let none_v1 = &[
            ("cpu.cfs_quota_us", "-1\n"),
            ("cpu.cfs_period_us", "100000\n"),
        ];
        let none_v2 = &[
            ("cpu.max", "max 100000\n"),
            ("memory.max", "max\n"),
            ("memory.current", "60\n"),
        ];
        assert_eq!(of(Version::V1).quota(group, file(none_v1)), None);
        assert_eq!(of(Version::V2).quota(group, file(none_v2)), None);
        assert_eq!(of(Version::V2).memory(group, file(none_v2)), None);
        let broken = &[("cpu.max", "5 0\n")];
        assert_eq!(of(Version::V2).quota(group, file(broken)), None);
    }

    #[test]
    fn both_versions_count() {
        let v1 = Throttled::read(b"nr_periods 3\nnr_throttled 2\nthrottled_time 77\n");
        let v2 =
            Throttled::read(b"usage_usec 3\nnr_periods 3\nnr_throttled 2\nthrottled_usec 77\n");
        assert_eq!((v1.periods, v1.throttled_periods), (Some(3), Some(2)));
        assert_eq!((v1.throttled_ns, v2.throttled_ns), (Some(77), Some(77_000)));
        assert_eq!(Throttled::read(b"usage_usec 3\n"), Throttled::default());
    }
}
