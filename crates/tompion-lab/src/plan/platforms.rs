//! Where is measured: the platforms of a plan.

use std::path::{Path, PathBuf};

use serde::Serialize;
use tompion_guest::Accel;

use super::read::{Table, nearest};

/// Kinds of platforms.
const KINDS: [&str; 3] = ["host", "oci", "qemu"];

/// One platform of a plan: what it is called and how it is set up.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PlatformPlan {
    /// Its name, by which results tell it from others.
    pub name: String,
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
    /// CPUs, as a list such as `0-3`.
    pub cpuset: Option<String>,
    /// CPU time of each period for real-time tasks, in microseconds.
    pub realtime_runtime_us: Option<u64>,
    /// That period, in microseconds.
    pub realtime_period_us: Option<u64>,
}

/// How a virtual machine is set up.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct QemuSettings {
    /// `tcg` or `kvm`.
    pub accel: String,
    /// Virtual CPUs.
    pub cpus: u32,
    /// Memory in MiB.
    pub memory_mib: u32,
    /// Machine, for example `q35`; `pc` where absent.
    pub machine: Option<String>,
    /// CPU model; all that the accelerator has where absent.
    pub cpu: Option<String>,
    /// Clocksource asked for at boot.
    pub clocksource: Option<String>,
}

impl QemuSettings {
    pub(crate) fn accelerator(&self) -> Accel {
        match self.accel.as_str() {
            "kvm" => Accel::Kvm,
            _ => Accel::Tcg,
        }
    }
}

impl PlatformPlan {
    /// What imitates its processor, where that is no real one.
    pub fn emulated(&self) -> Option<&'static str> {
        match &self.kind {
            Kind::Qemu(qemu) if qemu.accelerator().is_emulation() => Some("QEMU TCG"),
            _ => None,
        }
    }

    /// The level of the factor `platform`. Emulated ones carry that with them
    /// wherever they are named.
    pub fn level(&self) -> String {
        match self.emulated() {
            Some(_) => format!("{} (emulated)", self.name),
            None => self.name.clone(),
        }
    }

    /// Settings that are not left as they are, for people to read.
    pub fn settings(&self) -> Vec<String> {
        let us = |name: &str, us: Option<u64>| us.map(|us| format!("{name} {us} us"));
        let word = |name: &str, word: &Option<String>| word.as_ref().map(|w| format!("{name} {w}"));
        match &self.kind {
            Kind::Host => Vec::new(),
            Kind::Oci(o) => [
                o.shares.map(|n| format!("shares {n}")),
                us("quota", o.quota_us),
                us("period", o.period_us),
                word("cpuset", &o.cpuset),
                us("real-time runtime", o.realtime_runtime_us),
                us("real-time period", o.realtime_period_us),
            ]
            .into_iter()
            .flatten()
            .collect(),
            Kind::Qemu(q) => [
                Some(format!("accelerator {}", q.accel)),
                Some(format!("{} CPUs", q.cpus)),
                Some(format!("{} MiB", q.memory_mib)),
                word("machine", &q.machine),
                word("CPU", &q.cpu),
                word("clocksource", &q.clocksource),
            ]
            .into_iter()
            .flatten()
            .collect(),
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
        let Some(kind) = kind else {
            let known = KINDS.join("\", \"");
            table.wrong(table.at(), format!("a platform needs a kind: \"{known}\""));
            return None;
        };
        let (usual, kind) = match kind.as_str() {
            "host" => ("host".to_owned(), Kind::Host),
            "oci" => oci(&table)?,
            "qemu" => ("qemu".to_owned(), Kind::Qemu(qemu(&table))),
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
        cpuset: table.text("cpuset"),
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

fn qemu(table: &Table<'_, '_>) -> QemuSettings {
    let accel = table.read("accel", |value| match value.as_str() {
        Some(accel @ ("tcg" | "kvm")) => Ok(accel.to_owned()),
        _ => Err("there are \"tcg\" (emulation) and \"kvm\"".to_owned()),
    });
    let small = |n: u64| u32::try_from(n).unwrap_or(u32::MAX);
    QemuSettings {
        accel: accel.unwrap_or_else(|| "tcg".to_owned()),
        cpus: small(table.number("cpus", 1..256).unwrap_or(1)),
        memory_mib: small(table.number("memory_mib", 128..1_048_577).unwrap_or(512)),
        machine: table.text("machine"),
        cpu: table.text("cpu"),
        clocksource: table.text("clocksource"),
    }
}
