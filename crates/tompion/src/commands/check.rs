//! `tompion check`: measure, save, report.

use std::time::Duration;

use tompion_load::Load;
use tompion_probe::{read_cost, timer_events, wake_up};
use tompion_record::InCheck;
use tompion_run::{Plan, PlanOptions, StallOptions, TimerEventOptions};

use super::session::{Promises, carry_out, plan_of_nothing};
use crate::cli::{CheckOptions, MethodName};
use crate::exit;

/// The period of the timer events that a check looks at.
const EVENT_PERIOD_NS: u64 = 100_000;
/// As many over all blocks as Adamczyk 2015 took.
const EVENT_COUNT: u64 = 4_500;

/// What the loads may write; with the samples of a default run (some 60 MB) a check stays
/// below 200 MB.
const LOAD_BYTES: u64 = 140_000_000;

/// Iterations of the busy loop that count as stalls.
const STALL_NS: u64 = 1_000;

/// Carries out the command.
pub fn check(options: &CheckOptions) -> exit::Result {
    let wanted = plan_options(options);
    if let (Some(profile), true) = (options.require.first(), wanted.wake_methods.is_empty()) {
        anyhow::bail!(
            "--require {} is judged by wake-up latency, and --methods names nothing that \
             measures it; add a method that waits, for example timerfd",
            profile.0
        );
    }
    let plan = Plan::new(&wanted)?;
    let required: Vec<&str> = options.require.iter().map(|r| r.0.as_str()).collect();
    let promises = Promises {
        required: &required,
        load_bytes: Some(LOAD_BYTES),
    };
    carry_out(&plan, &options.run, promises)
}

fn plan_options(options: &CheckOptions) -> PlanOptions {
    let quick = options.quick;
    let checked = |load: &&Load| match load.in_check {
        tompion_load::InCheck::Quick => true,
        tompion_load::InCheck::Whole => !quick,
        tompion_load::InCheck::No => false,
    };
    let loads: Vec<&str> = tompion_load::loads()
        .filter(checked)
        .map(|l| l.name)
        .collect();
    // Half a minute with all that follows, where a quota leaves a fifth of a CPU, too.
    let duration = Duration::from_secs(if quick { 18 } else { 80 });
    let blocks = if quick { 6 } else { 8 };
    let nothing = plan_of_nothing(&options.run, &loads, duration, blocks);
    let mut read_methods: Vec<read_cost::Method> = Vec::new();
    let mut wake_methods: Vec<wake_up::Method> = Vec::new();
    for method in &options.methods {
        match method {
            MethodName::Read(m) => read_methods.push(*m),
            MethodName::Wake(m) => wake_methods.push(*m),
        }
    }
    // Whoever names methods wants those and nothing else.
    let whole = options.methods.is_empty();
    if whole {
        read_methods.extend(read_cost::Method::available());
        wake_methods.extend(wake_up::Method::all().filter(|m| m.row().in_check >= InCheck::Once));
    }
    let closely = wake_up::Method::all().filter(|m| m.row().in_check == InCheck::EveryTarget);
    let targets = match (options.targets.is_empty(), quick) {
        (false, _) => options.targets.iter().map(|t| (t.0, None)).collect(),
        (true, true) => vec![(100_000, None)],
        (true, false) => vec![(100_000, None), (1_000_000, Some(closely.collect()))],
    };
    let checked =
        |m: &timer_events::Method| m.row().in_check >= InCheck::Once && m.available().is_ok();
    PlanOptions {
        read_methods,
        wake_methods,
        targets,
        slacks: options.slack.clone(),
        timer_events: whole.then(|| TimerEventOptions {
            methods: timer_events::Method::all().filter(checked).collect(),
            forms: vec![timer_events::Form::Grid],
            periods_ns: vec![EVENT_PERIOD_NS],
            events: EVENT_COUNT.div_ceil(u64::from(nothing.blocks.max(1))),
            search: false,
        }),
        stalls: whole.then(|| StallOptions {
            cpus: Vec::new(),
            threshold_ns: STALL_NS,
            weight: 1.5,
        }),
        read_samples: options
            .samples
            .unwrap_or(if quick { 200_000 } else { 1_000_000 }),
        wake_samples: options.wake_samples,
        ..nothing
    }
}
