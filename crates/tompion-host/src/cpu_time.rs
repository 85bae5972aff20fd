//! What all CPUs did together.

use crate::root::Root;

/// The time of all CPUs since the system started, in the ticks of `/proc/stat` (a
/// hundredth of a second on most systems). The difference of two gives shares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CpuTime {
    /// All of it, idle or not.
    pub all_ticks: u64,
    /// What the hypervisor took for others, as far as it says so.
    pub stolen_ticks: u64,
}

/// The sum over CPUs, from the first line of `/proc/stat`. Guests' time is within user
/// time already (proc_stat(5)).
pub fn cpu_time(root: &Root) -> Option<CpuTime> {
    /// user, nice, system, idle, iowait, irq, softirq, steal.
    const FIELDS: usize = 8;
    let text = root.text("/proc/stat")?;
    let numbers = text.lines().find_map(|line| line.strip_prefix("cpu "))?;
    let ticks: Vec<u64> = numbers
        .split_ascii_whitespace()
        .take(FIELDS)
        .map(|n| n.parse().ok())
        .collect::<Option<_>>()?;
    Some(CpuTime {
        // Some hypervisors have had kernels count more than there can be.
        all_ticks: ticks.iter().fold(0, |all, n| all.saturating_add(*n)),
        stolen_ticks: *ticks.get(FIELDS - 1)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn guests_are_not_counted_twice() {
        let directory = tempfile::tempdir().unwrap();
        std::fs::create_dir(directory.path().join("proc")).unwrap();
        let put = |text: &str| std::fs::write(directory.path().join("proc/stat"), text).unwrap();
        let root = Root::at(directory.path());
        assert_eq!(cpu_time(&root), None);
        put("cpu  10 1 5 100 2 1 1 7 9 1\ncpu0 5 0 2 50 1 0 0 3 4 0\nintr 4\n");
        let want = CpuTime {
            all_ticks: 127,
            stolen_ticks: 7,
        };
        assert_eq!(cpu_time(&root), Some(want));
        put(&format!(
            "cpu {}\n",
            [u64::MAX; 10].map(|n| n.to_string()).join(" ")
        ));
        assert_eq!(cpu_time(&root).map(|t| t.all_ticks), Some(u64::MAX));
        put("cpu  10 1 5 100 2 1 1\n");
        assert_eq!(cpu_time(&root), None, "without the field for steal");
    }
}
