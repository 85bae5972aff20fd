//! What causes took of busy loops.

use tompion_cause::Cause;
use tompion_model::{Stalls, format_ns};

use super::words::percent;

/// What some causes took of busy loops.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Taken {
    /// Time in it, in nanoseconds.
    pub ns: u64,
    /// The longest part of it.
    pub longest_ns: u64,
    /// How long the loops were watched, added up.
    pub watched_ns: u64,
}

impl Taken {
    pub(super) fn by(stalls: &[&Stalls], causes: &[Cause]) -> Self {
        let mut taken = Self {
            watched_ns: stalls.iter().map(|s| s.observed_ns).sum(),
            ..Self::default()
        };
        let all = stalls.iter().flat_map(|s| &s.causes);
        for cause in all.filter(|c| causes.contains(&c.cause)) {
            taken.ns += cause.ns;
            taken.longest_ns = taken.longest_ns.max(cause.longest_ns);
        }
        taken
    }

    pub(super) fn share(self) -> f64 {
        self.ns as f64 / self.watched_ns.max(1) as f64
    }

    /// In a sentence, with what took it; nothing where that took nothing.
    pub(super) fn sentence(self, what: &str) -> Option<String> {
        let share = percent(self.share());
        let longest = format_ns(self.longest_ns as f64);
        (self.ns > 0).then(|| {
            format!("{what} took {share} of a busy loop's time, at most {longest} at once.")
        })
    }
}
