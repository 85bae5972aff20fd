//! MicroVMs of Firecracker.

use tompion_guest::Vmm;

use super::{PlatformKind, microvm};

pub(super) static ENTRY: PlatformKind = PlatformKind {
    name: NAME,
    about: "a virtual machine in Firecracker, by KVM",
    read: |table| microvm::read(table, NAME, Vmm::Firecracker),
    usual: &[""],
};

const NAME: &str = "firecracker";
