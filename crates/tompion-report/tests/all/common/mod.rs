//! Planted runs, saved as real ones, and a look into their pages. Each test
//! file uses a part of this.

pub mod page;
mod realistic;
mod stalls;
mod timer_events;
mod verdicts;

use std::collections::BTreeMap;

use tempfile::TempDir;
use tompion_assess::verdict::Assessment;
use tompion_model::{
    Design, Environment, Factors, LoadEvidence, Measurement, Recorder, RunHeader, Sample, Status,
    Storage, TrialData, TrialDraft, factor,
};
use tompion_report::{ReportData, terminal};
use tompion_store::{Run, RunWriter};

pub use realistic::realistic;
pub use stalls::*;
pub use timer_events::*;
pub use verdicts::{assessment, verdict};

pub fn header(blocks: u32, cells: u32) -> RunHeader {
    RunHeader {
        command_line: ["tompion", "check", "--loads", "idle,cpu,network"]
            .map(str::to_owned)
            .to_vec(),
        tool: "tompion 0.1.0".into(),
        started_at: "2025-01-02T03:04:05Z".into(),
        design: Design {
            order: "cells in random order within each block".into(),
            seed: 42,
            blocks,
            cells,
        },
        environment: Environment {
            hostname: "planted-host".into(),
            ..Environment::default()
        },
        profiles: Vec::new(),
        guards: vec![
            "sample buffers locked into memory".into(),
            "measuring thread pinned to CPU 1".into(),
        ],
    }
}

pub fn draft(factors: Factors, block: u32) -> TrialDraft {
    let load = factors
        .get(factor::LOAD)
        .filter(|l| *l != "idle")
        .map(|l| LoadEvidence {
            load: format!("{l}:threads=100"),
            driver: "built-in".into(),
            operations: Some(1_000_000),
            operation: Some("square root".into()),
            cpu_time_ns: 180_000_000,
            observed_ns: 100_000_000,
            context_switches_per_second: 4_500.0,
            interrupts_per_second: 1_800.0,
            ..LoadEvidence::default()
        });
    TrialDraft {
        factors,
        block,
        measurement: Measurement {
            technique: "bracketed by rdtsc".into(),
            clock: "CLOCK_MONOTONIC".into(),
            floor_ns: Some(12.0),
            blind_spots: "Stalls shorter than one read are not seen.".into(),
            memory_locked: true,
            ..Measurement::default()
        },
        load,
        ..TrialDraft::default()
    }
}

/// Samples of given values, one a microsecond.
pub fn data(values_ps: impl IntoIterator<Item = i64>) -> TrialData {
    let samples = values_ps
        .into_iter()
        .enumerate()
        .map(|(i, value_ps)| Sample {
            at_ns: i as u64 * 1_000,
            value_ps,
            n: 1,
            ..Sample::default()
        })
        .collect();
    TrialData {
        samples,
        ..TrialData::default()
    }
}

pub fn key(probe: &str, method: &str, load: &str) -> Factors {
    Factors::new()
        .with(factor::PROBE, probe)
        .with(factor::METHOD, method)
        .with(factor::LOAD, load)
}

/// A run of given trials; block numbers count up within each cell.
pub fn run(trials: Vec<(Factors, TrialData)>, status: Status) -> (TempDir, Run) {
    let mut blocks: BTreeMap<Factors, u32> = BTreeMap::new();
    let trial = |(factors, data): (Factors, TrialData)| {
        let block = blocks.entry(factors.clone()).or_insert(0);
        let mut draft = draft(factors, *block);
        draft.duration_ns = data.samples.len() as u64 * 1_000;
        *block += 1;
        (draft, data)
    };
    let trials: Vec<Trial> = trials.into_iter().map(trial).collect();
    saved(header(8, 99), &trials, status)
}

/// A trial with its samples.
pub type Trial = (TrialDraft, TrialData);

/// A run of trials as they are.
pub fn run_of(trials: &[Trial]) -> (TempDir, Run) {
    run_with(header(8, 99), trials)
}

/// The same on a machine of one's own.
pub fn run_with(header: RunHeader, trials: &[Trial]) -> (TempDir, Run) {
    saved(header, trials, Status::Complete)
}

fn saved(header: RunHeader, trials: &[Trial], status: Status) -> (TempDir, Run) {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("run");
    let mut writer = RunWriter::create(&path, header).unwrap();
    for (draft, data) in trials {
        writer.save(draft.clone(), data).unwrap();
    }
    writer.finish(status).unwrap();
    let run = Run::open(&path).unwrap();
    (directory, run)
}

/// A run like a default one, in a directory of its own.
pub fn realistic_run(blocks: u32, loads: &[&str], scale: usize) -> (TempDir, Run) {
    let directory = TempDir::new().unwrap();
    let run = realistic(&directory.path().join("run"), blocks, loads, 0, scale);
    (directory, run)
}

pub fn nothing() -> Assessment {
    Assessment {
        headline: "Nothing to judge.".into(),
        ..Assessment::default()
    }
}

/// A trial that outgrew its limit, so that only its largest samples are rows.
pub fn overgrown(values_ps: impl Iterator<Item = i64>) -> (TrialData, Storage) {
    let mut recorder = Recorder::new(64, None);
    for (i, value_ps) in values_ps.enumerate() {
        if recorder.is_full() {
            recorder.make_room();
        }
        recorder.push(Sample {
            at_ns: i as u64,
            value_ps,
            n: 1,
            ..Sample::default()
        });
    }
    recorder.finish()
}

pub fn gather(run: &Run) -> ReportData {
    ReportData::gather(run, |_| assessment()).unwrap()
}

/// The report of a run that is not judged.
pub fn unjudged(run: &Run) -> ReportData {
    ReportData::gather(run, |_| nothing()).unwrap()
}

/// The same of trials as they are.
pub fn report_of(trials: &[Trial]) -> ReportData {
    unjudged(&run_of(trials).1)
}

/// The same of a complete run of cells.
pub fn report_of_cells(trials: Vec<(Factors, TrialData)>) -> ReportData {
    unjudged(&run(trials, Status::Complete).1)
}

/// Each of `all` stands in the text.
#[track_caller]
pub fn has(text: &str, all: &[&str]) {
    for what in all {
        assert!(text.contains(what), "no {what:?} in {text}");
    }
}

/// The first line that begins so, however far it is indented.
#[track_caller]
pub fn line<'t>(text: &'t str, start: &str) -> &'t str {
    let mut lines = text.lines();
    let found = lines.find(|l| l.trim_start().starts_with(start));
    found.unwrap_or_else(|| panic!("no line begins with {start:?} in {text}"))
}

/// The report keeps within terminals of these widths.
#[track_caller]
pub fn fits(report: &ReportData, widths: &[usize]) {
    for width in widths {
        for line in terminal(report, *width, false).lines() {
            assert!(line.chars().count() <= *width, "{width}: {line}");
        }
    }
}
