//! What a run directory keeps, and what it refuses.

use std::fs;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use tompion_cause::{Cause, Source};
use tompion_model::{
    Column, Design, Environment, Factors, Findings, Mark, Measurement, RunHeader, Sample,
    SideTable, StallPart, Stalls, Status, Storage, Trial, TrialData, TrialDraft, Values, View,
    factor, json_schema, note_kind, stall_parts,
};
use tompion_store::{Directory, Error, Result, Run, RunWriter};

pub(crate) fn header() -> RunHeader {
    RunHeader {
        command_line: vec!["tompion".into(), "check".into()],
        tool: "tompion test".into(),
        started_at: "2026-01-01T00:00:00Z".into(),
        design: Design {
            order: "as planted".into(),
            seed: 1,
            blocks: 2,
            cells: 1,
        },
        environment: Environment::default(),
        guards: Vec::new(),
        profiles: Vec::new(),
    }
}

fn samples() -> Vec<Sample> {
    let ordinary = |i: u64| Sample {
        at_ns: i * 100,
        value_ps: (i as i64 - 20) * 1_234,
        n: 1,
        missed: i.is_multiple_of(7).into(),
        mark: if i < 3 { Mark::WarmUp } else { Mark::None },
    };
    (0..500).map(ordinary).collect()
}

pub(crate) fn draft(block: u32) -> TrialDraft {
    TrialDraft {
        factors: Factors::new()
            .with(factor::PROBE, "wake-up")
            .with(factor::METHOD, "usleep")
            .with(factor::LOAD, "idle"),
        block,
        started_ns: 5,
        duration_ns: 7,
        measurement: Measurement {
            technique: "planted".into(),
            period_ns: Some(100),
            ..Measurement::default()
        },
        load: None,
        started_at: None,
        findings: Findings::default(),
        observation: None,
        cpu_use: None,
        storage: Storage::Complete,
        missed_periods: Some(72),
    }
}

fn save(directory: &Path, trials: u32) -> RunWriter {
    let mut writer = RunWriter::create(directory, header()).unwrap();
    let data = TrialData {
        samples: samples(),
        ..TrialData::default()
    };
    for block in 0..trials {
        writer.save(draft(block), &data).unwrap();
    }
    writer
}

fn complaint(directory: &Path) -> String {
    let text = match Run::open(directory) {
        Err(error) => error.to_string(),
        Ok(run) => run.cells(|_, _| ()).unwrap_err().to_string(),
    };
    assert!(!text.contains('\n'), "more than one line: {text}");
    text
}

#[test]
fn nothing_is_left_of_a_copy_that_comes_to_nothing() {
    let directory = tempfile::tempdir().unwrap();
    save(directory.path(), 3).finish(Status::Complete).unwrap();
    let run = Run::open(directory.path()).unwrap();
    let elsewhere = tempfile::tempdir().unwrap();
    let (new, empty) = (elsewhere.path().join("new"), elsewhere.path().join("empty"));
    fs::create_dir(&empty).unwrap();
    let mut drafts = 0;
    for place in [&new, &empty] {
        let change = |trial: &Trial, data| match trial.block {
            2 => Err(Error::InTheWay { path: "x".into() }),
            _ => Ok(data),
        };
        let error = RunWriter::copy_changed(&run, place, change, |_| Ok(Vec::new())).unwrap_err();
        assert!(matches!(error, Error::InTheWay { .. }), "{error}");
        // A trial that is too much, behind all others.
        let further = |_: &Trial| {
            drafts += 1;
            match drafts % 3 {
                0 => Err(Error::InTheWay { path: "y".into() }),
                _ => Ok(vec![(draft(9), TrialData::default())]),
            }
        };
        let error = RunWriter::copy_changed(&run, place, |_, data| Ok(data), further).unwrap_err();
        assert!(matches!(error, Error::InTheWay { .. }), "{error}");
    }
    assert!(!new.exists(), "it was made for the copy");
    assert_eq!(fs::read_dir(&empty).unwrap().count(), 0);
    RunWriter::copy(&run, &new).unwrap();
    assert_eq!(Run::open(&new).unwrap().record().trials.len(), 3);
}

pub(crate) fn remove_leftovers(path: &Path) -> Result<()> {
    Directory::open(path)?.remove_leftovers()
}

#[test]
fn stalls_are_read_back_with_their_causes_and_disturbed_samples_count() {
    let directory = tempfile::tempdir().unwrap();
    let mut writer = RunWriter::create(directory.path(), header()).unwrap();
    let mut marked = samples();
    marked[10].mark = Mark::Disturbed(Cause::Preempted, Source::Event);
    marked[11].mark = Mark::Disturbed(Cause::Stolen, Source::Polled);
    let part = |at_ns, cause, by: Option<&str>| StallPart {
        at_ns,
        ns: 4_000,
        cause,
        by: by.map(str::to_owned),
        source: by.map(|_| Source::Event),
        because: "planted".to_owned(),
    };
    let parts = [
        part(5, Cause::Preempted, Some("hog[17]")),
        part(9, Cause::Unknown, None),
    ];
    let data = TrialData {
        samples: marked,
        tables: [(stall_parts::NAME.to_owned(), stall_parts::table(&parts))].into(),
        ..TrialData::default()
    };
    let stalls = Stalls {
        iterations: 1_000,
        lost_ns: 8_000,
        ..Stalls::default()
    };
    let draft = TrialDraft {
        findings: stalls.clone().into(),
        ..draft(0)
    };
    writer.save(draft, &data).unwrap();
    writer.finish(Status::Complete).unwrap();

    let run = Run::open(directory.path()).unwrap();
    let trial = &run.record().trials[0];
    assert_eq!(trial.findings.stalls.as_ref(), Some(&stalls));
    let read = run.data(trial).unwrap();
    assert_eq!(read.stall_parts(), parts);
    assert_eq!(read.samples, data.samples);
    let (measured, undisturbed) = (&trial.summary.measured, &trial.summary.undisturbed);
    assert_eq!(measured.as_ref().unwrap().samples, 497);
    assert_eq!(undisturbed.as_ref().unwrap().samples, 495);
}

#[test]
fn what_was_saved_is_read_back() {
    let directory = tempfile::tempdir().unwrap();
    save(directory.path(), 2).finish(Status::Complete).unwrap();
    let run = Run::open(directory.path()).unwrap();
    assert_eq!(run.record().status, Status::Complete);
    let trials = &run.record().trials;
    assert_eq!(trials.len(), 2);
    assert_eq!(run.data(&trials[1]).unwrap().samples, samples());
    assert_eq!(trials[0].summary.marked_samples, 3);
    assert_eq!(trials[0].summary.measured.as_ref().unwrap().samples, 497);
    let cells = run.cells(|_, _| ()).unwrap();
    assert_eq!((cells.len(), cells[0].blocks.len()), (1, 2));
    assert_eq!(cells[0].missed_periods, Some(144));
}

#[test]
fn trials_after_the_last_checkpoint_are_recovered() {
    let directory = tempfile::tempdir().unwrap();
    // Dropped without finish, as by kill -9: run.json lists no trial.
    drop(save(directory.path(), 3));
    let run = Run::open(directory.path()).unwrap();
    assert_eq!(run.record().status, Status::Interrupted);
    assert_eq!(run.record().trials.len(), 3);
    assert_eq!(run.cells(|_, _| ()).unwrap()[0].blocks.len(), 3);
}

#[test]
fn a_process_killed_after_its_last_trial_lost_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let design = header().design;
    drop(save(directory.path(), design.blocks * design.cells));
    let run = Run::open(directory.path()).unwrap();
    assert_eq!(run.record().status, Status::Complete);
    assert!(run.record().notes[0].text.contains("after its last trial"));
}

#[test]
fn leftovers_of_a_write_under_way_do_no_harm() {
    let directory = tempfile::tempdir().unwrap();
    drop(save(directory.path(), 2));
    fs::write(directory.path().join("samples/.tmp-abc"), b"half").unwrap();
    assert_eq!(
        Run::open(directory.path()).unwrap().record().trials.len(),
        2
    );
}

#[test]
fn a_directory_in_use_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("precious"), b"x").unwrap();
    let text = RunWriter::create(directory.path(), header())
        .unwrap_err()
        .to_string();
    assert!(text.contains("not empty"), "{text}");
}

/// Rewrites `run.json`, with the checksum of what it then holds.
fn edit(directory: &Path, from: &str, to: &str) {
    let path = directory.join("run.json");
    let text = fs::read_to_string(&path).unwrap();
    assert!(text.contains(from), "no {from}");
    let text = text.replacen(from, to, 1);
    let end = text.rfind(",\n  \"crc32\": \"").unwrap();
    let crc32 = crc32fast::hash(&text.as_bytes()[..end]);
    let sealed = format!("{},\n  \"crc32\": \"{crc32:08x}\"\n}}\n", &text[..end]);
    fs::write(path, sealed).unwrap();
}

fn finished() -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    save(directory.path(), 2).finish(Status::Complete).unwrap();
    directory
}

/// How a refusal ends of what a checksum says is as it was written.
const WRITTEN_SO: &str = "; its checksum fits, so that whoever wrote it made the mistake";

#[test]
fn damaged_and_newer_runs_are_refused_in_one_line() {
    let d = finished();
    edit(d.path(), "\"schema_version\": 2", "\"schema_version\": 99");
    assert!(complaint(d.path()).contains("newer tompion"));

    for (from, to) in [
        ("\"trials\": [", "\"trials\": [,"),
        ("\"status\": \"complete\"", "\"status\": \"ended\""),
    ] {
        let d = finished();
        edit(d.path(), from, to);
        let told = complaint(d.path());
        assert!(
            told.contains("run.json: ") && told.ends_with(WRITTEN_SO),
            "{told}"
        );
        // The same with a checksum that does not fit is damage.
        let path = d.path().join("run.json");
        let text = fs::read_to_string(&path).unwrap();
        fs::write(&path, text.replacen("\"tool\"", "\"toll\"", 1)).unwrap();
        let told = complaint(d.path());
        assert!(
            told.ends_with("it does not match its checksum; the run is damaged"),
            "{told}"
        );
    }

    let d = finished();
    edit(d.path(), "\"rows\": 500", "\"rows\": 501");
    assert!(complaint(d.path()).contains("500 rows instead of 501"));

    for outside in ["../../etc/passwd", "/etc/passwd", "other.parquet"] {
        let d = finished();
        edit(
            d.path(),
            "\"file\": \"wake-up.parquet\",\n          \"row_group\"",
            &format!("\"file\": \"{outside}\",\n          \"row_group\""),
        );
        let told = complaint(d.path());
        // Its checksum fits: nothing was damaged.
        let written = "listed wrongly: tables.samples: ";
        assert!(
            told.contains(written) && told.ends_with(WRITTEN_SO),
            "{told}"
        );
        let d = finished();
        edit(
            d.path(),
            "\"file\": \"wake-up.parquet\",\n      \"bytes\"",
            &format!("\"file\": \"{outside}\",\n      \"bytes\""),
        );
        let told = complaint(d.path());
        match outside {
            "other.parquet" => {
                assert!(told.ends_with("is not there; the run is damaged"), "{told}")
            }
            _ => assert!(told.ends_with(WRITTEN_SO), "{told}"),
        }
    }

    let d = finished();
    let file = d.path().join("wake-up.parquet");
    let bytes = fs::read(&file).unwrap();
    fs::write(&file, &bytes[..bytes.len() / 2]).unwrap();
    assert!(complaint(d.path()).contains("wake-up.parquet: has"));

    let d = finished();
    fs::remove_file(d.path().join("wake-up.parquet")).unwrap();
    assert!(complaint(d.path()).contains("wake-up.parquet: is not there; the run is damaged"));

    // While it is measured each trial has files of its own.
    let d = tempfile::tempdir().unwrap();
    drop(save(d.path(), 2));
    let file = d.path().join("samples/00001.parquet");
    let bytes = fs::read(&file).unwrap();
    fs::write(&file, &bytes[..bytes.len() / 2]).unwrap();
    assert!(complaint(d.path()).contains("00001.parquet: not a whole Parquet file"));

    let d = finished();
    fs::write(d.path().join("run.json"), b"\xff\xfe").unwrap();
    assert!(complaint(d.path()).contains("run.json: not text; the run is damaged"));

    let d = tempfile::tempdir().unwrap();
    assert!(complaint(d.path()).contains("not a run directory"));
    assert!(complaint(&d.path().join("absent")).contains("not a run directory: it is not there"));
    fs::write(d.path().join("file"), "").unwrap();
    assert!(complaint(&d.path().join("file")).contains("not a run directory: it is a file"));
}

#[test]
fn a_checksum_of_another_form_is_told_with_the_right_one() {
    let form = "is no checksum, which has eight digits 0-9 and a-f";
    let stated = |directory: &Path, key: &str| {
        let text = fs::read_to_string(directory.join("run.json")).unwrap();
        let at = text.find(key).unwrap();
        let at = at + text[at..].find("\"crc32\": \"").unwrap() + "\"crc32\": \"".len();
        text[at..at + 8].to_owned()
    };
    // Of a table, and of a file.
    for (key, what) in [
        ("\"trials\"", "trial 0 is listed wrongly: "),
        ("\"files\"", "lists a file "),
    ] {
        let d = finished();
        let crc32 = stated(d.path(), key);
        edit(d.path(), &crc32, "0x12AB34");
        let told = complaint(d.path());
        assert!(
            told.contains(what) && told.contains(&format!("`0x12AB34` {form}")),
            "{told}"
        );
        assert!(told.ends_with(WRITTEN_SO), "{told}");
    }
    // Of run.json itself, which by its length may be one, or not.
    for (wrong, told) in [
        ("0x12AB34", format!("`0x12AB34` {form}")),
        (
            "12AB",
            "does not end in its checksum: a comma, a line break, two blanks, ".to_owned(),
        ),
    ] {
        let d = finished();
        let path = d.path().join("run.json");
        let text = fs::read_to_string(&path).unwrap();
        let end = text.rfind("\"crc32\": \"").unwrap() + "\"crc32\": \"".len();
        fs::write(&path, format!("{}{wrong}\"\n}}\n", &text[..end])).unwrap();
        let found = complaint(d.path());
        assert!(found.contains(&told), "{found}");
    }
}

#[test]
fn who_is_still_at_work_is_told_from_who_ended_early() {
    let told = |directory: &Path| {
        let run = Run::open(directory).unwrap();
        let [note] = &run.record().notes[..] else {
            panic!("{:?}", run.record().notes)
        };
        (run.record().status, note.text.clone())
    };
    // One of two planned, and both.
    for (trials, status, alive, dead) in [
        (
            1,
            Status::Interrupted,
            "the process that writes it is still at work.",
            "the process that wrote it ended early.",
        ),
        (
            2,
            Status::Complete,
            "the process that writes it is still at work.",
            "ended after its last trial, before it could say so.",
        ),
    ] {
        let d = tempfile::tempdir().unwrap();
        let writer = save(d.path(), trials);
        let (found, text) = told(d.path());
        assert!(found == status && text.ends_with(alive), "{found:?} {text}");
        drop(writer);
        let (found, text) = told(d.path());
        assert!(found == status && text.ends_with(dead), "{found:?} {text}");
    }
}

#[test]
fn what_a_writer_got_wrong_is_told_of_a_run_that_can_be_read() {
    let d = finished();
    assert_eq!(Run::open(d.path()).unwrap().record().mistakes(), [""; 0]);
    for (from, to, told) in [
        (
            "\"started_at\": \"2026-01-01T00:00:00Z\"",
            "\"started_at\": \"yesterday\"",
            "When the run began is not known: `started_at`",
        ),
        (
            "\"block\": 1",
            "\"block\": 0",
            "Trial 1 is of the cell and the block of one before it (wake-up/usleep/idle, block 0):",
        ),
    ] {
        let d = finished();
        edit(d.path(), from, to);
        let run = Run::open(d.path()).unwrap();
        let [mistake] = &run.record().mistakes()[..] else {
            panic!("{:?}", run.record().mistakes())
        };
        assert!(mistake.starts_with(told), "{mistake}");
    }
    let d = finished();
    let listed = r#"{"level": "guest", "kind": "qemu", "settings": [], "versions": []}"#;
    let twice = format!("\"platforms\": [{listed}, {listed}], \"guards\"");
    edit(d.path(), "\"guards\"", &twice);
    let [mistake] = &Run::open(d.path()).unwrap().record().mistakes()[..] else {
        panic!("one")
    };
    assert!(
        mistake.starts_with("Platform guest is listed more than once: "),
        "{mistake}"
    );
    let d = tempfile::tempdir().unwrap();
    let mut writer = save(d.path(), 1);
    let other = TrialDraft {
        started_at: Some("noon".to_owned()),
        ..draft(1)
    };
    writer.save(other, &TrialData::default()).unwrap();
    writer.finish(Status::Complete).unwrap();
    let [mistake] = &Run::open(d.path()).unwrap().record().mistakes()[..] else {
        panic!("one")
    };
    assert!(
        mistake.starts_with("When trial 1 began is not known: "),
        "{mistake}"
    );
}

#[test]
fn words_of_a_recovered_trial_and_of_errors_act_on_no_terminal() {
    let place = tempfile::tempdir().unwrap();
    let directory = place.path().join("run");
    let mut writer = RunWriter::create(&directory, header()).unwrap();
    let mut hostile = draft(0);
    hostile.factors = hostile.factors.with(factor::METHOD, "\u{1b}[2J\u{202e}x\n");
    let data = TrialData {
        samples: samples(),
        ..TrialData::default()
    };
    writer.save(hostile, &data).unwrap();
    // Killed before its checkpoint.
    drop(writer);
    let run = Run::open(&directory).unwrap();
    assert_eq!(
        run.record().trials[0].factors.level(factor::METHOD),
        " [2J x "
    );
    // A name that stands in the run, and in the error that tells of it.
    let text = fs::read_to_string(directory.join("run.json")).unwrap();
    let end = text.rfind(",\n  \"crc32\"").unwrap();
    let body = text[..end].replacen("\"running\"", "\"\u{202e}gnp\"", 1);
    assert_ne!(body, text[..end]);
    let seal = format!(
        ",\n  \"crc32\": \"{:08x}\"\n}}\n",
        crc32fast::hash(body.as_bytes())
    );
    fs::write(directory.join("run.json"), body + &seal).unwrap();
    let error = Run::open(&directory).unwrap_err().to_string();
    assert!(
        error.contains(" gnp") && !error.contains('\u{202e}'),
        "{error:?}"
    );
}

#[test]
fn a_flipped_bit_is_noticed_in_whichever_file_it_is() {
    let directory = finished();
    let names = ["run.json", "wake-up.parquet", "histograms.parquet"];
    for path in names.map(|name| directory.path().join(name)) {
        let good = fs::read(&path).unwrap();
        for at in (0..good.len()).step_by(good.len() / 97) {
            let mut bad = good.clone();
            bad[at] ^= 0x10;
            fs::write(&path, &bad).unwrap();
            let text = complaint(directory.path());
            let name = path.file_name().unwrap().to_str().unwrap();
            assert!(text.contains(name), "{name}, byte {at}: {text}");
        }
        fs::write(&path, good).unwrap();
    }
    Run::open(directory.path()).unwrap();
}

#[test]
fn a_flipped_bit_is_noticed_while_trials_have_files_of_their_own() {
    let directory = tempfile::tempdir().unwrap();
    drop(save(directory.path(), 1));
    let path = directory.path().join("samples/00000.parquet");
    let good = fs::read(&path).unwrap();
    let reference = Run::open(directory.path()).unwrap();
    let trial = reference.record().trials[0].clone();
    for at in (4..good.len()).step_by(good.len() / 97) {
        let mut bad = good.clone();
        bad[at] ^= 0x10;
        fs::write(&path, &bad).unwrap();
        // Either refused, or the flip was in a place that carries no data.
        if let Ok(run) = Run::open(directory.path())
            && let Ok(data) = run.data(&trial)
        {
            assert_eq!(data.samples, samples(), "flip at {at} went unnoticed");
            assert_eq!(run.record().trials[0], trial, "flip at {at} went unnoticed");
        }
    }
}

/// A trial of each kind of table: bins, and a side table that nobody knows.
fn save_of_all_kinds(directory: &Path) -> (RunWriter, Vec<TrialData>) {
    let mut writer = RunWriter::create(directory, header()).unwrap();
    let column = |name: &str, values| Column {
        name: name.to_owned(),
        values,
    };
    let packets = SideTable::new(vec![
        column(
            "sequence",
            Values::UInt32(vec![Some(0), Some(1), Some(u32::MAX)]),
        ),
        column(
            "sent_ns",
            Values::Int64(vec![Some(i64::MIN), None, Some(i64::MAX)]),
        ),
        column("stamp", Values::UInt64(vec![None, Some(u64::MAX), None])),
        column("flags", Values::Int32(vec![Some(-1), None, Some(7)])),
        column("lost", Values::Boolean(vec![Some(true), None, Some(false)])),
        column(
            "ratio",
            Values::Double(vec![Some(0.1), Some(f64::MAX), None]),
        ),
        column(
            "host",
            Values::Text(vec![None, Some("".into()), Some("é".into())]),
        ),
    ])
    .unwrap();
    let mut bins = tompion_stats::Bins::new();
    bins.record_many(-77_777, 3).unwrap();
    bins.record_many(1_000_000, 5).unwrap();
    let plain = TrialData {
        samples: samples(),
        ..TrialData::default()
    };
    let all = TrialData {
        bins: Some(bins.clone()),
        filled_bins: Some(bins),
        tables: [("packets".to_owned(), packets)].into(),
        ..plain.clone()
    };
    let empty = TrialData::default();
    let tail = Storage::Tail {
        limit_rows: 500,
        threshold_ps: -1,
    };
    let other = Factors::new()
        .with(factor::PROBE, "round-trip")
        .with("value_ps", "a factor may be called anything")
        .with("size", "64");
    writer.save(draft(0), &plain).unwrap();
    let of_all = TrialDraft {
        factors: other.clone(),
        storage: tail,
        started_at: Some("2026-01-01T00:00:00.123456789Z".to_owned()),
        ..draft(0)
    };
    writer.save(of_all, &all).unwrap();
    let of_none = TrialDraft {
        factors: other.with("size", "1500"),
        ..draft(1)
    };
    writer.save(of_none, &empty).unwrap();
    (writer, vec![plain, all, empty])
}

/// Everything that a run holds, but for where its tables lie.
pub(crate) fn content(directory: &Path) -> Vec<String> {
    let run = Run::open(directory).unwrap();
    let trials = run.record().trials.iter();
    trials
        .map(|trial| {
            let data = run.data(trial).unwrap();
            let bins = [&data.bins, &data.filled_bins];
            let bins = bins.map(|b| b.as_ref().map(tompion_stats::Bins::occupied));
            let mut trial = trial.clone();
            trial.tables.clear();
            format!("{trial:?} {:?} {bins:?} {:?}", data.samples, data.tables)
        })
        .collect()
}

pub(crate) fn names(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).unwrap();
    let mut names: Vec<_> = entries
        .map(|e| e.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn a_finished_run_is_a_few_files_and_holds_all_that_its_trials_held() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let (mut writer, all) = save_of_all_kinds(path);
    drop(Run::open(path).unwrap());
    let before = content(path);
    assert_eq!(names(&path.join("samples")).len(), 5);
    writer.finish(Status::Complete).unwrap();
    assert_eq!(content(path), before);
    let want = [
        "bins.parquet",
        "histograms.parquet",
        "round-trip.packets.parquet",
        "round-trip.parquet",
        "run.json",
        "wake-up.parquet",
    ];
    assert_eq!(names(path), want);
    let run = Run::open(path).unwrap();
    for (trial, data) in run.record().trials.iter().zip(&all) {
        let read = run.data(trial).unwrap();
        assert_eq!((&read.samples, &read.tables), (&data.samples, &data.tables));
        // Each summary has its distribution, its median within a thousandth.
        let histograms = run.histograms(trial).unwrap().unwrap();
        for (name, view) in [
            ("measured", View::Measured),
            ("missed_filled", View::Filled { period_ps: 100_000 }),
        ] {
            let exact = data.distribution(view);
            let binned = histograms.get(name).cloned().unwrap_or_default();
            assert_eq!(binned.len(), exact.len(), "{name}");
            for q in [0.0, 0.01, 0.5, 0.99, 1.0] {
                let (Some(want), Some(got)) = (exact.quantile(q), binned.quantile(q)) else {
                    assert!(exact.is_empty());
                    continue;
                };
                assert!(
                    (got - want).abs() <= 1e-3 * want.abs() + 1.0,
                    "{got} {want}"
                );
            }
        }
    }
}

#[test]
fn a_run_goes_on_after_it_was_brought_together() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let (mut writer, _) = save_of_all_kinds(path);
    writer.finish(Status::Interrupted).unwrap();
    drop(writer);
    let before = content(path);
    let id = Run::open(path).unwrap().record().run_id.clone();
    let mut writer = RunWriter::reopen(&Directory::open(path).unwrap(), 2).unwrap();
    assert_eq!(names(path), ["run.json", "samples"]);
    drop(Run::open(path).unwrap());
    assert_eq!(content(path), before[..2]);
    let data = TrialData {
        samples: samples(),
        ..TrialData::default()
    };
    writer.save(draft(7), &data).unwrap();
    writer.finish(Status::Complete).unwrap();
    assert_eq!(content(path)[..2], before[..2]);
    assert_eq!(content(path).len(), 3);
    // A writer may go on after its end, too.
    writer.save(draft(8), &data).unwrap();
    writer.finish(Status::Complete).unwrap();
    assert_eq!(content(path)[..2], before[..2]);
    let run = Run::open(path).unwrap();
    assert_eq!(run.record().trials.len(), 4);
    assert!(id.is_some() && run.record().run_id == id, "one run, one id");
}

#[test]
fn where_there_is_no_room_to_bring_trials_together_they_stay_apart() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let (mut writer, _) = save_of_all_kinds(path);
    drop(Run::open(path).unwrap());
    let before = content(path);
    // No file can be renamed to this.
    fs::create_dir(path.join("round-trip.parquet")).unwrap();
    writer.finish(Status::Complete).unwrap();
    assert_eq!(content(path), before);
    let run = Run::open(path).unwrap();
    let notes = &run.record().notes;
    assert_eq!(
        (notes.len(), notes[0].kind.as_str()),
        (1, note_kind::KEPT_APART)
    );
    assert_eq!(names(path), ["round-trip.parquet", "run.json", "samples"]);
}

#[test]
fn what_a_process_left_that_was_killed_is_removed_and_nothing_else() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    // Killed while it brought trials together.
    let (writer, _) = save_of_all_kinds(path);
    for name in [
        "wake-up.parquet",
        ".tmp-x",
        "samples/.tmp-y",
        "report.html",
        "mine.parquet",
    ] {
        fs::write(path.join(name), "half").unwrap();
    }
    remove_leftovers(path).unwrap();
    assert!(path.join(".tmp-x").exists(), "a run at work is left alone");
    drop(writer);
    drop(Run::open(path).unwrap());
    let before = content(path);
    remove_leftovers(path).unwrap();
    assert_eq!(content(path), before);
    assert_eq!(
        names(path),
        ["mine.parquet", "report.html", "run.json", "samples"]
    );
    assert_eq!(names(&path.join("samples")).len(), 5);

    // Killed after `run.json` named the new files, before the old ones were gone.
    let other = tempfile::tempdir().unwrap();
    let path = other.path();
    let (mut writer, _) = save_of_all_kinds(path);
    let copy = tempfile::tempdir().unwrap();
    for name in names(&path.join("samples")) {
        fs::copy(path.join("samples").join(&name), copy.path().join(&name)).unwrap();
    }
    writer.finish(Status::Complete).unwrap();
    drop(writer);
    let before = (content(path), names(path));
    fs::create_dir(path.join("samples")).unwrap();
    for name in names(copy.path()).iter().skip(1) {
        fs::copy(copy.path().join(name), path.join("samples").join(name)).unwrap();
    }
    assert_eq!(content(path), before.0);
    remove_leftovers(path).unwrap();
    assert_eq!((content(path), names(path)), before);
}

#[test]
fn a_table_whose_trial_was_never_saved_is_removed() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    drop(save_of_all_kinds(path));
    let before = content(path);
    // A trial's samples are written last.
    fs::write(path.join("samples/00003.packets.parquet"), "whole").unwrap();
    remove_leftovers(path).unwrap();
    assert_eq!(content(path), before);
    assert_eq!(names(&path.join("samples")).len(), 5);

    // A whole trial stays, though the one before it is missing.
    let first = path.join("samples/00000.parquet");
    fs::remove_file(&first).unwrap();
    fs::write(path.join("samples/.tmp-x"), "half").unwrap();
    remove_leftovers(path).unwrap();
    assert_eq!(names(&path.join("samples")).len(), 4);
}

#[test]
fn one_process_at_a_time_writes_to_a_run() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let (writer, _) = save_of_all_kinds(path);
    let holder = thread::spawn(move || {
        thread::sleep(Duration::from_millis(300));
        drop(writer);
    });
    let began = Instant::now();
    drop(RunWriter::reopen(&Directory::open(path).unwrap(), 3).unwrap());
    assert!(began.elapsed() > Duration::from_millis(200));
    holder.join().unwrap();
}

#[test]
fn a_new_run_is_refused_at_once_where_another_process_writes_and_leaves_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let file = fs::File::open(directory.path()).unwrap();
    rustix::fs::flock(&file, rustix::fs::FlockOperation::LockExclusive).unwrap();
    let began = Instant::now();
    let error = RunWriter::create(directory.path(), header()).unwrap_err();
    assert!(
        error.to_string().contains("another process writes"),
        "{error}"
    );
    assert!(began.elapsed() < Duration::from_secs(2));
    assert_eq!(names(directory.path()), [""; 0]);
    drop(file);
    // As a process leaves it that is killed in its first moments.
    fs::create_dir(directory.path().join("samples")).unwrap();
    fs::write(directory.path().join(".tmp-x"), "half").unwrap();
    drop(RunWriter::create(directory.path(), header()).unwrap());
    assert_eq!(names(directory.path()), ["run.json", "samples"]);
}

#[test]
fn what_somebody_else_has_put_into_samples_stays() {
    let directory = finished();
    let samples = directory.path().join("samples");
    fs::create_dir(&samples).unwrap();
    fs::write(samples.join("notes.txt"), "mine").unwrap();
    fs::write(samples.join("00000.parquet"), "left over").unwrap();
    // A child that another test starts has the lock of this run's writer until it begins its program.
    let began = Instant::now();
    while names(&samples).len() > 1 && began.elapsed() < Duration::from_secs(5) {
        remove_leftovers(directory.path()).unwrap();
    }
    assert_eq!(names(&samples), ["notes.txt"]);
}

#[test]
fn trials_behind_a_missing_one_are_told_of() {
    let directory = tempfile::tempdir().unwrap();
    drop(save(directory.path(), 5));
    fs::remove_file(directory.path().join("samples/00002.parquet")).unwrap();
    let run = Run::open(directory.path()).unwrap();
    assert_eq!(run.record().trials.len(), 2);
    let note = &run.record().notes[0].text;
    assert!(note.contains("2 whole trials are left out"), "{note}");
    assert!(note.contains("samples/00002.parquet"), "{note}");
}

#[test]
fn what_is_wrong_with_a_trial_in_the_list_is_said() {
    let why = |from: &str, to: &str| {
        let directory = finished();
        edit(directory.path(), from, to);
        complaint(directory.path())
    };
    let wrong = [
        ("\"id\": 0", "\"id\": 5", "its id is 5"),
        (
            "\"row_group\": 1",
            "\"row_group\": 0",
            "row group 0 of histograms.parquet is another table's",
        ),
        (
            "\"file\": \"wake-up.parquet\",\n          \"row_group\"",
            "\"file\": \"nope.parquet\",\n          \"row_group\"",
            "nope.parquet is not listed under `files`",
        ),
        (
            "\"samples\": {",
            "\"sampled\": {",
            "tables has no `samples`",
        ),
        (
            "\"period_ns\": 100",
            "\"period_ns\": 18446744073709551615",
            "measurement.period_ns is 18446744073709551615",
        ),
        (
            "\"kind\": \"complete\"",
            "\"kind\": \"tail\", \"limit_rows\": 1, \"threshold_ps\": 1",
            "no `bins`",
        ),
    ];
    for (from, to, want) in wrong {
        let told = why(from, to);
        assert!(
            told.contains("is listed wrongly: ") && told.contains(want),
            "{told}"
        );
    }
}

#[test]
fn files_of_trials_are_gone_through_once() {
    // As many trials without a row as one likes, whose tables are all in one file, however its name is written.
    let named = |other: &str| {
        let directory = tempfile::tempdir().unwrap();
        save(directory.path(), 3).checkpoint().unwrap();
        edit(directory.path(), "samples/00002.parquet", other);
        complaint(directory.path())
    };
    for (other, want) in [
        (
            "samples/00000.parquet",
            "samples/00000.parquet is another table's",
        ),
        (
            "samples/./00000.parquet",
            "is no file of the run's directory",
        ),
        (
            "samples//00000.parquet",
            "is no file of the run's directory",
        ),
    ] {
        let told = named(other);
        assert!(
            told.contains("trial 2 is listed wrongly: ") && told.contains(want),
            "{told}"
        );
    }
}

#[test]
fn damage_is_said_before_what_may_come_of_it() {
    let directory = finished();
    let path = directory.path().join("run.json");
    let text = fs::read_to_string(&path).unwrap();
    for version in ["3", "0"] {
        let other = text.replace(
            "\"schema_version\": 2",
            &format!("\"schema_version\": {version}"),
        );
        fs::write(&path, other).unwrap();
        let told = complaint(directory.path());
        assert!(told.contains("does not match its checksum"), "{told}");
    }
}

#[test]
fn a_probe_that_no_trial_has_any_more_leaves_no_file() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let (mut writer, _) = save_of_all_kinds(path);
    writer.finish(Status::Complete).unwrap();
    drop(writer);
    assert!(names(path).contains(&"round-trip.parquet".to_owned()));
    let mut writer = RunWriter::reopen(&Directory::open(path).unwrap(), 1).unwrap();
    assert_eq!(names(path), ["run.json", "samples"]);
    writer.finish(Status::Complete).unwrap();
    assert_eq!(
        names(path),
        ["histograms.parquet", "run.json", "wake-up.parquet"]
    );
}

#[test]
fn a_run_with_names_that_files_cannot_have_is_refused() {
    for probe in ["../up", "bins", "Wake", ""] {
        let directory = tempfile::tempdir().unwrap();
        save(directory.path(), 1).checkpoint().unwrap();
        let from = "\"probe\": \"wake-up\"";
        edit(directory.path(), from, &format!("\"probe\": \"{probe}\""));
        let why = complaint(directory.path());
        assert!(why.contains("trial 0 is listed wrongly"), "{why}");
    }
}

#[test]
fn names_that_files_cannot_have_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    let mut writer = RunWriter::create(directory.path(), header()).unwrap();
    let data = TrialData::default();
    for probe in [
        "",
        "../x",
        "a.b",
        "Wake",
        "bins",
        "histograms",
        "-x",
        "a/b",
        &"x".repeat(65),
    ] {
        let factors = Factors::new().with(factor::PROBE, probe);
        let draft = TrialDraft {
            factors,
            ..draft(0)
        };
        let error = writer.save(draft, &data).unwrap_err().to_string();
        assert!(error.contains("no probe may be called"), "{error}");
    }
    for name in ["../x", "samples", "bins", "histograms", ""] {
        let data = TrialData {
            tables: [(name.to_owned(), SideTable::default())].into(),
            ..TrialData::default()
        };
        let error = writer.save(draft(0), &data).unwrap_err().to_string();
        assert!(error.contains("no side table may be called"), "{error}");
    }
    let factors = draft(0).factors.with(&"x".repeat(65), "y");
    let draft = TrialDraft {
        factors,
        ..draft(0)
    };
    let error = writer.save(draft, &data).unwrap_err().to_string();
    assert!(error.contains("at most 64 bytes"), "{error}");
    assert_eq!(names(directory.path()), ["run.json", "samples"]);
}

#[test]
fn the_checked_in_schema_is_that_of_the_types() {
    // That what is saved conforms to it, the acceptance tests hold (test_report.py).
    assert!(
        json_schema() == include_str!("../../../../schema/run.schema.json"),
        "the types have changed: run `cargo run -p tompion-store --example schema > schema/run.schema.json`"
    );
}

#[test]
fn of_runs_that_begin_in_one_directory_at_once_one_goes_on() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("run");
    let begun: Vec<bool> = std::thread::scope(|scope| {
        let begin = || RunWriter::create(&path, header());
        let runs: Vec<_> = (0..8).map(|_| scope.spawn(begin)).collect();
        // Kept until all have tried.
        let results: Vec<_> = runs.into_iter().map(|r| r.join().unwrap()).collect();
        for error in results.iter().filter_map(|r| r.as_ref().err()) {
            let refused = matches!(error, Error::NotEmpty { .. } | Error::Taken { .. });
            assert!(refused, "{error}");
        }
        results.iter().map(Result::is_ok).collect()
    });
    assert_eq!(begun.iter().filter(|ok| **ok).count(), 1, "{begun:?}");
}

#[test]
fn a_pipe_instead_of_a_file_is_refused_at_once() {
    let directory = tempfile::tempdir().unwrap();
    save(directory.path(), 1).finish(Status::Complete).unwrap();
    for name in ["wake-up.parquet", "run.json"] {
        let path = directory.path().join(name);
        fs::remove_file(&path).unwrap();
        rustix::fs::mknodat(
            rustix::fs::CWD,
            &path,
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::from_raw_mode(0o600),
            0,
        )
        .unwrap();
        let text = complaint(directory.path());
        assert!(
            text.contains(name) && text.contains("not a regular file"),
            "{text}"
        );
    }
}

#[test]
fn a_hole_of_a_gigabyte_in_place_of_run_json_takes_no_memory() {
    let directory = tempfile::tempdir().unwrap();
    let file = fs::File::create(directory.path().join("run.json")).unwrap();
    file.set_len(1 << 30).unwrap();
    let text = complaint(directory.path());
    assert!(
        text.contains("1073741824 bytes; the description of a run has at most"),
        "{text}"
    );
    // As long as one may be it would be no JSON, read as text.
    file.set_len(1 << 25).unwrap();
    let text = complaint(directory.path());
    assert!(text.contains("run.json: not text"), "{text}");
}

#[test]
fn what_no_reader_would_take_is_refused_in_writing() {
    let directory = tempfile::tempdir().unwrap();
    let mut writer = RunWriter::create(directory.path(), header()).unwrap();
    let table = |i: u32| (format!("table-{i}"), SideTable::default());
    let data = TrialData {
        tables: (0..15).map(table).collect(),
        ..TrialData::default()
    };
    let error = writer.save(draft(0), &data).unwrap_err().to_string();
    assert!(error.contains("15 side tables"), "{error}");
    let mut long = draft(0);
    long.measurement.period_ns = Some(u64::MAX / 1000);
    let error = writer.save(long, &TrialData::default()).unwrap_err();
    assert!(
        error.to_string().contains("measurement.period_ns is"),
        "{error}"
    );
    let mut missed = samples();
    missed[0].value_ps = i64::MIN;
    missed[0].missed = 1;
    let data = TrialData {
        samples: missed,
        ..TrialData::default()
    };
    let error = writer.save(draft(0), &data).unwrap_err().to_string();
    assert!(error.contains("begin before all time"), "{error}");
    assert_eq!(names(directory.path()), ["run.json", "samples"]);
}

#[test]
fn side_tables_that_cannot_become_one_file_are_refused_as_they_are_saved() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let with = |columns: &[&str]| {
        let column = |name: &&str| Column {
            name: (*name).to_owned(),
            values: Values::Int64(vec![Some(1)]),
        };
        let table = SideTable::new(columns.iter().map(column).collect()).unwrap();
        TrialData {
            samples: samples(),
            tables: [("hops".to_owned(), table)].into(),
            ..TrialData::default()
        }
    };
    let refused = |writer: &mut RunWriter, columns: &[&str]| {
        let error = writer.save(draft(0), &with(columns)).unwrap_err();
        error.to_string()
    };
    let mut writer = RunWriter::create(path, header()).unwrap();
    // What was taken back decides nothing.
    writer.save(draft(0), &with(&["x"])).unwrap();
    writer.take_back(0).unwrap();
    writer.save(draft(0), &with(&["a", "b"])).unwrap();
    for columns in [&["a"][..], &["b", "a"], &["a", "b", "c"]] {
        let why = refused(&mut writer, columns);
        assert!(why.contains("`hops` has other columns"), "{why}");
    }
    let many: Vec<String> = (0..1025).map(|i| format!("c{i}")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    assert!(refused(&mut writer, &many).contains("1025 columns"));
    writer.finish(Status::Complete).unwrap();
    // And where it is gone on with.
    drop(writer);
    let mut writer = RunWriter::reopen(&Directory::open(path).unwrap(), 1).unwrap();
    assert!(refused(&mut writer, &["a"]).contains("other columns"));
    writer.save(draft(0), &with(&["a", "b"])).unwrap();
    writer.finish(Status::Complete).unwrap();
    assert_eq!(Run::open(path).unwrap().record().trials.len(), 2);
}

#[test]
fn a_value_of_no_operation_and_a_file_listed_twice_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    let mut writer = RunWriter::create(directory.path(), header()).unwrap();
    let mut data = TrialData {
        samples: samples(),
        ..TrialData::default()
    };
    data.samples[7].n = 0;
    writer.save(draft(0), &data).unwrap();
    writer.checkpoint().unwrap();
    let why = complaint(directory.path());
    assert!(why.contains("the average of no operation"), "{why}");

    let directory = finished();
    let run = Run::open(directory.path()).unwrap();
    let file = &run.record().files[0];
    let text = format!(
        "{{\n      \"file\": \"{}\",\n      \"bytes\": {},\n      \"crc32\": \"{}\"\n    }}",
        file.file, file.bytes, file.crc32
    );
    edit(directory.path(), &text, &format!("{text}, {text}"));
    let why = complaint(directory.path());
    assert!(why.contains("twice"), "{why}");
}

#[test]
fn a_run_is_read_while_it_is_being_finished() {
    for _ in 0..20 {
        let directory = tempfile::tempdir().unwrap();
        let mut writer = save(directory.path(), 10);
        writer.checkpoint().unwrap();
        let before = Run::open(directory.path()).unwrap();
        let path = directory.path().to_path_buf();
        let finishing = thread::spawn(move || writer.finish(Status::Complete).unwrap());
        loop {
            let is_over = finishing.is_finished();
            let run = Run::open(&path).unwrap();
            assert_eq!(run.record().trials.len(), 10);
            if is_over {
                assert_eq!(run.record().status, Status::Complete);
                break;
            }
        }
        finishing.join().unwrap();
        // Whoever had opened it before is told why its files are gone.
        let error = before.data(&before.record().trials[3]).unwrap_err();
        assert!(error.to_string().contains("read it again"), "{error}");
    }
}

#[test]
fn nothing_is_left_of_the_space_kept_for_the_end() {
    let directory = tempfile::tempdir().unwrap();
    save(directory.path(), 1).finish(Status::Complete).unwrap();
    let want = ["histograms.parquet", "run.json", "wake-up.parquet"];
    assert_eq!(names(directory.path()), want);
}

#[test]
fn a_run_goes_on_after_the_trials_that_are_to_stay() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let mut writer = save(path, 3);
    writer.note(note_kind::REMARK, "ended early");
    // Killed: without a last checkpoint, and with a file half written.
    drop(writer);
    fs::write(path.join("samples/.tmp-x"), "half").unwrap();
    let mut writer = RunWriter::reopen(&Directory::open(path).unwrap(), 2).unwrap();
    assert_eq!(writer.record().trials.len(), 2);
    assert_eq!(fs::read_dir(path.join("samples")).unwrap().count(), 2);
    let data = TrialData {
        samples: samples(),
        ..TrialData::default()
    };
    writer.save(draft(7), &data).unwrap();
    writer.finish(Status::Complete).unwrap();
    let run = Run::open(path).unwrap();
    let blocks: Vec<u32> = run.record().trials.iter().map(|t| t.block).collect();
    assert_eq!(blocks, [0, 1, 7]);
    assert_eq!(run.record().status, Status::Complete);
    assert!(run.record().notes.is_empty(), "{:?}", run.record().notes);
    drop(writer);
    let error = RunWriter::reopen(&Directory::open(path).unwrap(), 4)
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("holds 3 trials where 4 were saved"),
        "{error}"
    );
}
