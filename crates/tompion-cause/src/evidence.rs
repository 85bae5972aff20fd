//! What is known about a stall, and what may be said of it.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Time during which a thread that wanted to run did not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stall {
    /// The last moment at which the thread is known to have run before.
    pub from_ns: u64,
    /// The first at which it ran again.
    pub until_ns: u64,
}

/// Why time was lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Cause {
    /// Another thread had the CPU.
    Preempted,
    /// The control group had used up its CPU quota.
    Throttled,
    /// A signal, a debugger or a freezer stopped it.
    Stopped,
    /// It waited for something: a lock, a disk, a peer.
    Waited,
    /// The kernel brought in a page.
    PageFault,
    /// The kernel's periodic timer interrupt.
    Tick,
    /// Another hardware interrupt.
    HardInterrupt,
    /// Deferred work of an interrupt.
    Softirq,
    /// It was moved to another CPU.
    Migration,
    /// The hypervisor ran somebody else, and said so.
    Stolen,
    /// The firmware took the CPU (system management mode).
    Smi,
    /// Nothing in the guest happened, and the hypervisor does not account for
    /// time it takes.
    Unseen,
    /// The system clock was set.
    ClockStep,
    /// A packet waited in its device's queue for others.
    Queued,
    /// Tompion itself.
    Own,
    /// The evidence at hand does not tell.
    Unknown,
}

impl Cause {
    /// All causes.
    pub const ALL: [Self; 16] = [
        Self::Preempted,
        Self::Throttled,
        Self::Stopped,
        Self::Waited,
        Self::PageFault,
        Self::Tick,
        Self::HardInterrupt,
        Self::Softirq,
        Self::Migration,
        Self::Stolen,
        Self::Smi,
        Self::Unseen,
        Self::ClockStep,
        Self::Queued,
        Self::Own,
        Self::Unknown,
    ];

    /// The name in files and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Preempted => "preempted",
            Self::Throttled => "throttled",
            Self::Stopped => "stopped",
            Self::Waited => "waited",
            Self::PageFault => "page-fault",
            Self::Tick => "tick",
            Self::HardInterrupt => "hard-interrupt",
            Self::Softirq => "softirq",
            Self::Migration => "migration",
            Self::Stolen => "stolen",
            Self::Smi => "smi",
            Self::Unseen => "unseen",
            Self::ClockStep => "clock-step",
            Self::Queued => "queued",
            Self::Own => "own",
            Self::Unknown => "unknown",
        }
    }

    /// The cause of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|c| c.name() == name)
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Where a statement comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Source {
    /// Events with their own times: perf records, tracepoints.
    Event,
    /// Counters read right before and right after.
    Counter,
    /// Counters read several times a second: the time is the window's.
    Polled,
}

impl Source {
    /// All of them, the most exact first.
    pub const ALL: [Self; 3] = [Self::Event, Self::Counter, Self::Polled];

    /// The name in run records, as serde writes it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Event => "event",
            Self::Counter => "counter",
            Self::Polled => "polled",
        }
    }

    /// The one of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|s| s.name() == name)
    }
}

/// A thread, as its kernel names it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Task {
    /// Thread number; 0 is the idle task. That of a thread outside this PID namespace is
    /// the kernel's own, negated.
    pub tid: i32,
    /// Its name, where known.
    pub name: Option<String>,
}

/// How a thread left its CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OffCpu {
    /// It could have gone on.
    Preempted,
    /// Stopped or traced.
    Stopped,
    /// It waited.
    Waiting,
    /// Not preempted; the record does not say more.
    Left,
}

/// What went on during a [`Span`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    /// The watched thread was off its CPU.
    OffCpu(OffCpu),
    /// The watched thread could run, after a wait, and was not yet on a CPU.
    Runnable,
    /// Another thread ran on the watched thread's CPU.
    Ran(Task),
    /// A hardware interrupt was served there; `tick` when it is the local timer's.
    Interrupt {
        /// Its name, for example `virtio0-input.0` or `local_timer`.
        name: String,
        /// Whether it is the local timer's.
        tick: bool,
    },
    /// Deferred work was done there.
    Softirq {
        /// Its kind, for example `NET_RX`.
        name: String,
    },
    /// The watched thread took a page fault.
    PageFault,
    /// The watched thread came from another CPU.
    Migration {
        /// The CPU it left.
        from_cpu: u32,
        /// The CPU it came to.
        to_cpu: u32,
    },
}

/// Something that went on, with its own times.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Span {
    /// Beginning.
    pub from_ns: u64,
    /// End; equal to the beginning where only the moment is known.
    pub until_ns: u64,
    /// What.
    pub what: What,
}

/// Counters of one thread and its surroundings at one moment. Absent: this
/// system does not tell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// When they were read.
    pub at_ns: u64,
    /// CPU time of the thread.
    pub cpu_time_ns: u64,
    /// Time it was runnable and not running (`/proc/PID/task/TID/schedstat`).
    pub run_delay_ns: Option<u64>,
    /// Context switches of its own will.
    pub voluntary_switches: Option<u64>,
    /// Other context switches.
    pub involuntary_switches: Option<u64>,
    /// Page faults without disk.
    pub minor_faults: Option<u64>,
    /// Page faults that waited for a disk.
    pub major_faults: Option<u64>,
    /// How long the control group stood still for want of quota, all CPUs added.
    pub throttled_ns: Option<u64>,
    /// System management interrupts of the CPU.
    pub smi: Option<u64>,
}

/// Which evidence there was; each `Err` says why not, in a few words.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Access {
    /// Name of the evidence (for example `context switches of the thread`, `irq
    /// tracepoints`), and whether it was to be had.
    pub items: Vec<(String, Result<(), String>)>,
    /// Whether stolen time is accounted by the hypervisor, so that CPU time
    /// excludes it.
    pub steal_is_accounted: bool,
    /// Switch records of the watched thread were taken without loss.
    pub has_switches: bool,
    /// All threads and interrupts of its CPUs were recorded without loss.
    pub has_cpu_events: bool,
}

/// A disturbance that samples may overlap.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Disturbance {
    /// Beginning.
    pub from_ns: u64,
    /// End.
    pub until_ns: u64,
    /// Its kind.
    pub cause: Cause,
    /// By whom or what, where known.
    pub by: Option<String>,
    /// Whether the times are its own.
    pub source: Source,
}
