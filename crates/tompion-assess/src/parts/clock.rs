//! Whether the clock is right.

use tompion_model::{factor, format_ns};

use super::part::{Part, State};
use super::seen::Seen;
use crate::wall_clock::{steps, wall_clock};

/// From this bound on an error is worth a warning: ntpd sets a clock that is further off, rather
/// than slew it.
const LARGE_NS: u64 = 128_000_000;

pub(super) fn part(seen: &Seen<'_>) -> Part {
    let mut clauses = Vec::new();
    let mut details = Vec::new();
    let steps = steps(seen.clock_readings);
    if let Some(largest) = steps.iter().max_by_key(|s| s.ns.unsigned_abs()) {
        let sign = if largest.ns < 0 { '\u{2212}' } else { '+' };
        let ns = format_ns(largest.ns.unsigned_abs() as f64);
        let more = match steps.len() {
            1 => String::new(),
            n => format!(" and {} times more", n - 1),
        };
        let clause = format!("set by {sign}{ns}{more} during the run");
        clauses.push((State::Fail, clause));
    }
    clauses.extend(backwards(seen));
    let environment = seen.environment;
    match (wall_clock(environment), &environment.synchronisation) {
        (Some(clock), _) => {
            let told = uncapital(&clock.answer);
            let mut told = told.split(": ").map(str::to_owned);
            let first = told.next().unwrap_or_default();
            match (clock.in_step, clock.error_at_most_ns) {
                (Some(true), Some(ns)) => {
                    let state = match ns > LARGE_NS {
                        true => State::Warn,
                        false => State::Ok,
                    };
                    clauses.push((State::Ok, first));
                    clauses.push((state, format!("error at most {}", format_ns(ns as f64))));
                }
                (Some(true), None) => {
                    clauses.push((State::Ok, first));
                    clauses.push((State::Ok, "nothing bounds its error".to_owned()));
                }
                (Some(false), _) => {
                    clauses.push((State::Fail, "not synchronised".to_owned()));
                    clauses.push((State::Fail, first));
                }
                (None, _) => clauses.push((State::Warn, first)),
            }
            let state = clauses.last().map_or(State::Warn, |c| c.0);
            clauses.extend(told.map(|clause| (state, clause)));
            if let Some(remedy) = clock.remedy {
                details.push(format!("What would help: {}.", remedy.what));
                details.extend(remedy.steps);
            }
        }
        (None, Some(kernel)) if kernel.synchronised => {
            let bound = format_ns(kernel.maximum_error_ns.max(0) as f64);
            let clause = format!("in step by the kernel's word, error at most {bound}");
            clauses.push((State::Ok, clause));
        }
        (None, Some(_)) => clauses.push((
            State::Fail,
            "not synchronised, by the kernel's word".to_owned(),
        )),
        (None, None) => {}
    }
    match (clauses.is_empty(), seen.clock_readings.len()) {
        (true, _) => {}
        (_, 0 | 1) => details.push("The run did not watch whether it was set.".to_owned()),
        _ if steps.is_empty() => details.push("It was not set during the run.".to_owned()),
        _ => {}
    }
    if clauses.is_empty() {
        let why = "nothing in this run tells whether the wall clock is right";
        clauses.push((State::NotMeasured, why.to_owned()));
    }
    Part::of("Clock", clauses, details)
}

/// The clock that ran backwards most often.
fn backwards(seen: &Seen<'_>) -> Option<(State, String)> {
    let steps = seen.trials.iter().filter_map(|t| {
        let granularity = t.measurement.granularity?;
        let clock = t.factors.level(factor::METHOD);
        (granularity.backward_steps > 0).then_some((granularity.backward_steps, clock))
    });
    let (times, clock) = steps.max()?;
    let times = match times {
        1 => "once".to_owned(),
        n => format!("{n} times"),
    };
    Some((State::Fail, format!("{clock} ran backwards {times}")))
}

/// As it stands within a sentence; names keep their letters.
fn uncapital(answer: &str) -> String {
    let begins = ["Nothing ", "The "];
    match begins.iter().any(|word| answer.starts_with(word)) {
        true => {
            let mut letters = answer.chars();
            let first = letters.next().map(|c| c.to_lowercase().to_string());
            first.unwrap_or_default() + letters.as_str()
        }
        false => answer.to_owned(),
    }
}
