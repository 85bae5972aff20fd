//! A planted run: samples drawn from known distributions, saved as a real run.
#![allow(dead_code)]

use std::path::Path;

use tompion_record::{
    Environment, Factors, Granularity, LoadEvidence, Mark, Measurement, Recorder, Run, RunHeader,
    RunWriter, Sample, Status, Storage, TrialData, TrialDraft, Design, factor,
};
use tompion_report::ReportData;
use tompion_verdict::{Advice, Assessment, Finding, LoadVerdict, Outcome, ProfileVerdict};

/// Methods of each probe as a default run measures them.
pub const READS: [(&str, f64); 13] = [
    ("rdtsc", 13.0),
    ("rdtscp", 18.0),
    ("lfence-rdtsc", 19.5),
    ("tompion", 15.0),
    ("std-instant", 27.0),
    ("clock-monotonic", 24.0),
    ("clock-monotonic-raw", 25.0),
    ("clock-realtime", 24.2),
    ("clock-monotonic-coarse", 8.0),
    ("clock-boottime", 24.5),
    ("clock-tai", 24.6),
    ("gettimeofday", 26.0),
    ("syscall-clock-monotonic", 150.0),
];
pub const SLEEPS: [(&str, f64); 6] = [
    ("usleep", 4_000.0),
    ("nanosleep", 3_900.0),
    ("clock-nanosleep-abs", 3_700.0),
    ("timerfd", 4_400.0),
    ("ppoll", 4_200.0),
    ("std-sleep", 4_100.0),
];
pub const SPINS: [(&str, f64); 2] = [("busy-wait", 45.0), ("tompion-hybrid", 80.0)];

/// SplitMix64 (Steele, Lea, Flood 2014) with Box-Muller on top.
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
    pub fn uniform(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64 + f64::MIN_POSITIVE
    }
    pub fn normal(&mut self) -> f64 {
        (-2.0 * self.uniform().ln()).sqrt() * (std::f64::consts::TAU * self.uniform()).cos()
    }
}

pub fn header(blocks: u32, cells: u32) -> RunHeader {
    RunHeader {
        command_line: ["tompion", "check", "--loads", "idle,cpu,network"].map(str::to_owned).to_vec(),
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
        guards: vec!["sample buffers locked into memory".into(), "measuring thread pinned to CPU 1".into()],
    }
}

pub fn draft(factors: Factors, block: u32) -> TrialDraft {
    let load = factors.get(factor::LOAD).filter(|l| *l != "idle").map(|l| LoadEvidence {
        load: format!("{l}:threads=100"),
        driver: "built-in".into(),
        operations: Some(1_000_000),
        operation: Some("square root".into()),
        cpu_time_ns: 180_000_000,
        observed_ns: 100_000_000,
        context_switches_per_second: 4_500.0,
        interrupts_per_second: 1_800.0,
    });
    TrialDraft {
        factors,
        block,
        started_ns: 0,
        duration_ns: 0,
        measurement: Measurement {
            technique: "bracketed by rdtsc".into(),
            clock: "CLOCK_MONOTONIC".into(),
            floor_ns: Some(12.0),
            blind_spots: "Stalls shorter than one read are not seen.".into(),
            memory_locked: true,
            ..Measurement::default()
        },
        load,
        storage: Storage::Complete,
        missed_periods: None,
    }
}

/// Samples of given values, one a microsecond.
pub fn data(values_ps: impl IntoIterator<Item = i64>) -> TrialData {
    let samples = values_ps
        .into_iter()
        .enumerate()
        .map(|(i, value_ps)| Sample { at_ns: i as u64 * 1_000, value_ps, n: 1, missed: 0, mark: Mark::None })
        .collect();
    TrialData { samples, ..TrialData::default() }
}

pub fn key(probe: &str, method: &str, load: &str) -> Factors {
    Factors::new()
        .with(factor::PROBE, probe)
        .with(factor::METHOD, method)
        .with(factor::LOAD, load)
}

/// A run like a default one: 8 blocks, idle, cpu and network.
pub fn realistic(directory: &Path, blocks: u32, loads: &[&str], scale: usize) -> Run {
    let mut cells: Vec<(Factors, f64)> = Vec::new();
    for load in loads {
        for (method, ns) in READS {
            cells.push((key("read-cost", method, load), ns));
        }
        for target in ["100us", "1ms"] {
            for (i, (method, ns)) in SLEEPS.into_iter().enumerate() {
                if target == "1ms" && i > 2 {
                    continue;
                }
                let base = key("wake-up", method, load).with(factor::TARGET, target);
                cells.push((base.clone().with(factor::SLACK, "1ns"), ns));
                cells.push((base.with(factor::SLACK, "default"), ns + 50_000.0));
            }
            for (method, ns) in SPINS {
                cells.push((key("wake-up", method, load).with(factor::TARGET, target), ns));
            }
        }
    }
    let mut random = Random(7);
    let mut writer = RunWriter::create(directory, header(blocks, cells.len() as u32)).unwrap();
    for block in 0..blocks {
        for (factors, median_ns) in &cells {
            let (draft, data) = trial(&mut random, factors, block, *median_ns, scale);
            writer.save(draft, &data).unwrap();
        }
    }
    writer.finish(Status::Complete).unwrap();
    Run::open(directory).unwrap()
}

fn trial(r: &mut Random, f: &Factors, block: u32, median_ns: f64, scale: usize) -> (TrialDraft, TrialData) {
    let read = f.level(factor::PROBE) == "read-cost";
    let load = f.level(factor::LOAD);
    let (tail, longest) = match load {
        "idle" => (2e-4, 50.0),
        "network" => (4e-3, 60.0),
        _ => (1e-2, 900.0),
    };
    let target_ns = if f.level(factor::TARGET) == "1ms" { 1_000_000.0 } else { 100_000.0 };
    let n = if read { scale * 4 } else { scale };
    let grid = matches!(f.level(factor::METHOD), "clock-nanosleep-abs" | "timerfd");
    let mut at = 0.0;
    let mut missed_all = 0;
    let drift = 1.0 + 0.06 * r.normal();
    let mut samples = Vec::new();
    for i in 0..n {
        let spread = if read { 0.05 } else { 0.12 };
        let mut ns = median_ns * drift * (spread * r.normal()).exp();
        if read {
            // The counter behind the brackets has a resolution.
            ns = (ns / 0.370_37).round() * 0.370_37;
        }
        if r.uniform() < tail {
            ns += 1_000.0 * longest * (1.3 * r.normal()).exp();
        }
        let missed = if grid { (ns / target_ns) as u32 } else { 0 };
        missed_all += u64::from(missed);
        at += if read { 40.0 + ns } else { target_ns + ns };
        let mark = if i < 20 { Mark::WarmUp } else { Mark::None };
        samples.push(Sample { at_ns: at as u64, value_ps: (ns * 1000.0) as i64, n: 1, missed, mark });
    }
    if read {
        for _ in 0..200 {
            at += 1_000.0;
            let value_ps = ((median_ns - 4.0) * drift * (0.02 * r.normal()).exp() * 1000.0) as i64;
            samples.push(Sample { at_ns: at as u64, value_ps, n: 100, missed: 0, mark: Mark::None });
        }
    }
    let mut draft = draft(f.clone(), block);
    draft.duration_ns = at as u64;
    draft.measurement.wanted_samples = n as u64;
    draft.measurement.ended_by_time = load == "cpu" && block == 3;
    if grid {
        draft.measurement.period_ns = Some(target_ns as u64);
        draft.missed_periods = Some(missed_all);
    }
    if read {
        draft.measurement.granularity = Some(Granularity {
            smallest_step_ns: if f.level(factor::METHOD).ends_with("coarse") { 4e6 } else { 0.37 },
            common_step_ns: 0.37,
            zero_steps: 0.0,
            backward_steps: 0,
        });
    } else {
        let spinning = matches!(f.level(factor::METHOD), "busy-wait" | "tompion-hybrid");
        draft.measurement.cpu_per_operation_ns = Some(if spinning { target_ns } else { 3_200.0 });
    }
    (draft, TrialData { samples, ..TrialData::default() })
}

/// A trial that outgrew its limit, so that only its largest samples are rows.
pub fn overgrown(values_ps: impl Iterator<Item = i64>) -> (TrialData, Storage) {
    let mut recorder = Recorder::new(64, None);
    for (i, value_ps) in values_ps.enumerate() {
        if recorder.is_full() {
            recorder.make_room();
        }
        recorder.push(Sample { at_ns: i as u64, value_ps, n: 1, missed: 0, mark: Mark::None });
    }
    recorder.finish()
}

pub fn verdict(load: &str, outcome: Outcome, estimate_ns: f64) -> LoadVerdict {
    LoadVerdict {
        load: load.into(),
        outcome,
        limit_ns: 12_000.0,
        quantile: 0.99,
        estimate_ns,
        low_ns: Some(estimate_ns * 0.9),
        high_ns: Some(estimate_ns * 1.2),
        samples: 16_000,
        samples_missing: if outcome == Outcome::Inconclusive { 2_400 } else { 0 },
        reason: (outcome == Outcome::Inconclusive).then(|| "the interval spans the limit".to_owned()),
    }
}

/// An assessment in the form that the verdict crate makes.
pub fn assessment() -> Assessment {
    let method = key("wake-up", "tompion-hybrid", "idle").with(factor::TARGET, "100us").without(factor::LOAD);
    let profile = |name: &str, title: &str, outcomes: [Outcome; 3]| ProfileVerdict {
        name: name.into(),
        title: title.into(),
        requirement: "p99 of wake-up latency at most 12.0 µs".into(),
        source: "Kirova 2019, eq. 1: R = 8 * MTU / T, MTU 1500 bytes, T = 12 µs".into(),
        outcome: outcomes.into_iter().max().unwrap(),
        method: Some(method.clone()),
        by_load: vec![
            verdict("idle", outcomes[0], 140.0),
            verdict("cpu", outcomes[1], 11_800.0),
            verdict("network", outcomes[2], 64_000.0),
        ],
    };
    use Outcome::{Fail, Inconclusive, Pass};
    Assessment {
        headline: "Good for audio and VoIP under every load; packet pacing at 1 Gbit/s only when idle; not for 10 Gbit/s.".into(),
        profiles: vec![
            profile("voip", "VoIP", [Pass, Pass, Pass]),
            profile("audio-48k-64", "audio at 48 kHz with 64 frames", [Pass, Inconclusive, Pass]),
            profile("pacing-1g", "packet pacing at 1 Gbit/s", [Pass, Inconclusive, Fail]),
            profile("pacing-10g", "packet pacing at 10 Gbit/s", [Fail, Fail, Fail]),
        ],
        findings: vec![
            Finding {
                sentence: "Under load cpu the p99 of usleep at 100 µs is 412× that when idle: 26.1 ms instead of 63.4 µs.".into(),
                cell: key("wake-up", "usleep", "cpu").with(factor::TARGET, "100us"),
                ratio: 412.0,
            },
            Finding {
                sentence: "A real system call costs 12× a read of the counter.".into(),
                cell: key("read-cost", "syscall-clock-monotonic", "idle"),
                ratio: 12.0,
            },
        ],
        advice: vec![
            Advice {
                sentence: "Timer slack 1 ns took the median wake-up latency of usleep (100 µs, idle) from 54.0 µs to 4.00 µs.".into(),
                how: "prctl(PR_SET_TIMERSLACK, 1)".into(),
                price: "timers are no longer batched, so an idle CPU wakes more often".into(),
                before_ns: 54_000.0,
                after_ns: 4_000.0,
                gain: 13.5,
                gain_low: Some(13.1),
                gain_high: Some(13.9),
                effective: true,
            },
            Advice {
                sentence: "Reading CLOCK_MONOTONIC_RAW instead of CLOCK_MONOTONIC gains nothing.".into(),
                how: "clock_gettime(CLOCK_MONOTONIC_RAW, &t)".into(),
                price: "no slewing by NTP".into(),
                before_ns: 24.0,
                after_ns: 24.1,
                gain: 0.996,
                gain_low: Some(0.97),
                gain_high: Some(1.02),
                effective: false,
            },
        ],
    }
}

pub fn gather(run: &Run) -> ReportData {
    ReportData::gather(run, |_| assessment()).unwrap()
}
