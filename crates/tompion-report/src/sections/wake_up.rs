//! How late a sleeping thread runs again.

use crate::grid::ProbeWords;
use tompion_model::{factor, format_ns};
use tompion_probe::wake_up;

use super::read_cost::at_rest;
use super::{Machine, Probe, Question, Section, measured};
use crate::blocks::{Block, Tile};
use crate::data::{ReportData, Shown};
use crate::grid::factors_in_words;

pub(super) static ENTRY: Section = Section {
    name: "wake-up",
    title: "Wake-up latency",
    question: Some(Question::Late),
    probe: Some(&Probe {
        words: PROBE,
        // The verdict is about it.
        outcome: |_, _, _| None,
        tiles,
    }),
    blocks,
    // Machines find it in the cells.
    machine: Machine::Keys(|_, _| {}),
};

const PROBE: ProbeWords<'static> = ProbeWords {
    name: wake_up::NAME,
    title: "Wake-up latency",
    target: "target",
};

fn blocks(data: &ReportData) -> Vec<Block<'_>> {
    measured::section(
        data,
        PROBE,
        "How much later than asked a sleeping thread runs again: wake-up minus target (the papers’ “miss time”). \
         With absolute deadlines a late wake-up may miss whole periods. They are counted, and a column of its own gives the \
         p99 corrected for them (coordinated omission): verdicts and findings go by it.",
    )
}

fn tiles(data: &ReportData) -> Vec<Tile> {
    let tile = |what, value, s: &Shown<'_>| Tile {
        what,
        value,
        of: factors_in_words(&s.cell.factors),
    };
    let median = |s: &Shown<'_>| s.view.plotted_median().unwrap_or_default();
    let best = at_rest(data, PROBE.name)
        .into_iter()
        .filter_map(|s| Some((s.view.plotted()?.median_ns, s)))
        .min_by(|a, b| a.0.total_cmp(&b.0));
    let worst = data
        .shown()
        .filter(|s| s.cell.factors.level(factor::PROBE) == PROBE.name)
        .filter_map(|s| Some((s.view.plotted()?.max_ns, s)))
        .max_by(|a, b| a.0.total_cmp(&b.0));
    let best = best.map(|(_, s)| tile("Most punctual wake-up (median)", median(&s), &s));
    let worst = worst.map(|(ns, s)| tile("Latest wake-up seen", format_ns(ns), &s));
    best.into_iter().chain(worst).collect()
}
