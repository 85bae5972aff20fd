//! Processor, memory and what the firmware calls the machine.

use std::collections::BTreeMap;
use std::path::Path;

use tompion_model::{Cache, Machine};

use crate::root::{Root, chosen, field, list_length};

const CPUS: &str = "/sys/devices/system/cpu";

/// Describes the machine.
pub fn machine(root: &Root, architecture: &str) -> Machine {
    let dmi = |name: &str| root.text(format!("/sys/class/dmi/id/{name}"));
    let meminfo = root.text("/proc/meminfo").unwrap_or_default();
    let caches = caches(root);
    let hugepages = root.text("/sys/kernel/mm/transparent_hugepage/enabled");
    Machine {
        id: crate::machine_id::machine_id(root),
        architecture: architecture.to_owned(),
        cpu_model: cpu_model(&root.text("/proc/cpuinfo").unwrap_or_default()),
        system_vendor: dmi("sys_vendor"),
        system_product: dmi("product_name").or_else(|| root.text("/proc/device-tree/model")),
        firmware_vendor: dmi("bios_vendor"),
        cpus_online: cpus_online(root),
        threads_per_core: root
            .text(format!("{CPUS}/cpu0/topology/thread_siblings_list"))
            .and_then(|l| list_length(&l)),
        smt_active: root
            .parsed::<u8>(format!("{CPUS}/smt/active"))
            .map(|a| a == 1),
        smt_control: root.text(format!("{CPUS}/smt/control")),
        last_level_cache_bytes: caches.last().map(|c: &Cache| c.size_bytes),
        caches,
        numa_nodes: root
            .text("/sys/devices/system/node/online")
            .and_then(|l| list_length(&l)),
        memory_bytes: bytes(&meminfo, "MemTotal"),
        memory_available_bytes: bytes(&meminfo, "MemAvailable"),
        transparent_hugepages: hugepages.and_then(|t| chosen(&t)),
    }
}

/// CPU vulnerabilities with the kernel's answer to each.
pub fn mitigations(root: &Root) -> BTreeMap<String, String> {
    let files = root.files(format!("{CPUS}/vulnerabilities"));
    files.into_iter().collect()
}

/// x86 names its model; Arm gives numbers, in lines of their own.
fn cpu_model(cpuinfo: &str) -> Option<String> {
    if let Some(name) = field(cpuinfo, "model name").or_else(|| field(cpuinfo, "Model")) {
        return Some(name.to_owned());
    }
    let implementer = field(cpuinfo, "CPU implementer")?;
    let part = field(cpuinfo, "CPU part")?;
    Some(format!("implementer {implementer}, part {part}"))
}

fn cpus_online(root: &Root) -> Option<u32> {
    if let Some(list) = root.text(format!("{CPUS}/online")) {
        return list_length(&list);
    }
    let cpuinfo = root.text("/proc/cpuinfo")?;
    let count = cpuinfo
        .lines()
        .filter(|l| l.starts_with("processor"))
        .count();
    u32::try_from(count).ok().filter(|n| *n > 0)
}

fn caches(root: &Root) -> Vec<Cache> {
    let mut caches: Vec<Cache> = root
        .numbered(format!("{CPUS}/cpu0/cache"), "index")
        .iter()
        .filter_map(|dir| cache(root, dir))
        .collect();
    caches.sort_by_key(|c| c.level);
    caches
}

fn cache(root: &Root, dir: &Path) -> Option<Cache> {
    Some(Cache {
        level: root.parsed(dir.join("level"))?,
        kind: root.text(dir.join("type")).unwrap_or_default(),
        size_bytes: cache_size(&root.text(dir.join("size"))?)?,
        shared_by: root.text(dir.join("shared_cpu_list")),
    })
}

/// `1024K` or `32M` in bytes.
fn cache_size(text: &str) -> Option<u64> {
    let (number, unit) = match text.strip_suffix('K') {
        Some(number) => (number, 1 << 10),
        None => (text.strip_suffix('M')?, 1 << 20),
    };
    number.parse::<u64>().ok()?.checked_mul(unit)
}

/// A figure of `/proc/meminfo`, which counts in KiB.
fn bytes(meminfo: &str, key: &str) -> Option<u64> {
    let kib: u64 = field(meminfo, key)?
        .strip_suffix("kB")?
        .trim()
        .parse()
        .ok()?;
    kib.checked_mul(1024)
}

#[cfg(test)]
mod unit {
    use super::*;

    #[test]
    fn sizes_are_read_in_their_units() {
        assert_eq!(cache_size("1024K"), Some(1 << 20));
        assert_eq!(cache_size("32M"), Some(32 << 20));
        assert_eq!(cache_size("32"), None);
        let meminfo = "MemTotal:        8118340 kB\nMemAvailable:    7000000 kB\n";
        assert_eq!(bytes(meminfo, "MemTotal"), Some(8_118_340 * 1024));
        assert_eq!(bytes(meminfo, "SwapTotal"), None);
    }

    #[test]
    fn arm_processors_are_named_by_their_numbers() {
        let arm = "processor\t: 0\nCPU implementer\t: 0x41\nCPU part\t: 0xd0c\n";
        assert_eq!(
            cpu_model(arm).as_deref(),
            Some("implementer 0x41, part 0xd0c")
        );
        assert_eq!(
            cpu_model("model name\t: AMD EPYC\n").as_deref(),
            Some("AMD EPYC")
        );
        assert_eq!(cpu_model(""), None);
    }
}
