//! The interrupts of the disk behind a directory.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use tompion_model::Unavailable;

/// One interrupt: its number and what the kernel calls it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Irq {
    pub number: u32,
    pub name: String,
}

/// The interrupts of the disks behind a directory, and the disks' names.
///
/// # Errors
/// If no block device stands behind it, or no interrupt can be told to be its.
pub fn of_directory(directory: &Path) -> Result<(String, Vec<Irq>), Unavailable> {
    let device = fs::metadata(directory)
        .map_err(Unavailable::refused("could not look at its directory"))?
        .dev();
    let (major, minor) = (nix::sys::stat::major(device), nix::sys::stat::minor(device));
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    let node = match major {
        // No device of its own: virtual, or several devices in one (btrfs).
        0 => source_node(&mounts, major, minor)?,
        _ => format!("{major}:{minor}"),
    };
    let entry = Path::new("/sys/dev/block").join(&node);
    let disks = disks(&entry)
        .map_err(|e| Unavailable::refused(format!("could not find its disk {node}"))(e))?;
    let table = fs::read_to_string("/proc/interrupts")
        .map_err(Unavailable::refused("could not read /proc/interrupts"))?;
    let table = interrupts(&table);
    let mut names = Vec::new();
    let mut found: Vec<Irq> = Vec::new();
    for disk in disks {
        names.push(name(&disk).to_owned());
        found.extend(of_disk(&disk, &table));
    }
    found.sort_by_key(|irq| irq.number);
    found.dedup();
    let names = names.join(", ");
    match found.is_empty() {
        true => Err(format!("no interrupt in /proc/interrupts belongs to {names}").into()),
        false => Ok((names, found)),
    }
}

/// The block device that is mounted where the file system itself has no number.
fn source_node(mountinfo: &str, major: u64, minor: u64) -> Result<String, Unavailable> {
    let wanted = format!("{major}:{minor}");
    let line = mountinfo
        .lines()
        .find(|line| line.split(' ').nth(2) == Some(&wanted));
    let after = line.and_then(|line| line.split_once(" - "));
    let mut fields = after
        .map(|(_, after)| after.split(' '))
        .into_iter()
        .flatten();
    let (kind, source) = (
        fields.next().unwrap_or("unknown"),
        fields.next().unwrap_or(""),
    );
    let node = fs::metadata(source)
        .ok()
        .filter(|_| source.starts_with("/dev/"));
    match node {
        Some(node) => {
            let device = node.rdev();
            let (major, minor) = (nix::sys::stat::major(device), nix::sys::stat::minor(device));
            Ok(format!("{major}:{minor}"))
        }
        None => Err(format!(
            "its file system ({kind}) has no block device of its own; name a directory on a disk"
        )
        .into()),
    }
}

/// The sysfs directories of the disks below a block device: its own, that of its
/// partition, or those that it is made of (device mapper, md).
fn disks(entry: &Path) -> std::io::Result<Vec<PathBuf>> {
    let mut device = fs::canonicalize(entry)?;
    if device.join("partition").exists() {
        device.pop();
    }
    let slaves: Vec<_> = match fs::read_dir(device.join("slaves")) {
        Ok(entries) => entries.flatten().map(|entry| entry.path()).collect(),
        Err(_) => Vec::new(),
    };
    if slaves.is_empty() {
        return Ok(vec![device]);
    }
    let below: std::io::Result<Vec<_>> = slaves.iter().map(|slave| disks(slave)).collect();
    Ok(below?.concat())
}

/// Numbered lines of `/proc/interrupts`.
fn interrupts(table: &str) -> Vec<Irq> {
    let mut lines = table.lines();
    let cpus = lines
        .next()
        .map_or(0, |head| head.split_ascii_whitespace().count());
    lines
        .filter_map(|line| {
            let (number, rest) = line.split_once(':')?;
            let names = rest.split_ascii_whitespace().skip(cpus);
            Some(Irq {
                number: number.trim().parse().ok()?,
                name: names.last()?.to_owned(),
            })
        })
        .collect()
}

/// Interrupts of one disk, found from the device that the disk hangs on: by its
/// name (virtio0-req.0, nvme0q1), by its list of messages, by its driver.
fn of_disk(disk: &Path, table: &[Irq]) -> Vec<Irq> {
    let devices: Vec<&Path> = disk
        .ancestors()
        .take_while(|d| name(d) != "devices")
        .collect();
    for device in &devices {
        let named = table.iter().filter(|irq| belongs(&irq.name, name(device)));
        let named: Vec<Irq> = named.cloned().collect();
        if !named.is_empty() {
            return named;
        }
    }
    for device in &devices {
        let by_number = |number: u32| table.iter().find(|irq| irq.number == number).cloned();
        let messages: Vec<Irq> = match fs::read_dir(device.join("msi_irqs")) {
            Ok(entries) => entries
                .flatten()
                .filter_map(|entry| by_number(entry.file_name().to_str()?.parse().ok()?))
                .collect(),
            Err(_) => Vec::new(),
        };
        if !messages.is_empty() {
            return messages;
        }
        // 0 is none: IDE controllers use lines that PCI knows nothing of.
        let line = fs::read_to_string(device.join("irq")).ok();
        let line = line
            .and_then(|line| line.trim().parse().ok())
            .filter(|line| *line > 0);
        if let Some(irq) = line.and_then(by_number) {
            return vec![irq];
        }
        if let Ok(driver) = fs::canonicalize(device.join("driver")) {
            let named = table.iter().filter(|irq| irq.name == name(&driver));
            let named: Vec<Irq> = named.cloned().collect();
            if !named.is_empty() {
                return named;
            }
        }
    }
    Vec::new()
}

/// Whether an interrupt is called after a device, and not only announces that its
/// configuration has changed.
fn belongs(irq: &str, device: &str) -> bool {
    // Directories such as `block` or `target0:0:0` give no names to interrupts.
    let is_numbered = device.ends_with(|c: char| c.is_ascii_digit());
    let after = irq.strip_prefix(device);
    let by_name = after.is_some_and(|after| !after.starts_with(|c: char| c.is_ascii_digit()));
    // ahci[0000:00:1f.2]
    let by_address = device.contains(':') && irq.contains(&format!("[{device}]"));
    is_numbered && (by_name || by_address) && !irq.ends_with("-config")
}

fn name(path: &Path) -> &str {
    path.file_name()
        .and_then(|name| name.to_str())
        .unwrap_or("")
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "           CPU0       CPU1
  0:       130          0   IO-APIC   2-edge      timer
 14:      4016          0   IO-APIC  14-edge      ata_piix
 35:         0          1 PCI-MSIX-0000:00:02.0   0-edge      virtio1-config
 36:         0    2280787 PCI-MSIX-0000:00:02.0   1-edge      virtio1-req.0
 37:         0          0 PCI-MSIX-0000:00:03.0   0-edge      virtio10-req.0
 40:         7          0 PCI-MSIX-0000:00:04.0   0-edge      nvme0q0
 41:         8          0 PCI-MSIX-0000:00:04.0   1-edge      nvme0q1
 42:         8          0 PCI-MSI-0000:00:1f.2   0-edge      ahci[0000:00:1f.2]
NMI:         0          0   Non-maskable interrupts
";

    fn found(disk: &str) -> Vec<u32> {
        let table = interrupts(TABLE);
        of_disk(Path::new(disk), &table)
            .iter()
            .map(|irq| irq.number)
            .collect()
    }

    #[test]
    fn interrupts_are_found_by_the_names_of_devices() {
        let virtio = "/sys/devices/pci0000:00/0000:00:02.0/virtio1/block/vda";
        assert_eq!(found(virtio), [36], "not the configuration, not virtio10");
        assert_eq!(
            found("/sys/devices/pci0000:00/0000:00:04.0/nvme/nvme0/nvme0n1"),
            [40, 41]
        );
        let sata = "/sys/devices/pci0000:00/0000:00:1f.2/ata1/host0/target0:0:0/0:0:0:0/block/sda";
        assert_eq!(found(sata), [42]);
        assert_eq!(found("/sys/devices/virtual/block/loop0"), [0; 0]);
    }

    #[test]
    fn interrupts_are_found_by_messages_and_drivers() {
        let sysfs = tempfile::tempdir().unwrap();
        let table = interrupts(TABLE);
        let device = sysfs.path().join("devices/0000:00:07.0");
        let disk = device.join("host1/block/sdb");
        fs::create_dir_all(&disk).unwrap();
        assert_eq!(of_disk(&disk, &table), []);
        let drivers = sysfs.path().join("drivers/ata_piix");
        fs::create_dir_all(&drivers).unwrap();
        std::os::unix::fs::symlink(&drivers, device.join("driver")).unwrap();
        assert_eq!(of_disk(&disk, &table)[0].number, 14);
        fs::write(device.join("irq"), "0\n").unwrap();
        assert_eq!(of_disk(&disk, &table)[0].number, 14, "not the timer");
        fs::write(device.join("irq"), "35\n").unwrap();
        assert_eq!(of_disk(&disk, &table)[0].number, 35);
        fs::create_dir_all(device.join("msi_irqs/37")).unwrap();
        assert_eq!(of_disk(&disk, &table)[0].number, 37);
    }

    #[test]
    fn file_systems_without_a_device_say_so() {
        let mounts =
            "22 27 0:21 / /proc rw - proc proc rw\n30 25 0:27 / / rw - overlay overlay rw\n";
        let message = source_node(mounts, 0, 27).unwrap_err().to_string();
        assert!(
            message.contains("(overlay) has no block device"),
            "{message}"
        );
        assert!(
            source_node(mounts, 0, 99)
                .unwrap_err()
                .to_string()
                .contains("unknown")
        );
    }
}
