//! The machine, and what guarded the measurement.

use serde_json::{Map, Value, json};

use super::{Machine, Question, Section};
use crate::blocks::{Block, Content, Media};
use crate::data::ReportData;
use crate::environment::{emulation, groups};

pub(super) static ENTRY: Section = Section {
    name: "machine",
    title: "The machine",
    question: Some(Question::Trust),
    probe: None,
    blocks,
    machine: Machine::Keys(keys),
};

fn blocks(data: &ReportData) -> Vec<Block<'_>> {
    let header = &data.record().header;
    let mut cards: Vec<(String, Vec<Block<'_>>)> = groups(&header.environment)
        .into_iter()
        .map(|group| (group.title, vec![Content::Pairs(group.rows).into()]))
        .collect();
    let guards = if header.guards.is_empty() {
        Content::Text("None: nothing protected this measurement.".to_owned())
    } else {
        Content::List(header.guards.clone())
    };
    cards.push(("Guards".to_owned(), vec![guards.into()]));
    vec![Content::Cards(cards).on(Media::NOT_SCREEN)]
}

fn keys(data: &ReportData, keys: &mut Map<String, Value>) {
    let header = &data.record().header;
    keys.insert("environment".to_owned(), json!(header.environment));
    keys.insert(
        "emulation".to_owned(),
        json!(emulation(&header.environment)),
    );
    keys.insert("guards".to_owned(), json!(header.guards));
}
