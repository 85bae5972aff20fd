//! Runs as files in memory, changed as an input says, and put into a directory.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Read;
use std::ops::Range;
use std::path::{Component, Path};
use std::sync::OnceLock;

use flate2::read::GzDecoder;
use serde_json::{Value, json};
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

/// A run's bytes are changed in so many places at most, and all other changes are of numbers and texts, which leave files
/// whole: most changes of bytes have a file refused, and what lies behind is never read.
const MOST_DAMAGES: usize = 2;

/// Changes of a number and of a text, of all kinds of changes.
const OTHER_NUMBER: u8 = 8;
const OTHER_TEXT: u8 = 9;
const KINDS: u8 = 12;

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
        profiles: Vec::new(),
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
        let mut damages = 0;
        while !input.is_empty() {
            let mut what = input.byte();
            if !matches!(what % KINDS, OTHER_NUMBER | OTHER_TEXT) {
                damages += 1;
                if damages > MOST_DAMAGES {
                    what = if what.is_multiple_of(2) {
                        OTHER_NUMBER
                    } else {
                        OTHER_TEXT
                    };
                }
            }
            run.change(what, input);
        }
        run
    }

    fn change(&mut self, what: u8, input: &mut Input<'_>) {
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
        match what % KINDS {
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
            OTHER_NUMBER => self.change_number(&name, what & 0x80 != 0, input),
            OTHER_TEXT => self.change_text(&name, input),
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
    /// file; or of all that have its name.
    fn change_number(&mut self, file: &str, all_of_its_name: bool, input: &mut Input<'_>) {
        let chosen = usize::from(input.u16());
        let (how, other) = (input.below(8), input.integer());
        let change = |value: &mut Value| *value = other_number(value, how, other);
        self.change_leaves(file, &Value::is_number, chosen, all_of_its_name, change);
    }

    /// Puts another text there.
    fn change_text(&mut self, file: &str, input: &mut Input<'_>) {
        let chosen = usize::from(input.u16());
        let text = input.text();
        let change = |value: &mut Value| *value = text.as_str().into();
        self.change_leaves(file, &Value::is_string, chosen, false, change);
    }

    /// Changes one of the values that are so, or all that have its name.
    fn change_leaves(
        &mut self,
        file: &str,
        wanted: &dyn Fn(&Value) -> bool,
        chosen: usize,
        all_of_its_name: bool,
        change: impl Fn(&mut Value),
    ) {
        self.change_record(file, |record| {
            let mut all = Vec::new();
            leaves(record, "", wanted, &mut all);
            let chosen = chosen % all.len().max(1);
            let Some(name) = all.get(chosen).map(|(name, _)| name.clone()) else {
                return;
            };
            for (i, (of, value)) in all.into_iter().enumerate() {
                if i == chosen || (all_of_its_name && of == name) {
                    change(value);
                }
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
        let Ok(mut record) = serde_json::from_slice::<Value>(content) else {
            return;
        };
        // The checksum stays where it has to be, right or wrong.
        let seal = record.as_object_mut().and_then(|r| r.remove(SEAL));
        change(&mut record);
        let text = serde_json::to_string_pretty(&record).expect("JSON");
        *content = match (
            seal.as_ref().and_then(Value::as_str),
            text.strip_suffix("\n}"),
        ) {
            (Some(sum), Some(body)) => sealed(body, sum),
            _ => text,
        }
        .into_bytes();
    }

    /// Writes all of it below a directory that is there, with its checksums and lengths made
    /// right, as somebody would who knows the format.
    pub fn put_repaired(mut self, directory: &Path) {
        self.put(directory);
        self.repair_descriptions(directory);
        self.repair_record(directory);
    }

    /// Makes the checksums right that stand in the descriptions of trials, and those of the descriptions.
    fn repair_descriptions(&mut self, directory: &Path) {
        let described = |content: &Vec<u8>| value_of(content, DESCRIPTION);
        let names: Vec<String> = self.files.keys().cloned().collect();
        for name in names {
            let Some(content) = self.files.get_mut(&name) else {
                continue;
            };
            let Some(at) = described(content) else {
                continue;
            };
            if let Ok(mut trial) = serde_json::from_slice(&content[at.text.clone()]) {
                repair_tables(&mut trial, directory);
                at.replace(content, &serde_json::to_vec(&trial).expect("JSON"));
            }
            if let Some(at) = described(content)
                && let Some(sum_at) = value_of(content, DESCRIPTION_SUM)
            {
                let sum = format!("{:08x}", crc32fast::hash(&content[at.text]));
                sum_at.replace(content, sum.as_bytes());
            }
            self.put_one(directory, &name);
        }
    }

    /// The same for what stands in `run.json`.
    fn repair_record(&mut self, directory: &Path) {
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
                repair_tables(trial, directory);
            }
        });
        if let Some(content) = self.files.get_mut(RUN_FILE) {
            let text = String::from_utf8_lossy(content);
            let stated = text.rfind(&format!(",\n  \"{SEAL}\": \""));
            let body = stated.map_or(text.strip_suffix("\n}"), |at| Some(&text[..at]));
            if let Some(body) = body {
                let sum = format!("{:08x}", crc32fast::hash(body.as_bytes()));
                *content = sealed(body, &sum).into_bytes();
            }
        }
        self.put_one(directory, RUN_FILE);
    }

    /// Writes all of it below a directory that is there.
    pub fn put(&self, directory: &Path) {
        for name in self.files.keys() {
            self.put_one(directory, name);
        }
    }

    fn put_one(&self, directory: &Path, name: &str) {
        let Some(content) = self.files.get(name) else {
            return;
        };
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
        let (mut length, mut rest) = (Vec::new(), value.len());
        while rest > 0x7f {
            length.push(rest as u8 | 0x80);
            rest >>= 7;
        }
        length.push(rest as u8);
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

/// The checksum of `run.json`, its last member.
const SEAL: &str = "crc32";

/// `run.json` with this checksum.
fn sealed(body: &str, sum: &str) -> String {
    format!("{body},\n  \"{SEAL}\": \"{sum}\"\n}}\n")
}

/// Makes the checksums of a trial's tables right.
fn repair_tables(trial: &mut Value, directory: &Path) {
    let tables = trial.get_mut("tables").and_then(Value::as_object_mut);
    for (name, at) in tables.into_iter().flatten() {
        if let Some(sum) = table_checksum(directory, name, at) {
            at["crc32"] = sum.into();
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

/// Another number in place of one. Mostly of its kind: what has a sign or a fraction where none may be is refused before
/// anything is done with it. `other` is one of any kind.
fn other_number(was: &Value, how: usize, other: i64) -> Value {
    let Some(was) = was.as_u64() else {
        return match how {
            1 => json!(1e308),
            2 => json!(u64::MAX),
            3 => json!(other.cast_unsigned()),
            4 => json!(other),
            5 => json!(-was.as_f64().unwrap_or(0.0)),
            _ => json!(other as f64),
        };
    };
    match how {
        0 | 2 => json!(u64::MAX),
        // Larger by a power of two.
        1 => json!(was.max(1).saturating_mul(1 << (other & 63))),
        3 => json!(other.cast_unsigned()),
        4 => json!(other),
        5 => json!(was.wrapping_add(1)),
        6 => json!(other as f64),
        _ => json!(other.unsigned_abs()),
    }
}

/// The parts of a value that are so, in their order, each with its name: the nearest key. What itself has none is called
/// `name`.
fn leaves<'v>(
    value: &'v mut Value,
    name: &str,
    wanted: &dyn Fn(&Value) -> bool,
    found: &mut Vec<(String, &'v mut Value)>,
) {
    if wanted(value) {
        found.push((name.to_owned(), value));
        return;
    }
    match value {
        Value::Array(all) => all.iter_mut().for_each(|v| leaves(v, name, wanted, found)),
        Value::Object(all) => all
            .iter_mut()
            .for_each(|(name, v)| leaves(v, name, wanted, found)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tompion_store::Run;

    fn opened(run: RunFiles) -> tompion_store::Result<Run> {
        let place = scratch::directory();
        run.put_repaired(place.path());
        let opened = Run::open(place.path())?;
        for trial in &opened.record().trials {
            opened.data(trial)?;
        }
        Ok(opened)
    }

    #[test]
    fn a_changed_record_keeps_its_checksum_where_it_has_to_be() {
        let mut run = bases()[0].clone();
        let before = run.files[RUN_FILE].clone();
        let end = before.len() - "\"00000000\"\n}\n".len();
        run.change_leaves(RUN_FILE, &Value::is_number, 3, false, |value| {
            *value = json!(7)
        });
        let after = &run.files[RUN_FILE];
        assert!(*after != before && after.ends_with(&before[end..]));
        let place = scratch::directory();
        run.put(place.path());
        let Err(refused) = Run::open(place.path()) else {
            panic!("a wrong checksum")
        };
        let refused = refused.to_string();
        assert!(refused.contains("does not match its checksum"), "{refused}");
    }

    #[test]
    fn sound_runs_stay_so_when_they_are_repaired() {
        for run in bases() {
            let trials = opened(run.clone()).expect("sound").record().trials.len();
            assert!(trials > 0);
        }
    }

    #[test]
    fn what_an_unlisted_trial_says_of_itself_is_read_however_it_is_changed() {
        let unlisted = |run: &RunFiles| {
            let (listed, run) = (&run.files[RUN_FILE], run.clone());
            let listed: Value = serde_json::from_slice(listed).expect("JSON");
            let listed = listed["trials"].as_array().expect("trials").len();
            let found = opened(run).expect("sound").record().trials.clone();
            found[listed..].to_vec()
        };
        let mut run = bases()[1].clone();
        let before = unlisted(&run);
        assert_eq!(before.len(), 2);
        let described = run
            .files
            .iter()
            .filter(|(_, c)| value_of(c, DESCRIPTION).is_some());
        let mut names = described.map(|(name, _)| name.clone());
        let last = names.next_back().expect("one");
        run.change_leaves(&last, &|v| v.as_u64() == Some(100_000), 0, false, |v| {
            *v = json!(77)
        });
        assert_eq!(
            (before[1].duration_ns, unlisted(&run)[1].duration_ns),
            (100_000, 77)
        );
    }

    #[test]
    fn a_number_takes_the_place_of_one_or_of_all_of_its_name() {
        let count = |all_of_its_name| {
            let mut run = bases()[0].clone();
            run.change_leaves(
                RUN_FILE,
                &|v| v.as_u64() == Some(100_000),
                0,
                all_of_its_name,
                |v| *v = json!(u64::MAX),
            );
            let text = String::from_utf8_lossy(&run.files[RUN_FILE]).into_owned();
            text.matches(&u64::MAX.to_string()).count()
        };
        assert_eq!(count(false), 1);
        assert_eq!(count(true), 4, "two trials of two cells");
    }
}
