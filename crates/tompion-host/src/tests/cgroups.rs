//! Limits of control groups.

use super::Tree;

const V2: &str = "31 23 0:28 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n";

#[test]
fn the_tightest_quota_above_the_process_counts() {
    let tree = Tree::new()
        .file("proc/self/mountinfo", V2)
        .file("proc/self/cgroup", "0::/outer/inner\n")
        .file("sys/fs/cgroup/outer/cpu.max", "20000 100000\n")
        .file("sys/fs/cgroup/outer/inner/cpu.max", "300000 100000\n")
        .file("sys/fs/cgroup/outer/inner/cpu.weight", "100\n")
        .file("sys/fs/cgroup/outer/inner/cpuset.cpus.effective", "0-1\n")
        .file(
            "sys/fs/cgroup/outer/inner/cpu.stat",
            "usage_usec 5\nnr_periods 9\nnr_throttled 3\n",
        );
    let c = tree.described(None).cgroup;
    assert_eq!(c.version.as_deref(), Some("v2"));
    assert_eq!(
        (c.quota_us, c.period_us, c.quota_cpus),
        (Some(20_000), Some(100_000), Some(0.2))
    );
    assert_eq!(c.limiting.as_deref(), Some("/sys/fs/cgroup/outer"));
    assert_eq!((c.weight, c.cpuset.as_deref()), (Some(100), Some("0-1")));
    assert_eq!(c.throttled_periods, Some(3));
}

#[test]
fn no_limit_is_no_quota() {
    let tree = Tree::new()
        .file("proc/self/mountinfo", V2)
        .file("proc/self/cgroup", "0::/\n")
        .file("sys/fs/cgroup/cpu.max", "max 100000\n");
    let c = tree.described(None).cgroup;
    assert_eq!(
        (c.version.as_deref(), c.quota_us, c.quota_cpus),
        (Some("v2"), None, None)
    );
}

#[test]
fn version_one_is_read_through_a_container_s_partial_view() {
    let mounts = "32 31 0:29 /docker/abc /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu,cpuacct\n\
                  34 31 0:31 /docker/abc /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n\
                  41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n";
    let tree = Tree::new()
        .file("proc/self/mountinfo", mounts)
        .file(
            "proc/self/cgroup",
            "4:cpu,cpuacct:/docker/abc\n3:cpuset:/docker/abc\n0::/\n",
        )
        .file("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "2500\n")
        .file("sys/fs/cgroup/cpu/cpu.cfs_period_us", "5000\n")
        .file("sys/fs/cgroup/cpu/cpu.shares", "512\n")
        .file("sys/fs/cgroup/cpu/cpu.rt_runtime_us", "0\n")
        .file(
            "sys/fs/cgroup/cpu/cpu.stat",
            "nr_periods 4\nnr_throttled 2\nthrottled_time 1\n",
        )
        .file("sys/fs/cgroup/cpuset/cpuset.cpus", "0\n");
    let c = tree.described(None).cgroup;
    assert_eq!(c.version.as_deref(), Some("v1"));
    assert_eq!(
        (c.quota_us, c.period_us, c.quota_cpus),
        (Some(2_500), Some(5_000), Some(0.5))
    );
    assert_eq!((c.shares, c.cpuset.as_deref()), (Some(512), Some("0")));
    assert_eq!(
        (c.realtime_runtime_us, c.throttled_periods),
        (Some(0), Some(2))
    );
}

#[test]
fn version_one_without_a_quota() {
    let tree = Tree::new()
        .file(
            "proc/self/mountinfo",
            "32 31 0:29 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n",
        )
        .file("proc/self/cgroup", "1:cpu:/a\n")
        .file("sys/fs/cgroup/cpu/a/cpu.cfs_quota_us", "-1\n")
        .file("sys/fs/cgroup/cpu/a/cpu.cfs_period_us", "100000\n");
    let c = tree.described(None).cgroup;
    assert_eq!((c.version.as_deref(), c.quota_us), (Some("v1"), None));
}

#[test]
fn throttling_is_read_from_the_group_that_limits() {
    let tree = Tree::new()
        .file("proc/self/mountinfo", V2)
        .file("proc/self/cgroup", "0::/outer/inner\n")
        .file("sys/fs/cgroup/outer/cpu.max", "20000 100000\n")
        .file(
            "sys/fs/cgroup/outer/cpu.stat",
            "nr_periods 90\nnr_throttled 30\nthrottled_usec 7000\n",
        )
        .file("sys/fs/cgroup/outer/inner/cpu.max", "max 100000\n")
        .file(
            "sys/fs/cgroup/outer/inner/cpu.stat",
            "nr_periods 0\nnr_throttled 0\nthrottled_usec 0\n",
        );
    let seen = crate::cgroup::throttling(&tree.root()).unwrap();
    assert_eq!(
        (seen.periods, seen.throttled_periods, seen.throttled_ns),
        (90, 30, 7_000_000)
    );
}

#[test]
fn throttling_of_version_one_counts_nanoseconds() {
    let group = |quota: &str| {
        Tree::new()
            .file(
                "proc/self/mountinfo",
                "32 31 0:29 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n",
            )
            .file("proc/self/cgroup", "1:cpu:/a\n")
            .file("sys/fs/cgroup/cpu/a/cpu.cfs_quota_us", quota)
            .file("sys/fs/cgroup/cpu/a/cpu.cfs_period_us", "100000\n")
            .file(
                "sys/fs/cgroup/cpu/a/cpu.stat",
                "nr_periods 4\nnr_throttled 2\nthrottled_time 160000000\n",
            )
    };
    let seen = crate::cgroup::throttling(&group("20000\n").root()).unwrap();
    assert_eq!(
        (seen.throttled_periods, seen.throttled_ns),
        (2, 160_000_000)
    );
    assert!(crate::cgroup::throttling(&group("-1\n").root()).is_none());
}
