//! MicroVMs of cloud-hypervisor.

use std::path::Path;
use std::time::Duration;

use tompion_guest::Vmm;

use super::{Output, Platform, Presence, Task, TaskError, guest, microvm};
use crate::plan::MicroVmSettings;

pub(super) struct CloudHypervisor(pub MicroVmSettings);

impl Platform for CloudHypervisor {
    fn presence(&self, program: &Path) -> Presence {
        microvm::presence(&self.0, Vmm::CloudHypervisor, program)
    }

    fn patience(&self) -> Duration {
        guest::PATIENCE
    }

    fn run(&self, task: &Task<'_>) -> Result<Output, TaskError> {
        microvm::run(&self.0, Vmm::CloudHypervisor, task)
    }
}
