//! Whether and by what the machine is virtualised.

use tompion_model::Virtualization;

use crate::cpuid::CpuidFacts;
use crate::names;
use crate::root::{Root, field};

/// Firmware strings that betray a hypervisor. Serial numbers are not among them.
const FIRMWARE: [&str; 5] = [
    "product_name",
    "sys_vendor",
    "board_vendor",
    "bios_vendor",
    "product_version",
];

/// One trace of a hypervisor.
struct Trace {
    name: String,
    evidence: String,
}

/// What virtualises this machine, from CPUID, the firmware, the device tree and
/// the kernel.
pub fn virtualization(root: &Root, cpuid: &CpuidFacts) -> Virtualization {
    let mut traces = by_cpuid(cpuid);
    traces.extend(by_sysfs(root));
    traces.extend(by_device_tree(root));
    traces.extend(by_firmware(root));
    traces.extend(by_kernel(root));
    let emulated = emulated(root, cpuid);
    let mut evidence: Vec<String> = traces.iter().map(|t| t.evidence.clone()).collect();
    evidence.extend(emulated.as_ref().map(|e| e.1.clone()));
    if traces.is_empty() && cpuid.hypervisor_present {
        evidence.push("CPUID says that there is a hypervisor, without a name".to_owned());
    }
    evidence.dedup();
    let monitor = machine_monitor(root);
    evidence.extend(monitor.as_ref().map(|m| m.1.clone()));
    Virtualization {
        hypervisor: decided(&traces).or_else(|| {
            let unnamed = cpuid.hypervisor_present.then(|| "unknown".to_owned());
            unnamed.filter(|_| traces.is_empty())
        }),
        machine_monitor: monitor.map(|m| m.0),
        guest_type: guest_type(root),
        emulated: emulated.map(|e| e.0),
        evidence,
        features: cpuid.features.clone(),
        tsc_intercepted: cpuid.tsc_intercepted,
        steal_ms: root.text("/proc/stat").as_deref().and_then(steal_ms),
    }
}

/// The first trace counts, but for two disguises: KVM and Xen answer as Hyper-V
/// for the sake of Windows guests, and VirtualBox answers as KVM for Linux ones.
fn decided(traces: &[Trace]) -> Option<String> {
    let first = traces.first()?;
    let named = |name: &str| traces.iter().find(|t| t.name == name);
    let behind = match first.name.as_str() {
        "KVM" => named("VirtualBox"),
        "Hyper-V" => named("KVM").or_else(|| named("Xen")),
        _ => None,
    };
    Some(behind.unwrap_or(first).name.clone())
}

fn by_cpuid(cpuid: &CpuidFacts) -> Vec<Trace> {
    let signatures = cpuid.signatures.iter();
    signatures
        .map(|(leaf, signature)| Trace {
            name: names::of_signature(signature).to_owned(),
            evidence: format!("CPUID {leaf:#x}: {signature}"),
        })
        .collect()
}

fn by_sysfs(root: &Root) -> Option<Trace> {
    let kind = root.text("/sys/hypervisor/type")?;
    let name = if kind == "xen" { "Xen" } else { &kind };
    Some(Trace {
        name: name.to_owned(),
        evidence: format!("/sys/hypervisor/type: {kind}"),
    })
}

fn by_device_tree(root: &Root) -> Option<Trace> {
    let compatible = root.text("/proc/device-tree/hypervisor/compatible");
    if let Some(compatible) = compatible {
        return Some(Trace {
            name: names::of_device_tree(&compatible)
                .unwrap_or(&compatible)
                .to_owned(),
            evidence: format!("device tree: hypervisor {}", printable(&compatible)),
        });
    }
    let board = root.text("/proc/device-tree/compatible")?;
    let virt = board.split('\0').any(|c| c == "linux,dummy-virt");
    virt.then(|| Trace {
        name: "QEMU".to_owned(),
        evidence: "device tree: linux,dummy-virt".to_owned(),
    })
}

fn by_firmware(root: &Root) -> Vec<Trace> {
    let read = |name: &str| root.text(format!("/sys/class/dmi/id/{name}"));
    // Microsoft makes real machines, too: only its virtual model counts.
    if read("sys_vendor").as_deref() == Some("Microsoft Corporation")
        && read("product_name").as_deref() == Some("Virtual Machine")
    {
        return vec![Trace {
            name: "Hyper-V".to_owned(),
            evidence: "DMI: Microsoft Corporation, Virtual Machine".to_owned(),
        }];
    }
    // The same cloud vendor rents out bare machines.
    if read("product_name").is_some_and(|p| p.ends_with(".metal")) {
        return Vec::new();
    }
    FIRMWARE
        .iter()
        .filter_map(|name| {
            let text = read(name)?;
            let hypervisor = names::of_firmware(&text)?;
            // Oracle makes real machines, too; its boards betray VirtualBox.
            if text.starts_with("Oracle") && *name != "board_vendor" {
                return None;
            }
            Some(Trace {
                name: hypervisor.to_owned(),
                evidence: format!("DMI {name}: {text}"),
            })
        })
        .collect()
}

/// Kernels that are guests by construction.
fn by_kernel(root: &Root) -> Option<Trace> {
    let cpuinfo = root.text("/proc/cpuinfo").unwrap_or_default();
    if field(&cpuinfo, "vendor_id") == Some("User Mode Linux") {
        return Some(Trace {
            name: "User-mode Linux".to_owned(),
            evidence: "/proc/cpuinfo vendor_id: User Mode Linux".to_owned(),
        });
    }
    None
}

/// Software that imitates the processor, with the evidence.
fn emulated(root: &Root, cpuid: &CpuidFacts) -> Option<(String, String)> {
    if cpuid.signatures.iter().any(|s| s.1 == "TCGTCGTCGTCG") {
        let evidence = "CPUID 0x40000000: TCGTCGTCGTCG".to_owned();
        return Some((names::TCG.to_owned(), evidence));
    }
    let cpuinfo = root.text("/proc/cpuinfo")?;
    let model = field(&cpuinfo, "model name")?;
    model.starts_with("QEMU TCG").then(|| {
        let evidence = format!("/proc/cpuinfo model name: {model}");
        (names::TCG.to_owned(), evidence)
    })
}

/// Who made the virtual hardware: its name stands in the ACPI tables, which
/// only root may read.
fn machine_monitor(root: &Root) -> Option<(String, String)> {
    let table = root.bytes("/sys/firmware/acpi/tables/DSDT")?;
    // Bytes 10 to 15 of every table's header are its maker's name (ACPI 5.2.6).
    let maker = String::from_utf8_lossy(table.get(10..16)?)
        .trim()
        .to_owned();
    let name = names::of_acpi_maker(&maker)?;
    Some((name.to_owned(), format!("ACPI tables made by {maker}")))
}

fn guest_type(root: &Root) -> Option<String> {
    let capabilities = root.text("/proc/xen/capabilities").unwrap_or_default();
    if capabilities.contains("control_d") {
        return Some("dom0".to_owned());
    }
    root.text("/sys/hypervisor/guest_type")
}

/// Ten thousand years of ten thousand CPUs.
const MOST_STEAL_MS: u64 = 10_000 * 10_000 * 366 * 86_400_000;

/// The eighth figure of the line `cpu`, in ticks of 10 ms (`USER_HZ` is 100 on
/// all architectures of interest).
fn steal_ms(stat: &str) -> Option<u64> {
    let line = stat.lines().find_map(|l| l.strip_prefix("cpu "))?;
    let ticks: u64 = line.split_whitespace().nth(7)?.parse().ok()?;
    // Kernels have shown counters that went below zero; no machine is that old.
    ticks.checked_mul(10).filter(|ms| *ms <= MOST_STEAL_MS)
}

fn printable(text: &str) -> String {
    text.replace('\0', " ")
}

#[cfg(test)]
mod unit {
    use super::*;

    #[test]
    fn steal_is_the_eighth_figure() {
        let stat = "cpu  37918 0 7153 449362 908 0 107 27 0 0\ncpu0 1 2 3 4 5 6 7 8 9 10\n";
        assert_eq!(steal_ms(stat), Some(270));
        assert_eq!(steal_ms("cpu  1 2 3 4\n"), None);
        assert_eq!(steal_ms(""), None);
        for wrapped in [u64::MAX, u64::MAX / 10, i64::MAX as u64] {
            assert_eq!(steal_ms(&format!("cpu  1 2 3 4 5 6 7 {wrapped}\n")), None);
        }
    }
}
