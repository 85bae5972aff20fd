//! Samples that something disturbed, and what the figures are without them.

use std::collections::BTreeMap;

use tompion_cause::{Cause, Source};
use tompion_model::{Mark, Trial, TrialData};

use tompion_stats::Bins;

/// Disturbed samples of one cell.
#[derive(Clone, Debug, Default)]
pub(crate) struct Disturbed {
    /// Samples that count, disturbed or not.
    pub samples: u64,
    /// Whether disturbances were looked for in any of its trials.
    pub observed: bool,
    by_reason: BTreeMap<(Cause, Source), u64>,
}

/// Samples disturbed by one cause, known in one way.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Reason {
    /// What disturbed them.
    pub cause: Cause,
    /// How that is known.
    pub source: Source,
    /// How many.
    pub samples: u64,
}

impl Disturbed {
    /// Takes in the samples of one trial.
    pub(crate) fn add(&mut self, trial: &Trial, data: &TrialData) {
        // Stalls are disturbances themselves, and named by their causes.
        self.observed |= trial.observation.is_some() && trial.findings.stalls.is_none();
        self.samples += data.bins.as_ref().map_or(0, Bins::len);
        for s in data.samples.iter().filter(|s| !s.mark.is_left_out()) {
            self.samples += 1;
            if let Mark::Disturbed(cause, source) = s.mark {
                self.observed = true;
                *self.by_reason.entry((cause, source)).or_default() += 1;
            }
        }
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        self.observed |= other.observed;
        self.samples += other.samples;
        for (reason, n) in &other.by_reason {
            *self.by_reason.entry(*reason).or_default() += n;
        }
    }

    /// How many samples were disturbed.
    pub(crate) fn marked(&self) -> u64 {
        self.by_reason.values().sum()
    }

    /// Reasons, the most frequent first.
    pub(crate) fn reasons(&self) -> Vec<Reason> {
        let mut all: Vec<Reason> = self
            .by_reason
            .iter()
            .map(|(&(cause, source), &samples)| Reason {
                cause,
                source,
                samples,
            })
            .collect();
        all.sort_by_key(|r| std::cmp::Reverse(r.samples));
        all
    }
}

/// How a reason is known, in a word.
pub(crate) fn known_by(source: Source) -> &'static str {
    match source {
        Source::Event => "events",
        Source::Counter => "counted",
        Source::Polled => "polled",
    }
}

/// A cause as it stands in a sentence.
pub(crate) fn cause_in_words(cause: Cause) -> &'static str {
    match cause {
        Cause::PageFault => "page fault",
        Cause::HardInterrupt => "interrupt",
        Cause::Smi => "SMI",
        Cause::Unseen => "unseen by the guest",
        Cause::Own => "Tompion itself",
        other => other.name(),
    }
}
