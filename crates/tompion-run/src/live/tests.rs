//! Slices on a planted bench.

use std::path::Path;

use tompion_cause::Cause;
use tompion_load::LoadError;
use tompion_model::{
    CauseTotal, CpuUse, Environment, EvidenceItem, Findings, LoadEvidence, Mark, Measurement,
    Observation, ObservedReason, RunHeader, Sample, SideTables, StallPart, Stalls, Storage,
    TrialData, stall_parts,
};
use tompion_probe::timer_events::Found;
use tompion_probe::{Limits, Outcome};
use tompion_stats::Bins;
use tompion_store::Run;

use super::*;
use crate::plan::tests::{options, selection};
use crate::probes::Way;
use crate::{Clocks, Plan, PlannedSearch};

/// Time is what slices take; each holds one sample and one stall.
struct Planted {
    now: Duration,
    on: Option<usize>,
    switched: Vec<String>,
    slices: u64,
    fails: bool,
}

impl Bench for Planted {
    fn now(&mut self) -> Duration {
        self.now
    }

    fn load_on(&mut self, load: usize) -> Result<(), Error> {
        assert_eq!(self.on.replace(load), None, "two loads at once");
        self.switched.push(format!("+{load}"));
        Ok(())
    }

    fn load_off(&mut self, load: usize) -> Result<(), Error> {
        assert_eq!(self.on.take(), Some(load));
        self.switched.push(format!("-{load}"));
        Ok(())
    }

    fn throttling(&mut self) -> Option<Throttling> {
        None
    }

    fn clocks(&mut self) -> Clocks {
        Clocks {
            monotonic_raw_ns: self.now.as_nanos() as u64,
            ..Clocks::default()
        }
    }

    fn search(&mut self, _: &PlannedSearch, _: &Arc<AtomicBool>) -> Result<Found, Error> {
        unreachable!("nothing is searched for live")
    }

    fn trial(&mut self, cell: &PlannedCell, limits: &Limits) -> Result<Vec<Trial>, Error> {
        if self.fails {
            return Err(Error::Load(LoadError::DidNothing {
                load: "planted".into(),
                observed_ms: 1.0,
            }));
        }
        let started = self.now;
        self.now += Duration::from_nanos(limits.time_ns);
        self.slices += 1;
        let is_loop = matches!(cell.probe.way(), Way::Loops(_));
        let mut bins = Bins::new();
        bins.record(40_000).unwrap();
        let stalls = Stalls {
            iterations: 1_000,
            loop_period_ns: 40.0,
            wall_ns: limits.time_ns,
            stalls: 1,
            lost_ns: 7_000,
            causes: vec![CauseTotal {
                cause: Cause::Tick,
                by: None,
                ns: 7_000,
                parts: 1,
                longest_ns: 7_000 + self.slices,
            }],
            ..Stalls::default()
        };
        let sample = Sample {
            at_ns: 1_000_000,
            value_ps: 7_000_000,
            n: 1,
            missed: 2,
            mark: Mark::None,
        };
        let part = StallPart {
            at_ns: 1_000_000,
            ns: 7_000,
            cause: Cause::Tick,
            by: None,
            source: None,
            because: String::new(),
        };
        Ok(vec![Trial {
            factors: cell.factors.clone(),
            started,
            started_unix_ns: None,
            ended: self.now,
            outcome: Outcome {
                data: TrialData {
                    samples: vec![sample],
                    bins: is_loop.then_some(bins),
                    filled_bins: is_loop.then(Bins::new),
                    tables: match is_loop {
                        true => {
                            [(stall_parts::NAME.to_owned(), stall_parts::table(&[part]))].into()
                        }
                        false => SideTables::new(),
                    },
                },
                storage: match is_loop {
                    true => Storage::Tail {
                        limit_rows: 100,
                        threshold_ps: 999_999,
                    },
                    false => Storage::Complete,
                },
                measurement: Measurement {
                    wanted_samples: 10,
                    cpu_per_operation_ns: Some(self.slices as f64),
                    memory_locked: true,
                    ..Measurement::default()
                },
                missed_periods: Some(2),
                began_ns: started.as_nanos() as u64,
            },
            load: Some(LoadEvidence {
                operations: Some(5),
                cpu_time_ns: 11,
                observed_ns: limits.time_ns,
                interrupts_per_second: self.slices as f64,
                ..LoadEvidence::default()
            }),
            findings: match is_loop {
                true => stalls.into(),
                false => Findings::default(),
            },
            observation: Some(Observation {
                evidence: vec![EvidenceItem {
                    name: "planted".to_owned(),
                    missing: (self.slices == 2).then(|| "gone".to_owned()),
                }],
                marked: vec![ObservedReason {
                    cause: Cause::Tick,
                    samples: 1,
                    by_events: true,
                }],
                ..Observation::default()
            }),
            cpu_use: Some(CpuUse {
                watched_ns: 1_000,
                cpus: 2,
                programs_ns: 100 * self.slices,
                ..CpuUse::default()
            }),
        }])
    }
}

fn plan() -> Plan {
    let mut options = options();
    options.probes.push(selection("stalls", &[]));
    Plan::new(&options).unwrap()
}

fn cell(plan: &Plan, probe: &str, load: usize) -> PlannedCell {
    let is_it = |c: &&PlannedCell| c.load == load && c.factors.level("probe") == probe;
    plan.cells.iter().find(is_it).unwrap().clone()
}

fn bench() -> Planted {
    Planted {
        now: Duration::from_secs(1000),
        on: None,
        switched: Vec::new(),
        slices: 0,
        fails: false,
    }
}

fn writer(directory: &Path) -> RunWriter {
    let header = RunHeader {
        command_line: vec!["test".into()],
        tool: "test".into(),
        started_at: "2026-01-01T00:00:00Z".into(),
        design: Live::<Planted>::design(),
        environment: Environment::default(),
        guards: Vec::new(),
        profiles: Vec::new(),
    };
    RunWriter::create(directory, header).unwrap()
}

const SECOND: Duration = Duration::from_secs(1);

#[test]
fn slices_become_trials_of_ten_seconds_with_their_own_times() {
    let directory = tempfile::tempdir().unwrap();
    let place = directory.path().join("r");
    let (mut bench, mut writer, plan) = (bench(), writer(&place), plan());
    let sleeps = cell(&plan, "wake-up", 0);
    let mut live = Live::begin(&mut bench, &mut writer, &Arc::default());
    let mut seen = Vec::new();
    for _ in 0..13 {
        live.slice(&sleeps, SECOND, |t, at| {
            seen.push((t.outcome.data.samples.len(), at))
        })
        .unwrap();
    }
    assert_eq!(seen.len(), 13);
    assert_eq!(seen[12], (1, 12 * SECOND));
    live.finish(Status::Complete).unwrap();
    assert_eq!(bench.switched, ["+0", "-0"]);
    let run = Run::open(&place).unwrap();
    let trials = &run.record().trials;
    assert_eq!(run.record().status, Status::Complete);
    let readings = &run.record().clock_readings;
    let last = readings.last().unwrap();
    assert_eq!((readings.len(), last.at_ns), (2, 13_000_000_000));
    let of = |i: usize| (trials[i].block, trials[i].started_ns, trials[i].duration_ns);
    let s = SECOND.as_nanos() as u64;
    assert_eq!([of(0), of(1)], [(0, 0, 10 * s), (1, 10 * s, 3 * s)]);
    let data = run.data(&trials[0]).unwrap();
    let at: Vec<u64> = data.samples.iter().map(|x| x.at_ns).collect();
    assert_eq!(at, (0..10).map(|i| i * s + 1_000_000).collect::<Vec<_>>());
    assert_eq!(trials[0].measurement.wanted_samples, 100);
    // The mean of 1 to 10.
    assert_eq!(trials[0].measurement.cpu_per_operation_ns, Some(5.5));
    assert_eq!(trials[0].summary.missed_periods, Some(20));
    let load = trials[0].load.as_ref().unwrap();
    assert_eq!(
        (load.operations, load.cpu_time_ns, load.observed_ns),
        (Some(50), 110, 10 * s)
    );
    assert!((load.interrupts_per_second - 5.5).abs() < 1e-9);
    let observed = trials[0].observation.as_ref().unwrap();
    assert_eq!(observed.evidence.len(), 1);
    assert_eq!(observed.evidence[0].missing.as_deref(), Some("gone"));
    assert_eq!((observed.marked.len(), observed.marked[0].samples), (1, 10));
    let cpu_use = trials[0].cpu_use.as_ref().unwrap();
    // 100 times the sum of 1 to 10.
    assert_eq!((cpu_use.watched_ns, cpu_use.programs_ns), (10_000, 5_500));
}

#[test]
fn loops_in_turn_with_sleeps_are_trials_of_their_own() {
    let directory = tempfile::tempdir().unwrap();
    let place = directory.path().join("r");
    let (mut bench, mut writer, plan) = (bench(), writer(&place), plan());
    let (sleeps, stalls) = (cell(&plan, "wake-up", 0), cell(&plan, "stalls", 0));
    let mut live = Live::begin(&mut bench, &mut writer, &Arc::default());
    for _ in 0..2 {
        live.slice(&sleeps, SECOND, |_, _| ()).unwrap();
        live.slice(&stalls, SECOND, |_, _| ()).unwrap();
    }
    live.finish(Status::Complete).unwrap();
    let run = Run::open(&place).unwrap();
    let [first, second, sleeps] = &run.record().trials[..] else {
        panic!("three trials");
    };
    assert_eq!(sleeps.rows(), 2);
    let s = SECOND.as_nanos() as u64;
    for (i, trial) in [first, second].into_iter().enumerate() {
        assert_eq!(trial.block, i as u32);
        assert_eq!(trial.started_ns, (2 * i as u64 + 1) * s);
        assert_eq!(trial.findings.stalls.as_ref().unwrap().wall_ns, s);
        let data = run.data(trial).unwrap();
        assert_eq!(data.stall_parts()[0].at_ns, 1_000_000);
        assert_eq!(data.bins.unwrap().len(), 1);
    }
}

#[test]
fn another_load_or_cpu_begins_other_trials() {
    let directory = tempfile::tempdir().unwrap();
    let place = directory.path().join("r");
    let (mut bench, mut writer, plan) = (bench(), writer(&place), plan());
    let idle = cell(&plan, "wake-up", 0);
    let mut pinned = idle.clone();
    pinned.thread.cpu = Some(0);
    pinned.factors = pinned.factors.with("cpu", "0");
    let loaded = cell(&plan, "wake-up", 1);
    let mut live = Live::begin(&mut bench, &mut writer, &Arc::default());
    for cell in [&idle, &idle, &pinned, &loaded, &idle] {
        live.slice(cell, SECOND, |_, _| ()).unwrap();
    }
    live.finish(Status::Interrupted).unwrap();
    assert_eq!(
        bench.switched,
        ["+0", "-0", "+0", "-0", "+1", "-1", "+0", "-0"]
    );
    let run = Run::open(&place).unwrap();
    let trials: Vec<(String, u32)> = run
        .record()
        .trials
        .iter()
        .map(|t| {
            (
                t.factors.level("cpu").to_owned() + t.factors.level("load"),
                t.block,
            )
        })
        .collect();
    let want = [("idle", 0), ("0idle", 0), ("cpu", 0), ("idle", 1)];
    assert_eq!(trials, want.map(|(name, block)| (name.to_owned(), block)));
}

#[test]
fn an_error_keeps_what_was_measured() {
    let directory = tempfile::tempdir().unwrap();
    let place = directory.path().join("r");
    let (mut bench, mut writer, plan) = (bench(), writer(&place), plan());
    let sleeps = cell(&plan, "wake-up", 1);
    let mut live = Live::begin(&mut bench, &mut writer, &Arc::default());
    live.slice(&sleeps, SECOND, |_, _| ()).unwrap();
    live.bench.fails = true;
    let error = live.slice(&sleeps, SECOND, |_, _| ()).unwrap_err();
    assert!(error.to_string().contains("planted"), "{error}");
    live.rest().unwrap();
    live.bench.fails = false;
    live.slice(&sleeps, SECOND, |_, _| ()).unwrap();
    live.finish(Status::Complete).unwrap();
    assert_eq!(Run::open(&place).unwrap().record().trials.len(), 2);
}
