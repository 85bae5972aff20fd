//! What to keep in mind.

use serde_json::{Map, Value, json};

use super::{Machine, Question, Section};
use crate::blocks::{Block, Content, Media};
use crate::data::ReportData;
use crate::limitations::limitations;

pub(super) static ENTRY: Section = Section {
    name: "limits",
    title: "Limitations",
    question: Some(Question::Trust),
    probe: None,
    blocks,
    machine: Machine::Keys(keys),
};

fn blocks(data: &ReportData) -> Vec<Block<'_>> {
    let all = limitations(data);
    if all.is_empty() {
        return vec![Content::Text("None were recorded.".to_owned()).on(Media::PAGE)];
    }
    vec![Content::List(all).on(Media::NOT_SCREEN)]
}

fn keys(data: &ReportData, keys: &mut Map<String, Value>) {
    keys.insert("limitations".to_owned(), json!(limitations(data)));
}
