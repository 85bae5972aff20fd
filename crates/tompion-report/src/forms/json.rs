//! `json`: the summary for machines.

mod cell;
mod pieces;

use serde_json::{Map, Value, json};

use super::{Form, Make};
use crate::data::ReportData;
use crate::sections::{Machine, SECTIONS};
pub(crate) use pieces::pieces;

pub(super) static ENTRY: Form = Form {
    name: "json",
    about: "Machine-readable summary (same as --json)",
    make: Make::Text(|data| format!("{:#}\n", json(data))),
};

/// Version of the summary's form; raised when a reader of the old form would
/// misread the new one.
pub const JSON_VERSION: u64 = 1;

/// The summary of a run as one JSON object. Units are in the names; absent
/// values are null. A section without keys of its own is a list of what it shows.
pub fn json(data: &ReportData) -> Value {
    let mut keys = Map::new();
    keys.insert("schema_version".to_owned(), json!(JSON_VERSION));
    keys.insert("kind".to_owned(), json!("tompion-summary"));
    for section in SECTIONS {
        match section.machine {
            Machine::Keys(of) => of(data, &mut keys),
            Machine::Blocks => {
                let pieces = pieces(&(section.blocks)(data));
                if !pieces.is_empty() {
                    keys.insert(section.name.replace('-', "_"), Value::Array(pieces));
                }
            }
        }
    }
    keys.insert("evidence".to_owned(), cell::evidence(data.evidence()));
    let cells = data.shown().map(|s| cell::cell(&s)).collect();
    keys.insert("cells".to_owned(), cells);
    Value::Object(keys)
}
