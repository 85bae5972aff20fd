//! Virtual machines in QEMU, by the disposable guests of `tompion-guest`.

mod settings;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;
use tompion_model::Unavailable;

use serde_json::json;
use tompion_guest::{Guest, Kit, SCRATCH, Tap, Vmm};

use super::{
    Output, Platform, PlatformKind, Presence, Seating, Setup, Task, TaskError, find, guest, none,
    require_static, version,
};
use crate::leftovers::Workspace;
use crate::network::{Joined, Network};
pub use settings::QemuSettings;
pub(super) use settings::{KERNELS, clocksource};

/// Where it is to be had.
const REMEDY: &str = " (Debian: qemu-system-x86)";

pub(super) static ENTRY: PlatformKind = PlatformKind {
    name: "qemu",
    about: "a virtual machine in QEMU, by KVM, or emulated by TCG",
    read: |table| {
        let settings = QemuSettings::read(table);
        Some((Some("qemu".to_owned()), Arc::new(settings)))
    },
    usual: &[
        "name = \"qemu-kvm\"\naccel = \"kvm\"",
        "name = \"qemu-tcg\"\naccel = \"tcg\"",
    ],
};

impl Setup for QemuSettings {
    fn as_json(&self) -> serde_json::Value {
        json!(self)
    }

    fn settings(&self) -> Vec<String> {
        self.in_words()
    }

    fn emulated(&self) -> Option<&'static str> {
        match self.icount {
            Some(_) => Some("QEMU TCG, in virtual time"),
            None => self.accelerator().is_emulation().then_some("QEMU TCG"),
        }
    }

    fn mark(&self) -> Option<&'static str> {
        match self.icount {
            Some(_) => Some("emulated, virtual time"),
            None => self.emulated().map(|_| "emulated"),
        }
    }

    fn start(&self) -> Duration {
        Duration::from_secs(8)
    }

    fn network(&self) -> Network {
        self.network
    }

    fn size(&self) -> Option<(u32, u32)> {
        Some((self.cpus, self.memory_mib))
    }

    fn platform(&self, _: &str) -> Box<dyn Platform> {
        Box::new(Qemu {
            settings: self.clone(),
        })
    }
}

struct Qemu {
    settings: QemuSettings,
}

impl Qemu {
    /// The guest without what is made for each: network and scratch disk.
    fn guest(&self, kit: &Kit) -> Guest {
        let s = &self.settings;
        let clocksource = s.clocksource.as_ref().map(|c| format!("clocksource={c}"));
        let mut guest = Guest::new(kit)
            .accel(s.accelerator())
            .cpus(s.cpus)
            .memory_mb(s.memory_mib)
            .pin(s.pin.clone())
            .disk(s.disks())
            .kernel_args(clocksource);
        if let Some(machine) = &s.machine {
            guest = guest.machine(machine);
        }
        if let Some(model) = s.cpu_model() {
            guest = guest.cpu_model(model);
        }
        if let Some(shift) = s.icount {
            guest = guest.icount(shift);
        }
        guest
    }

    fn has_tap(&self) -> bool {
        self.settings.network == Network::Tap
    }

    fn absent(&self, program: &Path) -> Result<Vec<String>, Unavailable> {
        let s = &self.settings;
        let name = Vmm::Qemu.program();
        let qemu = find(Path::new(name)).ok_or_else(|| none(Path::new(name), REMEDY))?;
        let told = version(&qemu)?;
        let kit = guest::kit(&s.kernel).map_err(|e| guest::one_line(&e))?;
        require_static(program)?;
        let pinned: Vec<u32> = s.pin.iter().flatten().map(|&cpu| cpu as u32).collect();
        tompion_host::require_cpus(&pinned).map_err(|why| format!("pin: {why}"))?;
        if s.scratch_mib.is_some() && find(Path::new("mkfs.ext4")).is_none() {
            return Err("a scratch disk needs mkfs.ext4 (Debian: e2fsprogs)".into());
        }
        if self.has_tap() {
            Tap::new().map_err(|e| guest::one_line(&e))?;
        }
        if !s.accelerator().is_emulation() {
            guest::try_kvm(self.guest(&kit), program)?;
        } else if s.machine.is_some() || s.cpu.is_some() {
            self.guest(&kit)
                .try_machine()
                .map_err(|e| guest::one_line(&e))?;
        }
        Ok(vec![told, format!("guest kernel {}", kit.kernel_name())])
    }
}

impl Platform for Qemu {
    fn presence(&self, program: &Path) -> Presence {
        match self.absent(program) {
            Ok(versions) => Presence::Present(versions),
            Err(why) => Presence::Absent(why.to_string()),
        }
    }

    fn at_a_glance(&self) -> Presence {
        super::at_a_glance(Path::new(Vmm::Qemu.program()), REMEDY)
    }

    fn scratch(&self, _workspace: &Workspace) -> PathBuf {
        match self.settings.scratch_mib {
            Some(_) => SCRATCH.into(),
            None => "/tmp".into(),
        }
    }

    fn patience(&self) -> Duration {
        guest::PATIENCE
    }

    fn seating(&self) -> Seating {
        match self.settings.pin.is_empty() {
            true => Seating::Group,
            // Both would bind the same threads.
            false => Seating::Own,
        }
    }

    fn cpus(&self) -> usize {
        self.settings.cpus as usize
    }

    fn run(&self, task: &Task<'_>) -> Result<Output, TaskError> {
        let kit = guest::kit(&self.settings.kernel).map_err(|e| guest::failed(&e))?;
        let mut guest = self.guest(&kit);
        if let Some(mib) = self.settings.scratch_mib {
            guest = guest.scratch(task.workspace.scratch(), mib);
        }
        if self.has_tap() {
            let tap = match task.joined {
                Some(Joined::Tap(tap)) => Arc::clone(tap),
                _ => Arc::new(Tap::new().map_err(|e| guest::failed(&e))?),
            };
            guest = guest.tap(tap);
        }
        let Some(seat) = task.seat else {
            return guest::run(guest, task);
        };
        let threads = seat.for_threads()?;
        // By this its threads have names.
        let guest = guest
            .launched_by(threads.launcher())
            .qemu_args(["-name", "tompion,debug-threads=on"]);
        let over = AtomicBool::new(false);
        thread::scope(|scope| {
            let placing = thread::Builder::new()
                .spawn_scoped(scope, || threads.place(self.cpus(), &over))
                .map_err(|e| TaskError::Failed(format!("a thread cannot be started: {e}")))?;
            let output = guest::run(guest, task);
            over.store(true, Ordering::Relaxed);
            let placed = placing.join().expect("it does not panic");
            // A guest that did not come up says why by itself.
            let output = output?;
            placed?;
            Ok(output)
        })
    }
}
