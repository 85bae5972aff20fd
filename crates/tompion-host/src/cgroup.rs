//! Limits that control groups put on this process.

use std::path::{Path, PathBuf};

use tompion_cgroup::{Groups, Quota, Throttled, Version};
use tompion_model::{Cgroup, Throttling};

use crate::root::Root;

/// Describes the limits, from whichever version holds the CPU controller.
pub fn cgroup(root: &Root) -> Cgroup {
    let Some(groups) = own(root, "cpu") else {
        return Cgroup::default();
    };
    let own_group = groups.directories.first();
    let file = |name: &str| own_group.map(|group| group.join(name));
    // The tightest of the quotas above a process is the one it feels.
    let tightest = tightest(root, &groups);
    let felt = tightest.map(|(_, quota)| quota);
    let throttled = |group: &PathBuf| stat(root, group)?.throttled_periods;
    let all = Cgroup {
        quota_us: felt.map(|quota| quota.quota_us),
        period_us: felt.map(|quota| quota.period_us),
        quota_cpus: felt.map(Quota::cpus),
        limiting: tightest.map(|(group, _)| group.display().to_string()),
        // The count of the nearest group that keeps one.
        throttled_periods: groups.directories.iter().find_map(throttled),
        ..Cgroup::default()
    };
    match groups.version {
        Version::V1 => Cgroup {
            version: Some("v1".to_owned()),
            shares: file("cpu.shares").and_then(|path| root.parsed(path)),
            cpuset: own(root, "cpuset")
                .filter(|groups| groups.version == Version::V1)
                .and_then(|groups| root.text(groups.directories.first()?.join("cpuset.cpus"))),
            realtime_runtime_us: file("cpu.rt_runtime_us").and_then(|path| root.parsed(path)),
            ..all
        },
        Version::V2 => Cgroup {
            version: Some("v2".to_owned()),
            weight: file("cpu.weight").and_then(|path| root.parsed(path)),
            cpuset: file("cpuset.cpus.effective").and_then(|path| root.text(path)),
            ..all
        },
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
    let groups = own(root, "cpu")?;
    let (limiting, felt) = tightest(root, &groups)?;
    let all = &groups.directories;
    let farthest = all
        .iter()
        .rposition(|group| quota(root, &groups, group).is_some())?;
    Some(QuotaGroup {
        own: all.first()?.clone(),
        limiting: limiting.clone(),
        cpus: felt.cpus(),
        // Groups between may hand out controllers and then take no processes.
        free: all.last().filter(|_| farthest + 1 < all.len()).cloned(),
    })
}

/// The counts of the group whose quota this process feels, since the group was
/// made; absent without a quota.
pub fn throttling(root: &Root) -> Option<Throttling> {
    let groups = own(root, "cpu")?;
    let counts = stat(root, tightest(root, &groups)?.0)?;
    Some(Throttling {
        periods: counts.periods?,
        throttled_periods: counts.throttled_periods?,
        throttled_ns: counts.throttled_ns?,
    })
}

/// This process's groups of a controller, as far as they are seen from here.
fn own(root: &Root, controller: &str) -> Option<Groups> {
    let text = |path: &str| root.text(path).unwrap_or_default();
    let (mounts, member) = (text("/proc/self/mountinfo"), text("/proc/self/cgroup"));
    let mut groups = Groups::of(controller, &mounts, &member)?;
    groups.directories.retain(|group| root.has(group));
    Some(groups)
}

fn quota(root: &Root, groups: &Groups, group: &Path) -> Option<Quota> {
    groups.quota(group, |path| root.text(path))
}

fn tightest<'a>(root: &Root, groups: &'a Groups) -> Option<(&'a PathBuf, Quota)> {
    let with = |group: &'a PathBuf| Some((group, quota(root, groups, group)?));
    let all = groups.directories.iter().filter_map(with);
    all.min_by(|a, b| a.1.cpus().total_cmp(&b.1.cpus()))
}

fn stat(root: &Root, group: &Path) -> Option<Throttled> {
    Some(Throttled::read(&root.bytes(group.join("cpu.stat"))?))
}
