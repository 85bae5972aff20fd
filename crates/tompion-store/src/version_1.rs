//! Runs of format version 1, read as if they were of this one.
//!
//! They have a file for each trial (`sample_file`), with those of bins and stalls beside
//! it; stalls as a field of the trial; remarks without kinds; and a checksum of the samples
//! alone, in their file.

use serde_json::{Map, Value, json};

use super::column::hexadecimal;
use tompion_model::{RunRecord, Sample, Trial, note_kind, stall_parts, table};

/// Metadata of a sample file.
pub(super) const CHECKSUM_KEY: &str = "tompion.samples_crc32";

/// The record of a run.
pub(super) fn record(text: &str) -> serde_json::Result<RunRecord> {
    let mut value: Value = serde_json::from_str(text)?;
    for note in items(&mut value, "notes") {
        if let Value::String(text) = note {
            *note = json!({ "kind": note_kind::REMARK, "text": text });
        }
    }
    items(&mut value, "trials").for_each(upgrade_trial);
    serde_json::from_value(value)
}

/// The description of a trial in its sample file.
pub(super) fn trial(text: &str) -> serde_json::Result<Trial> {
    let mut value: Value = serde_json::from_str(text)?;
    upgrade_trial(&mut value);
    serde_json::from_value(value)
}

fn items<'a>(value: &'a mut Value, key: &str) -> impl Iterator<Item = &'a mut Value> + use<'a> {
    let array = value.get_mut(key).and_then(Value::as_array_mut);
    array.into_iter().flatten()
}

fn upgrade_trial(trial: &mut Value) {
    let Some(fields) = trial.as_object_mut() else {
        return;
    };
    // What is missing or of another type is noticed as such where the trial is read.
    let (Some(Value::String(samples)), Some(rows)) =
        (fields.remove("sample_file"), fields.remove("rows"))
    else {
        return;
    };
    let beside = |what: &str| samples.replace(".parquet", &format!(".{what}.parquet"));
    // Rows of the other tables were never listed: `UNKNOWN_ROWS`.
    let table_in = |file: String, rows: Value| json!({ "file": file, "row_group": 0, "rows": rows, "crc32": "" });
    let mut tables = Map::new();
    if fields.get("storage").is_some_and(|s| s["kind"] == "tail") {
        let bins = table_in(beside("bins"), json!(UNKNOWN_ROWS));
        tables.insert(table::BINS.to_owned(), bins);
    }
    if let Some(stalls) = fields.remove("stalls").filter(|s| !s.is_null()) {
        let parts = table_in(beside("stalls"), json!(UNKNOWN_ROWS));
        tables.insert(stall_parts::NAME.to_owned(), parts);
        fields.insert("findings".to_owned(), json!({ "stalls": stalls }));
    }
    let samples = table_in(samples.clone(), rows);
    tables.insert(table::SAMPLES.to_owned(), samples);
    fields.insert("tables".to_owned(), Value::Object(tables));
}

/// Stands for the rows of a table that nothing lists: all of its file.
pub(super) const UNKNOWN_ROWS: u64 = u64::MAX;

/// The checksum of samples: CRC-32 of `at_ns`, `value_ps`, `n`, `missed`, little endian,
/// and the mark's code, row by row. `None` where a mark has no code, which no file of
/// version 1 holds.
pub(super) fn checksum(samples: &[Sample]) -> Option<String> {
    let mut hash = crc32fast::Hasher::new();
    let mut bytes = Vec::new();
    for piece in samples.chunks(512) {
        bytes.clear();
        for s in piece {
            bytes.extend_from_slice(&s.at_ns.to_le_bytes());
            bytes.extend_from_slice(&s.value_ps.to_le_bytes());
            bytes.extend_from_slice(&s.n.to_le_bytes());
            bytes.extend_from_slice(&s.missed.to_le_bytes());
            bytes.push(s.mark.code_v1()?);
        }
        hash.update(&bytes);
    }
    Some(hexadecimal(hash.finalize()))
}
