//! The platforms of a lab: by their medians, and by the statistics of Perneel 2015.

use super::{Machine, Question, Section, probe_title};
use crate::blocks::{Block, Column, Content, Entry, Media, Row, Table};
use crate::data::ReportData;
use crate::platforms::{HEADS, legend, of_report, tables};
use crate::side_by_side;

pub(super) static ENTRY: Section = Section {
    name: "platforms",
    title: "Platforms",
    question: Some(Question::Fit),
    probe: None,
    blocks,
    machine: Machine::Blocks,
};

/// With more tables than these all are folded.
const OPEN: usize = 8;

fn blocks(data: &ReportData) -> Vec<Block<'_>> {
    medians(data).into_iter().chain(maxima(data)).collect()
}

fn medians(data: &ReportData) -> Option<Block<'_>> {
    let found = side_by_side::of_report(data, probe_title)?;
    let open = found.tables.len() <= OPEN;
    let mut blocks: Vec<Block<'_>> = Vec::new();
    for table in found.tables {
        blocks.push(of_cell(table.title, &found.heads, table.rows, open));
    }
    blocks.push(Content::Note(side_by_side::LEGEND.to_owned()).into());
    let part = Content::part("medians", Some("Platforms side by side".to_owned()), blocks);
    Some(part.into())
}

/// Maxima, what they add to the bare machine, ranks.
fn maxima(data: &ReportData) -> Option<Block<'_>> {
    let summary = of_report(data)?;
    let open = summary.groups.len() <= OPEN;
    let mut blocks: Vec<Block<'_>> = Vec::new();
    for table in tables(&summary, probe_title) {
        let entries = |row: [String; 8]| row.map(Entry::Text).into();
        let rows = table.rows.into_iter().map(entries).collect();
        blocks.push(of_cell(table.title, &HEADS.map(str::to_owned), rows, open));
    }
    blocks.push(Content::List(legend(&summary)).into());
    let part = Content::part(
        "maxima",
        Some("Platforms by their maxima".to_owned()),
        blocks,
    );
    Some(part.on(Media::NOT_SCREEN))
}

/// One cell on all platforms, a row each.
fn of_cell<'a>(title: String, heads: &[String], rows: Vec<Vec<Entry>>, open: bool) -> Block<'a> {
    let row = |row: Vec<Entry>| {
        let mut entries = row.into_iter();
        let label = entries.next().unwrap_or(Entry::None);
        Row::new(label.line(), entries.collect())
    };
    let table = Table::of(
        heads[0].clone(),
        heads[1..].iter().map(Column::of).collect(),
        rows.into_iter().map(row).collect(),
    );
    let blocks = vec![Content::Table(table).into()];
    Content::fold(title, open, blocks).into()
}
