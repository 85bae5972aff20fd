//! Planted stalls with their causes.

use std::collections::BTreeMap;

use tompion_cause::{Cause, Source};
use tompion_model::{
    CauseTotal, EvidenceItem, Factors, Observation, Sample, StallPart, Stalls, Storage, TrialData,
    TrialDraft, stall_parts,
};
use tompion_stats::Bins;

use super::realistic::Random;
use super::{draft, key};

pub const THRESHOLD_NS: u64 = 1_000;

pub fn stalls_key(cpu: &str, load: &str) -> Factors {
    key("stalls", "busy-loop", load).with("cpu", cpu)
}

/// A stall to plant: when it begins, and its parts.
pub type Planted = (u64, Vec<(Cause, Option<&'static str>, u64)>);

pub fn evidence() -> Observation {
    let item = |name: &str, missing: Option<&str>| EvidenceItem {
        name: name.to_owned(),
        missing: missing.map(str::to_owned),
    };
    Observation {
        evidence: vec![
            item("context switches of the thread", None),
            item("counters of the thread", None),
            item("irq tracepoints", Some("tracefs is not readable")),
        ],
        steal_is_accounted: true,
        own_cpu_share: 0.004,
        marked: vec![],
    }
}

/// A trial of `wall_ns` with these stalls in time order; the other iterations
/// take 26 ns and are in bins.
pub fn stalls_trial(
    factors: Factors,
    block: u32,
    wall_ns: u64,
    planted: &[Planted],
) -> (TrialDraft, TrialData) {
    let mut samples = Vec::new();
    let mut parts = Vec::new();
    let mut causes: BTreeMap<(Cause, Option<&str>), CauseTotal> = BTreeMap::new();
    for (at_ns, of) in planted {
        let length: u64 = of.iter().map(|p| p.2).sum();
        samples.push(Sample {
            at_ns: at_ns + length,
            value_ps: length as i64 * 1000,
            n: 1,
            ..Sample::default()
        });
        for &(cause, by, ns) in of {
            parts.push(StallPart {
                at_ns: *at_ns,
                ns,
                cause,
                by: by.map(str::to_owned),
                source: Some(Source::Event),
                because: "planted".to_owned(),
            });
            let total = causes.entry((cause, by)).or_insert_with(|| CauseTotal {
                cause,
                by: by.map(str::to_owned),
                ns: 0,
                parts: 0,
                longest_ns: 0,
            });
            total.ns += ns;
            total.parts += 1;
            total.longest_ns = total.longest_ns.max(ns);
        }
    }
    let lost_ns: u64 = parts.iter().map(|p| p.ns).sum();
    let own_ns = wall_ns / 2_000;
    let observed_ns = wall_ns - own_ns - wall_ns / 10_000;
    let short = (observed_ns - lost_ns) / 26;
    let mut bins = Bins::new();
    bins.record_many(26_000, short - short / 1_000).unwrap();
    bins.record_many(61_000, short / 1_000 - short / 100_000)
        .unwrap();
    bins.record_many(410_000, short / 100_000).unwrap();
    let mut causes: Vec<CauseTotal> = causes.into_values().collect();
    causes.sort_by_key(|c| std::cmp::Reverse(c.ns));
    let cpu = factors.get("cpu").and_then(|c| c.parse().ok());
    let mut d = draft(factors, block);
    d.duration_ns = wall_ns;
    d.storage = Storage::Tail {
        limit_rows: 1 << 20,
        threshold_ps: THRESHOLD_NS as i64 * 1000,
    };
    d.findings.stalls = Some(Stalls {
        cpu,
        threshold_ns: THRESHOLD_NS,
        iterations: short + samples.len() as u64,
        loop_period_ns: 26.0,
        wall_ns,
        observed_ns,
        own_ns,
        stalls: samples.len() as u64,
        lost_ns,
        causes,
        ..Stalls::default()
    });
    d.observation = Some(evidence());
    let data = TrialData {
        samples,
        bins: Some(bins),
        filled_bins: Some(Bins::new()),
        tables: [(stall_parts::NAME.to_owned(), stall_parts::table(&parts))].into(),
    };
    (d, data)
}

/// A tick of 250 Hz, a hog of 5 ms every 50 ms, and now and then the hypervisor.
pub fn tick_and_hog(seed: u64, wall_ns: u64, hog: bool) -> Vec<Planted> {
    let mut r = Random(seed);
    let mut all: Vec<Planted> = Vec::new();
    let near = |at: u64, r: &mut Random| at + (1_500.0 * r.uniform()) as u64;
    for k in 1..wall_ns / 4_000_000 {
        let ns = 2_900.0 * (0.1 * r.normal()).exp();
        let at = near(k * 4_000_000, &mut r);
        let tick = (Cause::Tick, Some("local_timer"), ns as u64);
        all.push(match r.uniform() {
            x if x < 0.15 => {
                let work = (
                    Cause::Softirq,
                    Some("RCU"),
                    (900.0 * r.uniform()) as u64 + 200,
                );
                (at, vec![tick, work])
            }
            _ => (at, vec![tick]),
        });
    }
    if hog {
        for k in 1..wall_ns / 50_000_000 {
            let at = near(k * 50_000_000 + 1_300_000, &mut r);
            let ns = 5_000_000 + (20_000.0 * r.uniform()) as u64;
            all.push((at, vec![(Cause::Preempted, Some("hog[1234]"), ns)]));
        }
    }
    let mut at = 0.0;
    loop {
        at += -120e6 * r.uniform().ln();
        if at as u64 + 40_000_000 > wall_ns {
            break;
        }
        let ns = (60_000.0 * (1.2 * r.normal()).exp()) as u64 + 1_200;
        let cause = match r.uniform() {
            x if x < 0.5 => (Cause::Stolen, None, ns),
            x if x < 0.7 => (
                Cause::HardInterrupt,
                Some("virtio0-input.0"),
                ns / 8 + 1_500,
            ),
            x if x < 0.8 => (Cause::PageFault, None, ns / 20 + 1_200),
            x if x < 0.9 => (Cause::Migration, None, ns / 10 + 1_200),
            _ => (Cause::Unknown, None, ns),
        };
        all.push((at as u64, vec![cause]));
    }
    all.sort_by_key(|p| p.0);
    // One stall at a time: what begins within another did not happen.
    let mut end = 0;
    all.retain(|(at, parts)| {
        let free = *at > end + 2_000;
        if free {
            end = at + parts.iter().map(|p| p.2).sum::<u64>();
        }
        free
    });
    all
}
