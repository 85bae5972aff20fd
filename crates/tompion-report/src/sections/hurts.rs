//! What costs time here: findings, and time lost by cause.

use serde_json::{Map, Value, json};
use tompion_model::format_ns;

use super::{Machine, Question, Section};
use crate::blocks::{Block, Column, Content, Entry, Item, Items, Media, Row, Table};
use crate::data::ReportData;
use crate::figures::{count, percent, times, times_to_times};
use crate::grid::factors_in_words;
use crate::time_lost::{Kind, Lost, ranked};

pub(super) static ENTRY: Section = Section {
    name: "hurts",
    title: "What hurts",
    question: Some(Question::Lost),
    probe: None,
    blocks,
    machine: Machine::Keys(keys),
};

/// Findings, and causes of each kind, that a terminal shows.
const ON_SCREEN: usize = 5;

/// Causes of each kind that stand open; a page has the others folded.
const OPEN: usize = 12;

fn blocks(data: &ReportData) -> Vec<Block<'_>> {
    let mut blocks = vec![findings(data)];
    let all = ranked(data);
    let kinds = [
        (
            Kind::Running,
            "Time lost while running, by cause",
            "Of the time that a busy loop ran, what stalls took, by cause.",
        ),
        (
            Kind::Waiting,
            "Time lost while waiting for a sleep",
            "Of the time that a thread was away for a sleep, what came after the time it asked for (mean lateness).",
        ),
    ];
    for (kind, title, lead) in kinds {
        let of: Vec<&Lost> = all.iter().filter(|l| l.kind == kind).collect();
        let (first, rest) = of.split_at(of.len().min(OPEN));
        if of.is_empty() {
            continue;
        }
        blocks.push(Content::Heading(title.to_owned()).into());
        blocks.push(Content::Lead(lead.to_owned()).on(Media::PAGE));
        blocks.push(Content::Table(table(first)).into());
        if !rest.is_empty() {
            let fold = Content::fold(
                format!("Another {}", count(rest.len() as u64)),
                false,
                vec![Content::Table(table(rest)).into()],
            );
            blocks.push(fold.on(Media::PAGE));
        }
    }
    blocks
}

fn findings(data: &ReportData) -> Block<'_> {
    let findings = data.assessment().findings.iter().enumerate();
    let items: Vec<Item> = findings
        .map(|(i, f)| Item {
            figure: f.ratio_range.map_or_else(|| times(f.ratio), times_to_times),
            sure: true,
            text: f.sentence.clone(),
            how: None,
            more: vec![("", factors_in_words(&f.cell))],
            media: first(i, ON_SCREEN),
        })
        .collect();
    if items.is_empty() {
        let nothing = "Nothing stood out against its baseline in this run.";
        return Content::Text(nothing.to_owned()).on(Media::PAGE);
    }
    Content::Items(Items::Ranked, items).into()
}

/// A terminal shows so many.
fn first(i: usize, on_screen: usize) -> Media {
    if i < on_screen {
        Media::ALL
    } else {
        Media::NOT_SCREEN
    }
}

fn table(lines: &[&Lost]) -> Table {
    let row = |(i, l): (usize, &&Lost)| {
        let entries = vec![
            Entry::Text(l.load.clone()),
            Entry::Share(l.share, percent(l.share)),
            Entry::Text(format_ns(l.longest_ns)),
            Entry::Text(format_ns(l.watched_ns)),
        ];
        Row::new(l.what.clone(), entries).on(first(i, ON_SCREEN))
    };
    Table::of(
        "Taken by",
        vec![
            Column::words("load"),
            Column::of("of the time"),
            Column::of("longest"),
            Column::of("watched").on(Media::PAGE),
        ],
        lines.iter().enumerate().map(row).collect(),
    )
}

/// What took time, the greatest share first.
fn keys(data: &ReportData, keys: &mut Map<String, Value>) {
    let line = |l: &Lost| {
        json!({
            "while": l.kind.word(),
            "share": l.share,
            "taken_by": l.what,
            "load": l.load,
            "longest_ns": l.longest_ns,
            "watched_ns": l.watched_ns,
        })
    };
    keys.insert(
        "time_lost".to_owned(),
        ranked(data).iter().map(line).collect(),
    );
}
