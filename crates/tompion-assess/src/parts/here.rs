//! What else goes on here: other programs, and limits on CPU time.

use tompion_cause::Cause;
use tompion_model::{CpuUse, format_ns};

use super::fault::Fault;
use super::part::{Part, SENTENCE, State};
use super::programs::{WORTH_SAYING, named};
use super::seen::Seen;
use super::taken::Taken;
use super::takers;
use super::words::{percent, set_ns};

/// Throttled in more than this share of the periods, no high quantile is left alone.
const OFTEN: f64 = 0.01;

pub(super) fn part(seen: &Seen<'_>) -> Part {
    let mut clauses = Vec::new();
    let mut details = Vec::new();
    let quota = quota(seen);
    let others = seen.cpu_use();
    let share = others.as_ref().map(|u| u.share(u.programs_ns));
    clauses.extend(quota.clone());
    match (&others, share) {
        (Some(cpu_use), Some(share)) => {
            let seen_here = if cpu_use.sees_all() {
                ""
            } else {
                " seen from here"
            };
            let of = percent(share);
            let took = format!("other programs{seen_here} took {of} of the CPUs");
            clauses.push(match share > WORTH_SAYING {
                true => (State::Warn, format!("{took}{}", names(cpu_use, &took))),
                false => (State::Ok, took),
            });
            if !cpu_use.sees_all() {
                let sentence =
                    "Programs outside this container, or of other users, are not seen from here.";
                details.push(sentence.to_owned());
            }
        }
        _ => clauses.push((
            State::NotMeasured,
            "other programs were not watched".to_owned(),
        )),
    }
    if quota.is_none() {
        clauses.push(match seen.environment.cgroup.version {
            Some(_) => (State::Ok, "no CPU limit".to_owned()),
            None => (State::NotMeasured, "CPU limits not known".to_owned()),
        });
    }
    clauses.extend(affinity(seen));
    if let Some(before) = seen.cpu_use_before {
        details.push(in_full("Before the run", before));
    }
    details.extend(others.map(|u| in_full("During its trials", &u)));
    let (_, stalls) = seen.stalls();
    let causes = [
        (Cause::Preempted, "Others who had the CPU"),
        (Cause::Throttled, "The CPU quota"),
    ];
    details.extend(throttled(seen));
    let sentence = |(cause, what): (Cause, &str)| Taken::by(&stalls, &[cause]).sentence(what);
    details.extend(causes.into_iter().filter_map(sentence));
    let used_up = quota.zip(takers::quota(seen));
    let used_up = used_up.map(|((state, _), took)| (state, Fault::Quota { took }));
    let programs = takers::programs(seen);
    let programs = programs.map(|(took, names)| (State::Warn, Fault::Programs { took, names }));
    let mut part = Part::of("Here", clauses, details);
    // Without a look at other programs nothing here is known to be fine.
    if part.state == State::Ok && share.is_none() {
        part.state = State::NotMeasured;
    }
    part.by(used_up.into_iter().chain(programs).collect())
}

/// What a CPU quota did; nothing where there is none.
fn quota(seen: &Seen<'_>) -> Option<(State, String)> {
    let group = &seen.environment.cgroup;
    let cpus = group.quota_cpus.map(|cpus| format!("{cpus:.2} CPUs"));
    let of = cpus.clone().map(|cpus| format!(" of {cpus}"));
    let of = of.unwrap_or_default();
    let period_ns = group.period_us.map(|us| us.saturating_mul(1_000));
    let periods = period_ns.map(|ns| format!(" of {}", set_ns(ns)));
    match seen.throttling {
        Some(t) if t.throttled_periods > 0 => {
            let share = t.throttled_periods as f64 / t.periods.max(1) as f64;
            let state = match share > OFTEN {
                true => State::Fail,
                false => State::Warn,
            };
            let periods = periods.unwrap_or_default();
            Some((
                state,
                format!(
                    "throttled in {} of its periods{periods}: CPU quota{of}",
                    percent(share)
                ),
            ))
        }
        Some(_) => cpus.map(|cpus| (State::Ok, format!("CPU quota of {cpus}, never used up"))),
        None => cpus.map(|cpus| {
            let clause = format!("CPU quota of {cpus}, not watched whether it was used up");
            (State::Warn, clause)
        }),
    }
}

/// How often a CPU quota was used up, in full.
fn throttled(seen: &Seen<'_>) -> Option<String> {
    let felt = seen.throttling.filter(|t| t.throttled_periods > 0)?;
    let (used_up, all) = (felt.throttled_periods, felt.periods);
    Some(format!(
        "The CPU quota was used up in {used_up} of {all} periods."
    ))
}

/// That not all CPUs may be used.
fn affinity(seen: &Seen<'_>) -> Option<(State, String)> {
    let online = u64::from(seen.environment.machine.cpus_online?);
    let allowed = count(seen.environment.scheduling.allowed_cpus.as_deref()?)?;
    let clause = format!("may use {allowed} of {online} CPUs");
    (allowed < online).then_some((State::Ok, clause))
}

/// How many CPUs a list such as `0-3,5` has.
fn count(list: &str) -> Option<u64> {
    let of = |range: &str| -> Option<u64> {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let number = |text: &str| text.trim().parse::<u64>().ok();
        (number(last)?.checked_sub(number(first)?)?).checked_add(1)
    };
    let add = |sum: u64, range: &str| sum.checked_add(of(range)?);
    list.split(',').try_fold(0, add)
}

/// ` (cc1 41 %, make 12 %)`: as many as there is room for behind what is said before.
fn names(cpu_use: &CpuUse, said: &str) -> String {
    let room = SENTENCE.saturating_sub(said.chars().count());
    let mut of = (1..=CpuUse::MOST)
        .rev()
        .map(|n| in_brackets(named(cpu_use, n)));
    of.find(|text| text.chars().count() <= room)
        .unwrap_or_default()
}

fn in_brackets(named: Option<String>) -> String {
    named.map_or_else(String::new, |named| format!(" ({named})"))
}

/// For people who want to know all of it.
fn in_full(when: &str, cpu_use: &CpuUse) -> String {
    let share = |ns| percent(cpu_use.share(ns));
    let kernel = cpu_use.kernel_threads_ns;
    let kernel = kernel.map(|ns| format!(", threads of the kernel {}", share(ns)));
    format!(
        "{when} other programs took {} of the time of {} CPUs{}{}, in {}.",
        share(cpu_use.programs_ns),
        cpu_use.cpus,
        in_brackets(named(cpu_use, CpuUse::MOST)),
        kernel.unwrap_or_default(),
        format_ns(cpu_use.watched_ns as f64),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_of_more_cpus_than_can_be_counted_is_none() {
        assert_eq!(count("0-3,5"), Some(5));
        assert_eq!(count("0-18446744073709551614,0-0"), None);
        assert_eq!(count("0-18446744073709551615"), None);
        assert_eq!(count("3-0"), None);
    }
}
