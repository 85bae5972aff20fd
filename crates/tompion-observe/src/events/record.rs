//! What the kernel records, decoded.

use tompion_cause::OffCpu;

use super::names::Comm;

/// One thing that the kernel recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Record {
    pub time_ns: u64,
    pub cpu: u32,
    pub event: Event,
}

/// What it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Event {
    /// A CPU went from one thread to another; from events of the CPU.
    Switch {
        prev: i32,
        prev_comm: Option<Comm>,
        how: OffCpu,
        next: i32,
        next_comm: Option<Comm>,
    },
    /// A watched thread left its CPU; from events of the thread.
    Out { tid: i32, how: OffCpu },
    /// A watched thread came to a CPU; from events of the thread.
    In { tid: i32 },
    /// A thread that waited may run again.
    Wake { tid: i32 },
    /// A thread that was woken came into a CPU's queue.
    Queued { tid: i32, cpu: u32 },
    /// A thread was put into another CPU's queue.
    Moved { tid: i32, to_cpu: u32 },
    /// An interrupt or softirq begins; `label` says what to call it.
    Enter { kind: Kind, label: u32 },
    /// It ends.
    Exit { kind: Kind },
    /// A page fault begins.
    Fault { tid: i32 },
    /// It was served.
    Served { tid: i32 },
    /// How a thread stood when it began to be watched: off its CPU or not.
    Found { tid: i32, off: Option<OffCpu> },
    /// A thread has a new name.
    Named { tid: i32, comm: Comm },
    /// Of what happened from now on, records may be lost.
    Lost { origin: Origin },
    /// From now on there are records again.
    Again { origin: Origin },
}

impl Event {
    /// Whether it may be part of a turn that a thread had to wait for.
    pub fn is_of_turns(&self) -> bool {
        match self {
            Self::Switch { .. } | Self::Queued { .. } | Self::Fault { .. } => true,
            Self::Lost { origin } | Self::Again { origin } => matches!(origin, Origin::Cpu(_)),
            _ => false,
        }
    }
}

/// Tells interrupts apart that may interrupt each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Irq(i32),
    Vector(u32),
    Softirq(u32),
}

/// Whose records a ring holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Origin {
    /// All that happened on one CPU.
    Cpu(u32),
    /// The switches of one thread.
    Thread(i32),
    /// Its page faults, which may be many and must not crowd its switches out.
    Faults(i32),
}
