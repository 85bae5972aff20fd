//! A run without what a stranger need not know: who, where, on which machine, by what command.
//!
//! A list of forbidden words cannot hold. Each text of a run's record has a class, which stands at
//! its field in `tompion-model` and in the schema as `privacy`; a text of no class is left out, as
//! is a key that the schema does not know, and a table or column. What is harmless by its class is
//! looked at word by word, for names and addresses that the run holds elsewhere ([`names`]) too.
//!
//! | class | what becomes of it |
//! |---|---|
//! | `exact` | stays: names of files of the run, checksums, causes |
//! | `time`, `uuid` | stays where it is one, written anew |
//! | `harmless` | words that are known to be nobody's stay ([`words`]), and versions and models |
//! | `levels`, `load`, `platform` | what Tompion calls so itself stays; of the rest the shape ([`levels`]) |
//! | `use` | what comes with Tompion stays; others are numbered |
//! | `process` | what every kernel has stays; others are numbered |
//! | `who`, `secret`, `text` | left out |
//!
//! The record is changed before anything is derived from it, so that every format of the report
//! lacks them alike. What is left out twice is numbered, since two loads with different peers
//! must not become one.

mod levels;
mod names;
mod processes;
mod words;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tompion_model::{
    Environment, Note, OwnProfile, RunRecord, TrialData, factor, json_schema, note_kind,
    stall_parts, table, utc_of_text,
};
use tompion_path::stamps::recorded;
use tompion_store::Run;

use self::names::Names;
pub use self::names::Vocabulary;

/// What stands for a text that is left out.
const LEFT_OUT: &str = "(left out)";

/// Remarks whose text is this program's own.
const OWN_NOTES: [&str; 3] = [
    note_kind::INTERRUPTED,
    note_kind::TIME_RAN_OUT,
    note_kind::NOT_FINISHED,
];

/// The same run without what tells who and where it was, in its record and in its tables. What
/// `vocabulary` knows is nobody's name. `uses` are what it is judged by, and lose their names, too: as in the run, where it
/// keeps them.
pub fn redacted(run: Run, vocabulary: Vocabulary, uses: &mut [OwnProfile]) -> Run {
    let shared = Arc::new(Mutex::new(Redaction::of(run.record(), vocabulary)));
    locked(&shared).names.know_uses(uses);
    for named in uses {
        let names = &mut locked(&shared).names;
        named.name = names.of_use(&named.name);
        named.title = names.of_use(&named.title);
    }
    let of_data = Arc::clone(&shared);
    run.edited(
        |record| locked(&shared).record(record),
        move |data| locked(&of_data).data(data),
    )
}

fn locked(shared: &Mutex<Redaction>) -> MutexGuard<'_, Redaction> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What a text is, by the one who wrote the field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Class {
    Exact,
    Time,
    Uuid,
    Harmless,
    Levels,
    Load,
    Platform,
    Process,
    Use,
    #[serde(alias = "who", alias = "secret", alias = "text")]
    LeftOut,
}

impl Class {
    /// That of what a schema describes; `None` where it has none of these.
    fn of(schema: &Value) -> Option<Self> {
        Self::deserialize(schema.get("privacy")?).ok()
    }
}

struct Redaction {
    /// Looked at for each value, and never copied.
    schema: Arc<Value>,
    names: Names,
}

impl Redaction {
    fn of(record: &RunRecord, vocabulary: Vocabulary) -> Self {
        let schema = serde_json::from_str(&json_schema()).expect("our own schema is JSON");
        Self {
            schema: Arc::new(schema),
            names: Names::of(record, vocabulary),
        }
    }

    fn record(&mut self, record: &mut RunRecord) {
        let notes = std::mem::take(&mut record.notes);
        record.header.command_line = vec![LEFT_OUT.to_owned()];
        environments(record).for_each(|e| {
            e.hostname.clear();
            e.machine.id = None;
        });
        // One after another: as a tree of values they would take many times their memory.
        let trials = std::mem::take(&mut record.trials);
        let schema = Arc::clone(&self.schema);
        self.typed(record, &schema);
        let of_trial = &schema["properties"]["trials"]["items"];
        let cleaned = trials.into_iter().map(|mut trial| {
            // Of probes that this version does not know.
            trial.findings.others.clear();
            trial.tables.retain(|name, _| is_known_table(name));
            self.typed(&mut trial, of_trial);
            trial
        });
        record.trials = cleaned.collect();
        record.notes = notes.into_iter().map(|note| self.note(note)).collect();
    }

    /// Cleans what a schema describes.
    fn typed<T: Serialize + DeserializeOwned>(&mut self, what: &mut T, schema: &Value) {
        let Ok(mut value) = serde_json::to_value(&*what) else {
            return;
        };
        self.clean(&mut value, &[schema], Class::LeftOut);
        // The same types: only texts have changed.
        *what = serde_json::from_value(value).expect("what was a record still is one");
    }

    fn note(&mut self, note: Note) -> Note {
        match OWN_NOTES.contains(&note.kind.as_str()) {
            true => Note::new(&note.kind, self.names.clean(&note.text)),
            false => Note::new(known_kind(&note.kind), LEFT_OUT),
        }
    }

    /// Cleans a value that any of `schemas` describes.
    fn clean(&mut self, value: &mut Value, schemas: &[&Value], class: Class) {
        let schema = Arc::clone(&self.schema);
        let all = alternatives(&schema, schemas);
        let class = all.iter().find_map(|s| Class::of(s)).unwrap_or(class);
        match value {
            Value::String(text) => {
                let is_listed = all.iter().any(|s| lists(s, text));
                if !is_listed {
                    *text = self.text(text, class);
                }
            }
            Value::Array(values) => {
                let items: Vec<&Value> = all.iter().filter_map(|s| s.get("items")).collect();
                values.iter_mut().for_each(|v| self.clean(v, &items, class));
                if class == Class::LeftOut && values.iter().any(Value::is_string) {
                    values.truncate(1);
                }
            }
            Value::Object(entries) if class == Class::Levels => {
                let before = std::mem::take(entries);
                for (factor, level) in before {
                    let level = level.as_str().unwrap_or_default();
                    let (factor, level) = self.names.factor(&factor, level);
                    entries.insert(factor, Value::String(level));
                }
            }
            Value::Object(entries) => {
                for (key, mut value) in std::mem::take(entries) {
                    let found: Vec<&Value> = all.iter().filter_map(|s| property(s, &key)).collect();
                    if found.is_empty() {
                        continue;
                    }
                    self.clean(&mut value, &found, class);
                    // A key that the schema does not name is a text like any other.
                    let key = match all.iter().any(|s| names(s, &key)) {
                        true => key,
                        false => self.text(&key, class),
                    };
                    entries.insert(key, value);
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    fn text(&mut self, text: &str, class: Class) -> String {
        match class {
            Class::Exact => text.to_owned(),
            Class::Time => utc_of_text(text).unwrap_or_else(|| LEFT_OUT.to_owned()),
            Class::Uuid => random_uuid(text).unwrap_or_else(|| LEFT_OUT.to_owned()),
            Class::Harmless => self.names.clean(text),
            Class::Load => self.names.load(text),
            Class::Platform => self.names.platform(text),
            Class::Process => self.names.process(text),
            Class::Use => self.names.of_use(text),
            Class::Levels | Class::LeftOut if text.is_empty() => String::new(),
            Class::Levels | Class::LeftOut => LEFT_OUT.to_owned(),
        }
    }

    fn data(&mut self, data: &mut TrialData) {
        data.tables.retain(|name, _| is_known_table(name));
        for (name, table) in &mut data.tables {
            if name == recorded::TABLE {
                // Numbers, and words that are known; of what is neither, nothing is left.
                let mut packets = recorded::of_table(table).unwrap_or_default();
                packets.rename_taps(|name| self.names.factor(factor::VANTAGE, name).1);
                *table = recorded::table(&packets);
                continue;
            }
            // Of parts that are none, none is left.
            let mut parts = stall_parts::of_table(table).unwrap_or_default();
            // A table may have one text in very many rows, which takes no room in its file.
            let mut cleaned: HashMap<String, String> = HashMap::new();
            for part in &mut parts {
                part.by = part.by.as_deref().map(|by| self.names.process(by));
                let because = std::mem::take(&mut part.because);
                part.because = match cleaned.get(&because) {
                    Some(known) => known.clone(),
                    None => {
                        let left = self.names.clean(&because);
                        cleaned.insert(because, left.clone());
                        left
                    }
                };
            }
            *table = stall_parts::table(&parts);
        }
    }
}

/// Whether this version knows what a table holds.
fn is_known_table(name: &str) -> bool {
    let own = [table::SAMPLES, table::BINS, table::HISTOGRAMS];
    let beside = [stall_parts::NAME, recorded::TABLE];
    own.contains(&name) || beside.contains(&name)
}

/// A UUID of random numbers, in lower case: one of another kind holds a time and the address of
/// a network card.
fn random_uuid(text: &str) -> Option<String> {
    let parts: Vec<&str> = text.split('-').collect();
    let is_hex = |part: &&str| part.bytes().all(|b| b.is_ascii_hexdigit());
    let lengths: Vec<usize> = parts.iter().map(|part| part.len()).collect();
    let is_random =
        lengths == [8, 4, 4, 4, 12] && parts.iter().all(is_hex) && parts[2].starts_with('4');
    is_random.then(|| text.to_lowercase())
}

fn environments(record: &mut RunRecord) -> impl Iterator<Item = &mut Environment> {
    let platforms = record.platforms.iter_mut();
    platforms
        .filter_map(|p| p.environment.as_mut())
        .chain([&mut record.header.environment])
}

/// A kind of remark that this version knows.
fn known_kind(kind: &str) -> &'static str {
    let known = [
        note_kind::KEPT_APART,
        note_kind::MACHINE,
        note_kind::FAILED_CELL,
        note_kind::PLATFORM,
        note_kind::LEFT_BEHIND,
        note_kind::SWITCH,
    ];
    known
        .into_iter()
        .find(|k| *k == kind)
        .unwrap_or(note_kind::REMARK)
}

/// These schemas, what they refer to, and what each of them may be instead.
fn alternatives<'s>(root: &'s Value, schemas: &[&'s Value]) -> Vec<&'s Value> {
    let mut found: Vec<&Value> = Vec::new();
    let mut left: Vec<&Value> = schemas.iter().rev().copied().collect();
    while let Some(schema) = left.pop() {
        found.push(schema);
        for key in ["anyOf", "oneOf", "allOf"] {
            left.extend(
                schema
                    .get(key)
                    .and_then(Value::as_array)
                    .into_iter()
                    .flatten(),
            );
        }
        let name = schema.get("$ref").and_then(Value::as_str);
        let at = name.and_then(|name| name.strip_prefix('#'));
        left.extend(at.and_then(|at| root.pointer(at)));
    }
    found
}

/// The schema of what an object has under a key.
fn property<'s>(schema: &'s Value, key: &str) -> Option<&'s Value> {
    let named = schema.get("properties").and_then(|p| p.get(key));
    named.or_else(|| schema.get("additionalProperties").filter(|s| s.is_object()))
}

/// Whether a schema names a key.
fn names(schema: &Value, key: &str) -> bool {
    schema
        .get("properties")
        .is_some_and(|p| p.get(key).is_some())
}

/// Whether a text is one of those that a schema lists.
fn lists(schema: &Value, text: &str) -> bool {
    let is_one = schema.get("const").and_then(Value::as_str) == Some(text);
    let many = schema.get("enum").and_then(Value::as_array);
    is_one || many.is_some_and(|all| all.iter().any(|v| v.as_str() == Some(text)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every text that the schema has, by its path, and its class.
    fn texts(
        root: &Value,
        schema: &Value,
        path: &str,
        class: Option<Class>,
        found: &mut Vec<(String, Option<Class>)>,
    ) {
        let all = alternatives(root, &[schema]);
        for named in all.iter().filter(|s| s.get("privacy").is_some()) {
            assert!(Class::of(named).is_some(), "{path}: no class {named}");
        }
        let class = all.iter().find_map(|s| Class::of(s)).or(class);
        let is = |s: &Value, kind: &str| match s.get("type") {
            Some(Value::String(t)) => t == kind,
            Some(Value::Array(ts)) => ts.iter().any(|t| t == kind),
            _ => false,
        };
        let is_closed = |s: &Value| s.get("enum").is_some() || s.get("const").is_some();
        if all.iter().any(|s| is(s, "string") && !is_closed(s)) {
            found.push((path.to_owned(), class));
        }
        // Loads have loads as parts.
        if path.matches("parts").count() > 1 {
            return;
        }
        for schema in all {
            for (key, value) in schema
                .get("properties")
                .and_then(Value::as_object)
                .into_iter()
                .flatten()
            {
                texts(root, value, &format!("{path}.{key}"), class, found);
            }
            for key in ["items", "additionalProperties"] {
                if let Some(value) = schema.get(key).filter(|v| v.is_object()) {
                    texts(root, value, &format!("{path}[]"), class, found);
                }
            }
        }
    }

    #[test]
    fn every_text_of_a_record_has_a_class() {
        let root: Value = serde_json::from_str(&json_schema()).unwrap();
        let mut found = Vec::new();
        texts(&root, &root, "", None, &mut found);
        assert!(found.len() > 100, "{}", found.len());
        let without: Vec<&String> = found
            .iter()
            .filter(|f| f.1.is_none())
            .map(|f| &f.0)
            .collect();
        // No part of the record.
        assert_eq!(without, [".crc32"]);
    }
}
