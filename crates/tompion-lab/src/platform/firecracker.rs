//! MicroVMs of Firecracker.

use std::path::Path;
use std::time::Duration;

use tompion_guest::Vmm;

use super::{Output, Platform, Presence, Task, TaskError, guest, microvm};
use crate::plan::MicroVmSettings;

pub(super) struct Firecracker(pub MicroVmSettings);

impl Platform for Firecracker {
    fn presence(&self, program: &Path) -> Presence {
        microvm::presence(&self.0, Vmm::Firecracker, program)
    }

    fn patience(&self) -> Duration {
        guest::PATIENCE
    }

    fn run(&self, task: &Task<'_>) -> Result<Output, TaskError> {
        microvm::run(&self.0, Vmm::Firecracker, task)
    }
}
