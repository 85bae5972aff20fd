//! Control groups that share the CPU among guests, by version 1 (`cpu.shares`) and
//! version 2 (`cpu.weight`) of the kernel's interface.

use std::fs;
use std::os::unix::fs::lchown;
use std::path::{Path, PathBuf};
use tompion_model::Unavailable;

use serde::Serialize;

use crate::keys::Table;

/// Where control groups are mounted.
const MOUNT: &str = "/sys/fs/cgroup";

/// User and group that own nothing anywhere.
const NOBODY: u32 = 65_534;

/// Makes a group for an instance below the root of every hierarchy, which belongs to nobody with all that is in it. Whoever is
/// root in a container can mount its own groups writable, in namespaces that it makes, and there is who owns them: it could make
/// groups in them without end. Who may not make them leaves that to the runtime.
pub fn make_nobodys(path: &Path) {
    make_nobodys_below(Path::new(MOUNT), path);
}

fn make_nobodys_below(mount: &Path, path: &Path) {
    let is_second = |root: &Path| root.join("cgroup.controllers").exists();
    let hierarchies = if is_second(mount) {
        vec![mount.to_path_buf()]
    } else {
        let below = fs::read_dir(mount).into_iter().flatten().flatten();
        let own = below
            .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
            .map(|entry| entry.path());
        // One of version 2 may be mounted beside those of version 1.
        own.filter(|root| root.join("tasks").exists() || is_second(root))
            .collect()
    };
    let relative = path.strip_prefix("/").unwrap_or(path);
    for group in hierarchies.iter().map(|root| root.join(relative)) {
        if fs::create_dir_all(&group).is_err() {
            continue;
        }
        let files = fs::read_dir(&group).into_iter().flatten().flatten();
        for file in files.map(|entry| entry.path()).chain([group]) {
            // What is refused stays root's, as it was.
            let _ = lchown(file, Some(NOBODY), Some(NOBODY));
        }
    }
}

/// Version of the kernel's interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    /// A hierarchy for each controller.
    V1,
    /// One hierarchy.
    V2,
}

/// The hierarchy in which the CPU is shared out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hierarchy {
    version: Version,
    root: PathBuf,
}

impl Hierarchy {
    /// That of this machine.
    ///
    /// # Errors
    /// In one line, where there is none that we may write to.
    pub fn find() -> Result<Self, Unavailable> {
        let found = Self::below(Path::new(MOUNT))?;
        let writable = rustix::fs::access(&found.root, rustix::fs::Access::WRITE_OK);
        writable.map_err(|e| {
            let at = found.root.display();
            format!("sharing the CPU among guests needs control groups, and {at} cannot be written to: {e}")
        })?;
        Ok(found)
    }

    fn below(mount: &Path) -> Result<Self, Unavailable> {
        // With both versions mounted, the controller belongs to one of them.
        let first = mount.join("cpu");
        if first.join("cpu.shares").exists() || first.join("tasks").exists() {
            return Ok(Self {
                version: Version::V1,
                root: first,
            });
        }
        let has_cpu = |root: &Path| {
            let read = fs::read_to_string(root.join("cgroup.controllers"));
            read.is_ok_and(|text| text.split_whitespace().any(|word| word == "cpu"))
        };
        let roots = [mount.to_path_buf(), mount.join("unified")];
        let root = roots.into_iter().find(|root| has_cpu(root));
        root.map(|root| Self {
            version: Version::V2,
            root,
        })
        .ok_or_else(|| {
            let at = mount.display();
            let needs = "sharing the CPU among guests needs control groups with the controller cpu";
            format!("{needs}; {at} has none").into()
        })
    }

    /// The version of its interface.
    pub fn version(&self) -> Version {
        self.version
    }

    /// Makes the group in which all guests of a placement are.
    ///
    /// # Errors
    /// What the kernel refuses, in one line.
    pub fn parent(&self, name: &str, has: &Scheduling) -> Result<Group, Unavailable> {
        if self.version == Version::V2 {
            write(&self.root.join("cgroup.subtree_control"), "+cpu")?;
        }
        let group = Group::make(self.version, self.root.join(name), has)?;
        Ok(group)
    }
}

/// One control group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    version: Version,
    path: PathBuf,
}

impl Group {
    fn make(version: Version, path: PathBuf, has: &Scheduling) -> Result<Self, Unavailable> {
        fs::create_dir(&path).map_err(|e| format!("{}: {e}", path.display()))?;
        let group = Self { version, path };
        group.set(has)?;
        Ok(group)
    }

    /// A group within this one. With `threaded` single threads may be moved into it,
    /// and all others beside it must be so too.
    ///
    /// # Errors
    /// What the kernel refuses, in one line.
    pub fn child(&self, name: &str, has: &Scheduling, threaded: bool) -> Result<Self, Unavailable> {
        let path = self.path.join(name);
        if self.version == Version::V1 {
            return Self::make(self.version, path, has);
        }
        let bare = Self::make(self.version, path, &Scheduling::default())?;
        if threaded {
            write(&bare.path.join("cgroup.type"), "threaded")?;
        }
        // The first time only it changes anything.
        write(&self.path.join("cgroup.subtree_control"), "+cpu")?;
        bare.set(has)?;
        Ok(bare)
    }

    fn set(&self, has: &Scheduling) -> Result<(), Unavailable> {
        settings(self.version, has)
            .iter()
            .try_for_each(|(file, value)| write(&self.path.join(file), value))
    }

    /// Its path below the root of the hierarchy, for others who make groups in it.
    pub fn name_below(&self, hierarchy: &Hierarchy) -> PathBuf {
        let below = self.path.strip_prefix(&hierarchy.root);
        Path::new("/").join(below.unwrap_or(&self.path))
    }

    /// A process that writes 0 here joins it.
    pub fn entrance(&self) -> PathBuf {
        self.path.join("cgroup.procs")
    }

    /// Its threads.
    pub fn threads(&self) -> Vec<i32> {
        let read = fs::read_to_string(self.path.join(self.threads_file()));
        let text = read.unwrap_or_default();
        text.lines().filter_map(|line| line.parse().ok()).collect()
    }

    /// Moves one thread here.
    ///
    /// # Errors
    /// What the kernel refuses, in one line.
    pub fn take_thread(&self, thread: i32) -> Result<(), Unavailable> {
        write(&self.path.join(self.threads_file()), &thread.to_string())
    }

    fn threads_file(&self) -> &'static str {
        match self.version {
            Version::V1 => "tasks",
            Version::V2 => "cgroup.threads",
        }
    }
}

/// The files of a group and what is to stand in them.
fn settings(version: Version, has: &Scheduling) -> Vec<(&'static str, String)> {
    let mut files = Vec::new();
    match version {
        Version::V1 => {
            files.extend(has.weight.map(|w| ("cpu.shares", shares(w).to_string())));
            // The period first: a quota is checked against it.
            files.extend(
                has.period_us
                    .map(|us| ("cpu.cfs_period_us", us.to_string())),
            );
            files.extend(has.quota_us.map(|us| ("cpu.cfs_quota_us", us.to_string())));
        }
        Version::V2 => {
            files.extend(has.weight.map(|w| ("cpu.weight", w.to_string())));
            files.extend(has.quota_us.map(|quota| {
                let period = has.period_us.unwrap_or(100_000);
                ("cpu.max", format!("{quota} {period}"))
            }));
        }
    }
    files
}

/// A weight of version 2, of which 100 is usual, as one of version 1, where 1024 is.
pub fn shares(weight: u64) -> u64 {
    (weight * 1024 / 100).max(2)
}

fn write(path: &Path, text: &str) -> Result<(), Unavailable> {
    let what = || format!("{}: writing {text}", path.display());
    fs::write(path, text).map_err(|e| Unavailable::refused(what())(e))
}

/// A part of the CPU's time. What is absent is left as it is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Scheduling {
    /// Weight among siblings, 100 being usual.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub weight: Option<u64>,
    /// CPU time of each period, in microseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quota_us: Option<u64>,
    /// That period, in microseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub period_us: Option<u64>,
}

impl Scheduling {
    /// Whether nothing is set.
    pub fn is_usual(&self) -> bool {
        *self == Self::default()
    }

    /// The quota as a part of one CPU; 1 where there is none.
    pub fn share_of_cpu(&self) -> f64 {
        let period = self.period_us.unwrap_or(100_000) as f64;
        self.quota_us
            .map_or(1.0, |quota| (quota as f64 / period).min(1.0))
    }

    /// What is set, for people to read.
    pub fn in_words(&self) -> Vec<String> {
        let said = |name: &str, n: Option<u64>, unit: &str| n.map(|n| format!("{name} {n}{unit}"));
        [
            said("weight", self.weight, ""),
            said("quota", self.quota_us, " us"),
            said("period", self.period_us, " us"),
        ]
        .into_iter()
        .flatten()
        .collect()
    }
}

impl Scheduling {
    /// Reads the keys of a table of a plan.
    pub fn read(table: &Table<'_, '_>) -> Self {
        let us = |key| table.time_ns(key).map(|ns| ns.div_ceil(1000));
        let read = Self {
            // The kernel's bounds for cpu.weight.
            weight: table.number("weight", 1..10_001),
            quota_us: us("quota"),
            period_us: us("period"),
        };
        if read
            .period_us
            .is_some_and(|us| !(1_000..=1_000_000).contains(&us))
        {
            let text = "period: from 1ms to 1s, which is what the kernel takes";
            table.wrong(table.at_key("period"), text);
        }
        if read.quota_us.is_some_and(|us| us < 1_000) {
            let text = "quota: at least 1ms, which is what the kernel takes";
            table.wrong(table.at_key("quota"), text);
        }
        if read.period_us.is_some() && read.quota_us.is_none() {
            let text = "period: it says how long a quota is for; give it a quota too";
            table.wrong(table.at_key("period"), text);
        }
        if table.text("reservation").is_some() {
            let text = "reservation: no platform of the lab has one; control groups give a \
                        weight among guests, and a quota, which is a cap";
            table.wrong(table.at_key("reservation"), text);
        }
        read
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made_up(files: &[(&str, &str)]) -> tempfile::TempDir {
        let d = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = d.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        d
    }

    fn read(d: &tempfile::TempDir, name: &str) -> String {
        fs::read_to_string(d.path().join(name)).unwrap()
    }

    const HALF: Scheduling = Scheduling {
        weight: Some(400),
        quota_us: Some(20_000),
        period_us: Some(40_000),
    };

    #[test]
    fn version_1_takes_shares_and_quota() {
        let d = made_up(&[
            ("cpu/cpu.shares", "1024"),
            ("unified/cgroup.controllers", ""),
        ]);
        let hierarchy = Hierarchy::below(d.path()).unwrap();
        assert_eq!(hierarchy.version(), Version::V1);
        let parent = hierarchy.parent("p", &Scheduling::default()).unwrap();
        let guest = parent.child("g", &HALF, true).unwrap();
        assert_eq!(read(&d, "cpu/p/g/cpu.shares"), "4096");
        assert_eq!(read(&d, "cpu/p/g/cpu.cfs_quota_us"), "20000");
        assert_eq!(read(&d, "cpu/p/g/cpu.cfs_period_us"), "40000");
        guest.take_thread(17).unwrap();
        assert_eq!(read(&d, "cpu/p/g/tasks"), "17");
        assert_eq!(guest.threads(), [17]);
        assert_eq!(guest.name_below(&hierarchy), Path::new("/p/g"));
        assert!(!d.path().join("cpu/p/cpu.shares").exists());
    }

    #[test]
    fn version_2_takes_weight_and_maximum_and_single_threads_where_asked() {
        for root in ["", "unified/"] {
            let d = made_up(&[(&format!("{root}cgroup.controllers"), "cpuset cpu io\n")]);
            let hierarchy = Hierarchy::below(d.path()).unwrap();
            assert_eq!(hierarchy.version(), Version::V2);
            let weight = Scheduling {
                weight: Some(10_000),
                ..Scheduling::default()
            };
            let parent = hierarchy.parent("p", &weight).unwrap();
            let guest = parent.child("g", &HALF, true).unwrap();
            let at = |name: &str| read(&d, &format!("{root}{name}"));
            assert_eq!(at("cgroup.subtree_control"), "+cpu");
            assert_eq!(at("p/cpu.weight"), "10000");
            assert_eq!(at("p/cgroup.subtree_control"), "+cpu");
            assert_eq!(at("p/g/cgroup.type"), "threaded");
            assert_eq!(
                (at("p/g/cpu.weight"), at("p/g/cpu.max")),
                ("400".into(), "20000 40000".into())
            );
            guest.take_thread(3).unwrap();
            assert_eq!(at("p/g/cgroup.threads"), "3");
            let whole = parent.child("h", &Scheduling::default(), false).unwrap();
            assert!(whole.entrance().ends_with("p/h/cgroup.procs"));
            assert!(!d.path().join(root).join("p/h/cgroup.type").exists());
        }
    }

    #[test]
    fn a_group_is_made_in_each_hierarchy_of_an_instance() {
        let first = made_up(&[
            ("cpu/tasks", ""),
            ("memory/tasks", ""),
            ("unified/cgroup.controllers", ""),
        ]);
        std::os::unix::fs::symlink("cpu", first.path().join("cpuacct")).unwrap();
        make_nobodys_below(first.path(), Path::new("/p/g"));
        let is_there = |name: &str| first.path().join(name).is_dir();
        assert!(is_there("cpu/p/g") && is_there("memory/p/g") && is_there("unified/p/g"));
        assert!(!is_there("p"));
        let second = made_up(&[("cgroup.controllers", "cpu"), ("system.slice/cpu.stat", "")]);
        make_nobodys_below(second.path(), Path::new("/g"));
        assert!(second.path().join("g").is_dir() && !second.path().join("system.slice/g").exists());
        if rustix::process::geteuid().is_root() {
            use std::os::unix::fs::MetadataExt;
            let owner = |d: &tempfile::TempDir, name: &str| {
                fs::metadata(d.path().join(name)).unwrap().uid()
            };
            assert_eq!(owner(&first, "cpu/p/g"), NOBODY);
            assert_eq!(owner(&second, "g"), NOBODY);
            assert_eq!(owner(&first, "cpu/p"), 0);
        }
    }

    #[test]
    fn no_controller_is_told_in_one_line() {
        let d = made_up(&[("unified/cgroup.controllers", "io memory")]);
        let error = Hierarchy::below(d.path()).unwrap_err().to_string();
        assert!(
            error.contains("with the controller cpu") && !error.contains('\n'),
            "{error}"
        );
    }

    #[test]
    fn weights_of_both_versions_have_the_same_proportions() {
        assert_eq!(
            (shares(100), shares(400), shares(10_000)),
            (1024, 4096, 102_400)
        );
        assert_eq!(shares(1), 10);
    }
}
