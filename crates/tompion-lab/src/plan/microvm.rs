//! How microVMs are set up, which have little to be set: those of Firecracker and of
//! cloud-hypervisor alike.

use std::path::PathBuf;

use serde::Serialize;

use super::qemu::{KERNELS, clocksource};
use super::read::Table;

/// How a microVM is set up.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct MicroVmSettings {
    /// Name or path of the program that makes it.
    pub program: PathBuf,
    /// Virtual CPUs.
    pub cpus: u32,
    /// Memory in MiB.
    pub memory_mib: u32,
    /// Kernel: `cloud`, `standard` or `rt`.
    pub kernel: String,
    /// Clocksource asked for at boot.
    pub clocksource: Option<String>,
}

impl MicroVmSettings {
    /// Reads them; `usual` is the program's name.
    pub(super) fn read(table: &Table<'_, '_>, usual: &str) -> Self {
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
    pub(super) fn in_words(&self) -> Vec<String> {
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
