//! Which CPU takes which of the devices' interrupts.

use std::collections::BTreeMap;

use tompion_host::Root;

/// Device interrupts since boot: number, and how many each CPU took.
pub fn counts(root: &Root) -> BTreeMap<u32, BTreeMap<u32, u64>> {
    let table = root.text("/proc/interrupts").unwrap_or_default();
    let mut lines = table.lines();
    // Offline CPUs have no column.
    let cpus: Vec<u32> = lines
        .next()
        .unwrap_or_default()
        .split_whitespace()
        .filter_map(|name| name.strip_prefix("CPU")?.parse().ok())
        .collect();
    lines
        .filter_map(|line| {
            let (number, rest) = line.split_once(':')?;
            // Local timers and the like have names, not numbers, and stay.
            let number = number.trim().parse().ok()?;
            let counts = rest.split_whitespace().map_while(|n| n.parse().ok());
            Some((number, cpus.iter().copied().zip(counts).collect()))
        })
        .collect()
}

/// The devices' interrupts that each of `cpus` took.
pub fn by_cpu(root: &Root, cpus: &[u32]) -> Vec<(u32, u64)> {
    let counts = counts(root);
    let total = |cpu: u32| counts.values().filter_map(|by| by.get(&cpu)).sum();
    cpus.iter().map(|&cpu| (cpu, total(cpu))).collect()
}

/// The CPU of those that took the most.
pub fn busiest(root: &Root, cpus: &[u32]) -> Option<u32> {
    let all = by_cpu(root, cpus);
    Some(all.into_iter().max_by_key(|(_, count)| *count)?.0)
}

/// The CPU of those that took the fewest; of equals the one with the highest number,
/// since kernels begin to count, and programs to pin, at 0.
pub fn quietest(root: &Root, cpus: &[u32]) -> Option<u32> {
    let all = by_cpu(root, cpus);
    let rank = |(cpu, count): &(u32, u64)| (*count, u32::MAX - cpu);
    Some(all.into_iter().min_by_key(rank)?.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpus_are_told_apart_by_what_devices_send_them() {
        let tree = tempfile::tempdir().unwrap();
        std::fs::create_dir(tree.path().join("proc")).unwrap();
        let table = "           CPU0       CPU2       CPU3\n  0:  5  0  0  IO-APIC 2-edge timer\n \
                     36:  0  70  0  PCI-MSIX virtio1-req.0\nLOC:  9  9  999  Local timer\n";
        std::fs::write(tree.path().join("proc/interrupts"), table).unwrap();
        let root = Root::at(tree.path());
        assert_eq!(by_cpu(&root, &[0, 2, 3]), [(0, 5), (2, 70), (3, 0)]);
        assert_eq!(busiest(&root, &[0, 2, 3]), Some(2));
        assert_eq!(quietest(&root, &[0, 2, 3]), Some(3));
        assert_eq!(busiest(&root, &[]), None);
        let none = Root::at(&tree.path().join("empty"));
        assert_eq!(quietest(&none, &[0, 1]), Some(1));
    }
}
