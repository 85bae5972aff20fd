//! Where is measured: the platforms of a plan.

use std::path::{Path, PathBuf};

use serde::Serialize;

use super::microvm::MicroVmSettings;
use super::placements::{CPUS_WANTED, cpus};
use super::qemu::QemuSettings;
use super::read::{Table, nearest};
use super::ssh::SshSettings;

/// Kinds of platforms.
const KINDS: [&str; 7] = [
    "host",
    "oci",
    "qemu",
    "firecracker",
    "cloud-hypervisor",
    "ssh",
    "elsewhere",
];

/// One platform of a plan: what it is called and how it is set up.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PlatformPlan {
    /// Its name, by which results tell it from others.
    pub name: String,
    /// What its start may take at most beside the measuring, in nanoseconds; as its kind
    /// usually does where absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start_within_ns: Option<u64>,
    /// What it is.
    #[serde(flatten)]
    pub kind: Kind,
}

/// What a platform is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Kind {
    /// This machine as it is.
    Host,
    /// A container, by a runtime that takes OCI bundles.
    Oci(OciSettings),
    /// A virtual machine in QEMU.
    Qemu(QemuSettings),
    /// A microVM of Firecracker.
    Firecracker(MicroVmSettings),
    /// A microVM of cloud-hypervisor.
    CloudHypervisor(MicroVmSettings),
    /// Another machine, by ssh.
    Ssh(SshSettings),
    /// One that the plan names and does not say how to reach: always absent.
    Elsewhere,
}

/// How a container is set up. What is absent is left as the runtime has it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct OciSettings {
    /// Name or path of the runtime: `runc`, `crun`, `runsc`, ...
    pub runtime: PathBuf,
    /// Weight among sibling groups, 1024 being usual.
    pub shares: Option<u64>,
    /// CPU time of each period, in microseconds.
    pub quota_us: Option<u64>,
    /// That period, in microseconds.
    pub period_us: Option<u64>,
    /// CPUs.
    pub cpuset: Option<Vec<u32>>,
    /// CPU time of each period for real-time tasks, in microseconds.
    pub realtime_runtime_us: Option<u64>,
    /// That period, in microseconds.
    pub realtime_period_us: Option<u64>,
}

impl PlatformPlan {
    /// What imitates its processor, where that is no real one.
    pub fn emulated(&self) -> Option<&'static str> {
        match &self.kind {
            Kind::Qemu(qemu) if qemu.icount.is_some() => Some("QEMU TCG, in virtual time"),
            Kind::Qemu(qemu) if qemu.accelerator().is_emulation() => Some("QEMU TCG"),
            _ => None,
        }
    }

    /// The level of the factor `platform`. Emulated ones carry that with them
    /// wherever they are named.
    pub fn level(&self) -> String {
        match (&self.kind, self.emulated()) {
            (Kind::Qemu(qemu), _) if qemu.icount.is_some() => {
                format!("{} (emulated, virtual time)", self.name)
            }
            (_, Some(_)) => format!("{} (emulated)", self.name),
            (_, None) => self.name.clone(),
        }
    }

    /// The machine that it is or runs on, where that is another than this one.
    pub fn machine(&self) -> Option<&str> {
        match &self.kind {
            Kind::Ssh(ssh) => Some(&ssh.machine),
            _ => None,
        }
    }

    /// Settings that are not left as they are, for people to read.
    pub fn settings(&self) -> Vec<String> {
        let us = |name: &str, us: Option<u64>| us.map(|us| format!("{name} {us} us"));
        match &self.kind {
            Kind::Host | Kind::Elsewhere => Vec::new(),
            Kind::Ssh(ssh) => ssh.in_words(),
            Kind::Oci(o) => [
                o.shares.map(|n| format!("shares {n}")),
                us("quota", o.quota_us),
                us("period", o.period_us),
                o.cpuset
                    .as_ref()
                    .map(|cpus| format!("cpuset {}", tompion_platform::cpu_list(cpus))),
                us("real-time runtime", o.realtime_runtime_us),
                us("real-time period", o.realtime_period_us),
            ]
            .into_iter()
            .flatten()
            .collect(),
            Kind::Qemu(qemu) => qemu.in_words(),
            Kind::Firecracker(micro) | Kind::CloudHypervisor(micro) => micro.in_words(),
        }
    }

    /// Reads `[[platforms]]`.
    pub(super) fn read(table: Table<'_, '_>) -> Option<Self> {
        let kind = table.text("kind");
        let name = table.read("name", |value| {
            let wanted = "a name of letters, digits, `-`, `_` and `.` is wanted".to_owned();
            match value.as_str() {
                Some(name) if is_name(name) => Ok(name.to_owned()),
                _ => Err(wanted),
            }
        });
        let start_within_ns = table.time_ns("start_within");
        let Some(kind) = kind else {
            let known = KINDS.join("\", \"");
            table.wrong(table.at(), format!("a platform needs a kind: \"{known}\""));
            return None;
        };
        let (usual, kind) = match kind.as_str() {
            "host" => ("host".to_owned(), Kind::Host),
            "oci" => oci(&table)?,
            "qemu" => ("qemu".to_owned(), Kind::Qemu(QemuSettings::read(&table))),
            micro @ ("firecracker" | "cloud-hypervisor") => {
                let settings = MicroVmSettings::read(&table, micro);
                let kind = match micro {
                    "firecracker" => Kind::Firecracker(settings),
                    _ => Kind::CloudHypervisor(settings),
                };
                (micro.to_owned(), kind)
            }
            "elsewhere" => {
                if name.is_none() {
                    table.wrong(table.at(), "a platform that is elsewhere needs a name");
                }
                (String::new(), Kind::Elsewhere)
            }
            "ssh" => {
                let (usual, settings) = SshSettings::read(&table)?;
                (usual, Kind::Ssh(settings))
            }
            other => {
                let text = match nearest(other, KINDS) {
                    Some(better) => {
                        format!("no kind of platform is called `{other}`; did you mean `{better}`?")
                    }
                    None => format!(
                        "no kind of platform is called `{other}`; there are {} (a runtime such as runc is kind = \"oci\")",
                        KINDS.join(", ")
                    ),
                };
                table.wrong(table.at_key("kind"), text);
                return None;
            }
        };
        table.finish();
        Some(Self {
            name: name.unwrap_or(usual),
            start_within_ns,
            kind,
        })
    }
}

fn is_name(text: &str) -> bool {
    let fits = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    !text.is_empty() && text.len() <= 60 && text.chars().all(fits)
}

fn oci(table: &Table<'_, '_>) -> Option<(String, Kind)> {
    let us = |key| table.time_ns(key).map(|ns| ns.div_ceil(1000));
    let settings = OciSettings {
        runtime: table.text("runtime").unwrap_or_default().into(),
        // The kernel's bounds for cpu.shares.
        shares: table.number("shares", 2..262_145),
        quota_us: us("quota"),
        period_us: us("period"),
        cpuset: table.read("cpuset", |value| {
            cpus(value.as_str().unwrap_or_default()).ok_or_else(|| CPUS_WANTED.to_owned())
        }),
        realtime_runtime_us: us("realtime_runtime"),
        realtime_period_us: us("realtime_period"),
    };
    if settings
        .period_us
        .is_some_and(|us| !(1_000..=1_000_000).contains(&us))
    {
        table.wrong(
            table.at_key("period"),
            "period: from 1ms to 1s, which is what the kernel takes",
        );
    }
    if settings.quota_us.is_some_and(|us| us < 1_000) {
        table.wrong(
            table.at_key("quota"),
            "quota: at least 1ms, which is what the kernel takes",
        );
    }
    let name = Path::new(&settings.runtime).file_name();
    let Some(name) = name
        .and_then(|name| name.to_str())
        .filter(|name| is_name(name))
    else {
        table.wrong(
            table.at_key("runtime"),
            "an oci platform needs a runtime: a name such as \"runc\", or a path",
        );
        return None;
    };
    Some((name.to_owned(), Kind::Oci(settings)))
}
