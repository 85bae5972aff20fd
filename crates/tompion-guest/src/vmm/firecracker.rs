//! Firecracker, from a configuration file: without its network of sockets nothing else
//! is to be spoken with. Its devices are virtio-mmio, which Debian's kernels find by
//! ACPI alone, so that it takes version 1.8 or newer.

use std::ffi::OsString;

use serde_json::{Value, json};

use super::{Files, boot_parameters};
use crate::Guest;
use crate::memory_file::MemoryFile;

pub fn config(guest: &Guest, files: &Files) -> Value {
    let drive = |(name, path): (&str, String)| {
        json!({
            "drive_id": name,
            "path_on_host": path,
            "is_root_device": false,
            "is_read_only": false,
            "cache_type": "Unsafe",
        })
    };
    // There is no power-off: a reset by the keyboard controller ends it, of a panicked
    // kernel too.
    let own = ["reboot=k", "panic=-1", "pci=off"];
    json!({
        "boot-source": {
            "kernel_image_path": files.kernel,
            "initrd_path": files.initrd.path(),
            "boot_args": boot_parameters(guest, &own),
        },
        "drives": files.disks().into_iter().map(drive).collect::<Vec<_>>(),
        "machine-config": {
            "vcpu_count": guest.cpus,
            "mem_size_mib": guest.memory_mb,
        },
    })
}

pub fn arguments(files: &Files) -> Vec<OsString> {
    let config = files.config.as_ref().map(MemoryFile::path);
    let config = config.unwrap_or_default();
    ["--no-api", "--config-file", &config]
        .map(OsString::from)
        .into()
}
