//! Runs as files in memory, changed as an input says, and put into a directory.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Read;
use std::ops::Range;
use std::path::{Component, Path};
use std::sync::OnceLock;

use flate2::read::GzDecoder;
use serde_json::Value;
use tompion_model::{
    Design, Environment, Factors, Findings, Mark, Measurement, RunHeader, Sample, StallPart,
    Stalls, Status, Storage, TrialData, TrialDraft, factor, stall_parts,
};
use tompion_stats::Bins;
use tompion_store::{RUN_FILE, RunWriter};

use crate::input::Input;
use crate::scratch;

/// The longest run that is tried, all files together, in bytes.
const MOST_BYTES: usize = 1 << 20;

/// A run's files by their names below its directory.
#[derive(Clone, Debug, Default)]
pub struct RunFiles {
    files: BTreeMap<String, Vec<u8>>,
    /// Lengths of those that end in a hole.
    sparse: BTreeMap<String, u64>,
    /// Whether the run is finished, so that checksums of all its files stand in it.
    pub is_finished: bool,
}

/// Sound runs to begin with: of both versions of the format with every mark, a small finished one,
/// and one that is not finished.
pub fn bases() -> &'static [RunFiles] {
    static BASES: OnceLock<Vec<RunFiles>> = OnceLock::new();
    BASES.get_or_init(|| {
        vec![
            small(true),
            small(false),
            golden("version-2-marks", true),
            golden("version-1-marks", false),
        ]
    })
}

/// A golden run.
pub fn golden(name: &str, is_finished: bool) -> RunFiles {
    let packed = File::open(scratch::golden(name)).expect("a golden run");
    let mut run = RunFiles {
        is_finished,
        ..RunFiles::default()
    };
    let mut archive = tar::Archive::new(GzDecoder::new(packed));
    for entry in archive.entries().expect("a golden run") {
        let mut entry = entry.expect("a golden run");
        if !entry.header().entry_type().is_file() {
            continue;
        }
        let path = entry.path().expect("a path").into_owned();
        let path = path.strip_prefix(name).expect("below the run");
        let mut content = Vec::new();
        entry.read_to_end(&mut content).expect("a golden run");
        run.files.insert(path.display().to_string(), content);
    }
    run
}

/// What every run of ours begins with.
pub fn header() -> RunHeader {
    RunHeader {
        command_line: vec!["tompion".to_owned(), "check".to_owned()],
        tool: "tompion 0.1.0".to_owned(),
        started_at: "2026-01-01T00:00:00Z".to_owned(),
        design: Design {
            order: "as planted".to_owned(),
            seed: 1,
            blocks: 2,
            cells: 2,
        },
        environment: Environment {
            hostname: "planted".to_owned(),
            ..Environment::default()
        },
        guards: Vec::new(),
    }
}

/// Two trials of each of two cells: wake-ups with bins and missed periods, and stalls with their
/// causes. Where it is not finished, its process was killed before it had listed the second of each.
fn small(is_finished: bool) -> RunFiles {
    let place = scratch::directory();
    let directory = place.path().join("run");
    let mut writer = RunWriter::create(&directory, header()).expect("a run");
    for block in 0..2 {
        for (mut draft, data) in trials() {
            draft.block = block;
            writer.save(draft, &data).expect("a trial");
        }
        if block == 0 {
            writer.checkpoint().expect("run.json");
        }
    }
    if is_finished {
        writer.finish(Status::Complete).expect("a finished run");
    }
    drop(writer);
    let mut run = RunFiles {
        is_finished,
        ..RunFiles::default()
    };
    run.take_in(&directory, "");
    run
}

fn trials() -> [(TrialDraft, TrialData); 2] {
    let sample = |i: u64| Sample {
        at_ns: i * 1000,
        value_ps: (i.cast_signed() % 7) * 50_000 + 1_000,
        n: 1,
        missed: u32::from(i % 9 == 3),
        mark: if i < 2 { Mark::WarmUp } else { Mark::None },
    };
    let mut bins = Bins::new();
    bins.record_many(40_000, 1000).expect("in range");
    let draft = |probe: &str, method: &str| TrialDraft {
        factors: Factors::new()
            .with(factor::PROBE, probe)
            .with(factor::METHOD, method)
            .with(factor::LOAD, "idle"),
        measurement: Measurement {
            technique: "planted".to_owned(),
            clock: "CLOCK_MONOTONIC".to_owned(),
            ..Measurement::default()
        },
        duration_ns: 100_000,
        ..TrialDraft::default()
    };
    let mut wake_up = draft("wake-up", "usleep");
    wake_up.factors = wake_up.factors.with(factor::TARGET, "100us");
    wake_up.measurement.period_ns = Some(100);
    wake_up.missed_periods = Some(4);
    wake_up.storage = Storage::Tail {
        limit_rows: 64,
        threshold_ps: 50_000,
    };
    let parts = [StallPart {
        at_ns: 3000,
        ns: 151,
        cause: tompion_cause::Cause::Preempted,
        by: Some("hog[77]".to_owned()),
        source: Some(tompion_cause::Source::Event),
        because: "it ran".to_owned(),
    }];
    let mut stalls = draft("stalls", "busy-loop");
    stalls.findings = Findings::from(Stalls {
        threshold_ns: 100,
        iterations: 1000,
        wall_ns: 100_000,
        observed_ns: 90_000,
        stalls: 1,
        lost_ns: 151,
        ..Stalls::default()
    });
    [
        (
            wake_up,
            TrialData {
                samples: (0..40).map(sample).collect(),
                bins: Some(bins),
                filled_bins: Some(Bins::new()),
                ..TrialData::default()
            },
        ),
        (
            stalls,
            TrialData {
                samples: (0..20)
                    .map(|i| Sample {
                        missed: 0,
                        ..sample(i)
                    })
                    .collect(),
                tables: [(stall_parts::NAME.to_owned(), stall_parts::table(&parts))].into(),
                ..TrialData::default()
            },
        ),
    ]
}

impl RunFiles {
    /// Takes the files of a directory in, under names that begin so.
    fn take_in(&mut self, directory: &Path, before: &str) {
        for entry in fs::read_dir(directory).expect("a directory") {
            let path = entry.expect("an entry").path();
            let name = path.file_name().and_then(|n| n.to_str()).expect("a name");
            let name = format!("{before}{name}");
            match path.is_dir() {
                true => self.take_in(&path, &format!("{name}/")),
                false => {
                    let content = fs::read(&path).expect("a file");
                    self.files.insert(name, content);
                }
            }
        }
        // The lock of who writes it, and other files without a name of the format.
        self.files.retain(|name, _| !name.starts_with('.'));
    }

    /// A base, changed as the input says: which one, then changes until it ends.
    pub fn of(input: &mut Input<'_>) -> Self {
        let all = bases();
        let mut run = all[input.below(all.len())].clone();
        while !input.is_empty() {
            run.change(input);
        }
        run
    }

    fn change(&mut self, input: &mut Input<'_>) {
        let what = input.byte();
        let chosen = input.below(self.files.len());
        let Some((name, content)) = self.files.iter_mut().nth(chosen) else {
            return;
        };
        let name = name.clone();
        // From the beginning, or from the end, where Parquet has its footer.
        let place = usize::from(input.u16()) % (content.len() + 1);
        let at = if what & 0x80 == 0 {
            place
        } else {
            content.len() - place
        };
        match what % 12 {
            0 => {
                if let Some(byte) = content.get_mut(at) {
                    *byte ^= 1 << input.below(8);
                }
            }
            1 => {
                if let Some(byte) = content.get_mut(at) {
                    *byte = input.byte();
                }
            }
            2 => {
                let value = input.integer().to_le_bytes();
                let end = content.len().min(at + value.len());
                content[at..end].copy_from_slice(&value[..end - at]);
            }
            3 => {
                let more = input.short().iter().copied();
                content.splice(at..at, more);
            }
            4 => {
                let end = content.len().min(at + input.below(64) + 1);
                content.drain(at..end);
            }
            5 => content.truncate(at),
            6 => {
                let length = usize::from(input.u16()).min(content.len() - at);
                let again = content[at..at + length].to_vec();
                content.extend(again);
            }
            7 => *content = input.rest().to_vec(),
            8 => self.change_number(&name, input),
            9 => self.change_text(&name, input),
            10 => {
                self.files.remove(&name);
            }
            _ => {
                self.sparse.insert(name, 1 << (input.byte() % 43));
            }
        }
        let all: usize = self.files.values().map(Vec::len).sum();
        if all > MOST_BYTES {
            self.files
                .values_mut()
                .for_each(|content| content.truncate(MOST_BYTES / 8));
        }
    }

    /// Puts another number in place of one of `run.json`, or of the description of a trial in that
    /// file.
    fn change_number(&mut self, file: &str, input: &mut Input<'_>) {
        let chosen = usize::from(input.u16());
        let number = match input.below(8) {
            0 => serde_json::json!(input.integer() as f64),
            1 => serde_json::json!(1e308),
            2 => serde_json::json!(u64::MAX),
            3 => serde_json::json!(input.unsigned()),
            _ => serde_json::json!(input.integer()),
        };
        self.change_record(file, |record| {
            let mut all = Vec::new();
            leaves(record, &Value::is_number, &mut all);
            let count = all.len().max(1);
            if let Some(value) = all.into_iter().nth(chosen % count) {
                *value = number;
            }
        });
    }

    /// Puts another text there.
    fn change_text(&mut self, file: &str, input: &mut Input<'_>) {
        let chosen = usize::from(input.u16());
        let text = input.text();
        self.change_record(file, |record| {
            let mut all = Vec::new();
            leaves(record, &Value::is_string, &mut all);
            let count = all.len().max(1);
            if let Some(value) = all.into_iter().nth(chosen % count) {
                *value = text.into();
            }
        });
    }

    fn change_record(&mut self, file: &str, change: impl FnOnce(&mut Value)) {
        if let Some(content) = self.files.get_mut(file)
            && let Some(at) = value_of(content, DESCRIPTION)
        {
            if let Ok(mut trial) = serde_json::from_slice(&content[at.text.clone()]) {
                change(&mut trial);
                at.replace(content, &serde_json::to_vec(&trial).expect("JSON"));
            }
            return;
        }
        let Some(content) = self.files.get_mut(RUN_FILE) else {
            return;
        };
        if let Ok(mut record) = serde_json::from_slice(content) {
            change(&mut record);
            *content = serde_json::to_vec_pretty(&record).expect("JSON");
        }
    }

    /// Writes all of it below a directory that is there, with its checksums and lengths made
    /// right, as somebody would who knows the format.
    pub fn put_repaired(mut self, directory: &Path) {
        self.put(directory);
        self.repair(directory);
        if let Some(content) = self.files.get(RUN_FILE) {
            fs::write(directory.join(RUN_FILE), content).expect("a file");
        }
    }

    fn repair(&mut self, directory: &Path) {
        for content in self.files.values_mut() {
            if let Some(described) = value_of(content, DESCRIPTION)
                && let Some(at) = value_of(content, DESCRIPTION_SUM)
            {
                let sum = format!("{:08x}", crc32fast::hash(&content[described.text]));
                at.replace(content, sum.as_bytes());
            }
        }
        let seals: BTreeMap<String, (usize, String)> = self
            .files
            .iter()
            .map(|(name, content)| {
                let sum = format!("{:08x}", crc32fast::hash(content));
                (name.clone(), (content.len(), sum))
            })
            .collect();
        self.change_record(RUN_FILE, |record| {
            let files = record.get_mut("files").and_then(Value::as_array_mut);
            for file in files.into_iter().flatten() {
                let name = file.get("file").and_then(Value::as_str).unwrap_or_default();
                if let Some((bytes, sum)) = seals.get(name).cloned()
                    && let Some(file) = file.as_object_mut()
                {
                    file.insert("bytes".to_owned(), bytes.into());
                    file.insert("crc32".to_owned(), sum.into());
                }
            }
            let trials = record.get_mut("trials").and_then(Value::as_array_mut);
            for trial in trials.into_iter().flatten() {
                let tables = trial.get_mut("tables").and_then(Value::as_object_mut);
                for (name, at) in tables.into_iter().flatten() {
                    if let Some(sum) = table_checksum(directory, name, at) {
                        at["crc32"] = sum.into();
                    }
                }
            }
            if let Some(record) = record.as_object_mut() {
                record.remove("crc32");
            }
        });
        if let Some(content) = self.files.get_mut(RUN_FILE) {
            let text = String::from_utf8_lossy(content);
            if let Some(body) = text.strip_suffix("\n}") {
                let sum = crc32fast::hash(body.as_bytes());
                *content = format!("{body},\n  \"crc32\": \"{sum:08x}\"\n}}\n").into_bytes();
            }
        }
    }

    /// Writes all of it below a directory that is there.
    pub fn put(&self, directory: &Path) {
        for (name, content) in &self.files {
            let path = directory.join(name);
            if let Some(parent) = path.parent() {
                fs::create_dir_all(parent).expect("a directory");
            }
            fs::write(&path, content).expect("a file");
            if let Some(length) = self.sparse.get(name) {
                let file = File::options().write(true).open(&path).expect("a file");
                file.set_len(content.len() as u64 + length).expect("a hole");
            }
        }
    }
}

/// Keys in the footer of a sample file: the description of its trial, and the checksum of that.
const DESCRIPTION: &[u8] = b"tompion.trial";
const DESCRIPTION_SUM: &[u8] = b"tompion.trial_crc32";

/// Begins a text in the structures of a footer; its length follows.
const TEXT: u8 = 0x18;

/// Where the value of a key stands in a footer.
struct Place {
    /// Where its length begins.
    length_at: usize,
    text: Range<usize>,
}

fn value_of(content: &[u8], key: &[u8]) -> Option<Place> {
    let key = [key, &[TEXT]].concat();
    let length_at = content.windows(key.len()).rposition(|w| w == key)? + key.len();
    let mut length = 0;
    for (i, byte) in content.get(length_at..)?.iter().take(3).enumerate() {
        length |= usize::from(byte & 0x7f) << (7 * i);
        if byte & 0x80 == 0 {
            let begin = length_at + i + 1;
            let text = begin..begin + length;
            return content.get(text.clone()).map(|_| Place { length_at, text });
        }
    }
    None
}

impl Place {
    /// Puts another value there, and makes the lengths right.
    fn replace(self, content: &mut Vec<u8>, value: &[u8]) {
        let part = |i: usize| (value.len() >> (7 * i)) as u8 & 0x7f;
        // A number may take more bytes than it needs.
        let length = [part(0) | 0x80, part(1) | 0x80, part(2)];
        let more = (length.len() + value.len()).wrapping_sub(self.text.end - self.length_at);
        let all = length.into_iter().chain(value.iter().copied());
        content.splice(self.length_at..self.text.end, all);
        // The length of the footer, then the magic.
        if let Some(end) = content.len().checked_sub(8)
            && let Some(word) = content[end..].first_chunk_mut::<4>()
        {
            let footer = u32::from_le_bytes(*word).wrapping_add(more as u32);
            *word = footer.to_le_bytes();
        }
    }
}

/// The checksum of a table that lies where a record says.
fn table_checksum(directory: &Path, name: &str, at: &Value) -> Option<String> {
    let file = Path::new(at.get("file")?.as_str()?);
    let is_inside = file.components().all(|c| matches!(c, Component::Normal(_)));
    let path = directory.join(file);
    let group = u32::try_from(at.get("row_group")?.as_u64()?).ok()?;
    let rows = at.get("rows")?.as_u64()?;
    at.get("crc32")?;
    is_inside.then(|| tompion_store::fuzz::table_checksum(&path, name, group, rows).ok())?
}

/// The parts of a value that are so, in their order.
fn leaves<'v>(
    value: &'v mut Value,
    wanted: &dyn Fn(&Value) -> bool,
    found: &mut Vec<&'v mut Value>,
) {
    if wanted(value) {
        found.push(value);
        return;
    }
    match value {
        Value::Array(all) => all.iter_mut().for_each(|v| leaves(v, wanted, found)),
        Value::Object(all) => all.values_mut().for_each(|v| leaves(v, wanted, found)),
        _ => {}
    }
}
