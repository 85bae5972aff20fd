//! Limits that control groups put on this process.

use std::path::{Path, PathBuf};

use tompion_model::{Cgroup, Throttling};

use crate::root::{Root, field};

/// Where a hierarchy is mounted and which of its groups is seen as its root.
struct Mount {
    point: PathBuf,
    top: PathBuf,
}

/// Describes the limits, from whichever version holds the CPU controller.
pub fn cgroup(root: &Root) -> Cgroup {
    match hierarchy(root) {
        Some(Hierarchy::V1 { groups, cpuset }) => of_v1(root, &groups, &cpuset),
        Some(Hierarchy::V2 { groups }) => of_v2(root, &groups),
        None => Cgroup::default(),
    }
}

/// Where a process stands whose CPU time a quota limits.
#[derive(Clone, Debug, PartialEq)]
pub struct QuotaGroup {
    /// The process's own control group, a directory as seen from `/`.
    pub own: PathBuf,
    /// The group with the tightest quota: its own or one above.
    pub limiting: PathBuf,
    /// That quota, as a number of CPUs.
    pub cpus: f64,
    /// The top of the hierarchy, where no quota is felt; absent where it has one
    /// itself, as in most containers.
    pub free: Option<PathBuf>,
}

/// The group whose quota this process feels, and a way out of it.
pub fn quota_group(root: &Root) -> Option<QuotaGroup> {
    let (groups, quota) = limits(root)?;
    let (limiting, tightest) = tightest(root, &groups, quota)?;
    let farthest = groups.iter().rposition(|g| quota(root, g).is_some())?;
    Some(QuotaGroup {
        own: groups.first()?.clone(),
        limiting: limiting.clone(),
        cpus: cpus(tightest),
        // Groups between may hand out controllers and then take no processes.
        free: groups
            .last()
            .filter(|_| farthest + 1 < groups.len())
            .cloned(),
    })
}

/// A process's groups, nearest first, and how their quota is read.
type Limits = (Vec<PathBuf>, fn(&Root, &Path) -> Option<Quota>);

fn limits(root: &Root) -> Option<Limits> {
    Some(match hierarchy(root)? {
        Hierarchy::V1 { groups, .. } => (groups, quota_v1),
        Hierarchy::V2 { groups } => (groups, quota_v2),
    })
}

fn tightest<'a>(
    root: &Root,
    groups: &'a [PathBuf],
    quota: fn(&Root, &Path) -> Option<Quota>,
) -> Option<(&'a PathBuf, Quota)> {
    groups
        .iter()
        .filter_map(|g| Some((g, quota(root, g)?)))
        .min_by(|a, b| cpus(a.1).total_cmp(&cpus(b.1)))
}

/// The counts of the group whose quota this process feels, since the group was
/// made; absent without a quota.
pub fn throttling(root: &Root) -> Option<Throttling> {
    let (groups, quota) = limits(root)?;
    let limiting = tightest(root, &groups, quota)?.0;
    let stat = root.text(limiting.join("cpu.stat"))?.replace(' ', ":");
    let count = |name: &str| field(&stat, name)?.parse::<u64>().ok();
    Some(Throttling {
        periods: count("nr_periods")?,
        throttled_periods: count("nr_throttled")?,
        // Version 1 counts nanoseconds, version 2 microseconds.
        throttled_ns: count("throttled_time")
            .or_else(|| Some(count("throttled_usec")?.saturating_mul(1000)))?,
    })
}

/// The process's group and those above it, nearest first.
enum Hierarchy {
    V1 {
        groups: Vec<PathBuf>,
        cpuset: Vec<PathBuf>,
    },
    V2 {
        groups: Vec<PathBuf>,
    },
}

fn hierarchy(root: &Root) -> Option<Hierarchy> {
    let mounts = root.text("/proc/self/mountinfo").unwrap_or_default();
    let member = root.text("/proc/self/cgroup").unwrap_or_default();
    let v1 = |controller: &str| {
        let mount = v1_mount(&mounts, controller)?;
        let group = v1_group(&member, controller)?;
        Some(own_and_above(root, &mount, group))
    };
    if let Some(groups) = v1("cpu") {
        let cpuset = v1("cpuset").unwrap_or_default();
        return Some(Hierarchy::V1 { groups, cpuset });
    }
    let mount = v2_mount(&mounts)?;
    let group = member.lines().find_map(|l| l.strip_prefix("0::"))?;
    let groups = own_and_above(root, &mount, group);
    Some(Hierarchy::V2 { groups })
}

fn of_v1(root: &Root, groups: &[PathBuf], cpuset: &[PathBuf]) -> Cgroup {
    let quotas = groups.iter().filter_map(|g| quota_v1(root, g));
    let own = groups.first();
    Cgroup {
        version: Some("v1".to_owned()),
        shares: own.and_then(|g| root.parsed(g.join("cpu.shares"))),
        cpuset: cpuset
            .first()
            .and_then(|g| root.text(g.join("cpuset.cpus"))),
        realtime_runtime_us: own.and_then(|g| root.parsed(g.join("cpu.rt_runtime_us"))),
        throttled_periods: throttled(root, groups),
        ..with_quota(quotas)
    }
}

fn of_v2(root: &Root, groups: &[PathBuf]) -> Cgroup {
    let quotas = groups.iter().filter_map(|g| quota_v2(root, g));
    let own = groups.first();
    Cgroup {
        version: Some("v2".to_owned()),
        weight: own.and_then(|g| root.parsed(g.join("cpu.weight"))),
        cpuset: own.and_then(|g| root.text(g.join("cpuset.cpus.effective"))),
        throttled_periods: throttled(root, groups),
        ..with_quota(quotas)
    }
}

/// CPU time granted in each period and the period, both in microseconds.
type Quota = (u64, u64);

fn quota_v1(root: &Root, group: &Path) -> Option<Quota> {
    // -1 stands for no limit and does not parse as unsigned.
    let quota = root.parsed(group.join("cpu.cfs_quota_us"))?;
    let period = root.parsed(group.join("cpu.cfs_period_us"))?;
    (period > 0).then_some((quota, period))
}

fn quota_v2(root: &Root, group: &Path) -> Option<Quota> {
    let text = root.text(group.join("cpu.max"))?;
    // `max 100000` stands for no limit.
    let (quota, period) = text.split_once(' ')?;
    let period = period.parse().ok()?;
    (period > 0).then_some((quota.parse().ok()?, period))
}

/// A quota as a number of CPUs.
fn cpus((quota, period): Quota) -> f64 {
    quota as f64 / period as f64
}

/// The tightest of the quotas above a process is the one it feels.
fn with_quota(quotas: impl Iterator<Item = Quota>) -> Cgroup {
    let tightest = quotas.min_by(|a, b| cpus(*a).total_cmp(&cpus(*b)));
    Cgroup {
        quota_us: tightest.map(|q| q.0),
        period_us: tightest.map(|q| q.1),
        quota_cpus: tightest.map(cpus),
        ..Cgroup::default()
    }
}

/// The count of the nearest group that keeps one.
fn throttled(root: &Root, groups: &[PathBuf]) -> Option<u64> {
    groups.iter().find_map(|g| {
        let stat = root.text(g.join("cpu.stat"))?.replace(' ', ":");
        field(&stat, "nr_throttled")?.parse().ok()
    })
}

fn v1_mount(mountinfo: &str, controller: &str) -> Option<Mount> {
    mountinfo.lines().find_map(|line| {
        let (front, back) = line.split_once(" - ")?;
        let mut words = back.split(' ');
        let is_v1 = words.next()? == "cgroup";
        let options = words.nth(1)?;
        (is_v1 && options.split(',').any(|o| o == controller)).then(|| mount(front))?
    })
}

fn v2_mount(mountinfo: &str) -> Option<Mount> {
    mountinfo.lines().find_map(|line| {
        let (front, back) = line.split_once(" - ")?;
        back.starts_with("cgroup2 ").then(|| mount(front))?
    })
}

/// Fields 4 and 5 of a line of mountinfo: root within the file system, and
/// mount point.
fn mount(front: &str) -> Option<Mount> {
    let mut words = front.split(' ').skip(3);
    Some(Mount {
        top: PathBuf::from(words.next()?),
        point: PathBuf::from(words.next()?),
    })
}

fn v1_group<'a>(member: &'a str, controller: &str) -> Option<&'a str> {
    member.lines().find_map(|line| {
        let (_, rest) = line.split_once(':')?;
        let (controllers, group) = rest.split_once(':')?;
        controllers
            .split(',')
            .any(|c| c == controller)
            .then_some(group)
    })
}

/// Directories of the process's group and all groups above it that can be seen.
fn own_and_above(root: &Root, mount: &Mount, group: &str) -> Vec<PathBuf> {
    // Without a cgroup namespace a container sees its full path but only its own
    // part of the tree.
    let group = Path::new(group);
    let below = group
        .strip_prefix(&mount.top)
        .or_else(|_| group.strip_prefix("/"))
        .unwrap_or(group);
    let own = mount.point.join(below);
    own.ancestors()
        .take_while(|dir| dir.starts_with(&mount.point))
        .filter(|dir| root.has(dir))
        .map(Path::to_path_buf)
        .collect()
}
