//! MicroVMs of cloud-hypervisor.

use tompion_guest::Vmm;

use super::{PlatformKind, microvm};

pub(super) static ENTRY: PlatformKind = PlatformKind {
    name: NAME,
    about: "a virtual machine in cloud-hypervisor, by KVM",
    read: |table| microvm::read(table, NAME, Vmm::CloudHypervisor),
    usual: &[""],
};

const NAME: &str = "cloud-hypervisor";
