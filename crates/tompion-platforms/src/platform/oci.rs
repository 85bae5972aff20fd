//! Containers, by any runtime that takes OCI bundles: runc, crun, runsc (gVisor), kata,
//! youki. They are the heirs of the operating-system virtualisation of 2011 (VServer,
//! OpenVZ): one kernel, its share of the CPU bounded by a control group.
//!
//! The bundle is an empty root with the static program bound into it, so that the disk
//! of the run may forbid execution.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;
use tompion_model::Unavailable;

use oci_spec::OciSpecError;
use oci_spec::runtime::{
    Capability, LinuxBuilder, LinuxCapabilitiesBuilder, LinuxCpuBuilder, LinuxNamespace,
    LinuxNamespaceBuilder, LinuxNamespaceType, LinuxResourcesBuilder, Mount, MountBuilder,
    PosixRlimitBuilder, PosixRlimitType, ProcessBuilder, RootBuilder, Spec, get_default_mounts,
    get_default_namespaces,
};
use rustix::process::{Resource, getrlimit};
use serde::Serialize;
use serde_json::json;

use super::{
    ANSWER, Named, Output, Platform, PlatformKind, Presence, Seat, Seating, Setup, Task, TaskError,
    ask, find, none, process, require_static, version,
};
use crate::groups;
use crate::keys::{CPUS_WANTED, Table, cpus};
use crate::leftovers::{self, Made};
use crate::network::{Joined, Network};
use crate::platform_plan::is_name;

/// Where the program lies in a container.
const PROGRAM: &str = "/tompion";

/// What a container may do, as far as the lab may itself: what measuring time asks for (real-time
/// policies, locked memory, performance events), and low ports. With their numbers in Linux. Nothing that makes files
/// of others its own: its control groups are [nobody's](groups::make_nobodys).
const CAPABILITIES: [(Capability, u32); 5] = [
    (Capability::NetBindService, 10),
    (Capability::IpcLock, 14),
    (Capability::SysNice, 23),
    (Capability::SysResource, 24),
    (Capability::Perfmon, 38),
];

/// Those of them that the lab's own process has.
fn capabilities() -> HashSet<Capability> {
    let status = procfs::process::Process::myself().and_then(|me| me.status());
    let own = status.map_or(0, |status| status.capprm);
    let has = |bit: &u32| own >> bit & 1 == 1;
    let all = CAPABILITIES.into_iter();
    all.filter(|(_, bit)| has(bit))
        .map(|(capability, _)| capability)
        .collect()
}

pub(super) static ENTRY: PlatformKind = PlatformKind {
    name: "oci",
    about: "a container, by runc, crun, gVisor's runsc or another OCI runtime",
    read,
    usual: &[
        "runtime = \"runc\"",
        "runtime = \"crun\"",
        "runtime = \"runsc\"",
        "runtime = \"kata-runtime\"",
        "runtime = \"youki\"",
    ],
};

/// How a container is set up. What is absent is left as the runtime has it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
struct OciSettings {
    /// Name or path of the runtime: `runc`, `crun`, `runsc`, ...
    runtime: PathBuf,
    /// Weight among sibling groups, 1024 being usual.
    shares: Option<u64>,
    /// CPU time of each period, in microseconds.
    quota_us: Option<u64>,
    /// That period, in microseconds.
    period_us: Option<u64>,
    /// CPUs.
    cpuset: Option<Vec<u32>>,
    /// CPU time of each period for real-time tasks, in microseconds.
    realtime_runtime_us: Option<u64>,
    /// That period, in microseconds.
    realtime_period_us: Option<u64>,
    /// How it is joined to a testbed.
    #[serde(skip_serializing_if = "Network::is_none")]
    network: Network,
}

fn read(table: &Table<'_, '_>) -> Option<Named> {
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
        network: Network::read(table, &[Network::Host, Network::Bridge, Network::Macvlan]),
    };
    if settings.is_gvisor() && !settings.network.is_none() {
        table.wrong(
            table.at_key("network"),
            "network: gVisor has a network stack of its own, which is joined to none here; use runc or crun",
        );
    }
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
    Some((Some(name.to_owned()), Arc::new(settings)))
}

impl OciSettings {
    fn is_gvisor(&self) -> bool {
        self.runtime.ends_with("runsc")
    }
}

impl Setup for OciSettings {
    fn as_json(&self) -> serde_json::Value {
        json!(self)
    }

    fn settings(&self) -> Vec<String> {
        let us = |name: &str, us: Option<u64>| us.map(|us| format!("{name} {us} us"));
        [
            self.shares.map(|n| format!("shares {n}")),
            us("quota", self.quota_us),
            us("period", self.period_us),
            self.cpuset
                .as_ref()
                .map(|cpus| format!("cpuset {}", tompion_host::cpu_list(cpus))),
            us("real-time runtime", self.realtime_runtime_us),
            us("real-time period", self.realtime_period_us),
            self.network.in_words(),
        ]
        .into_iter()
        .flatten()
        .collect()
    }

    fn start(&self) -> Duration {
        Duration::from_millis(match self.is_gvisor() {
            true => 1_500,
            false => 300,
        })
    }

    fn network(&self) -> Network {
        self.network
    }

    fn platform(&self, _: &str) -> Box<dyn Platform> {
        Box::new(Oci {
            settings: self.clone(),
        })
    }
}

struct Oci {
    settings: OciSettings,
}

impl Oci {
    fn name(&self) -> &OsStr {
        self.settings.runtime.file_name().unwrap_or_default()
    }

    fn program(&self) -> Result<PathBuf, Unavailable> {
        let runtime = &self.settings.runtime;
        find(runtime).ok_or_else(|| none(runtime, "").into())
    }

    /// The runtime with its own options, keeping its state in `root`.
    fn command(&self, root: &Path) -> Result<Vec<String>, Unavailable> {
        let program = self.program()?.display().to_string();
        let mut command = Vec::new();
        if self.name() == "crun" && Path::new("/sys/fs/cgroup/unified/cgroup.procs").exists() {
            // It refuses machines with both versions of control groups mounted, so it
            // is shown the first alone.
            let hide = "umount /sys/fs/cgroup/unified && exec \"$@\"";
            command.extend(["unshare", "-m", "sh", "-c", hide, "sh"].map(str::to_owned));
        }
        command.push(program);
        command.extend(["--root".to_owned(), root.display().to_string()]);
        if self.name() == "runsc" {
            command.extend(["--platform=systrap", "--network=none"].map(str::to_owned));
        }
        Ok(command)
    }

    /// What every runtime can, and other programs that know `--version` cannot.
    fn lists_containers(&self) -> Result<(), Unavailable> {
        let root = leftovers::EmptyPlace::make().map_err(|e| e.to_string())?;
        let mut command = self.command(root.path())?;
        command.push("list".to_owned());
        let mut process = Command::new(&command[0]);
        process.args(&command[1..]);
        let why = match ask(process, ANSWER) {
            Ok(done) if done.success => return Ok(()),
            Ok(done) => {
                let told = String::from_utf8_lossy(&done.stderr);
                let said = told.lines().next();
                let said = said.map_or_else(|| "it says nothing".to_owned(), message);
                format!("{}, {said}", done.status)
            }
            Err(why) => why.to_string(),
        };
        let name = self.settings.runtime.display();
        Err(format!("{name} is no OCI runtime that works here: `list` fails: {why}").into())
    }

    /// What the container is.
    fn spec(&self, task: &Task<'_>, program: &Path, id: &str) -> Result<Spec, OciSpecError> {
        let mut mounts: Vec<Mount> = get_default_mounts();
        // Writable, the groups would be the machine's.
        mounts.retain(|m| m.destination() != Path::new("/sys/fs/cgroup"));
        let read_only = |options: &[&str]| -> Vec<String> {
            let usual = ["nosuid", "nodev", "ro"];
            usual.iter().chain(options).map(|&o| o.to_owned()).collect()
        };
        mounts.push(
            MountBuilder::default()
                .destination("/sys/fs/cgroup")
                .typ("cgroup")
                .source("cgroup")
                .options(read_only(&["noexec", "relatime"]))
                .build()?,
        );
        mounts.push(
            MountBuilder::default()
                .destination(PROGRAM)
                .typ("bind")
                .source(program)
                .options(read_only(&["bind"]))
                .build()?,
        );
        let capabilities = capabilities();
        let capabilities = LinuxCapabilitiesBuilder::default()
            .bounding(capabilities.clone())
            .effective(capabilities.clone())
            .permitted(capabilities)
            // Unset, they would have defaults of their own.
            .inheritable(HashSet::new())
            .ambient(HashSet::new())
            .build()?;
        // Sample memory is locked; more than the lab itself may lock takes a right.
        let own = getrlimit(Resource::Memlock).maximum.unwrap_or(u64::MAX);
        let locked = PosixRlimitBuilder::default()
            .typ(PosixRlimitType::RlimitMemlock)
            .soft(own)
            .hard(own)
            .build()?;
        let arguments = std::iter::once(PROGRAM.to_owned()).chain(task.arguments.iter().cloned());
        let process = ProcessBuilder::default()
            .terminal(false)
            .cwd("/")
            .args(arguments.collect::<Vec<_>>())
            .capabilities(capabilities)
            .rlimits(vec![locked])
            .no_new_privileges(true)
            .build()?;
        let linux = LinuxBuilder::default()
            .namespaces(namespaces(task.joined)?)
            .cgroups_path(group(task, id))
            .resources(self.resources(task.seat)?)
            .build()?;
        let mut spec = Spec::default();
        spec.set_version("1.0.2".to_owned())
            .set_hostname(Some("tompion".to_owned()))
            .set_process(Some(process))
            .set_root(Some(
                RootBuilder::default()
                    .path("rootfs")
                    .readonly(false)
                    .build()?,
            ))
            .set_mounts(Some(mounts))
            .set_linux(Some(linux));
        Ok(spec)
    }

    fn resources(
        &self,
        seat: Option<&Seat>,
    ) -> Result<oci_spec::runtime::LinuxResources, OciSpecError> {
        let mut resources = LinuxResourcesBuilder::default().cpu(self.cpu(seat)?);
        let weight = seat.and_then(|seat| seat.scheduling.weight);
        let is_second = seat.and_then(Seat::path).is_some_and(|(_, second)| second);
        if let Some(weight) = weight.filter(|_| is_second) {
            // As it is: runtimes make other weights of shares.
            let file = ("cpu.weight".to_owned(), weight.to_string());
            resources = resources.unified(std::collections::HashMap::from([file]));
        }
        resources.build()
    }

    /// What the seat of a placement leaves open is as the platform has it.
    fn cpu(&self, seat: Option<&Seat>) -> Result<oci_spec::runtime::LinuxCpu, OciSpecError> {
        let mut s = self.settings.clone();
        if let Some(seat) = seat {
            if !seat.cpus.is_empty() {
                s.cpuset = Some(seat.cpus.clone());
            }
            s.shares = seat.scheduling.weight.map(groups::shares).or(s.shares);
            if seat.scheduling.quota_us.is_some() {
                s.quota_us = seat.scheduling.quota_us;
                s.period_us = seat.scheduling.period_us.or(Some(100_000));
            }
        }
        let signed = |us: u64| i64::try_from(us).unwrap_or(i64::MAX);
        let mut cpu = LinuxCpuBuilder::default();
        if let Some(shares) = s.shares {
            cpu = cpu.shares(shares);
        }
        if let Some(us) = s.quota_us {
            cpu = cpu.quota(signed(us));
        }
        if let Some(us) = s.period_us {
            cpu = cpu.period(us);
        }
        if let Some(cpus) = &s.cpuset {
            cpu = cpu.cpus(tompion_host::cpu_list(cpus));
        }
        if let Some(us) = s.realtime_runtime_us {
            cpu = cpu.realtime_runtime(signed(us));
        }
        if let Some(us) = s.realtime_period_us {
            cpu = cpu.realtime_period(us);
        }
        cpu.build()
    }

    fn bundle(&self, task: &Task<'_>, id: &str) -> Result<PathBuf, Unavailable> {
        let bundle = task.workspace.scratch().join(id);
        let at = |e: std::io::Error| format!("{}: {e}", bundle.display());
        for directory in ["proc", "sys", "dev", "tmp"] {
            fs::create_dir_all(bundle.join("rootfs").join(directory)).map_err(at)?;
        }
        fs::write(bundle.join("rootfs").join(&PROGRAM[1..]), []).map_err(at)?;
        // It is bound by its own name, whatever links lead to it.
        let program = fs::canonicalize(task.program);
        let program = program.map_err(|e| format!("{}: {e}", task.program.display()))?;
        let spec = self.spec(task, &program, id).map_err(|e| e.to_string())?;
        let config = bundle.join("config.json");
        spec.save(&config)
            .map_err(|e| format!("{}: {e}", config.display()))?;
        Ok(bundle)
    }
}

impl Platform for Oci {
    fn presence(&self, program: &Path) -> Presence {
        let runtime = match self.program() {
            Ok(runtime) => runtime,
            Err(why) => return Presence::Absent(why.to_string()),
        };
        if !rustix::process::geteuid().is_root() {
            return Presence::Absent("containers are made by root alone".to_owned());
        }
        let look = || -> Result<String, Unavailable> {
            let told = version(&runtime)?;
            self.lists_containers()?;
            require_static(program)?;
            let cpus = self.settings.cpuset.as_deref().unwrap_or_default();
            tompion_host::require_cpus(cpus).map_err(|why| format!("cpuset: {why}"))?;
            Ok(told)
        };
        match look() {
            Ok(told) => Presence::Present(vec![told]),
            Err(why) => Presence::Absent(why.to_string()),
        }
    }

    fn at_a_glance(&self) -> Presence {
        super::at_a_glance(&self.settings.runtime, "")
    }

    fn patience(&self) -> Duration {
        Duration::from_secs(120)
    }

    fn seating(&self) -> Seating {
        Seating::Group
    }

    fn run(&self, task: &Task<'_>) -> Result<Output, TaskError> {
        let id = task.workspace.id(task.number);
        let root = task.workspace.volatile().join(self.name());
        let command = self.command(&root)?;
        let with = |more: &[&str]| -> Vec<String> {
            let more = more.iter().map(|&word| word.to_owned());
            command.iter().cloned().chain(more).collect()
        };
        let delete = with(&["delete", "--force", &id]);
        task.workspace.note(&Made::Container {
            id: id.clone(),
            state: root.join(&id),
            delete: delete.clone(),
        })?;
        let removal = Removal {
            id: &id,
            delete: &delete,
        };
        let bundle = self.bundle(task, &id)?;
        // gVisor takes a group that is there for one that is set up.
        if !self.settings.is_gvisor() {
            groups::make_nobodys(&group(task, &id));
        }
        let run = with(&["run", "--bundle", &bundle.display().to_string(), &id]);
        let mut process = Command::new(&run[0]);
        process.args(&run[1..]);
        let output = process::run(process, task.bounds(), task.stop, task.telling, || {
            removal.now()
        });
        drop(removal);
        let removed = leftovers::remove_directory(&bundle);
        let mut output = output?;
        if !output.success {
            let told = String::from_utf8_lossy(&output.stderr);
            output.stderr = told
                .lines()
                .map(message)
                .collect::<Vec<_>>()
                .join("\n")
                .into_bytes();
        }
        removed.map_err(|e| TaskError::Failed(format!("{}: {e}", bundle.display())))?;
        Ok(output)
    }
}

/// Path of a container's control group below the root of every hierarchy.
fn group(task: &Task<'_>, id: &str) -> PathBuf {
    match task.seat.and_then(Seat::path) {
        Some((path, _)) => path,
        None => format!("/{id}").into(),
    }
}

/// Those of a container. Its network is empty, unless it is joined to one.
fn namespaces(joined: Option<&Joined>) -> Result<Vec<LinuxNamespace>, OciSpecError> {
    let mut all = get_default_namespaces();
    let network = match joined {
        // A tap is a virtual machine's.
        None | Some(Joined::Tap(_)) => return Ok(all),
        Some(Joined::Host) => None,
        Some(Joined::Namespace(path)) => {
            let kind = LinuxNamespaceType::Network;
            Some(
                LinuxNamespaceBuilder::default()
                    .typ(kind)
                    .path(path)
                    .build()?,
            )
        }
    };
    all.retain(|namespace| namespace.typ() != LinuxNamespaceType::Network);
    all.extend(network);
    Ok(all)
}

/// What a line of a runtime's log says, without its time, which is no part of a reason.
fn message(line: &str) -> String {
    match line.split_once("msg=\"") {
        Some((_, message)) => {
            let message = message.rsplit_once('"').map_or(message, |(m, _)| m);
            message.replace("\\\"", "\"")
        }
        // crun: `2026-11-22T00:04:41.000Z: what is wrong`.
        None => match line.split_once("Z: ") {
            Some((stamp, message)) if !stamp.contains(' ') => message.to_owned(),
            _ => line.to_owned(),
        },
    }
}

/// Removes a container however it ended.
struct Removal<'a> {
    id: &'a str,
    delete: &'a [String],
}

impl Removal<'_> {
    fn now(&self) {
        // It fails where there is none any more, which is as well.
        let _ = leftovers::run(self.delete);
        leftovers::remove_cgroups(self.id);
    }
}

impl Drop for Removal<'_> {
    fn drop(&mut self) {
        self.now();
    }
}

#[cfg(test)]
mod tests;
