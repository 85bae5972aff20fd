//! A run like a default one: every method, lognormal values with tails.

use std::path::Path;

use tompion_model::{Factors, Granularity, Mark, Sample, Status, TrialData, TrialDraft, factor};

use tompion_store::{Run, RunWriter};

use super::{draft, header, key};

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

/// A run like a default one: every method beside each of `loads`, on each of `platforms`
/// if there are any.
pub fn realistic(
    directory: &Path,
    blocks: u32,
    loads: &[&str],
    platforms: usize,
    scale: usize,
) -> Run {
    let mut cells: Vec<(Factors, f64)> = Vec::new();
    for load in loads {
        one_load(&mut cells, load);
    }
    if platforms > 0 {
        let on = |p: usize| {
            let slower = 1.0 + 0.3 * p as f64;
            move |(f, ns): &(Factors, f64)| {
                let f = f.clone().with("platform", format!("site-{p:02}"));
                (f, ns * slower)
            }
        };
        cells = (0..platforms)
            .flat_map(|p| cells.iter().map(on(p)).collect::<Vec<_>>())
            .collect();
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

fn one_load(cells: &mut Vec<(Factors, f64)>, load: &str) {
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
            cells.push((
                key("wake-up", method, load).with(factor::TARGET, target),
                ns,
            ));
        }
    }
}

fn trial(
    r: &mut Random,
    f: &Factors,
    block: u32,
    median_ns: f64,
    scale: usize,
) -> (TrialDraft, TrialData) {
    let read = f.level(factor::PROBE) == "read-cost";
    let load = f.level(factor::LOAD);
    let (tail, longest) = match load {
        "idle" => (2e-4, 50.0),
        "network" => (4e-3, 60.0),
        _ => (1e-2, 900.0),
    };
    let target_ns = if f.level(factor::TARGET) == "1ms" {
        1_000_000.0
    } else {
        100_000.0
    };
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
        samples.push(Sample {
            at_ns: at as u64,
            value_ps: (ns * 1000.0) as i64,
            n: 1,
            missed,
            mark,
        });
    }
    if read {
        for _ in 0..200 {
            at += 1_000.0;
            let value_ps = ((median_ns - 4.0) * drift * (0.02 * r.normal()).exp() * 1000.0) as i64;
            samples.push(Sample {
                at_ns: at as u64,
                value_ps,
                n: 100,
                ..Sample::default()
            });
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
            smallest_step_ns: if f.level(factor::METHOD).ends_with("coarse") {
                4e6
            } else {
                0.37
            },
            common_step_ns: 0.37,
            zero_steps: 0.0,
            backward_steps: 0,
        });
    } else {
        let spinning = matches!(f.level(factor::METHOD), "busy-wait" | "tompion-hybrid");
        draft.measurement.cpu_per_operation_ns = Some(if spinning { target_ns } else { 3_200.0 });
    }
    (
        draft,
        TrialData {
            samples,
            ..TrialData::default()
        },
    )
}
