//! Where the kernel describes its trace events.

use std::fs::File;
use std::io::Read;
use std::os::fd::OwnedFd;
use std::path::Path;
use tompion_model::Unavailable;

use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::io::Errno;
use rustix::mount::{FsMountFlags, FsOpenFlags, MountAttrFlags, fsconfig_create, fsmount, fsopen};

/// The directory of trace events, mounted or not.
#[derive(Debug)]
pub(super) struct Tracefs(OwnedFd);

impl Tracefs {
    /// Finds it where it is mounted; else mounts it nowhere: a mount that only
    /// this descriptor knows and that ends with it.
    ///
    /// # Errors
    /// In a few words: why the trace events cannot be read.
    pub(super) fn open() -> Result<Self, Unavailable> {
        let usual = ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"];
        let mounts = std::fs::read_to_string("/proc/self/mounts").unwrap_or_default();
        let elsewhere = mounts.lines().filter_map(mounted_tracefs);
        let mut refused = None;
        for dir in usual.into_iter().chain(elsewhere) {
            match directory(Path::new(dir)) {
                Ok(fd) if has_events(&fd) => return Ok(Self(fd)),
                Ok(_) | Err(Errno::NOENT) => {}
                Err(e) => refused = Some(format!("{dir}: {}", in_words(e)).into()),
            }
        }
        detached().map_err(|e| refused.unwrap_or(e))
    }

    /// The description of an event, `group/name`; absent where this kernel lacks
    /// the event.
    pub(super) fn format(&self, event: &str) -> Option<String> {
        let path = format!("events/{event}/format");
        let file = openat(
            &self.0,
            path,
            OFlags::RDONLY | OFlags::CLOEXEC,
            Mode::empty(),
        )
        .ok()?;
        let mut text = String::new();
        File::from(file).read_to_string(&mut text).ok()?;
        Some(text)
    }

    /// Names of a group's events that end in `suffix`, without it.
    pub(super) fn names(&self, group: &str, suffix: &str) -> Vec<String> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let dir = openat(&self.0, format!("events/{group}"), flags, Mode::empty())
            .and_then(rustix::fs::Dir::new);
        let Ok(dir) = dir else { return Vec::new() };
        let mut names: Vec<_> = dir
            .filter_map(|entry| {
                let entry = entry.ok()?;
                Some(
                    entry
                        .file_name()
                        .to_str()
                        .ok()?
                        .strip_suffix(suffix)?
                        .to_owned(),
                )
            })
            .collect();
        names.sort();
        names
    }
}

fn directory(path: &Path) -> rustix::io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    openat(CWD, path, flags, Mode::empty())
}

/// Reading it needs more rights than seeing it.
fn has_events(dir: &OwnedFd) -> bool {
    let path = "events/sched/sched_switch/format";
    openat(dir, path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()).is_ok()
}

fn mounted_tracefs(line: &str) -> Option<&str> {
    let mut words = line.split(' ').skip(1);
    let point = words.next()?;
    (words.next()? == "tracefs").then_some(point)
}

fn detached() -> Result<Tracefs, Unavailable> {
    let why = |e| {
        format!(
            "tracefs is not mounted, and mounting it privately failed: {}",
            in_words(e)
        )
    };
    let fs = fsopen("tracefs", FsOpenFlags::FSOPEN_CLOEXEC).map_err(why)?;
    fsconfig_create(&fs).map_err(why)?;
    let attributes = MountAttrFlags::MOUNT_ATTR_RDONLY
        | MountAttrFlags::MOUNT_ATTR_NOEXEC
        | MountAttrFlags::MOUNT_ATTR_NOSUID
        | MountAttrFlags::MOUNT_ATTR_NODEV;
    let mount = fsmount(&fs, FsMountFlags::FSMOUNT_CLOEXEC, attributes).map_err(why)?;
    if has_events(&mount) {
        Ok(Tracefs(mount))
    } else {
        Err("this kernel has no trace events".into())
    }
}

/// Rights to mount and to read, not those of perf.
fn in_words(e: Errno) -> String {
    match e {
        Errno::PERM | Errno::ACCESS => "not permitted (needs CAP_SYS_ADMIN or root)".to_owned(),
        Errno::NOSYS => "this kernel or sandbox does not offer it".to_owned(),
        Errno::NODEV => "this kernel lacks it".to_owned(),
        _ => std::io::Error::from(e).to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_a_mount_at_an_unusual_place() {
        let line = "nodev /mnt/trace tracefs rw,relatime 0 0";
        assert_eq!(mounted_tracefs(line), Some("/mnt/trace"));
        assert_eq!(mounted_tracefs("proc /proc proc rw 0 0"), None);
    }

    #[test]
    fn mounting_needs_other_rights_than_perf() {
        let why = in_words(Errno::PERM);
        assert!(
            why.contains("CAP_SYS_ADMIN") && !why.contains("PERFMON"),
            "{why}"
        );
    }

    #[test]
    fn a_private_mount_leaves_nothing_behind() {
        let mounts = || std::fs::read_to_string("/proc/self/mountinfo").unwrap();
        let before = mounts();
        match detached() {
            Ok(tracefs) => {
                assert!(
                    tracefs
                        .format("sched/sched_switch")
                        .unwrap()
                        .contains("prev_state")
                );
                assert!(
                    tracefs
                        .names("irq", "_entry")
                        .contains(&"softirq".to_owned())
                );
                assert_eq!(before, mounts());
            }
            Err(why) => eprintln!("skipped: {why}"),
        }
    }
}
