//! What Firecracker and cloud-hypervisor have in common. Both need KVM, and boot the
//! kernel's ELF file with the initramfs of all guests.

use std::path::Path;

use tompion_guest::{Guest, GuestError, Vmm};

use super::{Output, Presence, Task, TaskError, find, guest, require_static, version};
use crate::plan::MicroVmSettings;

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

pub(super) fn presence(settings: &MicroVmSettings, vmm: Vmm, program: &Path) -> Presence {
    let look = || -> Result<Vec<String>, String> {
        let own = settings.program.display();
        let file = find(&settings.program)
            .ok_or_else(|| format!("there is no program {own} ({})", vmm.remedy()))?;
        let told = version(&file)?;
        require_static(program)?;
        let (guest, kernel) = make(settings, vmm).map_err(|e| guest::one_line(&e))?;
        guest::try_kvm(guest, program)?;
        Ok(vec![told, kernel])
    };
    match look() {
        Ok(versions) => Presence::Present(versions),
        Err(why) => Presence::Absent(why),
    }
}

pub(super) fn run(
    settings: &MicroVmSettings,
    vmm: Vmm,
    task: &Task<'_>,
) -> Result<Output, TaskError> {
    let (guest, _) = make(settings, vmm).map_err(|e| guest::failed(&e))?;
    guest::run(guest, task)
}
