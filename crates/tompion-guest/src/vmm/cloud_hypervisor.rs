//! cloud-hypervisor, by its command line.

use std::ffi::OsString;

use super::{Files, boot_parameters};
use crate::Guest;

pub fn arguments(guest: &Guest, files: &Files) -> Vec<OsString> {
    let mut arguments = Vec::new();
    let mut add = |option: &str, value: OsString| arguments.extend([option.into(), value]);
    add("--kernel", files.kernel.clone().into());
    add("--initramfs", files.initrd.path().into());
    // A reset would begin it anew: a panicked kernel waits for the time limit, which
    // shows the end of its console.
    add("--cmdline", boot_parameters(guest, &["panic=0"]).into());
    add("--cpus", format!("boot={}", guest.cpus).into());
    add("--memory", format!("size={}M", guest.memory_mb).into());
    for (_, path) in files.disks() {
        add("--disk", format!("path={path}").into());
    }
    add("--serial", "tty".into());
    add("--console", "off".into());
    arguments
}
