//! Whether and by what this process is contained.

use std::os::unix::fs::MetadataExt;

use tompion_model::Container;

use crate::root::Root;

/// Namespaces with the inode that the machine's first one always has
/// (Linux: include/uapi/linux/nsfs.h, formerly include/linux/proc_ns.h).
const FIRST_NAMESPACES: [(&str, u64); 6] = [
    ("cgroup", 4_026_531_835),
    ("ipc", 4_026_531_839),
    ("pid", 4_026_531_836),
    ("time", 4_026_531_834),
    ("user", 4_026_531_837),
    ("uts", 4_026_531_838),
];

/// A trace: which container it speaks for, and what it is.
type Trace = (&'static str, String);

/// What contains this process.
///
/// Marker files such as `/.dockerenv` also lie on virtual machines whose disk
/// was made from a container image. They do not count where all namespaces are
/// those that the machine started with.
pub fn container(root: &Root) -> Container {
    let namespaces = Namespaces::read(root);
    let mut traces = by_kernel(root);
    if traces.is_empty() {
        let markers = by_markers(root);
        if namespaces.are_all_first() {
            if !markers.is_empty() {
                return Container {
                    kind: by_chroot(root).map(|t| t.0.to_owned()),
                    evidence: disowned(markers),
                    own_namespaces: Vec::new(),
                };
            }
        } else {
            traces = markers;
        }
    }
    traces.extend(by_chroot(root));
    let mut kind = traces.first().map(|t| t.0.to_owned());
    if kind.is_none() && namespaces.own.iter().any(|n| *n == "pid" || *n == "user") {
        kind = Some("namespaces".to_owned());
    }
    let mut evidence: Vec<String> = traces.into_iter().map(|t| t.1).collect();
    evidence.dedup();
    Container {
        kind,
        evidence,
        own_namespaces: namespaces.own.iter().map(|n| (*n).to_owned()).collect(),
    }
}

fn disowned(markers: Vec<Trace>) -> Vec<String> {
    let reason = "but all namespaces are the machine's own: a disk made from a container image";
    markers
        .into_iter()
        .map(|(_, evidence)| format!("{evidence}, {reason}"))
        .collect()
}

struct Namespaces {
    own: Vec<&'static str>,
    known: usize,
}

impl Namespaces {
    fn read(root: &Root) -> Self {
        let inodes: Vec<(&str, u64, u64)> = FIRST_NAMESPACES
            .iter()
            .filter_map(|&(name, first)| {
                let link = root.link(format!("/proc/self/ns/{name}"))?;
                // For example `pid:[4026531836]`.
                let inode = link.split_once('[')?.1.strip_suffix(']')?.parse().ok()?;
                Some((name, first, inode))
            })
            .collect();
        let own = inodes.iter().filter(|(_, first, inode)| first != inode);
        Self {
            own: own.map(|n| n.0).collect(),
            known: inodes.len(),
        }
    }

    fn are_all_first(&self) -> bool {
        self.known > 0 && self.own.is_empty()
    }
}

/// Kernels that are containers by construction.
fn by_kernel(root: &Root) -> Vec<Trace> {
    let version = root.text("/proc/version").unwrap_or_default();
    // gVisor has always reported this very build; newer releases name themselves.
    let frozen = version.starts_with("Linux version 4.4.0 #1 SMP Sun Jan 10 15:06:54 PST 2016");
    if frozen || version.contains("-gvisor") {
        return vec![("gvisor", format!("/proc/version: {version}"))];
    }
    if version.contains("microsoft-standard-WSL") || version.contains("Microsoft)") {
        return vec![("wsl", "/proc/version names WSL".to_owned())];
    }
    Vec::new()
}

/// Files and variables that container managers leave, the most telling first.
fn by_markers(root: &Root) -> Vec<Trace> {
    let mut traces = Vec::new();
    if root.has("/var/run/secrets/kubernetes.io") || root.has("/run/secrets/kubernetes.io") {
        traces.push((
            "kubernetes",
            "secrets of kubernetes.io are mounted".to_owned(),
        ));
    }
    for path in ["/proc/1/environ", "/proc/self/environ"] {
        let environ = root.bytes(path).unwrap_or_default();
        traces.extend(by_environment(path, &String::from_utf8_lossy(&environ)));
    }
    // Written by systemd inside, and by systemd-nspawn from outside.
    for path in ["/run/systemd/container", "/run/host/container-manager"] {
        if let Some(manager) = root.text(path) {
            traces.extend(named(&manager).map(|kind| (kind, format!("{path}: {manager}"))));
        }
    }
    for (path, kind) in [
        ("/run/.containerenv", "podman"),
        ("/.dockerenv", "docker"),
        ("/dev/lxd", "lxc"),
    ] {
        if root.has(path) {
            traces.push((kind, format!("{path} exists")));
        }
    }
    let cgroups = root.text("/proc/self/cgroup").unwrap_or_default();
    traces.extend(by_cgroup(&cgroups));
    traces
}

/// `container=...`, which most managers set, and Kubernetes' service address.
fn by_environment(path: &str, environ: &str) -> Option<Trace> {
    let variables = || environ.split('\0').filter_map(|v| v.split_once('='));
    if variables().any(|(name, _)| name == "KUBERNETES_SERVICE_HOST") {
        return Some((
            "kubernetes",
            format!("{path}: KUBERNETES_SERVICE_HOST is set"),
        ));
    }
    let (_, value) = variables().find(|(name, _)| *name == "container")?;
    let kind = named(value)?;
    Some((kind, format!("{path}: container={value}")))
}

/// Groups are named after containers; the names themselves, which hold
/// identifiers, are not kept.
fn by_cgroup(cgroups: &str) -> Option<Trace> {
    const PATHS: [(&str, &str); 7] = [
        ("kubepods", "kubernetes"),
        ("/libpod", "podman"),
        ("/docker", "docker"),
        ("/lxc", "lxc"),
        ("machine.slice", "systemd-nspawn"),
        ("containerd", "containerd"),
        ("crio", "cri-o"),
    ];
    let (path, kind) = PATHS.iter().find(|(path, _)| cgroups.contains(path))?;
    Some((kind, format!("/proc/self/cgroup contains {path}")))
}

fn named(manager: &str) -> Option<&'static str> {
    const MANAGERS: [&str; 9] = [
        "docker",
        "podman",
        "lxc",
        "lxc-libvirt",
        "systemd-nspawn",
        "oci",
        "rkt",
        "proot",
        "wsl",
    ];
    MANAGERS.into_iter().find(|m| *m == manager)
}

/// A root directory other than that of the first process.
fn by_chroot(root: &Root) -> Option<Trace> {
    let inode = |path: &str| {
        let m = std::fs::metadata(root.path(path)).ok()?;
        Some((m.dev(), m.ino()))
    };
    // Only within one mount namespace do the two roots say anything.
    let mounts = |process: &str| root.link(format!("/proc/{process}/ns/mnt"));
    let same_mounts = mounts("self")? == mounts("1")?;
    (same_mounts && inode("/proc/1/root")? != inode("/proc/self/root")?).then(|| {
        (
            "chroot",
            "the root directory is not that of process 1".to_owned(),
        )
    })
}
