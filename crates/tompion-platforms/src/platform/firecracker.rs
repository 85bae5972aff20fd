//! MicroVMs of Firecracker.

use tompion_guest::Vmm;

use super::{PlatformKind, microvm};

pub(super) static ENTRY: PlatformKind = PlatformKind {
    name: NAME,
    read: |table| microvm::read(table, NAME, Vmm::Firecracker),
    usual: &[""],
};

const NAME: &str = "firecracker";
