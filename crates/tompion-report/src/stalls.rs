//! Stalls of one cell: where the time went, when, and in what pattern.

mod histogram;
mod patterns;
mod structure;
mod trace;

use std::collections::{BTreeMap, HashMap};

use tompion_cause::Cause;
use tompion_model::{CauseTotal, Stalls, Trial, TrialData, format_ns};

use crate::disturbed::cause_in_words;
use crate::evidence::Evidence;
use crate::figures::{count, percent, plural};

pub(crate) use histogram::{Bin, binary_bins};
pub(crate) use patterns::sentences;
pub(crate) use structure::{Mode, Periodic, Structure};
pub(crate) use trace::BlockTrace;

/// Stalls of all trials of a run that are searched for patterns.
const MOST_SEARCHED: usize = 1 << 22;

/// How many each of so many cells with stalls has of them: its share, so that none takes the patterns of others.
pub(crate) fn searched_of_cell(cells: usize) -> usize {
    MOST_SEARCHED / cells.max(1)
}

/// Causes that are told apart by who it was; beyond these by their kind alone.
const MOST_CAUSES: usize = 1 << 12;

/// What is shown of one cell: its trials added up.
#[derive(Clone, Debug, Default)]
pub(crate) struct StallsView {
    /// Sums over trials; `loop_period_ns` is a mean over iterations, and
    /// `threshold_ns` the largest. Its causes are in [`StallsView::causes`].
    pub total: Stalls,
    /// Time lost by cause, as they came.
    found: Vec<CauseTotal>,
    /// Where each of them is.
    places: HashMap<(Cause, Option<String>), usize>,
    /// The longest stall of all, in nanoseconds.
    pub longest_ns: f64,
    /// The cause of its greatest part, where the stall is known one by one.
    pub longest_cause: Option<Cause>,
    /// What is drawn over time, block by block.
    pub traces: Vec<BlockTrace>,
    /// Patterns in time and length.
    pub structure: Structure,
    /// What the causes rest on.
    pub evidence: Evidence,
}

impl StallsView {
    /// Takes in one trial; `blocks` is how many trials share a plot.
    /// Of all trials of the cell `most` stalls are searched for patterns.
    pub(crate) fn add(&mut self, trial: &Trial, data: &TrialData, blocks: usize, most: usize) {
        let Some(new) = &trial.findings.stalls else {
            return;
        };
        let first = self.traces.is_empty();
        let sum = &mut self.total;
        let iterations = sum.iterations + new.iterations;
        sum.loop_period_ns = if iterations == 0 {
            0.0
        } else {
            (sum.loop_period_ns * sum.iterations as f64
                + new.loop_period_ns * new.iterations as f64)
                / iterations as f64
        };
        sum.iterations = iterations;
        sum.cpu = new.cpu.filter(|_| first || sum.cpu == new.cpu);
        sum.threshold_ns = sum.threshold_ns.max(new.threshold_ns);
        sum.wall_ns += new.wall_ns;
        sum.observed_ns += new.observed_ns;
        sum.own_ns += new.own_ns;
        sum.stalls += new.stalls;
        sum.lost_ns += new.lost_ns;
        sum.rows_lost += new.rows_lost;
        self.add_causes(&new.causes);
        let stalls = trace::stalls(data, new.threshold_ns);
        if new.stalls > 0
            && let Some(summary) = &trial.summary.measured
            && summary.max_ns > self.longest_ns
        {
            self.longest_ns = summary.max_ns;
            let longest = stalls.iter().max_by_key(|s| s.length_ps);
            self.longest_cause = longest
                .filter(|s| s.length_ps as f64 / 1e3 >= summary.max_ns * 0.99)
                .map(|s| s.cause);
        }
        self.structure.add(&stalls, new, most);
        self.traces
            .push(BlockTrace::of(trial.block, &stalls, new.wall_ns, blocks));
        self.evidence.add(trial);
    }

    /// Time lost by cause, the greatest first.
    pub(crate) fn causes(&self) -> Vec<CauseTotal> {
        let mut causes = self.found.clone();
        causes.sort_by_key(|c| std::cmp::Reverse(c.ns));
        causes
    }

    fn add_causes(&mut self, all: &[CauseTotal]) {
        if all.is_empty() {
            return;
        }
        let mut known = std::mem::take(&mut self.found);
        let mut places = std::mem::take(&mut self.places);
        for new in all {
            let mut new = new.clone();
            let is_known = |new: &CauseTotal| places.contains_key(&(new.cause, new.by.clone()));
            if known.len() >= MOST_CAUSES && !is_known(&new) {
                new.by = None;
            }
            let place = places
                .entry((new.cause, new.by.clone()))
                .or_insert(known.len());
            match known.get_mut(*place) {
                Some(c) => {
                    c.ns = c.ns.saturating_add(new.ns);
                    c.parts = c.parts.saturating_add(new.parts);
                    c.longest_ns = c.longest_ns.max(new.longest_ns);
                }
                None => known.push(new),
            }
        }
        self.found = known;
        self.places = places;
    }

    /// Share of the observed time that was lost.
    pub(crate) fn lost_share(&self) -> f64 {
        ratio(self.total.lost_ns, self.total.observed_ns)
    }

    /// Share of wall time that lies in recorded intervals.
    pub(crate) fn coverage(&self) -> f64 {
        ratio(self.total.observed_ns, self.total.wall_ns)
    }

    /// Share of wall time that went into reading counters.
    pub(crate) fn own_share(&self) -> f64 {
        ratio(self.total.own_ns, self.total.wall_ns)
    }

    /// Share of the lost time.
    pub(crate) fn share_of_lost(&self, ns: u64) -> f64 {
        ratio(ns, self.total.lost_ns)
    }

    /// For example `1.93 % of the time lost in 12 034 stalls of more than
    /// 1.00 µs, the longest 24.0 ms`.
    pub(crate) fn in_words(&self) -> String {
        let t = &self.total;
        let threshold = format_ns(t.threshold_ns as f64);
        if t.stalls == 0 {
            return format!("no stall of more than {threshold}");
        }
        format!(
            "{} of the time lost ({}) in {} {} of more than {threshold}, the longest {}",
            percent(self.lost_share()),
            format_ns(t.lost_ns as f64),
            count(t.stalls),
            plural(t.stalls, "stall", "stalls"),
            format_ns(self.longest_ns),
        )
    }

    /// How much of the time was observed, and by what steps.
    pub(crate) fn coverage_in_words(&self) -> String {
        let t = &self.total;
        format!(
            "{} of {} observed{}, in {} iterations of {}; another {} went into reading counters",
            percent(self.coverage()),
            format_ns(t.wall_ns as f64),
            t.cpu.map(|c| format!(" on CPU {c}")).unwrap_or_default(),
            count(t.iterations),
            format_ns(t.loop_period_ns),
            percent(self.own_share()),
        )
    }

    /// Lost time in stalls that found no room, and so have no cause.
    pub(crate) fn without_cause_ns(&self) -> u64 {
        let attributed: u64 = self.found.iter().map(|c| c.ns).sum();
        self.total.lost_ns.saturating_sub(attributed)
    }
}

/// For example `preempted by hog[1234]` or `softirq: NET_RX`.
pub(crate) fn cause_and_by(cause: Cause, by: Option<&str>) -> String {
    let words = cause_in_words(cause);
    match (cause, by) {
        (_, None) => words.to_owned(),
        (Cause::Preempted | Cause::Stopped, Some(by)) => format!("{words} by {by}"),
        (_, Some(by)) => format!("{words}: {by}"),
    }
}

/// Causes by the time lost to them in all `views`, the greatest first: the
/// order of their colours.
pub(crate) fn ranked<'a>(views: impl Iterator<Item = &'a StallsView>) -> Vec<Cause> {
    let mut lost: BTreeMap<Cause, u64> = BTreeMap::new();
    for view in views {
        for c in &view.causes() {
            *lost.entry(c.cause).or_default() += c.ns;
        }
        for t in &view.traces {
            for cause in t.by_cause.keys() {
                lost.entry(*cause).or_default();
            }
        }
    }
    let mut ranked: Vec<(Cause, u64)> = lost.into_iter().collect();
    ranked.sort_by_key(|r| std::cmp::Reverse(r.1));
    ranked.into_iter().map(|r| r.0).collect()
}

fn ratio(part: u64, whole: u64) -> f64 {
    if whole == 0 {
        0.0
    } else {
        part as f64 / whole as f64
    }
}
