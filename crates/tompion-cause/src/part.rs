//! What is said of a stall: its length, shared out among causes.

use serde::Serialize;

use crate::{Access, Cause, Counters, Source, Span};

/// What is known about one stall of a busy loop.
///
/// The loop makes no call that waits: if it left its CPU other than by
/// preemption, it was stopped, or a page had to come from a disk.
#[derive(Clone, Copy, Debug)]
pub struct Evidence<'a> {
    /// The thread's counters, the last reading before the stall.
    pub before: Option<Counters>,
    /// The first reading after it.
    pub after: Option<Counters>,
    /// Time lost between the two readings outside of this stall, in nanoseconds:
    /// how far growth of the counters may belong to other stalls.
    pub elsewhere_ns: u64,
    /// What overlaps the stall, in any order; spans may overlap each other and
    /// stick out of it. Those about a CPU are of the CPU that the thread was on.
    pub spans: &'a [Span],
    /// Which evidence there was.
    pub access: &'a Access,
}

/// A part of a stall that has one cause.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Part {
    /// Why.
    pub cause: Cause,
    /// How long, in nanoseconds.
    pub ns: u64,
    /// By whom or what, where known: `hog[1234]`, `virtio0-input.0`, `NET_RX`.
    pub by: Option<String>,
    /// What the statement rests on; nothing where the cause is unknown.
    pub source: Option<Source>,
    /// The statement's reason, and what it assumes, in a few words.
    pub because: &'static str,
}

/// A statement without its length.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Verdict {
    pub cause: Cause,
    pub by: Option<String>,
    pub source: Option<Source>,
    pub because: &'static str,
}

impl Verdict {
    pub fn event(cause: Cause, by: Option<String>, because: &'static str) -> Self {
        Self {
            cause,
            by,
            source: Some(Source::Event),
            because,
        }
    }

    pub fn counter(cause: Cause, because: &'static str) -> Self {
        Self {
            cause,
            by: None,
            source: Some(Source::Counter),
            because,
        }
    }

    pub fn unknown(because: &'static str) -> Self {
        Self {
            cause: Cause::Unknown,
            by: None,
            source: None,
            because,
        }
    }
}

/// Parts under construction: equal statements become one part.
#[derive(Debug, Default)]
pub(crate) struct Parts(Vec<Part>);

impl Parts {
    pub fn add(&mut self, verdict: Verdict, ns: u64) {
        if ns == 0 {
            return;
        }
        let Verdict {
            cause,
            by,
            source,
            because,
        } = verdict;
        let same = self
            .0
            .iter_mut()
            .find(|p| p.cause == cause && p.by == by && p.source == source && p.because == because);
        match same {
            Some(part) => part.ns += ns,
            None => self.0.push(Part {
                cause,
                ns,
                by,
                source,
                because,
            }),
        }
    }

    /// The longest part, if it is at least this long.
    pub fn longest(&mut self, at_least_ns: u64) -> Option<&mut Part> {
        self.0
            .iter_mut()
            .max_by_key(|p| p.ns)
            .filter(|p| p.ns >= at_least_ns)
    }

    /// Longest first.
    pub fn finish(mut self) -> Vec<Part> {
        self.0.sort_by_key(|p| std::cmp::Reverse(p.ns));
        self.0
    }
}
