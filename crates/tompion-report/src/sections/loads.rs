//! The proof that each load ran.

use super::{Machine, Question, Section};
use crate::blocks::{Block, Column, Content, Entry, Media, Row, Table};
use crate::data::ReportData;
use crate::figures::{count, real};
use crate::loads::{LoadSummary, summaries};

pub(super) static ENTRY: Section = Section {
    name: "loads",
    title: "Did the loads run?",
    question: Some(Question::Trust),
    probe: None,
    blocks,
    // Machines find it with each cell.
    machine: Machine::Keys(|_, _| {}),
};

fn blocks(data: &ReportData) -> Vec<Block<'_>> {
    let loads = summaries(data);
    if loads.is_empty() {
        let none = "No load ran during the measurements.";
        return vec![Content::Text(none.to_owned()).on(Media::PAGE)];
    }
    let row = |l: &LoadSummary| {
        let operations = l.operations.as_ref();
        let entries = vec![
            Entry::Text(l.asked.clone()),
            Entry::Text(l.driver.clone()),
            Entry::Text(count(l.trials as u64)),
            operations.map_or(Entry::None, |(rate, what)| {
                Entry::Noted(real(*rate), format!("× {what}"))
            }),
            l.bytes_per_second.map(|rate| real(rate / 1e6)).into(),
            Entry::Text(real(l.busy_cpus)),
            Entry::Text(real(l.context_switches_per_second)),
            Entry::Text(real(l.interrupts_per_second)),
        ];
        Row::new(l.name(), entries)
    };
    let table = Table::of(
        "Load",
        vec![
            Column::words("asked for"),
            Column::words("driver").on(Media::PAGE),
            Column::of("trials").on(Media::PAGE),
            Column::of("operations/s"),
            Column::of("MB/s"),
            Column::of("CPUs kept busy"),
            Column::of("context switches/s"),
            Column::of("interrupts/s"),
        ],
        loads.iter().map(row).collect(),
    );
    let lead = "What each load did while the measurements ran, averaged over its trials. Context switches and interrupts are those of the whole machine.";
    let mut blocks = vec![
        Content::Lead(lead.to_owned()).on(Media::PAGE),
        Content::Table(table).on(Media::NOT_SCREEN),
    ];
    for l in loads.iter().filter(|l| !l.notes.is_empty()) {
        let text = format!("{}: {}.", l.name(), l.notes.join("; "));
        blocks.push(Content::Text(text).on(Media::PAGE));
    }
    blocks
}
