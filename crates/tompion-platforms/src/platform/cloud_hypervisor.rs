//! MicroVMs of cloud-hypervisor.

use tompion_guest::Vmm;

use super::{PlatformKind, microvm};

pub(super) static ENTRY: PlatformKind = PlatformKind {
    name: NAME,
    read: |table| microvm::read(table, NAME, Vmm::CloudHypervisor),
    usual: &[""],
};

const NAME: &str = "cloud-hypervisor";
