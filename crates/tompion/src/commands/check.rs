//! `tompion check`: measure, save, report.

use std::collections::BTreeSet;
use std::time::Duration;

use tompion_assess::verdict::company::Scheduler;
use tompion_assess::verdict::{CHECK_S, Profile, is_judged_at, profiles as built_in};
use tompion_model::{InCheck, Unavailable, factor, format_duration, parse_duration_ns};
use tompion_probe::{read_cost, stalls, timer_events, wake_up};
use tompion_run::probes::{Selection, Slack};
use tompion_run::{Plan, PlanOptions};

mod decisions;
mod selection;

use decisions::{Decisions, QUICK_RUN_S, require_time, scheduler, selections, without_time};
use selection::{EVENT_COUNT, EVENT_PERIOD, STALL, selection, texts};

use super::profiles::{Required, profiles_in, require_known};
use super::report::{Judged, Shape};
use super::session::{Promises, carry_out, plan_of_nothing};
use crate::cli::{CheckOptions, MethodName};
use crate::exit;

/// What the loads may write; with the samples of a default run (some 60 MB) a check stays
/// below 200 MB.
const LOAD_BYTES: u64 = 140_000_000;

/// Share of its busy loop in the run's time, relative to a wake-up cell of 1 ms.
const STALL_WEIGHT: f64 = 1.5;

/// Carries out the command.
pub fn check(options: &CheckOptions) -> exit::Result {
    let own = options.profiles.as_deref().map(profiles_in).transpose()?;
    if let Some(None) = own {
        return Ok(exit::ERROR);
    }
    let own = own.flatten();
    let is_own = own.is_some();
    let profiles = own.unwrap_or_else(|| built_in().to_vec());
    require_known(&profiles, &options.require)?;
    let scheduler = scheduler();
    let wanted = plan_options(options, &profiles, scheduler)?;
    let is_judged = wanted.probes.iter().any(|s| s.probe.name == wake_up::NAME);
    if let (Some(profile), false) = (options.require.first(), is_judged) {
        anyhow::bail!(
            "--require {} is judged by wake-up latency, and --methods names nothing that \
             measures it; add a method that waits, for example timerfd",
            profile
        );
    }
    let plan = Plan::new(&wanted)?;
    if !is_whole(options) {
        require_time(&profiles, plan.loads.len(), plan.duration)?;
    }
    let required: Vec<&str> = options.require.iter().map(String::as_str).collect();
    if !is_whole(options) && !options.run.output.quiet {
        let uses = profiles.iter().filter(|p| is_among(&required, p));
        let open = without_time(uses, options.quick, &plan.loads, scheduler, plan.duration);
        warn_of_too_little_time(&open);
    }
    if is_whole(options) && !options.run.output.quiet {
        let uses = profiles.iter().filter(|p| is_among(&required, p));
        warn_of_other_periods(uses, &plan);
    }
    let mut decisions = Decisions::new(&profiles, options.quick, plan.blocks, plan.duration);
    let promises = Promises {
        judged: Judged {
            profiles: &profiles,
            required: &required,
        },
        keeps_profiles: is_own,
        load_bytes: Some(LOAD_BYTES),
        shape: match options.verbose {
            true => Shape::Whole,
            false => Shape::Screen,
        },
        attention: match is_whole(options) {
            true => None,
            false => Some(&mut decisions),
        },
    };
    carry_out(&plan, &options.run, promises)
}

fn is_among(required: &[&str], profile: &Profile) -> bool {
    let mut names = required.iter().map(|r| Required::of(r).profile);
    names.any(|name| name == profile.name)
}

/// Says of which required uses the samples do not fit into the time, before it is spent.
fn warn_of_too_little_time(open: &[&Profile]) {
    if !open.is_empty() {
        let names: Vec<&str> = open.iter().map(|p| p.name.as_str()).collect();
        exit::complain(&format!(
            "warning: --require {}: so short a check has too few samples to pass {}; a default check, {CHECK_S} s, \
             may have them",
            names.join(", "),
            if names.len() == 1 { "it" } else { "them" }
        ));
    }
}

/// Says which required uses are not judged by what is measured, before the time is spent.
fn warn_of_other_periods<'p>(required: impl Iterator<Item = &'p Profile>, plan: &Plan) {
    let sleeps = plan
        .cells
        .iter()
        .filter(|cell| cell.factors.level(factor::PROBE) == wake_up::NAME);
    let targets =
        sleeps.filter_map(|cell| parse_duration_ns(cell.factors.level(factor::TARGET)).ok());
    let targets: BTreeSet<u64> = targets.collect();
    for profile in required.filter(|p| !is_judged_at(p, targets.iter().copied())) {
        let period = format_duration(profile.period_ns.round() as u64);
        exit::complain(&format!(
            "warning: --require {}: it is judged by sleeps of {period}, and none is measured; add {period} to --targets",
            profile.name
        ));
    }
}

/// Whether everything is measured, and not only what the verdicts take: whoever names methods or targets
/// wants these.
fn is_whole(options: &CheckOptions) -> bool {
    let counts = [&options.samples, &options.wake_samples];
    options.all
        || !options.methods.is_empty()
        || !options.targets.is_empty()
        || !options.slack.is_empty()
        || counts.into_iter().any(Option::is_some)
}

fn plan_options(
    options: &CheckOptions,
    profiles: &[Profile],
    scheduler: Scheduler,
) -> anyhow::Result<PlanOptions> {
    let (quick, whole) = (options.quick, is_whole(options));
    let loads = CheckOptions::usual_loads();
    let duration = Duration::from_secs(match (quick, whole) {
        // Half a minute with all that follows, where a quota leaves a fifth of a CPU, too.
        (true, true) => 18,
        (true, false) => QUICK_RUN_S,
        (false, true) => 80,
        (false, false) => CHECK_S,
    });
    let blocks = if whole && !quick { 8 } else { 6 };
    let nothing = plan_of_nothing(&options.run, &loads, duration, blocks);
    let probes = match whole {
        true => probes(options, nothing.blocks)?,
        false => selections(profiles, &nothing.loads, scheduler, quick, nothing.blocks)?,
    };
    Ok(PlanOptions { probes, ..nothing })
}

fn probes(options: &CheckOptions, blocks: u32) -> anyhow::Result<Vec<Selection>> {
    let (mut reads, mut wakes) = (Vec::new(), Vec::new());
    for method in &options.methods {
        match method {
            MethodName::Read(m) => reads.push(*m),
            MethodName::Wake(m) => wakes.push(*m),
        }
    }
    // Whoever names methods wants those and nothing else.
    let whole = options.methods.is_empty();
    if whole {
        reads.extend(read_cost::Method::available());
        wakes.extend(wake_up::Method::all().filter(|m| m.row().in_check >= InCheck::Once));
        wakes.retain(|m| is_here(m.available()));
    }
    let mut slacks = match options.slack.is_empty() {
        true => vec![Slack::Default, Slack::Ns(1)],
        false => options.slack.clone(),
    };
    slacks.retain(|s| is_here(s.available()));
    // Whoever named one gets no other.
    wakes.iter().try_for_each(|m| m.available())?;
    let mut probes = Vec::new();
    if !reads.is_empty() {
        let usual = if options.quick { "200000" } else { "1000000" };
        let samples = options.samples.as_deref().unwrap_or(usual);
        let given = [("methods", texts(&reads)), ("samples", texts(&[samples]))];
        probes.push(selection(read_cost::NAME, given)?);
    }
    for (targets, methods) in targets(options, &wakes) {
        let given = [
            ("methods", texts(&methods)),
            ("targets", targets),
            ("slack", texts(&slacks)),
            (
                "samples",
                texts(&[options.wake_samples.as_deref().unwrap_or("100000")]),
            ),
        ];
        probes.push(selection(wake_up::NAME, given)?);
    }
    if whole {
        let checked =
            |m: &timer_events::Method| m.row().in_check >= InCheck::Once && m.available().is_ok();
        let methods: Vec<_> = timer_events::Method::all().filter(checked).collect();
        if !methods.is_empty() {
            let events = EVENT_COUNT.div_ceil(u64::from(blocks.max(1)));
            let given = [
                ("methods", texts(&methods)),
                ("forms", texts(&[timer_events::Form::Grid])),
                ("periods", texts(&[EVENT_PERIOD])),
                ("slack", texts(&slacks)),
                ("events", texts(&[events])),
                ("no-search", texts(&[true])),
            ];
            probes.push(selection(timer_events::NAME, given)?);
        }
        let given = [("threshold", texts(&[STALL]))];
        probes.push(selection(stalls::NAME, given)?.weighing(STALL_WEIGHT));
    }
    Ok(probes)
}

/// Whether a method can be measured; one that cannot is left out, and said to be.
fn is_here(available: Result<(), Unavailable>) -> bool {
    match available {
        Ok(()) => true,
        Err(why) => {
            exit::complain(&format!("not available, left out: {why}"));
            false
        }
    }
}

/// Targets with the methods measured at them; those that are looked at closely are measured
/// at a longer one, too.
fn targets(
    options: &CheckOptions,
    methods: &[wake_up::Method],
) -> Vec<(Vec<String>, Vec<wake_up::Method>)> {
    let closely = |m: &&wake_up::Method| m.row().in_check >= InCheck::EveryTarget;
    let closely = methods.iter().filter(closely).copied().collect();
    let all = methods.to_vec();
    let given = options.targets.iter().map(|t| format_duration(t.0));
    let mut targets = match (options.targets.is_empty(), options.quick) {
        (false, _) => vec![(given.collect(), all)],
        (true, true) => vec![(texts(&["100us"]), all)],
        (true, false) => vec![(texts(&["100us"]), all), (texts(&["1ms"]), closely)],
    };
    targets.retain(|(_, methods)| !methods.is_empty());
    targets
}
