//! What hurts, ranked by time lost: of each second of running, how much stalls took
//! and what took it; of each second of waiting, how much came after the time asked for.

use tompion_model::{factor, parse_duration_ns};
use tompion_probe::wake_up;

use crate::causes::by_name;
use crate::data::{ReportData, Shown};
use crate::grid::{factors_in_words, load_title};
use crate::stalls::cause_and_by;

/// What is not worth a line: a ten-thousandth of the time.
const LEAST: f64 = 1e-4;

/// Something that takes time.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Lost {
    /// Whether a running thread lost it, or a waiting one.
    pub kind: Kind,
    /// Share of the time, 0 to 1.
    pub share: f64,
    /// What took it.
    pub what: String,
    /// What ran beside it.
    pub load: String,
    /// The longest single loss in nanoseconds.
    pub longest_ns: f64,
    /// Over how much time it was watched, in nanoseconds.
    pub watched_ns: f64,
}

/// Of which time a loss is a share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Of the time that a busy loop ran.
    Running,
    /// Of the time that a sleeping thread was away.
    Waiting,
}

impl Kind {
    /// For example `running`.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Waiting => "waiting",
        }
    }
}

/// Everything that took time in a run, the greatest share first.
pub(crate) fn ranked(data: &ReportData) -> Vec<Lost> {
    let mut all: Vec<Lost> = data
        .shown()
        .flat_map(|s| match s.view.stalls {
            Some(_) => stalls(&s),
            None => waiting(&s).into_iter().collect(),
        })
        .filter(|l| l.share >= LEAST)
        .collect();
    all.sort_by(|a, b| b.share.total_cmp(&a.share));
    all
}

fn stalls(s: &Shown<'_>) -> Vec<Lost> {
    let Some(view) = &s.view.stalls else {
        return Vec::new();
    };
    let observed = view.total.observed_ns.max(1) as f64;
    let on = match s.cell.factors.get("cpu") {
        Some(cpu) => format!(" (CPU {cpu})"),
        None => String::new(),
    };
    let lost = |c: &tompion_model::CauseTotal| Lost {
        kind: Kind::Running,
        share: c.ns as f64 / observed,
        what: format!("{}{on}", cause_and_by(c.cause, c.by.as_deref())),
        load: load_title(s.cell.factors.level(factor::LOAD)).to_owned(),
        longest_ns: c.longest_ns as f64,
        watched_ns: observed,
    };
    by_name(&view.causes()).iter().map(lost).collect()
}

/// A sleep asks for its target and takes its latency on top; on a grid a late event
/// makes up for the periods that it missed.
fn waiting(s: &Shown<'_>) -> Option<Lost> {
    let f = &s.cell.factors;
    if f.level(factor::PROBE) != wake_up::NAME {
        return None;
    }
    let summary = s.view.measured.as_ref()?;
    let asked = parse_duration_ns(f.get(factor::TARGET)?).ok()? as f64;
    let late = summary.mean_ns.max(0.0);
    let away = match s.cell.missed_periods {
        Some(missed) => asked * (1.0 + missed as f64 / summary.samples.max(1) as f64),
        None => asked + late,
    };
    let without_load = f.clone().without(factor::LOAD);
    Some(Lost {
        kind: Kind::Waiting,
        // A grid's last period may not have ended.
        share: (late / away.max(1.0)).min(1.0),
        what: factors_in_words(&without_load),
        load: load_title(f.level(factor::LOAD)).to_owned(),
        longest_ns: summary.max_ns,
        watched_ns: away * summary.samples as f64,
    })
}
