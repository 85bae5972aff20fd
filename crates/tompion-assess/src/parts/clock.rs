//! Whether the clock is right.

use tompion_model::{factor, format_ns};

use super::fault::{ClockFault, Fault};
use super::part::{Part, State};
use super::seen::Seen;
use crate::wall_clock::{steps, wall_clock};

/// From this bound on an error is worth a warning: ntpd sets a clock that is further off, rather
/// than slew it.
const LARGE_NS: u64 = 128_000_000;

pub(super) fn part(seen: &Seen<'_>) -> Part {
    let mut details = Vec::new();
    let steps = steps(seen.clock_readings);
    let largest = steps.iter().max_by_key(|s| s.ns.unsigned_abs());
    let set = largest.map(|largest| ClockFault::Set {
        ns: largest.ns,
        times: steps.len(),
    });
    let mut faults: Vec<ClockFault> = set.into_iter().chain(backwards(seen)).collect();
    let clause = |fault: &ClockFault| (State::Fail, fault.in_words());
    let mut clauses: Vec<(State, String)> = faults.iter().map(clause).collect();
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
                    faults.push(ClockFault::NotSynchronised);
                    clauses.push(clause(&ClockFault::NotSynchronised));
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
        (None, Some(_)) => {
            faults.push(ClockFault::NotSynchronised);
            let words = ClockFault::NotSynchronised.in_words();
            clauses.push((State::Fail, format!("{words}, by the kernel's word")));
        }
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
    let faults = faults.into_iter().map(|f| (State::Fail, Fault::Clock(f)));
    Part::of("Clock", clauses, details).by(faults.collect())
}

/// The clock that ran backwards most often.
fn backwards(seen: &Seen<'_>) -> Option<ClockFault> {
    let steps = seen.trials.iter().filter_map(|t| {
        let granularity = t.measurement.granularity?;
        let clock = t.factors.level(factor::METHOD);
        (granularity.backward_steps > 0).then_some((granularity.backward_steps, clock))
    });
    let (times, clock) = steps.max()?;
    Some(ClockFault::Backwards {
        clock: clock.to_owned(),
        times,
    })
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
