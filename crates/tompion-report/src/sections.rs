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
        summary,
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
        packet_delay,
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
    /// What a reader asks to whom it is an answer; nothing where it stands on a page's first
    /// sheet.
    pub question: Option<Question>,
    /// The probe whose measurements it shows, where it does.
    pub probe: Option<&'static Probe>,
    /// What people read; nothing where a run has nothing of the kind.
    pub blocks: for<'a> fn(&'a ReportData) -> Vec<Block<'a>>,
    /// What machines read.
    pub machine: Machine,
}

/// What a reader asks. Below its first sheet a page has the sections by these, folded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Question {
    /// What the machine is good for.
    Fit,
    /// What takes the time.
    Lost,
    /// How late sleeping threads are.
    Late,
    /// What clocks tell, and cost.
    Clock,
    /// What the figures rest on.
    Trust,
}

impl Question {
    /// All of them in the order of the page.
    pub(crate) const ALL: [Self; 5] = [Self::Fit, Self::Lost, Self::Late, Self::Clock, Self::Trust];

    /// The question.
    pub(crate) fn title(self) -> &'static str {
        match self {
            Self::Fit => "What is it fit for?",
            Self::Lost => "What takes time, and what helps?",
            Self::Late => "How late are sleeps?",
            Self::Clock => "What do clocks tell, and cost?",
            Self::Trust => "What do these figures rest on?",
        }
    }

    /// Its anchor on the page.
    pub(crate) fn anchor(self) -> &'static str {
        match self {
            Self::Fit => "q-fit",
            Self::Lost => "q-lost",
            Self::Late => "q-late",
            Self::Clock => "q-clock",
            Self::Trust => "q-trust",
        }
    }
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
