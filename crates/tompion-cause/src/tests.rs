//! Planted evidence: what goes in comes out, and always sums up.

mod by_counters;
mod by_events;
mod sums;

use crate::{Access, Cause, Counters, Evidence, Part, Span, Stall, Task, What, attribute};

pub(crate) const US: u64 = 1_000;
pub(crate) const MS: u64 = 1_000_000;

/// When the planted stalls begin.
pub(crate) const T: u64 = 7_000 * MS;

pub(crate) fn stall(ns: u64) -> Stall {
    Stall {
        from_ns: T,
        until_ns: T + ns,
    }
}

/// Times from the stall's beginning.
pub(crate) fn span(from_ns: u64, until_ns: u64, what: What) -> Span {
    Span {
        from_ns: T + from_ns,
        until_ns: T + until_ns,
        what,
    }
}

pub(crate) fn ran(name: &str, tid: i32) -> What {
    What::Ran(Task {
        tid,
        name: Some(name.into()),
    })
}

pub(crate) fn events() -> Access {
    Access {
        has_switches: true,
        has_cpu_events: true,
        ..Access::default()
    }
}

/// Counters 2 us before the stall.
pub(crate) fn zero() -> Counters {
    Counters {
        at_ns: T - 2 * US,
        cpu_time_ns: 0,
        run_delay_ns: Some(0),
        voluntary_switches: Some(0),
        involuntary_switches: Some(0),
        minor_faults: Some(0),
        major_faults: Some(0),
        throttled_ns: Some(0),
        smi: Some(0),
    }
}

/// Counters right after a stall of `ns`, of which the thread was on its CPU for
/// `cpu_ns`.
pub(crate) fn after(ns: u64, cpu_ns: u64) -> Counters {
    Counters {
        at_ns: T + ns + US,
        cpu_time_ns: cpu_ns + 3 * US,
        ..zero()
    }
}

pub(crate) fn parts(
    ns: u64,
    spans: &[Span],
    counters: Option<(Counters, Counters)>,
    access: &Access,
) -> Vec<Part> {
    let evidence = Evidence {
        before: counters.map(|c| c.0),
        after: counters.map(|c| c.1),
        elsewhere_ns: 0,
        spans,
        access,
    };
    let parts = attribute(&stall(ns), &evidence);
    assert_eq!(parts.iter().map(|p| p.ns).sum::<u64>(), ns);
    parts
}

/// Cause, by whom, microseconds.
pub(crate) fn brief(parts: &[Part]) -> Vec<(Cause, Option<&str>, u64)> {
    parts
        .iter()
        .map(|p| (p.cause, p.by.as_deref(), p.ns / US))
        .collect()
}
