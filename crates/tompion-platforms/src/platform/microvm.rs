//! What Firecracker and cloud-hypervisor have in common. Both need KVM, and boot the
//! kernel's ELF file with the initramfs of all guests.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tompion_model::Unavailable;

use serde::Serialize;
use serde_json::json;
use tompion_guest::{Guest, GuestError, Vmm};

use super::qemu::{KERNELS, clocksource};
use super::{
    Named, Output, Platform, Presence, Setup, Task, TaskError, find, guest, none, require_static,
    version,
};
use crate::keys::Table;

/// How a microVM is set up.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
struct MicroVmSettings {
    /// Name or path of the program that makes it.
    program: PathBuf,
    /// Virtual CPUs.
    cpus: u32,
    /// Memory in MiB.
    memory_mib: u32,
    /// Kernel: `cloud`, `standard` or `rt`.
    kernel: String,
    /// Clocksource asked for at boot.
    clocksource: Option<String>,
}

impl MicroVmSettings {
    /// Reads them; `usual` is the program's name.
    fn read(table: &Table<'_, '_>, usual: &str) -> Self {
        let small = |n: u64| u32::try_from(n).unwrap_or(u32::MAX);
        let program = table.text("program");
        Self {
            program: program.unwrap_or_else(|| usual.to_owned()).into(),
            // Firecracker's most is 32.
            cpus: small(table.number("cpus", 1..33).unwrap_or(1)),
            memory_mib: small(table.number("memory_mib", 128..1_048_577).unwrap_or(512)),
            kernel: table.choice("kernel", &KERNELS).to_owned(),
            clocksource: clocksource(table, true),
        }
    }

    /// All of them, for people to read.
    fn in_words(&self) -> Vec<String> {
        let mut words = vec![
            "accelerator kvm".to_owned(),
            format!("{} CPUs", self.cpus),
            format!("{} MiB", self.memory_mib),
            format!("{} kernel", self.kernel),
        ];
        words.extend(self.clocksource.iter().map(|c| format!("clocksource {c}")));
        words
    }
}

/// A microVM by one of the programs that make them.
#[derive(Clone, Debug)]
struct MicroVm {
    vmm: Vmm,
    settings: MicroVmSettings,
}

/// Reads the keys of a platform by `vmm`, which is called `kind` in plans.
pub(super) fn read(table: &Table<'_, '_>, kind: &str, vmm: Vmm) -> Option<Named> {
    let settings = MicroVmSettings::read(table, kind);
    Some((Some(kind.to_owned()), Arc::new(MicroVm { vmm, settings })))
}

impl Setup for MicroVm {
    fn as_json(&self) -> serde_json::Value {
        json!(self.settings)
    }

    fn settings(&self) -> Vec<String> {
        self.settings.in_words()
    }

    fn start(&self) -> Duration {
        // Never seen: as they are told to take.
        Duration::from_secs(1)
    }

    fn size(&self) -> Option<(u32, u32)> {
        Some((self.settings.cpus, self.settings.memory_mib))
    }

    fn platform(&self, _: &str) -> Box<dyn Platform> {
        Box::new(self.clone())
    }
}

impl Platform for MicroVm {
    fn presence(&self, program: &Path) -> Presence {
        presence(&self.settings, self.vmm, program)
    }

    fn at_a_glance(&self) -> Presence {
        super::at_a_glance(&self.settings.program, &remedy(self.vmm))
    }

    fn patience(&self) -> Duration {
        guest::PATIENCE
    }

    fn run(&self, task: &Task<'_>) -> Result<Output, TaskError> {
        let (guest, _) = make(&self.settings, self.vmm).map_err(|e| guest::failed(&e))?;
        guest::run(guest, task)
    }
}

fn make(settings: &MicroVmSettings, vmm: Vmm) -> Result<(Guest, String), GuestError> {
    let kit = guest::kit(&settings.kernel)?;
    let clocksource = settings.clocksource.as_ref();
    let guest = Guest::new(&kit)
        .vmm(vmm)
        .vmm_program(find(&settings.program).unwrap_or_else(|| settings.program.clone()))
        .cpus(settings.cpus)
        .memory_mb(settings.memory_mib)
        .kernel_args(clocksource.map(|c| format!("clocksource={c}")));
    Ok((guest, format!("guest kernel {}", kit.kernel_name())))
}

fn remedy(vmm: Vmm) -> String {
    format!(" ({})", vmm.remedy())
}

fn presence(settings: &MicroVmSettings, vmm: Vmm, program: &Path) -> Presence {
    let look = || -> Result<Vec<String>, Unavailable> {
        let file = find(&settings.program).ok_or_else(|| none(&settings.program, &remedy(vmm)))?;
        let told = version(&file)?;
        require_static(program)?;
        let (guest, kernel) = make(settings, vmm).map_err(|e| guest::one_line(&e))?;
        guest::try_kvm(guest, program)?;
        Ok(vec![told, kernel])
    };
    match look() {
        Ok(versions) => Presence::Present(versions),
        Err(why) => Presence::Absent(why.to_string()),
    }
}
