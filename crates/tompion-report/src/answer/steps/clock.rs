//! What brings the clock in step, where it is not.

use tompion_assess::wall_clock::wall_clock;
use tompion_model::format_ns;

use super::{Kind, Mends, Shown, Step};
use crate::data::ReportData;

pub(super) static ENTRY: Kind = Kind { steps };

fn steps(data: &ReportData, _: &[Shown<'_>]) -> Vec<Step> {
    step(data).into_iter().collect()
}

fn step(data: &ReportData) -> Option<Step> {
    let clock = wall_clock(&data.record().header.environment);
    let clock = clock.filter(|c| c.in_step == Some(false))?;
    let remedy = clock.remedy?;
    let off = clock.error_at_most_ns.map(|ns| format_ns(ns as f64));
    let error = match off {
        Some(off) => format!("clock error now: at most {off}"),
        None => "clock error unknown".to_owned(),
    };
    let first = remedy.steps.first().unwrap_or(&remedy.what).clone();
    Some(Step {
        mends: Mends::Clock,
        short: first,
        what: match &remedy.steps[..] {
            [] => remedy.what.clone(),
            [one] => one.clone(),
            [one, two] => format!("{one}, then {two}"),
            [one, two, more @ ..] => {
                format!("{one}, then {two}; {} more steps: tompion env", more.len())
            }
        },
        effect: format!("for {}; {error}", remedy.what),
        gain: error,
    })
}
