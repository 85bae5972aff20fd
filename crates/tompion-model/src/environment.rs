//! The machine and its settings, as a run found them. Whatever could not be
//! read is absent. No serial numbers are kept, and no network addresses but those of
//! time servers, which redaction leaves out.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::TimeKeeping;

/// What this machine is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Environment {
    /// Host name.
    #[schemars(extend("privacy" = "who"))]
    pub hostname: String,
    /// Processor, memory and what the firmware calls the machine.
    #[schemars(extend("privacy" = "harmless"))]
    pub machine: Machine,
    /// The kernel and how it was built and started.
    #[schemars(extend("privacy" = "harmless"))]
    pub kernel: Kernel,
    /// Whether and by what the machine is virtualised.
    #[schemars(extend("privacy" = "harmless"))]
    pub virtualization: Virtualization,
    /// Whether and by what this process is contained.
    #[schemars(extend("privacy" = "harmless"))]
    pub container: Container,
    /// Where the kernel takes its time from.
    #[schemars(extend("privacy" = "harmless"))]
    pub clock: ClockState,
    /// How well the kernel's clock follows a reference.
    #[schemars(extend("privacy" = "harmless"))]
    pub synchronisation: Option<Synchronisation>,
    /// What keeps the wall clock in step; absent in older runs and where nothing shows.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("privacy" = "harmless"))]
    pub time_keeping: Option<TimeKeeping>,
    /// What lowers power at the price of latency.
    #[schemars(extend("privacy" = "harmless"))]
    pub power: Power,
    /// How the kernel shares the CPUs out.
    #[schemars(extend("privacy" = "harmless"))]
    pub scheduling: Scheduling,
    /// Limits that control groups put on this process.
    #[schemars(extend("privacy" = "harmless"))]
    pub cgroup: Cgroup,
    /// CPU vulnerabilities and what the kernel does about each.
    #[schemars(extend("privacy" = "harmless"))]
    pub mitigations: BTreeMap<String, String>,
}

/// Processor, memory and what the firmware calls the machine.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Machine {
    /// By which runs of one machine are known as such: derived from its machine-id, which
    /// cannot be had from it, as `systemd-id128 machine-id --app-specific` derives ids.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("privacy" = "secret"))]
    pub id: Option<String>,
    /// Instruction set, for example `x86_64`.
    pub architecture: String,
    /// Processor as it names itself.
    pub cpu_model: Option<String>,
    /// Maker of the system according to its firmware (DMI).
    pub system_vendor: Option<String>,
    /// Model of the system according to its firmware (DMI or device tree).
    pub system_product: Option<String>,
    /// Maker of the firmware (DMI).
    pub firmware_vendor: Option<String>,
    /// Logical CPUs that are online.
    pub cpus_online: Option<u32>,
    /// Hardware threads of each core.
    pub threads_per_core: Option<u32>,
    /// Whether simultaneous multithreading is in use.
    pub smt_active: Option<bool>,
    /// What the kernel lets one do about it: `on`, `off`, `forceoff`,
    /// `notsupported`, `notimplemented`.
    pub smt_control: Option<String>,
    /// Caches of the first CPU, nearest first.
    pub caches: Vec<Cache>,
    /// Size of the last of them, in bytes.
    pub last_level_cache_bytes: Option<u64>,
    /// NUMA nodes.
    pub numa_nodes: Option<u32>,
    /// Memory, in bytes.
    pub memory_bytes: Option<u64>,
    /// Memory available without swapping at the time, in bytes.
    pub memory_available_bytes: Option<u64>,
    /// Transparent huge pages: `always`, `madvise` or `never`.
    pub transparent_hugepages: Option<String>,
}

/// One cache.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Cache {
    /// Distance from the core, from 1.
    pub level: u32,
    /// `Data`, `Instruction` or `Unified`.
    pub kind: String,
    /// Size in bytes.
    pub size_bytes: u64,
    /// CPUs that share it, as a list such as `0-3`.
    pub shared_by: Option<String>,
}

/// The kernel and how it was built and started.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Kernel {
    /// Release, for example `6.1.0-25-cloud-amd64`.
    pub release: Option<String>,
    /// Version and build flags, for example `#1 SMP PREEMPT_DYNAMIC`.
    pub version: Option<String>,
    /// Preemption model in force where it can be read, else the one built in.
    pub preemption: Option<String>,
    /// Ticks per second that the kernel was built for (`CONFIG_HZ`).
    pub tick_rate_hz: Option<u32>,
    /// Options of the kernel command line that bear on timing.
    pub timing_options: Vec<String>,
}

/// Whether and by what the machine is virtualised.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Virtualization {
    /// The hypervisor, for example `KVM`; absent where none shows itself.
    pub hypervisor: Option<String>,
    /// What runs the machine beside the hypervisor, for example `Firecracker`.
    pub machine_monitor: Option<String>,
    /// What kind of guest this is, where the hypervisor says so (Xen: `PV`,
    /// `HVM`, `PVH`; `dom0`).
    pub guest_type: Option<String>,
    /// The software that imitates the processor, for example `QEMU TCG`;
    /// absent on real processors.
    pub emulated: Option<String>,
    /// What the above was concluded from.
    pub evidence: Vec<String>,
    /// Features for timing that the hypervisor offers, for example
    /// `kvm-clock`.
    pub features: Vec<String>,
    /// Whether the hypervisor intercepts reads of the time stamp counter,
    /// where it says so (Xen).
    pub tsc_intercepted: Option<bool>,
    /// CPU time taken by the hypervisor since boot over all CPUs, in
    /// milliseconds, in steps of 10; 0 also where it does not tell.
    pub steal_ms: Option<u64>,
}

/// Whether and by what this process is contained.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Container {
    /// `docker`, `podman`, `lxc`, `systemd-nspawn`, `kubernetes`, `gvisor`,
    /// `chroot`, ...; `namespaces` for an unknown one; absent outside.
    pub kind: Option<String>,
    /// What that was concluded from, or why a trace of one does not count.
    #[schemars(extend("privacy" = "text"))]
    pub evidence: Vec<String>,
    /// Namespaces other than those the machine started with.
    pub own_namespaces: Vec<String>,
}

/// Where the kernel takes its time from.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ClockState {
    /// Clocksource in use, for example `tsc`.
    pub clocksource: Option<String>,
    /// Clocksources that the kernel would use.
    pub clocksources_available: Vec<String>,
    /// Flags of the time stamp counter, for example `constant_tsc`.
    pub tsc_flags: Vec<String>,
    /// Whether the processor has a time stamp counter that the kernel does not
    /// offer as a clocksource: it was marked unstable or is switched off.
    pub tsc_rejected: Option<bool>,
    /// Whether CPUID promises a counter of constant rate in all power states.
    pub tsc_invariant: Option<bool>,
    /// Rate of the counter that CPUID states, in ticks per second.
    pub tsc_stated_hz: Option<u64>,
    /// CPUID leaf that stated it.
    pub tsc_stated_by: Option<String>,
    /// Timer slack of the process, in nanoseconds.
    pub timer_slack_ns: Option<u64>,
}

/// How well the kernel's clock follows a reference, from adjtimex(2).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Synchronisation {
    /// Whether the kernel regards its clock as synchronised.
    pub synchronised: bool,
    /// Offset still to be corrected, in nanoseconds.
    pub offset_ns: i64,
    /// Correction of the clock's frequency, in parts per million.
    pub frequency_ppm: f64,
    /// Estimated error, in nanoseconds.
    pub estimated_error_ns: i64,
    /// Maximum error, in nanoseconds.
    pub maximum_error_ns: i64,
    /// Names of the status bits set, without `STA_`.
    pub status: Vec<String>,
    /// Leap second: `none`, `insert`, `delete`, `in progress`, `past`.
    pub leap_second: String,
    /// Offset from International Atomic Time, in seconds; 0 where never set.
    pub tai_offset_s: i32,
    /// Length of a clock tick, in microseconds.
    pub tick_us: i64,
}

/// What lowers power at the price of latency.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Power {
    /// Driver of the idle states.
    pub idle_driver: Option<String>,
    /// Who chooses among them.
    pub idle_governor: Option<String>,
    /// Idle states of the first CPU, lightest first.
    pub idle_states: Vec<IdleState>,
    /// Driver of the frequencies; absent in most guests.
    pub frequency_driver: Option<String>,
    /// Governors in use over all CPUs.
    pub frequency_governors: Vec<String>,
}

/// One idle state.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct IdleState {
    /// Name, for example `C1`.
    pub name: String,
    /// Time to leave it, in microseconds.
    pub exit_latency_us: Option<u64>,
    /// Whether it is switched off.
    pub disabled: Option<bool>,
}

/// How the kernel shares the CPUs out.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Scheduling {
    /// Policy of this process: `other`, `fifo`, `rr`, `batch`, `idle`,
    /// `deadline`.
    pub policy: Option<String>,
    /// Its real-time priority; 0 without one.
    pub realtime_priority: Option<u32>,
    /// Its nice value.
    pub nice: Option<i32>,
    /// CPUs that it may run on, as a list such as `0-3`.
    pub allowed_cpus: Option<String>,
    /// CPU time of each period that real-time tasks may use, in microseconds;
    /// -1 without a limit.
    pub realtime_runtime_us: Option<i64>,
    /// That period, in microseconds.
    pub realtime_period_us: Option<i64>,
    /// Whether tasks are grouped by session.
    pub autogroup: Option<bool>,
    /// Shortest time a task may run before others, in nanoseconds.
    pub base_slice_ns: Option<u64>,
    /// CPUs kept out of load balancing (`isolcpus`), as a list.
    pub isolated_cpus: Option<String>,
    /// CPUs without a tick while one task runs (`nohz_full`), as a list.
    pub tickless_cpus: Option<String>,
    /// Whether pressure stall information (PSI) is there.
    pub pressure_information: Option<bool>,
}

/// Limits that control groups put on this process.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Cgroup {
    /// Version that holds the CPU controller: `v1` or `v2`.
    pub version: Option<String>,
    /// CPU time of each period, in microseconds, from the tightest group above
    /// this process; absent without a quota.
    pub quota_us: Option<u64>,
    /// That period, in microseconds.
    pub period_us: Option<u64>,
    /// The quota as a number of CPUs.
    pub quota_cpus: Option<f64>,
    /// The group that sets it, a directory of the control groups' file system.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("privacy" = "secret"))]
    pub limiting: Option<String>,
    /// Weight among sibling groups (v2, default 100).
    pub weight: Option<u64>,
    /// Shares among sibling groups (v1, default 1024).
    pub shares: Option<u64>,
    /// CPUs that the group may use, as a list.
    pub cpuset: Option<String>,
    /// CPU time that real-time tasks of the group may use, in microseconds (v1).
    pub realtime_runtime_us: Option<i64>,
    /// Periods in which the group ran out of its quota, from when it was made
    /// until the run began.
    pub throttled_periods: Option<u64>,
}
