//! Virtual machines.

use super::Tree;
use crate::cpuid::Leaf;
use crate::cpuid::fake::FakeCpuid;

fn eax(value: u32) -> Leaf {
    Leaf {
        eax: value,
        ..Leaf::default()
    }
}

#[test]
fn a_kvm_guest_with_all_its_settings() {
    let cpu = "sys/devices/system/cpu";
    let source = "sys/devices/system/clocksource/clocksource0";
    let tree = Tree::new()
        .file("proc/cpuinfo", "processor\t: 0\nmodel name\t: Intel Xeon\nflags\t\t: fpu tsc rdtscp constant_tsc hypervisor\n")
        .file("proc/stat", "cpu  1 2 3 4 5 6 7 42 9 10\n")
        .file("proc/meminfo", "MemTotal:  1024 kB\nMemAvailable:  512 kB\n")
        .file("proc/pressure/cpu", "some avg10=0.00\n")
        .file(&format!("{source}/current_clocksource"), "kvm-clock\n")
        .file(&format!("{source}/available_clocksource"), "kvm-clock tsc acpi_pm \n")
        .file("sys/class/dmi/id/sys_vendor", "QEMU\n")
        .file("sys/class/dmi/id/product_name", "Standard PC (Q35 + ICH9, 2009)\n")
        .file("sys/class/dmi/id/bios_vendor", "SeaBIOS\n")
        .file(&format!("{cpu}/online"), "0-3\n")
        .file(&format!("{cpu}/smt/active"), "1\n")
        .file(&format!("{cpu}/smt/control"), "on\n")
        .file(&format!("{cpu}/cpu0/topology/thread_siblings_list"), "0,2\n")
        .file(&format!("{cpu}/cpu0/cache/index0/level"), "1\n")
        .file(&format!("{cpu}/cpu0/cache/index0/type"), "Data\n")
        .file(&format!("{cpu}/cpu0/cache/index0/size"), "32K\n")
        .file(&format!("{cpu}/cpu0/cache/index3/level"), "3\n")
        .file(&format!("{cpu}/cpu0/cache/index3/type"), "Unified\n")
        .file(&format!("{cpu}/cpu0/cache/index3/size"), "16384K\n")
        .file(&format!("{cpu}/cpu0/cache/index3/shared_cpu_list"), "0-3\n")
        .file(&format!("{cpu}/cpuidle/current_driver"), "intel_idle\n")
        .file(&format!("{cpu}/cpuidle/current_governor_ro"), "menu\n")
        .file(&format!("{cpu}/cpu0/cpuidle/state0/name"), "POLL\n")
        .file(&format!("{cpu}/cpu0/cpuidle/state0/latency"), "0\n")
        .file(&format!("{cpu}/cpu0/cpuidle/state1/name"), "C1\n")
        .file(&format!("{cpu}/cpu0/cpuidle/state1/latency"), "2\n")
        .file(&format!("{cpu}/cpu0/cpuidle/state1/disable"), "1\n")
        .file(&format!("{cpu}/cpu1/cpufreq/scaling_governor"), "powersave\n")
        .file(&format!("{cpu}/cpu0/cpufreq/scaling_governor"), "performance\n")
        .file(&format!("{cpu}/vulnerabilities/meltdown"), "Mitigation: PTI\n")
        .file("proc/cmdline", "quiet nohz_full=1-3\n")
        .file("sys/kernel/debug/sched/preempt", "none (voluntary) full\n")
        .file("sys/kernel/debug/sched/base_slice_ns", "3000000\n")
        .file("sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n");
    let cpuid = FakeCpuid::guest("KVMKVMKVM").with(0x4000_0001, eax(1 << 3 | 1 << 5));
    let e = tree.described(Some(&cpuid));

    assert_eq!(e.virtualization.hypervisor.as_deref(), Some("KVM"));
    assert_eq!(e.virtualization.features, ["kvm-clock", "kvm-steal-time"]);
    assert_eq!(
        e.virtualization.evidence,
        ["CPUID 0x40000000: KVMKVMKVM", "DMI sys_vendor: QEMU"]
    );
    assert_eq!(
        (e.virtualization.emulated, e.virtualization.steal_ms),
        (None, Some(420))
    );
    assert_eq!(e.clock.clocksource.as_deref(), Some("kvm-clock"));
    assert_eq!(
        e.clock.clocksources_available,
        ["kvm-clock", "tsc", "acpi_pm"]
    );
    assert_eq!(e.clock.tsc_flags, ["tsc", "rdtscp", "constant_tsc"]);
    assert_eq!(e.clock.tsc_rejected, Some(false));
    assert_eq!(
        (e.machine.cpus_online, e.machine.threads_per_core),
        (Some(4), Some(2))
    );
    assert_eq!(
        (e.machine.smt_active, e.machine.smt_control.as_deref()),
        (Some(true), Some("on"))
    );
    assert_eq!(e.machine.caches.len(), 2);
    assert_eq!(e.machine.last_level_cache_bytes, Some(16 << 20));
    assert_eq!(e.machine.memory_bytes, Some(1 << 20));
    assert_eq!(e.machine.transparent_hugepages.as_deref(), Some("madvise"));
    assert_eq!(e.power.idle_governor.as_deref(), Some("menu"));
    let states: Vec<_> = e
        .power
        .idle_states
        .iter()
        .map(|s| (s.name.as_str(), s.exit_latency_us, s.disabled))
        .collect();
    assert_eq!(
        states,
        [("POLL", Some(0), None), ("C1", Some(2), Some(true))]
    );
    assert_eq!(e.power.frequency_governors, ["performance", "powersave"]);
    assert_eq!(e.mitigations["meltdown"], "Mitigation: PTI");
    assert_eq!(e.kernel.timing_options, ["nohz_full=1-3"]);
    assert_eq!(e.kernel.preemption.as_deref(), Some("voluntary"));
    assert_eq!(e.scheduling.base_slice_ns, Some(3_000_000));
    assert_eq!(e.scheduling.pressure_information, Some(true));
}

#[test]
fn a_xen_domu_with_an_intercepted_counter() {
    let tree = Tree::new()
        .file("sys/hypervisor/type", "xen\n")
        .file("sys/hypervisor/guest_type", "PV\n")
        .file("proc/xen/capabilities", "")
        .file("proc/cpuinfo", "flags : tsc\n")
        .file(
            "sys/devices/system/clocksource/clocksource0/available_clocksource",
            "xen \n",
        );
    let cpuid = FakeCpuid::guest("XenVMMXenVMM").with(0x4000_0003, eax(1));
    let e = tree.described(Some(&cpuid));
    assert_eq!(e.virtualization.hypervisor.as_deref(), Some("Xen"));
    assert_eq!(e.virtualization.guest_type.as_deref(), Some("PV"));
    assert_eq!(e.virtualization.tsc_intercepted, Some(true));
    assert_eq!(e.clock.tsc_rejected, Some(true));
    // A PV guest may be denied CPUID; the kernel's word is enough.
    assert_eq!(
        tree.described(None).virtualization.hypervisor.as_deref(),
        Some("Xen")
    );
    let dom0 = tree
        .file("proc/xen/capabilities", "control_d\n")
        .described(None);
    assert_eq!(dom0.virtualization.guest_type.as_deref(), Some("dom0"));
}

#[test]
fn a_hyper_v_guest_but_not_a_surface_tablet() {
    let microsoft = |product: &str| {
        Tree::new()
            .file("sys/class/dmi/id/sys_vendor", "Microsoft Corporation\n")
            .file("sys/class/dmi/id/product_name", product)
    };
    let cpuid = FakeCpuid::guest("Microsoft Hv").with(0x4000_0003, eax(1 << 9));
    let e = microsoft("Virtual Machine\n").described(Some(&cpuid));
    assert_eq!(e.virtualization.hypervisor.as_deref(), Some("Hyper-V"));
    assert_eq!(e.virtualization.features, ["hyper-v reference TSC page"]);
    assert_eq!(
        microsoft("Surface Pro 7\n")
            .described(None)
            .virtualization
            .hypervisor,
        None
    );
}

#[test]
fn kvm_behind_the_face_of_hyper_v_is_kvm() {
    let cpuid = FakeCpuid::guest("Microsoft Hv").signature(0x4000_0100, "KVMKVMKVM");
    let e = Tree::new().described(Some(&cpuid));
    assert_eq!(e.virtualization.hypervisor.as_deref(), Some("KVM"));
    assert_eq!(e.virtualization.evidence.len(), 2);
}

#[test]
fn a_vmware_guest_states_its_counter_rate() {
    let tree = Tree::new().file("sys/class/dmi/id/product_name", "VMware Virtual Platform\n");
    let cpuid = FakeCpuid::guest("VMwareVMware").with(0x4000_0010, eax(2_500_000));
    let e = tree.described(Some(&cpuid));
    assert_eq!(e.virtualization.hypervisor.as_deref(), Some("VMware"));
    assert_eq!(e.clock.tsc_stated_hz, Some(2_500_000_000));
    assert_eq!(e.clock.tsc_stated_by.as_deref(), Some("CPUID 0x40000010"));
}

#[test]
fn virtualbox_is_known_by_its_firmware_even_where_it_answers_as_kvm() {
    let tree = Tree::new()
        .file("sys/class/dmi/id/sys_vendor", "innotek GmbH\n")
        .file("sys/class/dmi/id/product_name", "VirtualBox\n")
        .file("sys/class/dmi/id/board_vendor", "Oracle Corporation\n");
    for cpuid in [None, Some(FakeCpuid::guest("KVMKVMKVM"))] {
        let e = tree.described(cpuid.as_ref().map(|c| c as _));
        assert_eq!(e.virtualization.hypervisor.as_deref(), Some("VirtualBox"));
    }
    let server = Tree::new().file("sys/class/dmi/id/sys_vendor", "Oracle Corporation\n");
    assert_eq!(server.described(None).virtualization.hypervisor, None);
}

#[test]
fn qemu_without_an_accelerator_is_labelled_as_emulated() {
    let e = Tree::new().described(Some(&FakeCpuid::guest("TCGTCGTCGTCG")));
    assert_eq!(e.virtualization.emulated.as_deref(), Some("QEMU TCG"));
    assert_eq!(e.virtualization.hypervisor.as_deref(), Some("QEMU"));
    // Its processor model gives it away where CPUID is silent.
    let tree = Tree::new().file("proc/cpuinfo", "model name\t: QEMU TCG CPU version 2.5+\n");
    assert_eq!(
        tree.described(None).virtualization.emulated.as_deref(),
        Some("QEMU TCG")
    );
    let kvm = Tree::new().file("sys/class/dmi/id/sys_vendor", "QEMU\n");
    assert_eq!(kvm.described(None).virtualization.emulated, None);
}

#[test]
fn without_dmi_the_acpi_tables_name_the_machine_monitor() {
    let tree = Tree::new().file(
        "sys/firmware/acpi/tables/DSDT",
        "DSDT\0\0\0\0\x02wFIRECKFCVMDSDT",
    );
    let e = tree.described(Some(&FakeCpuid::guest("KVMKVMKVM")));
    assert_eq!(
        e.virtualization.machine_monitor.as_deref(),
        Some("Firecracker")
    );
    assert_eq!(
        (e.machine.system_vendor, e.machine.system_product),
        (None, None)
    );
}

#[test]
fn an_arm_guest_is_known_by_its_device_tree() {
    let tree = Tree::new()
        .file(
            "proc/device-tree/hypervisor/compatible",
            "xen,xen-4.17\0xen,xen\0",
        )
        .file("proc/device-tree/model", "XENVM-4.17\0");
    let e = tree.described(None);
    assert_eq!(e.virtualization.hypervisor.as_deref(), Some("Xen"));
    assert_eq!(e.machine.system_product.as_deref(), Some("XENVM-4.17"));
    let virt = Tree::new().file("proc/device-tree/compatible", "linux,dummy-virt\0");
    assert_eq!(
        virt.described(None).virtualization.hypervisor.as_deref(),
        Some("QEMU")
    );
}

#[test]
fn user_mode_linux_and_bare_machines() {
    let uml = Tree::new().file(
        "proc/cpuinfo",
        "vendor_id\t: User Mode Linux\nmodel name\t: UML\n",
    );
    assert_eq!(
        uml.described(None).virtualization.hypervisor.as_deref(),
        Some("User-mode Linux")
    );
    let metal = Tree::new()
        .file("sys/class/dmi/id/sys_vendor", "Amazon EC2\n")
        .file("sys/class/dmi/id/product_name", "c5.metal\n");
    assert_eq!(
        metal
            .described(Some(&FakeCpuid::default()))
            .virtualization
            .hypervisor,
        None
    );
    let unnamed = Tree::new().described(Some(&FakeCpuid::guest("")));
    assert_eq!(
        unnamed.virtualization.hypervisor.as_deref(),
        Some("unknown")
    );
}
