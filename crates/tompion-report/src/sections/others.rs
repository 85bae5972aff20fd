//! Probes that have no section of their own.

use std::collections::BTreeSet;

use tompion_model::factor;

use super::{Machine, Question, Section, measured, probe, probe_title};
use crate::blocks::{Block, Content};
use crate::data::ReportData;
use crate::grid::ProbeWords;

pub(super) static ENTRY: Section = Section {
    name: "others",
    title: "Other measurements",
    question: Some(Question::Late),
    probe: None,
    blocks,
    // Machines find them in the cells.
    machine: Machine::Keys(|_, _| {}),
};

fn blocks(data: &ReportData) -> Vec<Block<'_>> {
    let names: BTreeSet<&str> = data
        .cells()
        .iter()
        .map(|c| c.factors.level(factor::PROBE))
        .filter(|name| probe(name).is_none())
        .collect();
    let mut blocks = Vec::new();
    for name in names {
        blocks.push(Content::Heading(probe_title(name)).into());
        let about = "Values as the probe recorded them.";
        let words = ProbeWords {
            name,
            title: name,
            target: "target",
        };
        blocks.extend(measured::section(data, words, about));
    }
    blocks
}
