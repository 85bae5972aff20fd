//! Planted timer events.

use tompion_model::{Factors, LoadEvidence, Mark, Sample, Storage, TrialData, TrialDraft, factor};

use super::realistic::Random;
use super::{draft, key};

pub fn timer_key(method: &str, period: &str, form: &str, load: &str) -> Factors {
    key("timer-events", method, load)
        .with(factor::TARGET, period)
        .with("form", form)
}

/// Evidence of what the machine did, at rest as well.
pub fn activity(load: &str, interrupts_per_second: f64, observed_ns: u64) -> LoadEvidence {
    let mut d = draft(key("", "", "cpu"), 0).load.unwrap();
    d.load = load.to_owned();
    d.interrupts_per_second = interrupts_per_second;
    d.observed_ns = observed_ns;
    d
}

/// A trial of periodic events: each lateness in nanoseconds, points missed by being late.
pub fn on_grid(
    factors: Factors,
    block: u32,
    period_ns: u64,
    warm: usize,
    late_ns: &[u64],
) -> (TrialDraft, TrialData) {
    let mut due = period_ns;
    let mut missed_all = 0;
    let samples = late_ns.iter().enumerate().map(|(i, late)| {
        let missed = late / period_ns;
        let mark = if i < warm { Mark::WarmUp } else { Mark::None };
        let sample = Sample {
            at_ns: due + late,
            value_ps: *late as i64 * 1000,
            n: 1,
            missed: missed as u32,
            mark,
        };
        due += (missed + 1) * period_ns;
        missed_all += if i < warm { 0 } else { missed };
        sample
    });
    let data = TrialData {
        samples: samples.collect(),
        ..TrialData::default()
    };
    let mut d = draft(factors, block);
    d.duration_ns = due;
    d.measurement.period_ns = Some(period_ns);
    d.measurement.cpu_per_operation_ns = Some(3_200.0);
    d.missed_periods = Some(missed_all);
    d.storage = Storage::Complete;
    (d, data)
}

/// A re-armed trial: each interval is the period and `more_ns`.
pub fn rearmed(
    factors: Factors,
    block: u32,
    period_ns: u64,
    more_ns: &[i64],
) -> (TrialDraft, TrialData) {
    let mut at_ns = 0u64;
    let samples = more_ns.iter().map(|more| {
        at_ns += period_ns.saturating_add_signed(*more);
        Sample {
            at_ns,
            value_ps: more * 1000,
            n: 1,
            ..Sample::default()
        }
    });
    let data = TrialData {
        samples: samples.collect(),
        ..TrialData::default()
    };
    let mut d = draft(factors, block);
    d.duration_ns = at_ns;
    (d, data)
}

/// A run as `measure timer-events` makes it.
pub fn timer_events(blocks: u32, loads: &[&str], events: usize) -> Vec<(TrialDraft, TrialData)> {
    const MECHANISMS: [(&str, f64); 7] = [
        ("timerfd", 4_400.0),
        ("clock-nanosleep-abs", 3_700.0),
        ("clock-nanosleep-rel", 3_900.0),
        ("posix-timer", 5_300.0),
        ("io-uring", 6_100.0),
        ("epoll", 4_900.0),
        ("ticker", 90.0),
    ];
    let mut random = Random(11);
    let mut all = Vec::new();
    for block in 0..blocks {
        for (load_index, load) in loads.iter().enumerate() {
            for (period, period_ns) in [("50us", 50_000u64), ("150us", 150_000)] {
                for (method, late) in MECHANISMS {
                    let tail = 0.002 * (1.0 + 4.0 * load_index as f64);
                    let mut lateness = |_: usize| {
                        let mut ns = late * (0.12 * random.normal()).exp();
                        if random.uniform() < tail {
                            ns += 30_000.0 * (1.4 * random.normal()).exp();
                        }
                        ns
                    };
                    let values: Vec<f64> = (0..events).map(&mut lateness).collect();
                    let grid: Vec<u64> = values.iter().map(|v| *v as u64).collect();
                    let more: Vec<i64> = values.iter().map(|v| *v as i64).collect();
                    let of = |form| timer_key(method, period, form, load);
                    if method != "clock-nanosleep-rel" {
                        all.push(on_grid(of("grid"), block, period_ns, 20, &grid));
                    }
                    if method != "ticker" {
                        all.push(rearmed(of("rearmed"), block, period_ns, &more));
                    }
                    for (d, _) in all.iter_mut().rev().take(2) {
                        let interrupts = 18_000.0 + 4_000.0 * load_index as f64;
                        d.load = Some(activity(load, interrupts, 400_000_000));
                    }
                }
            }
        }
    }
    all
}
