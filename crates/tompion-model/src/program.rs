//! What held a running program up.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{CauseTotal, EvidenceItem};

/// A program as it was watched for a while.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProgramStalls {
    /// Its process.
    pub pid: i32,
    /// Its name.
    pub name: String,
    /// How long it was watched, in nanoseconds.
    pub wall_ns: u64,
    /// How long it took to begin, thread by thread, in nanoseconds; nothing of it
    /// counts.
    pub attach_ns: u64,
    /// Whether it ended meanwhile.
    pub ended: bool,
    /// Time its threads lost, added up, in nanoseconds; from events. Absent where
    /// none of their switches could be recorded.
    pub lost_ns: Option<u64>,
    /// How often.
    pub stalls: Option<u64>,
    /// Time its threads were runnable and not running, by the kernel's own count,
    /// added up, in nanoseconds; absent where that is not told.
    pub run_delay_ns: Option<u64>,
    /// How long its control group stood still for want of CPU quota, all CPUs added,
    /// in nanoseconds; absent where that is not told.
    pub throttled_ns: Option<u64>,
    /// Threads whose switches could not be recorded.
    pub unwatched_threads: u64,
    /// Lost time by cause, the greatest first.
    pub causes: Vec<CauseTotal>,
    /// Its threads, the one that lost most first.
    pub threads: Vec<ProgramThread>,
    /// The longest stalls, the longest first.
    pub longest: Vec<ProgramStall>,
    /// Which evidence there was.
    pub evidence: Vec<EvidenceItem>,
    /// Whether the hypervisor accounts for the time it takes.
    pub steal_is_accounted: bool,
    /// Share of one CPU that watching took, 0 to 1.
    pub own_cpu_share: f64,
}

/// One thread of a program.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProgramThread {
    /// Its number.
    pub tid: i32,
    /// Its name.
    pub name: String,
    /// Its CPU time while it was watched, in nanoseconds.
    pub cpu_time_ns: u64,
    /// Time it was runnable and not running, by the kernel's own count, in
    /// nanoseconds; absent where that is not told.
    pub run_delay_ns: Option<u64>,
    /// Time it lost, from events, in nanoseconds; absent where its switches could
    /// not be recorded.
    pub lost_ns: Option<u64>,
    /// How often.
    pub stalls: Option<u64>,
    /// The longest, in nanoseconds.
    pub longest_ns: Option<u64>,
}

/// One stall of a program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ProgramStall {
    /// The thread.
    pub tid: i32,
    /// When it began, in nanoseconds since watching began.
    pub at_ns: u64,
    /// Its length in nanoseconds.
    pub ns: u64,
    /// Why, in words: its longest parts.
    pub because: String,
}
