//! `tompion measure`: one thing, closely.

use std::time::Duration;

use tompion_probe::{read_cost, timer_events, wake_up};
use tompion_run::{Observe, Plan, PlanOptions, StallOptions, TimerEventOptions};

use super::session::{self, Promises, carry_out, plan_of_nothing};
use super::{hlog, program};
use crate::cli::{
    CpuList, MeasureOptions, Measurement, ReadCostOptions, RunOptions, StallsOptions,
    TimerEventsOptions, WakeUpOptions,
};
use crate::exit;

/// Loads unless others are named.
const LOADS: &[&str] = &["idle"];

/// Blocks, from which intervals come.
const BLOCKS: u32 = 6;

/// Time unless another is named, where nothing tells what it takes.
const DURATION: Duration = Duration::from_secs(60);

/// A run that takes longer is begun only where its --duration is given.
const LONGEST_UNASKED: Duration = Duration::from_secs(3600);

/// Time of one busy loop unless another is named.
const LOOP: Duration = Duration::from_secs(10);

/// Carries out the command.
pub fn measure(options: &MeasureOptions) -> exit::Result {
    match &options.what {
        Measurement::ReadCost(o) => finish(&o.run, &read_cost(o)),
        Measurement::WakeUp(o) => finish(&o.run, &wake_up(o)),
        Measurement::TimerEvents(o) => finish(&o.run, &timer_events(o)?),
        Measurement::Stalls(o) => match o.pid {
            Some(pid) => program::watch(pid, &o.run),
            None => {
                anyhow::ensure!(
                    o.run.observe == [Observe::Auto],
                    "--observe: stalls are always watched with all the evidence there is; \
                     leave it out"
                );
                busy_loop(o)
            }
        },
    }
}

fn finish(run: &RunOptions, options: &PlanOptions) -> exit::Result {
    carry_out(&Plan::new(options)?, run, Promises::default())
}

/// Stalls of busy loops, and their interval log.
fn busy_loop(options: &StallsOptions) -> exit::Result {
    let Some(log) = &options.hlog else {
        return finish(&options.run, &stalls(options)?);
    };
    // Refused before anything is measured.
    hlog::try_place(log)?;
    let plan = Plan::new(&stalls(options)?)?;
    let write = |run: &_| hlog::write(run, log);
    session::carry_out_and(&plan, &options.run, Promises::default(), write)
}

fn read_cost(options: &ReadCostOptions) -> PlanOptions {
    PlanOptions {
        read_methods: if options.methods.is_empty() {
            read_cost::Method::available().collect()
        } else {
            options.methods.clone()
        },
        read_samples: options.samples,
        ..plan_of_nothing(&options.run, LOADS, DURATION, BLOCKS)
    }
}

fn wake_up(options: &WakeUpOptions) -> PlanOptions {
    PlanOptions {
        wake_methods: if options.methods.is_empty() {
            wake_up::Method::all().collect()
        } else {
            options.methods.clone()
        },
        targets: options.targets.iter().map(|t| (t.0, None)).collect(),
        slacks: options.slack.clone(),
        wake_samples: options.samples,
        ..plan_of_nothing(&options.run, LOADS, DURATION, BLOCKS)
    }
}

fn timer_events(options: &TimerEventsOptions) -> anyhow::Result<PlanOptions> {
    for method in &options.methods {
        method
            .available()
            .map_err(|why| anyhow::anyhow!("no such timer events here: {why}"))?;
    }
    let events = TimerEventOptions {
        methods: if options.methods.is_empty() {
            timer_events::Method::all()
                .filter(|m| m.available().is_ok())
                .collect()
        } else {
            options.methods.clone()
        },
        forms: options.forms.clone(),
        periods_ns: options.periods.iter().map(|p| p.0).collect(),
        events: options.events,
        search: !options.no_search,
    };
    let mut plan = PlanOptions {
        slacks: options.slack.clone(),
        timer_events: Some(events),
        ..plan_of_nothing(&options.run, LOADS, DURATION, 3)
    };
    if options.run.duration.is_none() {
        plan.duration = plan.time_for_events();
        anyhow::ensure!(
            plan.duration <= LONGEST_UNASKED,
            "these periods and events take about {:.0} hours; give --duration to run so long, \
             or fewer --events",
            plan.duration.as_secs_f64() / 3600.0
        );
    }
    Ok(plan)
}

fn stalls(options: &StallsOptions) -> anyhow::Result<PlanOptions> {
    let cpus = match &options.cpus {
        None => Vec::new(),
        Some(CpuList::These(cpus)) => cpus.clone(),
        Some(CpuList::All) => tompion_platform::usable_cpus(),
    };
    let mut plan = PlanOptions {
        stalls: Some(StallOptions {
            cpus,
            threshold_ns: options.threshold.0,
            weight: 1.0,
        }),
        ..plan_of_nothing(&options.run, LOADS, DURATION, 1)
    };
    if options.run.duration.is_none() {
        let loops = Plan::new(&plan)?.trials();
        plan.duration = LOOP * u32::try_from(loops).unwrap_or(u32::MAX);
    }
    Ok(plan)
}
