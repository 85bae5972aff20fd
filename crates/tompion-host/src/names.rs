//! How hypervisors sign themselves, and what we call them.

/// QEMU imitating the processor in software (its Tiny Code Generator).
pub const TCG: &str = "QEMU TCG";

/// The name behind a CPUID signature; the signature itself where it is unknown.
///
/// Sources: the hypervisors' own headers, as collected in Linux
/// (arch/x86/include/asm/hypervisor.h) and systemd-detect-virt.
pub fn of_signature(signature: &str) -> &str {
    match signature {
        "KVMKVMKVM" | "Linux KVM Hv" => "KVM",
        "TCGTCGTCGTCG" => "QEMU",
        "Microsoft Hv" => "Hyper-V",
        "VMwareVMware" => "VMware",
        "XenVMMXenVMM" => "Xen",
        "VBoxVBoxVBox" => "VirtualBox",
        "bhyve bhyve" => "bhyve",
        "ACRNACRNACRN" => "ACRN",
        "prl hyperv" | "lrpepyh  vr" => "Parallels",
        "QNXQVMBSQG" => "QNX",
        "SRESRESRESRE" => "Lockheed Martin LMHS",
        "Jailhouse" => "Jailhouse",
        "EVMMEVMMEVMM" => "Intel KGT",
        "UnisysSpar64" => "Unisys s-Par",
        other => other,
    }
}

/// The hypervisor that a word from the firmware (DMI) stands for.
pub fn of_firmware(word: &str) -> Option<&'static str> {
    const WORDS: [(&str, &str); 17] = [
        ("KVM", "KVM"),
        ("OpenStack", "KVM"),
        ("KubeVirt", "KVM"),
        ("Amazon EC2", "KVM"),
        ("Google Compute Engine", "KVM"),
        ("DigitalOcean", "KVM"),
        ("QEMU", "QEMU"),
        ("Bochs", "QEMU"),
        ("VMware", "VMware"),
        ("VMW", "VMware"),
        ("innotek GmbH", "VirtualBox"),
        ("VirtualBox", "VirtualBox"),
        ("Oracle Corporation", "VirtualBox"),
        ("Xen", "Xen"),
        ("Parallels", "Parallels"),
        ("BHYVE", "bhyve"),
        ("Apple Virtualization", "Apple Virtualization"),
    ];
    let found = WORDS.iter().find(|(start, _)| word.starts_with(start));
    found.map(|(_, name)| *name)
}

/// The virtual machine monitor that signs its ACPI tables like this.
pub fn of_acpi_maker(maker: &str) -> Option<&'static str> {
    match maker {
        "FIRECK" => Some("Firecracker"),
        "CLOUDH" => Some("Cloud Hypervisor"),
        "BOCHS" => Some("QEMU"),
        "VBOX" => Some("VirtualBox"),
        "CROSVM" => Some("crosvm"),
        _ => None,
    }
}

/// The hypervisor that a device tree's `compatible` string names.
pub fn of_device_tree(compatible: &str) -> Option<&'static str> {
    match compatible {
        "linux,kvm" => Some("KVM"),
        c if c.starts_with("xen,xen") => Some("Xen"),
        c if c.contains("vmware") => Some("VMware"),
        _ => None,
    }
}
