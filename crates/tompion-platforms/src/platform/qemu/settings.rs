//! How virtual machines of QEMU are set up.

use std::cell::Cell;
use std::collections::BTreeMap;
use tompion_model::InvalidValue;

use serde::Serialize;
use tompion_guest::{Accel, Disk};

use crate::keys::{Table, cpus_below};
use crate::network::Network;

/// Kernels of the guests, the usual one first.
pub(in crate::platform) const KERNELS: [&str; 3] = ["cloud", "standard", "rt"];

/// Clocksources of Linux on x86, and whether they are a hypervisor's own.
const CLOCKSOURCES: [(&str, bool); 7] = [
    ("tsc", false),
    ("hpet", false),
    ("acpi_pm", false),
    ("jiffies", false),
    ("kvm-clock", true),
    ("hyperv_clocksource_tsc_page", true),
    ("hyperv_clocksource_msr", true),
];

/// Features of virtual processors by the names of plans, which are QEMU's but for
/// `kvm-clock`, and whether they are KVM's to give.
const FEATURES: [(&str, &str, bool); 26] = [
    ("kvm-clock", "kvmclock", true),
    ("kvm-asyncpf", "kvm-asyncpf", true),
    ("kvm-poll-control", "kvm-poll-control", true),
    ("kvm-pv-eoi", "kvm-pv-eoi", true),
    ("kvm-pv-ipi", "kvm-pv-ipi", true),
    ("kvm-pv-sched-yield", "kvm-pv-sched-yield", true),
    ("kvm-pv-tlb-flush", "kvm-pv-tlb-flush", true),
    ("kvm-pv-unhalt", "kvm-pv-unhalt", true),
    ("kvm-steal-time", "kvm-steal-time", true),
    ("hv-relaxed", "hv-relaxed", true),
    ("hv-vapic", "hv-vapic", true),
    ("hv-vpindex", "hv-vpindex", true),
    ("hv-runtime", "hv-runtime", true),
    ("hv-time", "hv-time", true),
    ("hv-synic", "hv-synic", true),
    ("hv-stimer", "hv-stimer", true),
    ("hv-stimer-direct", "hv-stimer-direct", true),
    ("hv-frequencies", "hv-frequencies", true),
    ("hv-reenlightenment", "hv-reenlightenment", true),
    ("hv-tlbflush", "hv-tlbflush", true),
    ("hv-ipi", "hv-ipi", true),
    ("invtsc", "invtsc", true),
    ("tsc-deadline", "tsc-deadline", true),
    ("x2apic", "x2apic", true),
    ("hypervisor", "hypervisor", false),
    ("rdtscp", "rdtscp", false),
];

/// How a virtual machine is set up.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct QemuSettings {
    /// `tcg` or `kvm`.
    pub accel: String,
    /// Virtual CPUs.
    pub cpus: u32,
    /// Memory in MiB.
    pub memory_mib: u32,
    /// Kernel: `cloud`, `standard` or `rt`.
    pub kernel: String,
    /// Machine, for example `q35`; `pc` where absent.
    pub machine: Option<String>,
    /// CPU model; all that the accelerator has where absent.
    pub cpu: Option<String>,
    /// Features given to it or taken from it.
    pub features: BTreeMap<&'static str, bool>,
    /// Clocksource asked for at boot.
    pub clocksource: Option<String>,
    /// CPUs of the host for each virtual one, or one set for all; free where empty.
    pub pin: Vec<Vec<usize>>,
    /// Virtual time: an instruction takes 2 to the power of this many ns.
    pub icount: Option<u8>,
    /// How disks are attached: `virtio`, `ide` or `ahci`.
    pub disk: String,
    /// Size of a scratch disk, on which loads then write; memory where absent.
    pub scratch_mib: Option<u32>,
    /// None, or by a tap: of a testbed's host, or to a namespace of its own where the plan has no testbed.
    pub network: Network,
}

impl QemuSettings {
    pub(super) fn accelerator(&self) -> Accel {
        match self.accel.as_str() {
            "kvm" => Accel::Kvm,
            _ => Accel::Tcg,
        }
    }

    pub(super) fn disks(&self) -> Disk {
        match self.disk.as_str() {
            "ide" => Disk::Ide,
            "ahci" => Disk::Ahci,
            _ => Disk::Virtio,
        }
    }

    /// CPU model with features, as QEMU takes it; absent where both are left as they
    /// are.
    pub fn cpu_model(&self) -> Option<String> {
        if self.cpu.is_none() && self.features.is_empty() {
            return None;
        }
        let usual = match self.accelerator() {
            Accel::Kvm => "host",
            _ => "max",
        };
        let mut model = self.cpu.as_deref().unwrap_or(usual).to_owned();
        for (name, qemu, _) in FEATURES {
            if let Some(on) = self.features.get(name) {
                model += &format!(",{qemu}={}", if *on { "on" } else { "off" });
            }
        }
        Some(model)
    }

    pub(super) fn read(table: &Table<'_, '_>) -> Self {
        let accel = table.read("accel", |value| match value.as_str() {
            Some(accel @ ("tcg" | "kvm")) => Ok(accel.to_owned()),
            _ => Err("there are \"tcg\" (emulation) and \"kvm\"".to_owned()),
        });
        let accel = accel.unwrap_or_else(|| "tcg".to_owned());
        let has_kvm = accel == "kvm";
        let small = |n: u64| u32::try_from(n).unwrap_or(u32::MAX);
        let option = |key: &'static str| {
            table.read(key, |value| match value.as_str() {
                Some(text) if text.split(',').next() == Some("help") => Err(format!(
                    "help lists names and is none: qemu-system-x86_64 -{key} help"
                )),
                Some(text) if is_option(text) => Ok(text.to_owned()),
                _ => Err("a name of QEMU's is wanted, with its options: \"NAME,KEY=VALUE\"".into()),
            })
        };
        let settings = Self {
            cpus: small(table.number("cpus", 1..256).unwrap_or(1)),
            memory_mib: small(table.number("memory_mib", 128..1_048_577).unwrap_or(512)),
            kernel: table.choice("kernel", &KERNELS).to_owned(),
            machine: option("machine"),
            cpu: option("cpu"),
            features: features(table, has_kvm),
            clocksource: clocksource(table, has_kvm),
            pin: pinned(table),
            icount: table.number("icount", 0..11).map(|n| n as u8),
            disk: table.choice("disk", &["virtio", "ide", "ahci"]).to_owned(),
            scratch_mib: table.number("scratch_mib", 16..1_048_577).map(small),
            network: Network::read(table, &[Network::Tap]),
            accel,
        };
        settings.check(table);
        settings
    }

    /// What does not go together.
    fn check(&self, table: &Table<'_, '_>) {
        let wrong = |key: &str, text: String| table.wrong(table.at_key(key), text);
        if self.icount.is_some() && self.accel == "kvm" {
            wrong(
                "icount",
                "icount: virtual time needs accel = \"tcg\"".into(),
            );
        }
        let (sets, cpus) = (self.pin.len(), self.cpus);
        if self.icount.is_some() && sets > 1 {
            let text = "pin: in virtual time all virtual CPUs are one thread: name one set of CPUs";
            wrong("pin", text.into());
        } else if sets > 1 && sets != cpus as usize {
            wrong(
                "pin",
                format!(
                    "pin: {sets} sets of CPUs for {cpus} virtual CPUs: one for each, or one for all"
                ),
            );
        }
        let machine = self.machine.as_deref().unwrap_or("pc");
        let machine = machine.split(',').next().unwrap_or_default();
        let text = match self.disk.as_str() {
            "virtio" => return,
            _ if machine == "microvm" => "the machine microvm has virtio disks alone".to_owned(),
            "ide" if machine != "pc" => {
                format!("IDE disks need the machine pc, not {machine}; there is ahci")
            }
            "ahci" if self.kernel == "cloud" => {
                "the cloud kernel has no driver for it; use kernel = \"standard\" or \"rt\"".into()
            }
            _ => return,
        };
        wrong("disk", format!("disk: {text}"));
    }

    /// All of them, for people to read.
    pub(super) fn in_words(&self) -> Vec<String> {
        let word = |name: &str, word: &Option<String>| word.as_ref().map(|w| format!("{name} {w}"));
        let mut words = vec![
            format!("accelerator {}", self.accel),
            format!("{} CPUs", self.cpus),
            format!("{} MiB", self.memory_mib),
            format!("{} kernel", self.kernel),
            format!("{} disks", self.disk),
        ];
        words.extend(word("machine", &self.machine));
        words.extend(word("CPU", &self.cpu));
        let features = self.features.iter();
        words.extend(
            features.map(|(name, on)| format!("{} {name}", if *on { "with" } else { "without" })),
        );
        words.extend(word("clocksource", &self.clocksource));
        let set = |cpus: &Vec<usize>| {
            let cpus: Vec<u32> = cpus.iter().map(|&cpu| cpu as u32).collect();
            tompion_host::cpu_list(&cpus)
        };
        if !self.pin.is_empty() {
            let sets: Vec<String> = self.pin.iter().map(set).collect();
            words.push(format!("virtual CPUs pinned to {}", sets.join(" / ")));
        }
        words.extend(
            self.icount
                .map(|n| format!("virtual time of 2^{n} ns an instruction")),
        );
        words.extend(self.scratch_mib.map(|n| format!("scratch disk of {n} MiB")));
        words.extend(self.network.in_words());
        words
    }
}

/// What QEMU cannot take for another option.
fn is_option(text: &str) -> bool {
    let fits = |c: char| c.is_ascii_alphanumeric() || "-_.,=+".contains(c);
    text.starts_with(|c: char| c.is_ascii_alphanumeric()) && text.chars().all(fits)
}

fn features(table: &Table<'_, '_>, has_kvm: bool) -> BTreeMap<&'static str, bool> {
    let mut chosen = BTreeMap::new();
    let Some(features) = table.table("features", "list of features") else {
        return chosen;
    };
    for (name, _, needs_kvm) in FEATURES {
        let on = features.read(name, |value| {
            value
                .as_bool()
                .ok_or_else(|| "true or false is wanted".to_owned())
        });
        let Some(on) = on else { continue };
        if needs_kvm && !has_kvm {
            let text = format!("{name}: {ONLY_KVM}");
            features.wrong(features.at_key(name), text);
        }
        chosen.insert(name, on);
    }
    features.finish();
    chosen
}

const ONLY_KVM: &str = "an emulated processor does not have it; it needs accel = \"kvm\"";

/// One that this kind of guest can have.
pub(in crate::platform) fn clocksource(table: &Table<'_, '_>, has_kvm: bool) -> Option<String> {
    table.text("clocksource")?;
    let names = CLOCKSOURCES.map(|(name, _)| name);
    let name = table.choice("clocksource", &names);
    if !has_kvm && CLOCKSOURCES.contains(&(name, true)) {
        let text = format!("clocksource: {ONLY_KVM}");
        table.wrong(table.at_key("clocksource"), text);
    }
    Some(name.to_owned())
}

/// CPUs that all virtual CPUs of a guest may be pinned to together.
const MOST_PINNED: usize = 4096;

/// Where each virtual CPU runs.
fn pinned(table: &Table<'_, '_>) -> Vec<Vec<usize>> {
    let all = Cell::new(0);
    let list = table.list("pin", |text| {
        let cpus = cpus(text)?;
        all.set(all.get() + cpus.len());
        match all.get() > MOST_PINNED {
            true => Err(InvalidValue::from(format!(
                "at most {MOST_PINNED} CPUs in all"
            ))),
            false => Ok(cpus),
        }
    });
    list.unwrap_or_default()
}

/// CPUs of the host, as a list such as `0`, `0-1` or `0,2`.
fn cpus(text: &str) -> Result<Vec<usize>, InvalidValue> {
    let wanted = || format!("`{text}` is no list of CPUs; write \"0\", \"0-1\" or \"0,2\"");
    let cpus = cpus_below(text, 1024).ok_or_else(wanted)?;
    Ok(cpus.into_iter().map(|cpu| cpu as usize).collect())
}
