//! The machine that a guest runs on: who makes it, and how.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use super::setup::Setup;
use super::{Guest, GuestError, Tap};

/// What executes the guest's instructions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Accel {
    /// Emulation by translation, one host thread for each CPU: works everywhere,
    /// and its timings say nothing about hardware.
    #[default]
    Tcg,
    /// The host's KVM. Untested where it works: on the nested hypervisor it was
    /// tried on, QEMU failed with `-cpu host` and hung with `-cpu qemu64`, and both
    /// came back as the errors they are.
    Kvm,
}

impl Accel {
    /// Name, as it stands beside results: `tcg` or `kvm`.
    pub fn label(self) -> &'static str {
        match self {
            Self::Tcg => "tcg",
            Self::Kvm => "kvm",
        }
    }

    /// Whether timings in the guest come from an emulator.
    pub fn is_emulation(self) -> bool {
        self == Self::Tcg
    }
}

impl fmt::Display for Accel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.label())
    }
}

/// The program that makes the machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Vmm {
    /// QEMU, with either accelerator.
    #[default]
    Qemu,
    /// Firecracker, which has KVM alone.
    Firecracker,
    /// cloud-hypervisor, which has KVM alone.
    CloudHypervisor,
}

impl Vmm {
    /// The name of its program.
    pub fn program(self) -> &'static str {
        match self {
            Self::Qemu => "qemu-system-x86_64",
            Self::Firecracker => "firecracker",
            Self::CloudHypervisor => "cloud-hypervisor",
        }
    }

    /// How to get it.
    pub fn remedy(self) -> &'static str {
        match self {
            Self::Qemu => "as root run: apt-get install qemu-system-x86",
            Self::Firecracker => "a release of github.com/firecracker-microvm/firecracker has it",
            Self::CloudHypervisor => {
                "a release of github.com/cloud-hypervisor/cloud-hypervisor has it"
            }
        }
    }
}

impl fmt::Display for Vmm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Qemu => "QEMU",
            Self::Firecracker => "Firecracker",
            Self::CloudHypervisor => "cloud-hypervisor",
        })
    }
}

/// How disks are attached in QEMU. MicroVMs have virtio alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Disk {
    /// Paravirtual.
    #[default]
    Virtio,
    /// An emulated IDE controller (PIIX, of `-machine pc`).
    Ide,
    /// An emulated SATA controller.
    Ahci,
}

/// A scratch disk to be made.
#[derive(Debug, Clone)]
pub(super) struct Scratch {
    pub directory: PathBuf,
    pub mb: u32,
}

impl Guest {
    /// Who makes the machine: QEMU unless set.
    #[must_use]
    pub fn vmm(mut self, vmm: Vmm) -> Self {
        self.vmm = vmm;
        if vmm != Vmm::Qemu {
            self.accel = Accel::Kvm;
        }
        self
    }

    /// Its program: a path, or a name to be found through PATH.
    #[must_use]
    pub fn vmm_program(mut self, program: impl Into<PathBuf>) -> Self {
        self.program = Some(program.into());
        self
    }

    /// QEMU's machine, with its options: `pc` unless set. `microvm,pit=on` boots the
    /// kernel's ELF file with virtio-mmio, as other microVMs do.
    #[must_use]
    pub fn machine(mut self, machine: impl Into<String>) -> Self {
        self.machine = machine.into();
        self
    }

    /// QEMU's CPU model with its features, such as `host,kvmclock=off`; all that the
    /// accelerator has unless set.
    #[must_use]
    pub fn cpu_model(mut self, model: impl Into<String>) -> Self {
        self.cpu_model = Some(model.into());
        self
    }

    /// The CPUs of the host that each virtual CPU may run on: one set for each, or one
    /// for all. In effect from the first instruction of the guest on. QEMU alone.
    #[must_use]
    pub fn pin(mut self, cpus: Vec<Vec<usize>>) -> Self {
        self.pin = cpus;
        self
    }

    /// Virtual time: the guest's clocks count instructions, 2^`shift` ns each, and jump
    /// to the next timer when it waits. Almost the same in every boot, and no evidence
    /// about any machine. QEMU's TCG alone; all virtual CPUs are then one thread.
    #[must_use]
    pub fn icount(mut self, shift: u8) -> Self {
        self.icount = Some(shift);
        self
    }

    /// How disks are attached.
    #[must_use]
    pub fn disk(mut self, disk: Disk) -> Self {
        self.disk = disk;
        self
    }

    /// A second disk of this many MiB with an ext4, mounted on `/scratch`. Its content
    /// is a nameless file in `directory` of the host, made by the host's mkfs.ext4.
    #[must_use]
    pub fn scratch(mut self, directory: impl Into<PathBuf>, mb: u32) -> Self {
        let directory = directory.into();
        self.scratch = Some(Scratch { directory, mb });
        self
    }

    /// A virtio network interface by this tap, configured when the command starts.
    /// QEMU alone.
    #[must_use]
    pub fn tap(mut self, tap: Arc<Tap>) -> Self {
        self.tap = Some(tap);
        self
    }

    /// What init is told.
    pub(super) fn setup(&self) -> Setup {
        Setup {
            network: self
                .tap
                .as_ref()
                .map(|tap| (tap.guest().address, tap.guest().mask)),
            scratch: self.scratch.is_some(),
            reset: self.vmm == Vmm::Firecracker,
        }
    }

    /// Whether it has virtio devices without a PCI bus.
    pub(super) fn is_mmio(&self) -> bool {
        match self.vmm {
            Vmm::Qemu => self.machine.starts_with("microvm"),
            Vmm::Firecracker => true,
            Vmm::CloudHypervisor => false,
        }
    }

    /// The kernel modules of its devices.
    pub(super) fn modules(&self) -> Vec<&'static str> {
        let mut modules = Vec::new();
        if self.disk == Disk::Virtio || self.tap.is_some() {
            modules.push(if self.is_mmio() {
                "virtio_mmio"
            } else {
                "virtio_pci"
            });
        }
        modules.extend(match self.disk {
            Disk::Virtio => ["virtio_blk"].as_slice(),
            Disk::Ide => &["ata_piix", "sd_mod"],
            Disk::Ahci => &["ahci", "sd_mod"],
        });
        if self.tap.is_some() {
            modules.push("virtio_net");
        }
        if self.scratch.is_some() {
            modules.extend(["crc32c_generic", "ext4"]);
        }
        modules
    }

    /// Refuses what this machine cannot have.
    pub(super) fn check_machine(&self) -> Result<(), GuestError> {
        let machine = self.machine.split(',').next().unwrap_or_default();
        let is_qemu = self.vmm == Vmm::Qemu;
        let single = self.icount.is_some() && self.pin.len() > 1;
        let problem = if !is_qemu && (self.tap.is_some() || !self.pin.is_empty()) {
            format!(
                "{} guests are neither pinned nor on a network here",
                self.vmm
            )
        } else if self.vmm == Vmm::CloudHypervisor && self.scratch.is_some() {
            // It forbids writes to the first sector, where an ext4 has its head.
            "cloud-hypervisor guests have no scratch disk here".to_owned()
        } else if self.disk != Disk::Virtio && (!is_qemu || self.is_mmio()) {
            "microVMs have virtio disks alone".to_owned()
        } else if self.disk == Disk::Ide && machine != "pc" {
            format!("IDE disks need the machine pc, not {machine}")
        } else if self.icount.is_some() && self.accel != Accel::Tcg {
            "virtual time is a matter of tcg".to_owned()
        } else if ![0, 1, self.cpus as usize].contains(&self.pin.len()) || single {
            format!(
                "{} sets of CPUs to pin to: it needs {}",
                self.pin.len(),
                if single {
                    "one, since in virtual time all virtual CPUs are one thread".to_owned()
                } else {
                    format!("one for each of {} virtual CPUs, or one for all", self.cpus)
                }
            )
        } else {
            return Ok(());
        };
        Err(GuestError::Description { problem })
    }
}
