//! The longest waits and stalls seen.

use std::time::Duration;

use crate::Setting;

/// As many are kept.
pub(crate) const MOST: usize = 20;

/// What was late.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A thread after its sleep.
    WakeUp,
    /// A busy loop.
    Stall,
}

impl Kind {
    /// In a word.
    pub fn name(self) -> &'static str {
        match self {
            Self::WakeUp => "wake-up",
            Self::Stall => "stall",
        }
    }
}

/// One late wake-up, or one stall.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Case {
    /// Which of the two.
    pub kind: Kind,
    /// When a wake-up ended or a stall began, since the run began.
    pub at: Duration,
    /// How late, or how long, in nanoseconds.
    pub ns: u64,
    /// Why, in words.
    pub cause: String,
    /// What was chosen then.
    pub setting: Setting,
}

/// The longest `most` of the cases, longest first.
pub(crate) fn longest(cases: impl Iterator<Item = Case>, most: usize) -> Vec<Case> {
    let mut kept: Vec<Case> = Vec::with_capacity(most + 1);
    for case in cases {
        let is_short = kept.len() == most && kept.last().is_some_and(|l| l.ns >= case.ns);
        if !is_short {
            let at = kept.partition_point(|k| k.ns >= case.ns);
            kept.insert(at, case);
            kept.truncate(most);
        }
    }
    kept
}
