//! Whole machines made of files.

mod cgroups;
mod containers;
mod guests;

use std::fs;
use std::path::Path;

use tempfile::TempDir;
use tompion_model::Environment;

use crate::cpuid::Cpuid;
use crate::root::Root;
use crate::sys::SystemCalls;
use crate::time_keeping::Ask;

/// Nothing answers.
struct NoDaemons;

impl Ask for NoDaemons {
    fn ask(&self, _: u16, _: &[u8]) -> Option<Vec<u8>> {
        None
    }
}

/// A tree of files that stands for `/`.
struct Tree(TempDir);

impl Tree {
    fn new() -> Self {
        Self(TempDir::new().expect("a temporary directory"))
    }

    fn file(self, path: &str, content: &str) -> Self {
        let path = self.0.path().join(path);
        fs::create_dir_all(path.parent().expect("a parent")).expect("directories");
        fs::write(path, content).expect("a file");
        self
    }

    fn link(self, path: &str, target: impl AsRef<Path>) -> Self {
        let path = self.0.path().join(path);
        fs::create_dir_all(path.parent().expect("a parent")).expect("directories");
        std::os::unix::fs::symlink(target, path).expect("a link");
        self
    }

    /// Namespaces that the machine started with, but for those given.
    fn namespaces(self, own: &[&str]) -> Self {
        let first = [
            ("cgroup", 4_026_531_835u64),
            ("ipc", 4_026_531_839),
            ("pid", 4_026_531_836),
            ("time", 4_026_531_834),
            ("user", 4_026_531_837),
            ("uts", 4_026_531_838),
        ];
        first.into_iter().fold(self, |tree, (name, inode)| {
            let inode = if own.contains(&name) {
                4_026_532_999
            } else {
                inode
            };
            tree.link(&format!("proc/self/ns/{name}"), format!("{name}:[{inode}]"))
        })
    }

    fn root(&self) -> Root {
        Root::at(self.0.path())
    }

    fn described(&self, cpuid: Option<&dyn Cpuid>) -> Environment {
        crate::describe(&self.root(), &SystemCalls::default(), cpuid, &NoDaemons)
    }
}

#[test]
fn an_empty_machine_is_described_without_failing() {
    let e = Tree::new().described(None);
    assert_eq!(e, Environment::default());
}

#[test]
fn this_very_machine_is_described() {
    let e = crate::detect();
    assert!(!e.hostname.is_empty());
    assert!(e.kernel.release.is_some());
    assert!(e.machine.cpus_online.is_some_and(|n| n > 0));
    assert!(e.machine.memory_bytes.is_some_and(|m| m > 1 << 20));
    assert!(e.scheduling.policy.is_some());
}

#[test]
fn nothing_that_identifies_the_machine_is_kept() {
    let tree = Tree::new()
        .file("sys/class/dmi/id/product_serial", "SERIAL-1234")
        .file("sys/class/dmi/id/product_uuid", "UUID-1234")
        .file("sys/class/dmi/id/sys_vendor", "QEMU")
        .file("sys/class/net/eth0/address", "02:42:ac:11:00:02")
        .file("proc/self/cgroup", "0::/docker/SERIAL-1234")
        .file(
            "proc/cmdline",
            "root=UUID=UUID-1234 ip=10.1.2.3 tsc=reliable",
        )
        .namespaces(&["pid"]);
    let json = format!("{:?}", tree.described(None));
    assert!(json.contains("tsc=reliable") && json.contains("QEMU"));
    for secret in ["1234", "02:42", "10.1.2.3"] {
        assert!(!json.contains(secret), "{secret}");
    }
}
