//! `json`: the summary for machines.

mod cell;
mod pieces;

use std::collections::BTreeMap;

use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::{Map, Value, json};
use tompion_assess::verdict::Assessment;

use super::{Form, Make};
use crate::data::ReportData;
use crate::sections::{Machine, SECTIONS, headline};
pub(crate) use pieces::pieces;

pub(super) static ENTRY: Form = Form {
    name: "json",
    about: "Machine-readable summary (same as --json)",
    make: Make::Text(|data| {
        let text = serde_json::to_string_pretty(&JsonSummary::of(data));
        text.expect("plain data") + "\n"
    }),
};

/// Version of the summary's form; raised when a reader of the old form would
/// misread the new one.
pub const JSON_VERSION: u64 = 1;

/// The summary of a run as one JSON object. Units are in the names; absent
/// values are null. A section without keys of its own is a list of what it shows.
pub fn json(data: &ReportData) -> Value {
    serde_json::to_value(JsonSummary::of(data)).expect("plain data")
}

/// The same for writing it. Cells and verdicts become JSON as they are written: thousands of them at once
/// as a tree of values would take many times the memory of their text.
#[derive(Debug)]
pub struct JsonSummary<'a> {
    data: &'a ReportData,
    /// Everything else.
    keys: Map<String, Value>,
}

impl<'a> JsonSummary<'a> {
    /// Of a run.
    pub fn of(data: &'a ReportData) -> Self {
        let keys = keys(data);
        Self { data, keys }
    }
}

/// What stands under a key.
enum Entry<'a> {
    Value(&'a Value),
    Assessment(Assessed<'a>),
    Cells(Cells<'a>),
}

impl Serialize for JsonSummary<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let values = self.keys.iter();
        let values = values.map(|(key, value)| (key.as_str(), Entry::Value(value)));
        // In the order of the keys, as a map of values has them.
        let mut all: BTreeMap<&str, Entry<'_>> = values.collect();
        all.insert("assessment", Entry::Assessment(Assessed(self.data)));
        all.insert("cells", Entry::Cells(Cells(self.data)));
        let mut map = serializer.serialize_map(Some(all.len()))?;
        for (key, entry) in &all {
            match entry {
                Entry::Value(value) => map.serialize_entry(key, value)?,
                Entry::Assessment(assessed) => map.serialize_entry(key, assessed)?,
                Entry::Cells(cells) => map.serialize_entry(key, cells)?,
            }
        }
        map.end()
    }
}

struct Assessed<'a>(&'a ReportData);

impl Serialize for Assessed<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        // All of its fields, so that a new one is not forgotten.
        let Assessment {
            headline: _,
            profiles,
            findings,
            advice,
        } = self.0.assessment();
        let mut map = serializer.serialize_map(Some(4))?;
        map.serialize_entry("advice", &json!(advice))?;
        map.serialize_entry("findings", &json!(findings))?;
        map.serialize_entry("headline", &headline(self.0))?;
        map.serialize_entry("profiles", &Each(profiles))?;
        map.end()
    }
}

/// Each as a value of its own, whose keys are in order.
struct Each<'a, T>(&'a [T]);

impl<T: Serialize> Serialize for Each<'_, T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().map(|one| json!(one)))
    }
}

struct Cells<'a>(&'a ReportData);

impl Serialize for Cells<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.shown().map(|shown| cell::cell(&shown)))
    }
}

fn keys(data: &ReportData) -> Map<String, Value> {
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
    keys
}
