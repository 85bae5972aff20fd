//! QEMU's command line; the crate's documentation has the reasons.

use std::ffi::OsString;
use std::os::fd::RawFd;

use super::{Files, accelerator, boot_parameters};
use crate::Guest;
use crate::machine::Disk;
use crate::network::Mac;

/// Open files that QEMU finds under these numbers.
pub struct Inherited {
    pub tap: Option<RawFd>,
    pub monitor: Option<RawFd>,
}

pub fn arguments(guest: &Guest, files: &Files, inherited: &Inherited) -> Vec<OsString> {
    let (accel, cpu) = accelerator(guest);
    let mut arguments: Vec<OsString> = [
        "-nodefaults",
        "-no-user-config",
        "-no-reboot",
        "-display",
        "none",
        "-serial",
        "stdio",
        "-accel",
        accel,
    ]
    .map(OsString::from)
    .into();
    let mut add = |option: &str, value: OsString| arguments.extend([option.into(), value]);
    add("-machine", guest.machine.clone().into());
    add("-cpu", guest.cpu_model.as_deref().unwrap_or(cpu).into());
    add("-smp", guest.cpus.to_string().into());
    add("-m", guest.memory_mb.to_string().into());
    add("-kernel", files.kernel.clone().into());
    add("-initrd", files.initrd.path().into());
    add("-append", boot_parameters(guest, &["panic=-1"]).into());
    if let Some(shift) = guest.icount {
        add("-icount", format!("shift={shift},sleep=off").into());
    }
    if guest.disk == Disk::Ahci {
        add("-device", "ahci,id=ahci".into());
    }
    let bus = if guest.is_mmio() { "device" } else { "pci" };
    for (number, (name, path)) in files.disks().into_iter().enumerate() {
        // The result is written to the host's memory, which needs no flushing.
        let cache = if name == "result" {
            ",cache=unsafe"
        } else {
            ""
        };
        let drive = format!("if=none,id={name},file={path},format=raw{cache}");
        add("-drive", drive.into());
        let device = match guest.disk {
            Disk::Virtio => format!("virtio-blk-{bus},drive={name}"),
            Disk::Ide => format!("ide-hd,drive={name},bus=ide.{number}"),
            Disk::Ahci => format!("ide-hd,drive={name},bus=ahci.{number}"),
        };
        add("-device", device.into());
    }
    if let Some(tap) = inherited.tap {
        add("-netdev", format!("tap,id=lab,fd={tap}").into());
        // Nobody boots from it.
        let rom = if guest.is_mmio() { "" } else { ",romfile=" };
        let mac = guest.tap.as_ref().and_then(|tap| tap.guest().mac);
        let mac = mac.map_or_else(String::new, |mac| format!(",mac={}", Mac(mac)));
        add(
            "-device",
            format!("virtio-net-{bus},netdev=lab{rom}{mac}").into(),
        );
    }
    if let Some(monitor) = inherited.monitor {
        add("-chardev", format!("socket,id=qmp,fd={monitor}").into());
        add("-mon", "chardev=qmp,mode=control".into());
        // Until the monitor says so.
        arguments.push("-S".into());
    }
    arguments.extend(guest.qemu_args.iter().cloned());
    arguments
}
