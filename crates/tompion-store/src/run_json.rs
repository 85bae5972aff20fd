//! `run.json` with its checksum.

use crate::error::{DAMAGED, Fault, WRITTEN_SO};
use std::io::Read;
use std::path::Path;

use serde::Deserialize;
use sha2::{Digest, Sha256};

use super::column::{form_of_checksum, hexadecimal};
use super::directory::Directory;
use super::json_size::JsonSize;
use super::printable::printable_json;
use super::{RUN_FILE, limits, version_1};
use crate::{Error, Result};
use tompion_model::{RunRecord, SCHEMA_VERSION};

/// What stands between the record and its checksum, and after it. The checksum is that of
/// all bytes before this.
const BEFORE: &str = ",\n  \"crc32\": \"";
const AFTER: &str = "\"\n}\n";
const DIGITS: usize = 8;

/// Bytes that are read at a time.
const PIECE: u64 = 1 << 20;

/// Writes the record with its checksum.
pub(super) fn write(directory: &Directory, record: &RunRecord) -> Result<()> {
    let path = directory.path().join(RUN_FILE);
    let mut text =
        serde_json::to_vec_pretty(record).map_err(|e| Error::io(&path, "writing")(e.into()))?;
    // Without the line break and the brace that end it.
    text.truncate(text.len() - 2);
    let length = (text.len() + BEFORE.len() + DIGITS + AFTER.len()) as u64;
    check_length(&path, length)?;
    let crc32 = hexadecimal(crc32fast::hash(&text));
    directory.write(RUN_FILE, |out| {
        [
            text.as_slice(),
            BEFORE.as_bytes(),
            crc32.as_bytes(),
            AFTER.as_bytes(),
        ]
        .into_iter()
        .try_for_each(|part| out.write_all(part))
        .map_err(Error::io(&path, "writing"))
    })
}

/// A `run.json` as it was read.
#[derive(Debug)]
pub(super) struct Described {
    /// What it holds.
    pub(super) record: RunRecord,
    /// The version of its format.
    pub(super) version: u64,
    /// How much that is.
    pub(super) size: JsonSize,
    /// SHA-256 of the file, in hexadecimal digits.
    pub(super) sha256: String,
}

/// Reads the record of a run of this version or an older one.
pub(super) fn read(directory: &Directory) -> Result<Described> {
    let path = directory.path().join(RUN_FILE);
    let text = read_text(directory, &path)?;
    let digest = Sha256::digest(text.as_bytes());
    let sha256 = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    let (record, version, size) = parsed(&path, text)?;
    Ok(Described {
        record,
        version,
        size,
        sha256,
    })
}

fn parsed(path: &Path, text: String) -> Result<(RunRecord, u64, JsonSize)> {
    let damaged = |why: &str| Error::invalid(path, format!("{why}; {DAMAGED}"));
    /// All that versions have in common.
    #[derive(Deserialize)]
    struct Version {
        #[serde(default)]
        schema_version: serde_json::Value,
    }
    let is_sealed = sealed(&text).is_some();
    let checked = check(&text);
    // Damage first: what follows may come of it.
    if is_sealed && let Err(why) = &checked {
        return Err(damaged(&why.to_string()));
    }
    let come_of = if is_sealed { WRITTEN_SO } else { DAMAGED };
    let wrong = |why: &str| Error::invalid(path, format!("{why}; {come_of}"));
    // Before anything is made of it.
    let size = JsonSize::of_record(&text);
    size.check(SCHEMA_VERSION)
        .map_err(|why| Error::invalid(path, why.to_string()))?;
    let version: Version =
        serde_json::from_str(&text).map_err(|e| wrong(&format!("not valid JSON ({e})")))?;
    let version = version.schema_version.as_u64().filter(|v| *v > 0);
    let version = version.ok_or_else(|| {
        let why = "has no schema_version, which is a whole number from 1; not a run of tompion";
        Error::invalid(path, why)
    })?;
    let record = match version {
        1 => {
            size.check(version)
                .map_err(|why| Error::invalid(path, why.to_string()))?;
            version_1::record(&printable_json(text))
        }
        SCHEMA_VERSION => {
            checked.map_err(|why| damaged(&why.to_string()))?;
            serde_json::from_str(&printable_json(text))
        }
        found => {
            return Err(Error::NewerVersion {
                path: path.to_path_buf(),
                found,
                supported: SCHEMA_VERSION,
            });
        }
    };
    let record: RunRecord = record.map_err(|e| wrong(&e.to_string()))?;
    if record.trials.len() > limits::TRIALS {
        return Err(wrong("it lists more trials than a run may have"));
    }
    Ok((record, version, size))
}

fn read_text(directory: &Directory, path: &Path) -> Result<String> {
    let file = directory.read(RUN_FILE).map_err(|e| match e.kind() {
        std::io::ErrorKind::NotFound => {
            let why = format!("not a run directory: it has no {RUN_FILE}");
            Error::invalid(directory.path(), why)
        }
        _ => Error::io(path, "reading")(e),
    })?;
    let length = file.metadata().map_or(0, |m| m.len());
    check_length(path, length)?;
    let no_text = || Error::invalid(path, "not text; the run is damaged");
    let mut file = file.take(limits::RUN_JSON_BYTES);
    let mut bytes = Vec::with_capacity(length.min(PIECE) as usize);
    loop {
        let piece = file.by_ref().take(PIECE).read_to_end(&mut bytes);
        let begin = match piece.map_err(Error::io(path, "reading"))? {
            0 => return String::from_utf8(bytes).map_err(|_| no_text()),
            read => bytes.len() - read,
        };
        // JSON has none. A hole in a file is full of them, and costs whoever made it nothing.
        if bytes[begin..].contains(&0) {
            return Err(no_text());
        }
    }
}

fn check_length(path: &Path, length: u64) -> Result<()> {
    let most = limits::RUN_JSON_BYTES;
    match length <= most {
        true => Ok(()),
        false => {
            let why = format!("{length} bytes; the description of a run has at most {most}");
            Err(Error::invalid(path, why))
        }
    }
}

/// What the checksum at the end of a text is of, and the checksum.
fn sealed(text: &str) -> Option<(&str, &str)> {
    let without = text.strip_suffix(AFTER)?;
    let at = without.len().checked_sub(DIGITS)?;
    let (before, stated) = without.split_at_checked(at)?;
    Some((before.strip_suffix(BEFORE)?, stated))
}

/// Whether the text ends in the checksum of what comes before.
fn check(text: &str) -> std::result::Result<(), Fault> {
    let none = || {
        "it does not end in its checksum: a comma, a line break, two blanks, `\"crc32\": \"`, eight digits 0-9 and \
         a-f, `\"`, a line break, `}` and a line break"
    };
    let (content, stated) = sealed(text).ok_or_else(none)?;
    if let Some(why) = form_of_checksum(stated) {
        return Err(why.into());
    }
    match hexadecimal(crc32fast::hash(content.as_bytes())) == stated {
        true => Ok(()),
        false => Err("it does not match its checksum".into()),
    }
}
