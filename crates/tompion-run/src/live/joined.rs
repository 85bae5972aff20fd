//! Slices of one cell as one trial.

use tompion_model::{CpuUse, EvidenceItem, LoadEvidence, Observation, ObservedReason};

use crate::Trial;

/// Adds a slice to a trial of the same cell that began before it, both with every sample
/// kept. Times stay what they were: between the slices there are gaps.
pub(super) fn join(trial: &mut Trial, slice: Trial) {
    let (before, more) = (weight(trial), weight(&slice));
    let shift_ns = slice
        .outcome
        .began_ns
        .saturating_sub(trial.outcome.began_ns);
    let later = slice.outcome.data.samples.into_iter().map(|mut sample| {
        sample.at_ns += shift_ns;
        sample
    });
    trial.outcome.data.samples.extend(later);
    trial.ended = slice.ended;
    let (all, one) = (&mut trial.outcome.measurement, slice.outcome.measurement);
    all.wanted_samples = all.wanted_samples.saturating_add(one.wanted_samples);
    all.cpu_per_operation_ns = mean(
        all.cpu_per_operation_ns,
        before,
        one.cpu_per_operation_ns,
        more,
    );
    all.memory_locked &= one.memory_locked;
    trial.outcome.missed_periods = sum(trial.outcome.missed_periods, slice.outcome.missed_periods);
    match (&mut trial.load, slice.load) {
        (Some(all), Some(one)) => join_load(all, one),
        (all, one) => *all = all.take().or(one),
    }
    match (&mut trial.cpu_use, slice.cpu_use) {
        (Some(all), Some(one)) => {
            all.add(&one);
            // Of many slices as many names as of one.
            all.most.truncate(CpuUse::MOST);
        }
        (all, one) => *all = all.take().or(one),
    }
    match (&mut trial.observation, slice.observation) {
        (Some(all), Some(one)) => join_observation(all, one, before, more),
        (all, one) => *all = all.take().or(one),
    }
}

/// What a mean over slices weighs them by.
fn weight(trial: &Trial) -> f64 {
    trial.outcome.data.samples.len() as f64
}

fn mean(a: Option<f64>, of_a: f64, b: Option<f64>, of_b: f64) -> Option<f64> {
    match (a, b) {
        (Some(a), Some(b)) => Some(weighted(a, of_a, b, of_b)),
        (a, b) => a.or(b),
    }
}

fn weighted(a: f64, of_a: f64, b: f64, of_b: f64) -> f64 {
    (a * of_a + b * of_b) / (of_a + of_b).max(1.0)
}

fn sum(a: Option<u64>, b: Option<u64>) -> Option<u64> {
    a.zip(b).map(|(a, b)| a + b).or(a).or(b)
}

fn join_load(all: &mut LoadEvidence, one: LoadEvidence) {
    let (before, more) = (all.observed_ns as f64, one.observed_ns as f64);
    let rate = |a: f64, b: f64| weighted(a, before, b, more);
    all.context_switches_per_second = rate(
        all.context_switches_per_second,
        one.context_switches_per_second,
    );
    all.interrupts_per_second = rate(all.interrupts_per_second, one.interrupts_per_second);
    all.operations = sum(all.operations, one.operations);
    all.bytes = sum(all.bytes, one.bytes);
    all.cpu_time_ns += one.cpu_time_ns;
    all.observed_ns += one.observed_ns;
    for note in one.notes {
        if !all.notes.contains(&note) {
            all.notes.push(note);
        }
    }
    for (all, one) in all.parts.iter_mut().zip(one.parts) {
        join_load(all, one);
    }
}

fn join_observation(all: &mut Observation, one: Observation, before: f64, more: f64) {
    all.own_cpu_share = weighted(all.own_cpu_share, before, one.own_cpu_share, more);
    for item in one.evidence {
        let same = |i: &&mut EvidenceItem| i.name == item.name;
        match all.evidence.iter_mut().find(same) {
            // What one slice lacked, the trial lacks.
            Some(known) => known.missing = known.missing.take().or(item.missing),
            None => all.evidence.push(item),
        }
    }
    for reason in one.marked {
        let same =
            |r: &&mut ObservedReason| r.cause == reason.cause && r.by_events == reason.by_events;
        match all.marked.iter_mut().find(same) {
            Some(known) => known.samples += reason.samples,
            None => all.marked.push(reason),
        }
    }
    all.marked.sort_by_key(|r| std::cmp::Reverse(r.samples));
}
