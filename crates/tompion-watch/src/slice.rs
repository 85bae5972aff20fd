//! What is kept of one slice.

use std::time::Duration;

use tompion_cause::{Cause, describe_cause};
use tompion_model::{Mark, Sample, StallPart, Stalls, TrialData, View};

use crate::worst::{Case, Kind, MOST, longest};
use crate::{Setting, Spread};

/// Wake-ups of one slice: exact figures, and counts for the plot.
#[derive(Clone, Debug, PartialEq)]
pub struct Slice {
    /// When it began, since the run did.
    pub at: Duration,
    /// What was chosen.
    pub setting: Setting,
    /// Samples, warm-up aside.
    pub samples: u64,
    /// Median latency in nanoseconds.
    pub p50_ns: f64,
    /// 99 % of the latencies are no greater, in nanoseconds.
    pub p99_ns: f64,
    /// The greatest latency in nanoseconds.
    pub max_ns: f64,
    /// Periods missed.
    pub missed: u64,
    /// Samples that something disturbed.
    pub disturbed: u64,
    /// All latencies, counted.
    pub spread: Spread,
    /// The longest ones, longest first.
    pub worst: Vec<Case>,
}

impl Slice {
    /// Of a wake-up trial that began `at` after the run did; nothing where it has no
    /// sample that counts.
    pub fn of(data: &TrialData, at: Duration, setting: Setting) -> Option<Self> {
        let latencies = data.distribution(View::Measured);
        let counted: Vec<&Sample> = data
            .samples
            .iter()
            .filter(|s| !s.mark.is_left_out())
            .collect();
        let mut spread = Spread::default();
        for (ps, count) in latencies.pairs() {
            spread.add(*ps as f64 / 1e3, *count);
        }
        let mut latest = counted.clone();
        latest.sort_by_key(|s| std::cmp::Reverse(s.value_ps));
        latest.truncate(MOST);
        let cases = latest.iter().map(|s| Case {
            kind: Kind::WakeUp,
            at: at + Duration::from_nanos(s.at_ns),
            ns: s.value_ps.max(0).unsigned_abs() / 1000,
            cause: in_words(s.mark),
            setting,
        });
        Some(Self {
            at,
            setting,
            samples: latencies.len(),
            p50_ns: latencies.quantile(0.5)? / 1e3,
            p99_ns: latencies.quantile(0.99)? / 1e3,
            max_ns: latencies.max()? as f64 / 1e3,
            missed: counted.iter().map(|s| u64::from(s.missed)).sum(),
            disturbed: counted.iter().filter(|s| s.mark.is_disturbed()).count() as u64,
            worst: cases.collect(),
            spread,
        })
    }
}

/// Why a sample was late, as far as its mark tells.
fn in_words(mark: Mark) -> String {
    match mark {
        Mark::Disturbed(cause, source) => {
            let words = describe_cause(cause, None);
            match source {
                tompion_cause::Source::Polled => format!("{words} (counters polled)"),
                _ => words,
            }
        }
        _ => "no disturbance seen".to_owned(),
    }
}

/// Time lost to one cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CauseLost {
    /// The cause.
    pub cause: Cause,
    /// Time lost, in nanoseconds.
    pub ns: u64,
    /// In how many parts of stalls.
    pub parts: u64,
    /// The longest of them, in nanoseconds.
    pub longest_ns: u64,
}

/// Stalls of one slice.
#[derive(Clone, Debug, PartialEq)]
pub struct StallSlice {
    /// When it began, since the run did.
    pub at: Duration,
    /// How long the loop ran, in nanoseconds.
    pub wall_ns: u64,
    /// Stalls.
    pub stalls: u64,
    /// Time lost in them, in nanoseconds.
    pub lost_ns: u64,
    /// By cause.
    pub causes: Vec<CauseLost>,
    /// The longest ones, longest first.
    pub worst: Vec<Case>,
}

impl StallSlice {
    /// Of a trial of a busy loop that began `at` after the run did.
    pub fn of(data: &TrialData, stalls: &Stalls, at: Duration, setting: Setting) -> Self {
        let mut causes: Vec<CauseLost> = Vec::new();
        for total in &stalls.causes {
            let lost = CauseLost {
                cause: total.cause,
                ns: total.ns,
                parts: total.parts,
                longest_ns: total.longest_ns,
            };
            add_cause(&mut causes, &lost);
        }
        let stall = |parts: &[StallPart]| Case {
            kind: Kind::Stall,
            at: at + Duration::from_nanos(parts[0].at_ns),
            ns: parts.iter().map(|p| p.ns).sum(),
            cause: of_parts(parts),
            setting,
        };
        let parts = data.stall_parts();
        let cases = parts.chunk_by(|a, b| a.at_ns == b.at_ns);
        Self {
            at,
            wall_ns: stalls.wall_ns,
            stalls: stalls.stalls,
            lost_ns: stalls.lost_ns,
            causes,
            worst: longest(cases.map(stall), MOST),
        }
    }
}

/// Adds to the same cause, or as another one.
pub(crate) fn add_cause(causes: &mut Vec<CauseLost>, lost: &CauseLost) {
    match causes.iter_mut().find(|c| c.cause == lost.cause) {
        Some(known) => {
            known.ns += lost.ns;
            known.parts += lost.parts;
            known.longest_ns = known.longest_ns.max(lost.longest_ns);
        }
        None => causes.push(*lost),
    }
}

/// The longest part by name, and how many others there are.
fn of_parts(parts: &[StallPart]) -> String {
    let Some(main) = parts.iter().max_by_key(|p| p.ns) else {
        return String::new();
    };
    let words = describe_cause(main.cause, main.by.as_deref());
    match parts.len() {
        1 => words,
        n => format!("{words}, and {} more", n - 1),
    }
}
