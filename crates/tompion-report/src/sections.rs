//! The sections of a report, one file each.

mod measured;

use serde_json::{Map, Value};

use crate::blocks::{Block, Tile};
use crate::data::{ReportData, Shown};
use crate::grid::ProbeWords;

tompion_model::entries! {
    /// All of them in the order of the page. A terminal has the opening first and then the
    /// others from the last to the first, since what it prints last is what one sees.
    pub(crate) static SECTIONS: [Section] =
        opening,
        platforms,
        factors,
        verdicts,
        parts,
        hurts,
        advice,
        among,
        budget,
        clock,
        read_cost,
        wake_up,
        timer_events,
        stalls,
        others,
        changes,
        tails,
        loads,
        machine,
        limits,
        repeat,
}

/// An entry in the list of sections.
pub(crate) struct Section {
    /// Its anchor on the page, and its key where it has no others for machines.
    pub name: &'static str,
    /// Its heading; empty for the opening.
    pub title: &'static str,
    /// What it is called in a table of contents.
    pub contents: &'static str,
    /// The probe whose measurements it shows, where it does.
    pub probe: Option<&'static Probe>,
    /// What people read; nothing where a run has nothing of the kind.
    pub blocks: for<'a> fn(&'a ReportData) -> Vec<Block<'a>>,
    /// What machines read.
    pub machine: Machine,
}

/// What a section says to machines.
pub(crate) enum Machine {
    /// What it says to people.
    Blocks,
    /// Keys of their own; units are in their names.
    Keys(fn(&ReportData, &mut Map<String, Value>)),
}

/// What the section of a probe knows of it.
pub(crate) struct Probe {
    /// What it is called.
    pub words: ProbeWords<'static>,
    /// How it came out under one load, as the end of a sentence; for reports without a verdict.
    pub outcome: fn(&ReportData, &[Shown<'_>], load: &str) -> Option<String>,
    /// The figures of it that people ask for first.
    pub tiles: fn(&ReportData) -> Vec<Tile>,
}

/// The probe of this name that has a section of its own.
fn probe(name: &str) -> Option<(&'static Section, &'static Probe)> {
    let mut all = SECTIONS.iter().filter_map(|s| Some((*s, s.probe?)));
    all.find(|(_, probe)| probe.words.name == name)
}

/// What a probe measures, in words.
pub(crate) fn probe_title(name: &str) -> String {
    match (probe(name), name) {
        (Some((section, _)), _) => section.title.to_owned(),
        (None, "") => "Measurements without a named probe".to_owned(),
        (None, other) => other.to_owned(),
    }
}
