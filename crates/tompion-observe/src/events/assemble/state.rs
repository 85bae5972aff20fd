//! What is known between two records.

use std::collections::HashMap;

use tompion_cause::{OffCpu, Span, What};

use crate::events::names::Names;
use crate::events::record::Kind;

/// The state between records.
pub(in crate::events) struct Assembler {
    pub(super) watched: HashMap<i32, Watched>,
    pub(super) cpus: HashMap<u32, Cpu>,
    pub(super) labels: Vec<What>,
    pub(super) names: Names,
}

/// What goes on at a CPU.
pub(super) struct Cpu {
    /// Who runs; unknown before the first switch.
    pub tid: Option<i32>,
    /// Since when that is so; unknown while records are missing.
    pub since_ns: Option<u64>,
    pub open: Vec<Open>,
    pub spans: Vec<Span>,
}

/// An interrupt that has not ended.
pub(super) struct Open {
    pub from_ns: u64,
    pub kind: Kind,
    pub label: u32,
}

/// A thread is off its CPU.
pub(super) struct Off {
    pub from_ns: u64,
    pub how: OffCpu,
    pub told_by: [bool; 2],
    pub wake_ns: Option<u64>,
}

/// A watched thread.
pub(super) struct Watched {
    /// Whether anything but the beginning told how it stands.
    pub is_known: bool,
    /// When it was found able to run, with no record since: on its CPU or not.
    pub found_ready_ns: Option<u64>,
    /// The CPU whose events concern it: where it runs, or waits to run.
    pub cpu: u32,
    /// Since when they do; absent while it does not want to run.
    pub wants_since_ns: Option<u64>,
    pub off: Option<Off>,
    pub fault_ns: Option<u64>,
    pub has_own_ring: bool,
    pub spans: Vec<Span>,
}

impl Watched {
    /// It comes back, or nobody looks any longer.
    pub(super) fn end_off(&mut self, at_ns: u64) {
        let Some(off) = self.off.take() else { return };
        let wake_ns = off.wake_ns.unwrap_or(at_ns);
        let how = What::OffCpu(off.how);
        self.spans.push(span(off.from_ns, wake_ns, how));
        if wake_ns < at_ns {
            self.spans.push(span(wake_ns, at_ns, What::Runnable));
        }
    }
}

/// A span that is not shorter than nothing.
pub(super) fn span(from_ns: u64, until_ns: u64, what: What) -> Span {
    let until_ns = until_ns.max(from_ns);
    Span {
        from_ns,
        until_ns,
        what,
    }
}
