//! Who takes the time: clock, host, kernel, or what else runs here.

use serde_json::{Map, Value, json};
use tompion_assess::parts::{Part, Seen, parts};

use super::{Machine, Question, Section};
use crate::blocks::{Block, Column, Content, Entry, Media, Row, Table};
use crate::data::ReportData;

pub(super) static ENTRY: Section = Section {
    name: "parts",
    title: "Who takes the time",
    question: Some(Question::Lost),
    probe: None,
    blocks,
    machine: Machine::Keys(keys),
};

/// Of the one machine of a run, without a name; or of each platform of a lab.
fn found(data: &ReportData) -> Vec<(Option<&str>, [Part; 4])> {
    let record = data.record();
    let one = Seen::of_run(record).map(|seen| (None, parts(&seen)));
    let platforms = Seen::of_platforms(record);
    let each = platforms
        .iter()
        .map(|(level, seen)| (Some(*level), parts(seen)));
    one.into_iter().chain(each).collect()
}

fn blocks(data: &ReportData) -> Vec<Block<'_>> {
    let found = found(data);
    if found.is_empty() {
        let none = "Nothing was measured on any platform.";
        return vec![Content::Text(none.to_owned()).on(Media::PAGE)];
    }
    let mut rows = Vec::new();
    for (platform, parts) in &found {
        rows.extend(platform.map(Row::heading));
        rows.extend(parts.iter().map(|part| {
            let state = part.state.word().to_owned();
            Row::new(
                part.name,
                vec![Entry::Text(state), Entry::Text(part.sentence.clone())],
            )
        }));
    }
    // A terminal has no room for a table with sentences.
    let in_words = |(platform, part): (Option<&str>, &Part)| {
        let place = platform.map_or_else(String::new, |p| format!(" on {p}"));
        let value = format!("{}: {}", part.state.word(), part.sentence);
        (format!("{}{place}", part.name), value)
    };
    let all = found
        .iter()
        .flat_map(|(platform, parts)| parts.iter().map(|part| (*platform, part)));
    let pairs: Vec<(String, String)> = all.map(in_words).collect();
    let table = Table {
        by: "platform",
        ..Table::of(
            "Part",
            vec![Column::words("state"), Column::words("what is seen")],
            rows,
        )
    };
    let lead = "Whether the clock is right; what the host takes from this machine; what the kernel's settings cost; and what else runs here. \
                A state is ok, warn, FAIL or not measured.";
    let mut blocks = vec![
        Content::Lead(lead.to_owned()).on(Media::PAGE),
        Content::Pairs(pairs).on(Media::SCREEN),
        Content::Table(table).on(Media::NOT_SCREEN),
    ];
    let in_full = in_full(&found);
    blocks.extend(in_full.map(|content| content.on(Media::NOT_SCREEN)));
    blocks
}

/// What the sentences have no room for.
fn in_full<'a>(found: &[(Option<&str>, [Part; 4])]) -> Option<Content<'a>> {
    let mut lines = Vec::new();
    for (platform, parts) in found {
        let on = platform.map_or_else(String::new, |name| format!(" on {name}"));
        for part in parts {
            let name = part.name;
            lines.extend(
                part.details
                    .iter()
                    .map(|detail| format!("{name}{on}: {detail}")),
            );
        }
    }
    (!lines.is_empty()).then(|| Content::fold("In full", false, vec![Content::List(lines).into()]))
}

fn keys(data: &ReportData, keys: &mut Map<String, Value>) {
    let of = |(platform, parts): (Option<&str>, [Part; 4])| {
        let part = move |part: &Part| {
            let mut value = json!(part);
            if let Some(platform) = platform {
                value["platform"] = json!(platform);
            }
            value
        };
        parts.iter().map(part).collect::<Vec<_>>()
    };
    let all: Vec<Value> = found(data).into_iter().flat_map(of).collect();
    keys.insert("parts".to_owned(), json!(all));
}
