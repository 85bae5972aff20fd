//! `tompion measure`: one thing, closely.

use std::time::Duration;

use tompion_run::probes::{Observing, Probe, Time};
use tompion_run::{Observe, Plan, PlanOptions};

use super::session::{self, Promises, plan_of_nothing};
use super::{hlog, program};
use crate::cli::{MeasureOptions, Measurement};
use crate::exit;

/// Time of a plan until it is known how long it takes.
const UNKNOWN: Duration = Duration::from_secs(60);

/// A run that takes longer is begun only where its --duration is given.
const LONGEST_UNASKED: Duration = Duration::from_secs(3600);

/// Carries out the command.
pub fn measure(options: &MeasureOptions) -> exit::Result {
    let what = &options.what;
    if let Some(pid) = what.pid {
        return program::watch(pid, &what.run);
    }
    let plan = plan(what)?;
    session::carry_out_and(&plan, &what.run, Promises::default(), |run| {
        match &what.hlog {
            Some(log) => hlog::write(run, log),
            None => Ok(()),
        }
    })
}

/// What is measured, as a plan; refused where this machine or its options do not allow it.
pub(super) fn plan(what: &Measurement) -> anyhow::Result<Plan> {
    let probe = what.selection.probe;
    let title = probe.title;
    let refused = match probe.observing {
        Observing::AsAsked => None,
        Observing::Always => Some(format!(
            "trials of {title} are always watched with all the evidence there is"
        )),
    };
    if let Some(why) = refused
        && what.run.observe != [Observe::Auto]
    {
        anyhow::bail!("--observe: {why}; leave it out");
    }
    (probe.available)(&what.selection.values)?;
    if let Some(log) = &what.hlog {
        // Refused before anything is measured.
        hlog::try_place(log)?;
    }
    Ok(Plan::new(&plan_options(what)?)?)
}

fn plan_options(what: &Measurement) -> anyhow::Result<PlanOptions> {
    let probe = what.selection.probe;
    let usual = probe.usual;
    let mut plan = PlanOptions {
        probes: vec![what.selection.clone()],
        ..plan_of_nothing(&what.run, usual.loads, UNKNOWN, usual.blocks)
    };
    if what.run.duration.is_none() {
        plan.duration = usual_time(probe, &plan)?;
    }
    Ok(plan)
}

/// The time that a plan gets where none is asked for.
fn usual_time(probe: &Probe, plan: &PlanOptions) -> anyhow::Result<Duration> {
    match probe.usual.time {
        Time::Whole(time) => Ok(time),
        Time::EachTrial(time) => {
            let trials = Plan::new(plan)?.trials();
            Ok(time * u32::try_from(trials).unwrap_or(u32::MAX))
        }
        Time::AllSamples => {
            let time = plan.time_for_samples();
            anyhow::ensure!(
                time <= LONGEST_UNASKED,
                "these {} take about {:.0} hours; give --duration to run so long, or measure less",
                probe.title,
                time.as_secs_f64() / 3600.0
            );
            Ok(time)
        }
    }
}
