//! What a run directory keeps, and what it refuses.

use std::fs;
use std::path::Path;

use tompion_cause::{Cause, Source};
use tompion_record::{
    Design, Environment, Factors, Mark, Measurement, Run, RunHeader, RunWriter, Sample, StallPart,
    Stalls, Status, Storage, TrialData, TrialDraft, factor, json_schema,
};

fn header() -> RunHeader {
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

fn draft(block: u32) -> TrialDraft {
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
        stalls: None,
        observation: None,
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
    let data = TrialData {
        samples: marked,
        stall_parts: vec![
            part(5, Cause::Preempted, Some("hog[17]")),
            part(9, Cause::Unknown, None),
        ],
        ..TrialData::default()
    };
    let stalls = Stalls {
        iterations: 1_000,
        lost_ns: 8_000,
        ..Stalls::default()
    };
    let draft = TrialDraft {
        stalls: Some(stalls.clone()),
        ..draft(0)
    };
    writer.save(draft, &data).unwrap();
    writer.finish(Status::Complete).unwrap();

    let run = Run::open(directory.path()).unwrap();
    let trial = &run.record().trials[0];
    assert_eq!(trial.stalls.as_ref(), Some(&stalls));
    let read = run.data(trial).unwrap();
    assert_eq!(read.stall_parts, data.stall_parts);
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
    assert!(run.record().notes[0].contains("after its last trial"));
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

#[test]
fn damaged_and_newer_runs_are_refused_in_one_line() {
    let fresh = || {
        let directory = tempfile::tempdir().unwrap();
        save(directory.path(), 2).finish(Status::Complete).unwrap();
        directory
    };
    let edit = |directory: &Path, from: &str, to: &str| {
        let path = directory.join("run.json");
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.contains(from));
        fs::write(path, text.replacen(from, to, 1)).unwrap();
    };

    let d = fresh();
    edit(d.path(), "\"schema_version\": 1", "\"schema_version\": 99");
    assert!(complaint(d.path()).contains("newer tompion"));

    let d = fresh();
    edit(d.path(), "\"trials\": [", "\"trials\": [,");
    assert!(complaint(d.path()).contains("run.json"));

    let d = fresh();
    edit(d.path(), "\"rows\": 500", "\"rows\": 501");
    assert!(complaint(d.path()).contains("500 rows"));

    let d = fresh();
    edit(d.path(), "samples/00001.parquet", "../../etc/passwd");
    assert!(complaint(d.path()).contains("listed wrongly"));

    let d = fresh();
    let sample_file = d.path().join("samples/00001.parquet");
    let bytes = fs::read(&sample_file).unwrap();
    fs::write(&sample_file, &bytes[..bytes.len() / 2]).unwrap();
    assert!(complaint(d.path()).contains("00001.parquet"));

    let d = fresh();
    fs::remove_file(d.path().join("samples/00000.parquet")).unwrap();
    assert!(complaint(d.path()).contains("00000.parquet: is not there; the run is damaged"));

    let d = fresh();
    fs::write(d.path().join("run.json"), b"\xff\xfe").unwrap();
    assert!(complaint(d.path()).contains("run.json: not text; the run is damaged"));

    let d = tempfile::tempdir().unwrap();
    assert!(complaint(d.path()).contains("not a run directory"));
    assert!(complaint(&d.path().join("absent")).contains("not a run directory: it is not there"));
    fs::write(d.path().join("file"), "").unwrap();
    assert!(complaint(&d.path().join("file")).contains("not a run directory: it is a file"));
}

#[test]
fn a_flipped_bit_in_the_samples_is_noticed_wherever_it_is() {
    let directory = tempfile::tempdir().unwrap();
    save(directory.path(), 1).finish(Status::Complete).unwrap();
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
        }
    }
}

#[test]
fn run_json_conforms_to_the_checked_in_schema() {
    let checked_in = include_str!("../../../schema/run.schema.json");
    assert!(
        json_schema() == checked_in,
        "the types have changed: run `cargo run -p tompion-record --example schema > schema/run.schema.json`"
    );
    let directory = tempfile::tempdir().unwrap();
    save(directory.path(), 1).finish(Status::Complete).unwrap();
    let run: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(directory.path().join("run.json")).unwrap())
            .unwrap();
    let schema: serde_json::Value = serde_json::from_str(checked_in).unwrap();
    jsonschema::validate(&schema, &run).unwrap();
    // The schema can refuse, too.
    let mut wrong = run;
    wrong["trials"][0]["rows"] = "many".into();
    assert!(jsonschema::validate(&schema, &wrong).is_err());
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
            assert!(
                error.to_string().ends_with("choose another --out"),
                "{error}"
            );
        }
        results.iter().map(Result::is_ok).collect()
    });
    assert_eq!(begun.iter().filter(|ok| **ok).count(), 1, "{begun:?}");
}

#[test]
fn a_pipe_instead_of_a_file_is_refused_at_once() {
    let directory = tempfile::tempdir().unwrap();
    save(directory.path(), 1).finish(Status::Complete).unwrap();
    for name in ["samples/00000.parquet", "run.json"] {
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
fn nothing_is_left_of_the_space_kept_for_the_end() {
    let directory = tempfile::tempdir().unwrap();
    save(directory.path(), 1).finish(Status::Complete).unwrap();
    let mut names: Vec<_> = fs::read_dir(directory.path())
        .unwrap()
        .map(|e| e.unwrap().file_name())
        .collect();
    names.sort();
    assert_eq!(names, ["run.json", "samples"]);
}

#[test]
fn a_run_goes_on_after_the_trials_that_are_to_stay() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let mut writer = save(path, 3);
    writer.note("ended early");
    // Killed: without a last checkpoint, and with a file half written.
    drop(writer);
    fs::write(path.join("samples/.tmp-x"), "half").unwrap();
    let mut writer = RunWriter::reopen(path, 2).unwrap();
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
    let error = RunWriter::reopen(path, 4).unwrap_err().to_string();
    assert!(
        error.contains("holds 3 trials where 4 were saved"),
        "{error}"
    );
}
