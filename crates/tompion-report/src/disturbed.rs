//! Samples that something disturbed, and what the figures are without them.

use std::collections::BTreeMap;

use tompion_cause::{Cause, Source};
use tompion_record::{Mark, Trial, TrialData, format_ns};

use tompion_stats::Bins;

use crate::data::{ReportData, Shown};
use crate::figures::{count, percent, supported};
use crate::grid::factors_in_words;

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

    fn merge(&mut self, other: &Self) {
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

/// For example `preempted 0.80 % (events), stolen 0.40 % (polled)`.
fn shares(d: &Disturbed) -> String {
    let of = |r: &Reason| {
        let share = percent(r.samples as f64 / d.samples as f64);
        format!(
            "{} {share} ({})",
            cause_in_words(r.cause),
            known_by(r.source)
        )
    };
    let all: Vec<String> = d.reasons().iter().map(of).collect();
    all.join(", ")
}

/// What the disturbed samples of one probe make of its figures; `None` where
/// nobody looked for disturbances.
pub(crate) fn sentence(data: &ReportData, probe: &str) -> Option<String> {
    let cells: Vec<Shown<'_>> = data
        .shown()
        .filter(|s| s.cell.factors.level(tompion_record::factor::PROBE) == probe)
        .collect();
    let mut all = Disturbed::default();
    cells.iter().for_each(|s| all.merge(&s.view.disturbed));
    if !all.observed || all.samples == 0 {
        return None;
    }
    let samples = count(all.samples);
    if all.marked() == 0 {
        return Some(format!(
            "None of {samples} samples overlapped a disturbance that was seen."
        ));
    }
    Some(format!(
        "Of {samples} samples {} overlapped a disturbance: {}; {}.",
        percent(all.marked() as f64 / all.samples as f64),
        shares(&all),
        effect(&cells)
    ))
}

/// What happens to the p99 without them.
fn effect(cells: &[Shown<'_>]) -> String {
    let p99 = |s: &Shown<'_>| {
        let of = |m: &Option<tompion_record::Summary>| {
            let m = m.as_ref()?;
            supported(m, 0.99, m.p99_ns)
        };
        Some((of(&s.view.measured)?, of(&s.view.undisturbed)?))
    };
    let both: Vec<(&Shown<'_>, f64, f64)> = cells
        .iter()
        .filter_map(|s| p99(s).map(|(with, without)| (s, with, without)))
        .collect();
    let apart = |with: f64, without: f64| format_ns(with) != format_ns(without);
    match both.as_slice() {
        [] => "there are too few samples for a p99".to_owned(),
        [(_, with, without)] if apart(*with, *without) => format!(
            "without them the p99 is {} instead of {}",
            format_ns(*without),
            format_ns(*with)
        ),
        [(_, with, _)] => format!("without them the p99 stays at {}", format_ns(*with)),
        several => {
            let worst = several
                .iter()
                .max_by(|a, b| (a.1 - a.2).total_cmp(&(b.1 - b.2)));
            match worst {
                Some((s, with, without)) if apart(*with, *without) => format!(
                    "without them the p99 changes most for {}: {} instead of {}",
                    factors_in_words(&s.cell.factors),
                    format_ns(*without),
                    format_ns(*with)
                ),
                _ => "without them no p99 changes".to_owned(),
            }
        }
    }
}
