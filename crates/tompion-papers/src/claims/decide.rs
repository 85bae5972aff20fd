//! Deciding claims by a recorded run: each rule reads the cells it needs and says what they
//! come to, or nothing where the run lacks them. No I/O.
//!
//! Trials are the replicates; a rule rests on the interval of a median over replicates, from
//! order statistics. What was measured on an emulated platform is left out: it is no
//! evidence about hardware. Where neither side of a rule is met the finding is
//! [`Outcome::NotDecidable`], which leaves the register as it is.

mod bounds;
mod causes;
mod observed;
mod packets;
mod rules;
#[cfg(test)]
mod tests;

use std::collections::HashSet;

use tompion_model::{RunRecord, Trial};

use crate::claims::{Finding, Machine, Source};
use observed::Observed;

/// Claims that a run can decide, with the rules: claim, what has to be in the run, rule.
const RULES: &[(&str, rules::Rule)] = &[
    ("kirova-2019/busy-wait-takes-a-whole-cpu", rules::whole_cpu),
    (
        "kirova-2019/hybrid-as-precise-as-busy-wait",
        rules::hybrid_as_busy_wait,
    ),
    ("kirova-2019/samples-are-not-normal", rules::not_normal),
    (
        "korniichuk-2017/idle-means-near-medians",
        rules::means_near_medians,
    ),
    (
        "korniichuk-2017/cpu-load-hybrid-means",
        rules::hybrid_means_beside_cpu,
    ),
    (
        "perneel-2015/overhead-is-max-less-bare",
        bounds::maxima_describe,
    ),
    (
        "whiteaker-2011/guest-cannot-see-cause",
        causes::told_beside_a_neighbour,
    ),
    (
        "whiteaker-2011/kernel-delay-is-queueing",
        packets::kernel_delay_is_queueing,
    ),
    (
        "whiteaker-2011/ping-kernel-stamps-no-help",
        packets::ping_kernel_stamps_no_help,
    ),
    (
        "whiteaker-2011/no-stamp-of-the-card",
        packets::no_stamp_of_the_card,
    ),
    ("adamczyk-2015/no-20-us-applications", bounds::within_20_us),
    (
        "adamczyk-2015/ten-us-impossible-under-io",
        bounds::holds_10_us,
    ),
];

/// Names of the claims that a run can decide, if only it has their cells.
pub fn decidable() -> impl Iterator<Item = &'static str> {
    RULES.iter().map(|(claim, _)| *claim)
}

/// The plan whose run has the cells for a claim of `paper`.
pub fn plan(paper: &str) -> &'static str {
    match paper {
        "perneel-2015" | "whiteaker-2011" => "plans/perneel-2015.toml",
        "adamczyk-2015" => "plans/adamczyk-2015.toml",
        _ => "plans/kirova-2019.toml",
    }
}

/// What `record` says of the claims that it has the cells for.
pub fn decide(record: &RunRecord) -> Vec<Finding> {
    let emulated = record.platforms.iter().filter(|p| p.emulated.is_some());
    let emulated: HashSet<&str> = emulated.map(|p| &*p.level).collect();
    let is_emulated = |trial: &Trial| {
        let level = trial.factors.get(tompion_model::factor::PLATFORM);
        level.is_some_and(|level| emulated.contains(level))
    };
    let machine = &record.header.environment;
    if machine.virtualization.emulated.is_some() {
        return Vec::new();
    }
    let trials = record.trials.iter().filter(|t| !is_emulated(t));
    let observed = Observed::new(trials, record);
    let of = |(claim, rule): &(&str, rules::Rule)| {
        let mut finding = rule(&observed)?;
        finding.claim = (*claim).to_owned();
        Some(finding)
    };
    RULES.iter().filter_map(of).collect()
}

/// The machine of a run and the run itself, as evidence names them; `sha256` is that of its
/// `run.json`, in hexadecimal.
pub fn source(record: &RunRecord, sha256: &str) -> Source {
    let seen = &record.header.environment;
    let unknown = || "unknown".to_owned();
    let parts = [
        &seen.virtualization.hypervisor,
        &seen.virtualization.machine_monitor,
        &seen.container.kind,
    ];
    let parts: Vec<&str> = parts.into_iter().flatten().map(String::as_str).collect();
    let virtualization = match parts.is_empty() {
        true => "none".to_owned(),
        false => parts.join(", "),
    };
    let cpus = seen.machine.cpus_online.map(|n| format!(", {n} CPUs"));
    let cpu = seen.machine.cpu_model.clone().unwrap_or_else(unknown);
    Source::Runs {
        machine: Machine {
            cpu: cpu + &cpus.unwrap_or_default(),
            virtualization,
            kernel: seen.kernel.release.clone().unwrap_or_else(unknown),
            clocksource: seen.clock.clocksource.clone().unwrap_or_else(unknown),
        },
        emulated: false,
        runs: vec![crate::claims::RecordedRun {
            started_at: record.header.started_at.clone(),
            run_json_sha256: sha256.to_owned(),
        }],
    }
}
