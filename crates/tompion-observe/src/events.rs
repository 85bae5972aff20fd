//! Events with their own times, by `perf_event_open(2)`.
//!
//! Without privilege: the context switches and page faults of the watched threads.
//! With it (root or CAP_PERFMON, and the tracefs of the kernel): everything that
//! happens on the CPUs in question: which thread ran when, interrupts, softirqs,
//! and who woke the watched threads when. Whatever is refused is told in
//! [`Access`](tompion_cause::Access), never an error.
//!
//! # What it does not see
//! * Non-maskable interrupts, exceptions other than page faults, and everything
//!   below the kernel: firmware, hypervisor.
//! * Threads that a watched process starts later, unless [`Recorder::watch`] is
//!   told of them.
//! * A frozen thread (control group freezer) looks as if it waited.
//! * Without wake-up records the end of a wait and the wait for a CPU after it are
//!   one span.
//! * Within a PID namespace threads of other namespaces have no number of ours;
//!   they appear under their own, negated. Wake-ups are recorded there only with what keeps threads of this process from
//!   their turns.

mod assemble;
mod decode;
mod drained;
mod evidence;
mod format;
pub(crate) mod fuzz;
mod keeper;
mod names;
mod open;
mod outer;
mod procfs;
mod record;
mod recorder;
mod sources;
mod tracefs;
mod turns;

pub use decode::Loss;
pub use drained::Drained;
pub use keeper::Keeper;
pub use record::Origin;
pub use recorder::Recorder;
pub use turns::{Turn, Want};

#[cfg(test)]
pub(crate) use procfs::online_cpus;

/// How much is recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Room for the records of each CPU, in bytes. 100 000 switches a second fill
    /// the default in about 0.15 s.
    pub cpu_ring_bytes: usize,
    /// Room for the switches of each thread, in bytes, and as much again for its
    /// page faults; less where the system allows less. The default holds 2300
    /// switches and 1300 faults.
    pub thread_ring_bytes: usize,
    /// Whether the threads' own switch records are taken even where the CPUs'
    /// records tell the same. They cost each switch more than a CPU's do. Without
    /// them a thread is followed only on the CPUs named: for pinned threads.
    pub thread_switches: bool,
    /// Whether each page fault of the threads is recorded. It costs each fault
    /// roughly a microsecond.
    pub page_faults: bool,
    /// Which events of the CPUs are asked for.
    pub cpu_events: CpuEvents,
}

/// How much is recorded of what happens on the CPUs. Each record costs the CPU a
/// fraction of a microsecond, of which a timed wake-up makes some ten with all of
/// them; the example `observe_cost` measures what that does to a short sleep.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum CpuEvents {
    /// Nothing: switches and faults of the watched threads alone.
    None,
    /// Only what keeps a watched thread from running ([`Turn`]); next to nothing while
    /// nothing does. The CPUs must be all those on which the threads may run, the
    /// threads those named at the start, and nothing is recorded by thread.
    Turns,
    /// Who ran when, and who was woken.
    Switches,
    /// Interrupts and softirqs as well.
    All,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            cpu_ring_bytes: 2 << 20,
            thread_ring_bytes: 128 << 10,
            thread_switches: true,
            page_faults: true,
            cpu_events: CpuEvents::All,
        }
    }
}

/// Names of the evidence in [`tompion_cause::Access::items`].
pub mod item {
    /// Switches of the watched threads.
    pub const THREAD_SWITCHES: &str = "context switches of the threads";
    /// Their page faults.
    pub const PAGE_FAULTS: &str = "page faults of the threads";
    /// When they began.
    pub const FAULT_MOMENTS: &str = "moments of the threads' page faults";
    /// Anything at all about CPUs as a whole.
    pub const CPU_EVENTS: &str = "events of the CPUs";
    /// Switches of the CPUs by `sched_switch`, with the state of who left.
    pub const SCHEDULER: &str = "scheduler tracepoint";
    /// Switches of the CPUs without that state, where the tracepoint is missing.
    pub const CPU_SWITCHES: &str = "context switches of the CPUs";
    /// Interrupts of devices.
    pub const INTERRUPTS: &str = "interrupt tracepoints";
    /// Deferred work of interrupts.
    pub const SOFTIRQS: &str = "softirq tracepoints";
    /// Interrupts of the CPU's own: timer, calls between CPUs.
    pub const VECTORS: &str = "interrupt vector tracepoints";
    /// What keeps the watched threads from running, and nothing else.
    pub const TURNS: &str = "turns that the threads had to wait for";
    /// Who was woken when, and moved where.
    pub const WAKES: &str = "wake-up tracepoints";
}
