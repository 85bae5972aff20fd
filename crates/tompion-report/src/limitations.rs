//! What a reader must know before trusting the figures of this run.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use tompion_cause::Source;
use tompion_model::{Measurement, Status, Storage, factor, format_ns};

use crate::clock_right::clocks;
use crate::data::{ReportData, Shown};
use crate::environment::emulation;
use crate::evidence::Evidence;
use crate::figures::{capital, count, percent, signed_ns};

/// One sentence each.
pub(crate) fn limitations(data: &ReportData) -> Vec<String> {
    let mut all = Vec::new();
    all.extend(early_end(data).map(|end| end.sentence()));
    all.extend(emulation(&data.record().header.environment).map(|how| {
        format!("This machine is emulated ({how}): its time says little about real hardware.")
    }));
    all.extend(data.record().mistakes());
    all.extend(cpu_quota(data).map(|q| q.1));
    all.extend(clock_steps(data));
    all.extend(trial_limits(data));
    all.extend(coarse(data));
    all.extend(missing(data));
    all.extend(evidence(data));
    all.extend(blind_spots(data));
    all
}

/// How a run ended early, and what it holds.
pub(crate) struct EarlyEnd {
    /// In two words.
    pub title: &'static str,
    how: &'static str,
    /// What was measured, for example `36 of 330 planned trials were measured.`
    pub measured: String,
    /// Whether nothing is missing all the same.
    is_whole: bool,
}

impl EarlyEnd {
    /// Both in one sentence.
    pub fn sentence(&self) -> String {
        // "Not finished: 6 of 6" would contradict itself.
        let joint = if self.is_whole { ", though" } else { ":" };
        format!("The run {}{joint} {}", self.how, self.measured)
    }
}

/// How the run ended, where that was early.
pub(crate) fn early_end(data: &ReportData) -> Option<EarlyEnd> {
    let record = data.record();
    let (title, how) = match record.status {
        Status::Complete => return None,
        Status::TimeLimit => ("Time limit", "stopped at its time limit"),
        Status::Incomplete => ("Incomplete", "ended in order, without what failed"),
        // Only a process that lives to say so writes down when it ended.
        Status::Interrupted if record.finished_at.is_some() => ("Interrupted", "was interrupted"),
        Status::Interrupted | Status::Running => ("Not finished", "is not finished"),
    };
    let design = &record.header.design;
    let planned = u64::from(design.blocks) * u64::from(design.cells);
    let done = record.trials.len() as u64;
    let of = if planned >= done && planned > 0 {
        format!("{} of {}", count(done), count(planned))
    } else {
        count(done)
    };
    // A live run has no plan.
    let what = if planned == 0 {
        "trials"
    } else {
        "planned trials"
    };
    let is_whole = planned > 0 && done == planned;
    let of = match is_whole {
        true => format!("all {}", count(planned)),
        false => of,
    };
    Some(EarlyEnd {
        title,
        how,
        measured: format!("{of} {what} were measured."),
        is_whole,
    })
}

/// That a control group limits the CPU time of everything measured here, and
/// whether it did so in this run.
pub(crate) fn cpu_quota(data: &ReportData) -> Option<(QuotaEffect, String)> {
    let record = data.record();
    let group = &record.header.environment.cgroup;
    let cpus = group.quota_cpus?;
    let limit = format!("A CPU quota grants this process and its loads {cpus:.2} CPUs together");
    let (effect, rest) = match record.throttling {
        Some(t) if t.throttled_periods == 0 => (
            QuotaEffect::NotFelt,
            "; they never used it up during the run.".to_owned(),
        ),
        Some(t) => (
            QuotaEffect::Felt,
            format!(
                ". They used it up in {} of {} periods{} of this run and stood still until the next: latencies and \
                 read costs contain these pauses, and loads were weaker than their names say.",
                count(t.throttled_periods),
                count(t.periods),
                group
                    .period_us
                    .map(|us| format!(" of {}", format_ns(us as f64 * 1e3)))
                    .unwrap_or_default(),
            ),
        ),
        None => (
            QuotaEffect::Felt,
            ". How often they used it up was not recorded: latencies and read costs may contain the pauses."
                .to_owned(),
        ),
    };
    Some((effect, format!("{limit}{rest}")))
}

/// That times of day of this run do not fit together.
fn clock_steps(data: &ReportData) -> Option<String> {
    let steps = clocks(data).steps;
    let by: Vec<String> = steps.iter().map(|s| signed_ns(s.ns as f64)).collect();
    (!by.is_empty()).then(|| {
        format!(
            "The time of day was set by {} while the run went on: times of day before and after that do not fit \
             together. Samples, durations and limits of time rest on clocks that are never set.",
            by.join(", then by ")
        )
    })
}

/// Whether a CPU quota may have shaped what was measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum QuotaEffect {
    /// It did, or nobody knows.
    Felt,
    /// It did not.
    NotFelt,
}

fn trial_limits(data: &ReportData) -> Vec<String> {
    let trials = &data.record().trials;
    let total = trials.len() as u64;
    let mut all = Vec::new();
    let mut say = |n: usize, text: &str| {
        if n > 0 {
            all.push(format!(
                "{} of {} trials {text}",
                count(n as u64),
                count(total)
            ));
        }
    };
    // A busy loop ends with its time, and keeps its short iterations in bins, by design.
    let sampled = || trials.iter().filter(|t| t.findings.stalls.is_none());
    say(
        sampled().filter(|t| t.measurement.ended_by_time).count(),
        "reached their time limit before they had all the samples they were meant to take.",
    );
    say(
        sampled()
            .filter(|t| matches!(t.storage, Storage::Tail { .. }))
            .count(),
        "outgrew their storage: their small values are counted in bins of three significant digits, only the largest are kept one by one and drawn over time.",
    );
    say(
        trials
            .iter()
            .filter(|t| !t.measurement.memory_locked)
            .count(),
        "ran without locked memory, so page faults of the probe itself may be among their values.",
    );
    if !trials.is_empty() && trials.iter().all(|t| t.block == 0) {
        all.push("One block only: there is nothing to compute intervals from.".to_owned());
    }
    all
}

/// That values were taken together to be kept in little memory.
fn coarse(data: &ReportData) -> Option<String> {
    let cells = data.cells();
    let coarse = cells.iter().filter(|c| c.is_coarse()).count() as u64;
    (coarse > 0).then(|| {
        format!(
            "{} of {} cells have so many distinct values that those within 0.025 % of one another were taken together \
             as their mean. Quantiles are right to 0.025 %, the smallest and the largest value of each trial to the last digit.",
            count(coarse),
            count(cells.len() as u64)
        )
    })
}

fn missing(data: &ReportData) -> Vec<String> {
    let empty = data.shown().filter(|s| s.view.plotted().is_none()).count();
    let flat: u64 = data.shown().map(|s| s.view.not_positive).sum();
    let mut all = Vec::new();
    if empty > 0 {
        all.push(match empty {
            1 => {
                "1 cell holds no samples: its trials ended before the first that counts.".to_owned()
            }
            n => format!(
                "{} cells hold no samples: their trials ended before the first that counts.",
                count(n as u64)
            ),
        });
    }
    if flat > 0 {
        all.push(format!(
            "{} samples are zero or negative; a logarithmic axis has no place for them, so plots show them at its lower edge.",
            count(flat)
        ));
    }
    all
}

/// What each platform says, in sentences. A run of several names it, and those that say the same
/// together: the words of one instance are no others'.
fn named<'a>(
    data: &ReportData,
    said: impl IntoIterator<Item = (Option<&'a str>, Vec<String>)>,
) -> Vec<String> {
    let mut all: Vec<(String, Vec<&str>)> = Vec::new();
    let mut places: HashMap<String, usize> = HashMap::new();
    for (platform, sentences) in said {
        for sentence in sentences {
            let place = *places.entry(sentence.clone()).or_insert(all.len());
            if place == all.len() {
                all.push((sentence, Vec::new()));
            }
            all[place].1.push(platform.unwrap_or("no platform"));
        }
    }
    let words = |(sentence, platforms): (String, Vec<&str>)| match data.has_platforms() {
        true => format!("On {}: {sentence}", platforms.join(", ")),
        false => sentence,
    };
    all.into_iter().map(words).collect()
}

/// What evidence of disturbances was missing, and how far the rest goes.
fn evidence(data: &ReportData) -> Vec<String> {
    let said = data.evidence_of().iter().map(|(platform, e)| {
        let platform = platform.as_deref();
        (platform, evidence_on(data, platform, e))
    });
    let mut all = named(data, said);
    let polled = |s: Shown<'_>| {
        let reasons = s.view.disturbed.reasons();
        reasons.iter().any(|r| r.source == Source::Polled)
    };
    if data.shown().any(polled) {
        all.push(
            "Marks named polled rest on counters read several times a second: they cover whole windows, hence also samples that nothing disturbed."
                .to_owned(),
        );
    }
    all
}

/// The same of one platform.
fn evidence_on(data: &ReportData, platform: Option<&str>, e: &Evidence) -> Vec<String> {
    let mut all = Vec::new();
    let missing = e.missing();
    if !missing.is_empty() {
        all.push(format!(
            "Evidence of disturbances that was not available: {}. What it alone would show is unknown here, and samples that \
             it alone would mark bear no mark.",
            missing.join("; ")
        ));
    }
    if e.trials > e.steal_accounted {
        all.push(format!(
            "In {} of {} trials no hypervisor accounted for the time it takes: such time looks like any other gap.",
            count(u64::from(e.trials - e.steal_accounted)),
            count(u64::from(e.trials))
        ));
    }
    if let Some(share) = e.own_cpu_share().filter(|s| *s > 0.0) {
        all.push(format!(
            "Observing took {} of a CPU itself.",
            percent(share)
        ));
    }
    let lost = data
        .shown()
        .filter(|s| s.cell.factors.get(factor::PLATFORM) == platform)
        .filter_map(|s| s.view.stalls.as_ref())
        .map(|s| s.total.rows_lost)
        .fold(0, u64::saturating_add);
    if lost > 0 {
        all.push(format!(
            "{} stalls found no room for rows of their own: they are counted by length, and have no cause.",
            count(lost)
        ));
    }
    all
}

/// What the probes cannot see, by platform.
fn blind_spots(data: &ReportData) -> Vec<String> {
    let mut by_platform: BTreeMap<Option<&str>, Vec<&Measurement>> = BTreeMap::new();
    for cell in data.cells() {
        let platform = cell.factors.get(factor::PLATFORM);
        let measurements = by_platform.entry(platform).or_default();
        measurements.extend(&cell.measurements);
    }
    let said = by_platform.into_iter();
    named(data, said.map(|(platform, all)| (platform, unseen(&all))))
}

/// The same of one platform, each sentence once with its technique.
fn unseen(measurements: &[&Measurement]) -> Vec<String> {
    let mut spots: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    let mut known = BTreeSet::new();
    for m in measurements {
        let blind = m.blind_spots.trim();
        if !blind.is_empty() {
            let techniques = spots.entry(blind).or_default();
            if known.insert((blind, m.technique.as_str())) {
                techniques.push(&m.technique);
            }
        }
    }
    spots
        .into_iter()
        .map(|(blind, techniques)| {
            let named: Vec<&str> = techniques.into_iter().filter(|t| !t.is_empty()).collect();
            if named.is_empty() {
                sentence(blind)
            } else {
                format!(
                    "{} Measured as {}.",
                    sentence(blind),
                    named.join("; or as ")
                )
            }
        })
        .collect()
}

/// With a capital and a full stop.
fn sentence(text: &str) -> String {
    let stop = if text.ends_with('.') { "" } else { "." };
    format!("{}{stop}", capital(text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use tompion_assess::verdict::Assessment;
    use tompion_model::{
        Design, Environment, EvidenceItem, Factors, Observation, RunHeader, TrialData, TrialDraft,
    };
    use tompion_store::{Run, RunWriter};

    fn trial(platform: &str, said: &str, own_cpu_share: f64) -> TrialDraft {
        TrialDraft {
            factors: Factors::new()
                .with(factor::PROBE, "wake-up")
                .with(factor::PLATFORM, platform),
            measurement: Measurement {
                blind_spots: said.to_owned(),
                ..Measurement::default()
            },
            observation: Some(Observation {
                evidence: vec![EvidenceItem {
                    name: "interrupts".to_owned(),
                    missing: Some(said.to_owned()),
                }],
                own_cpu_share,
                steal_is_accounted: true,
                ..Observation::default()
            }),
            ..TrialDraft::default()
        }
    }

    fn of_trials(trials: &[TrialDraft]) -> Vec<String> {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("run");
        let header = RunHeader {
            command_line: Vec::new(),
            tool: String::new(),
            started_at: "2025-01-02T03:04:05Z".to_owned(),
            design: Design {
                order: String::new(),
                seed: 0,
                blocks: 1,
                cells: trials.len() as u32,
            },
            environment: Environment::default(),
            guards: Vec::new(),
            profiles: Vec::new(),
        };
        let mut writer = RunWriter::create(&path, header).unwrap();
        for trial in trials {
            writer.save(trial.clone(), &TrialData::default()).unwrap();
        }
        writer.finish(Status::Complete).unwrap();
        let run = Run::open(&path).unwrap();
        limitations(&ReportData::gather(&run, |_| Assessment::default()).unwrap())
    }

    #[test]
    fn words_of_one_platform_stand_beside_its_name_alone() {
        let trials = [
            trial("bare", "short stalls", 0.0),
            trial("guest", "this report is void", 0.0),
            trial("twin", "short stalls", 0.0),
        ];
        let all = of_trials(&trials);
        for sentence in [
            "On bare, twin: Short stalls.",
            "On guest: This report is void.",
        ] {
            assert!(all.contains(&sentence.to_owned()), "{all:?}");
        }
        let words = all
            .iter()
            .filter(|told| told.to_lowercase().contains("is void"));
        assert!(
            words.clone().count() == 2 && words.clone().all(|told| told.starts_with("On guest: ")),
            "{all:?}"
        );
        let one = of_trials(&trials[..1]);
        assert!(one.contains(&"Short stalls.".to_owned()), "{one:?}");
    }

    #[test]
    fn what_observing_took_on_one_platform_is_told_of_no_other() {
        let honest = trial("bare", "not there", 0.01);
        let all = of_trials(&[
            honest.clone(),
            trial("twin", "not there", 0.01),
            trial("guest", "lies", 60.0),
        ]);
        let has = |sentence: &str| all.iter().any(|told| told.starts_with(sentence));
        assert!(
            has("On bare, twin: Observing took 1.00 % of a CPU"),
            "{all:?}"
        );
        assert!(
            has("On guest: Observing took 6\u{202f}000 % of a CPU"),
            "{all:?}"
        );
        assert!(
            has("On guest: Evidence of disturbances that was not available: interrupts (lies)"),
            "{all:?}"
        );
        let one = of_trials(&[honest]);
        assert!(
            one.contains(&"Observing took 1.00 % of a CPU itself.".to_owned()),
            "{one:?}"
        );
    }
}
