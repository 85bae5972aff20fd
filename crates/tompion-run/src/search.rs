//! The searches for the smallest period that mechanisms hold, after the last block.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tompion_model::{Hold, HoldAttempt};
use tompion_probe::timer_events::Found;
use tompion_store::RunWriter;

use crate::{Bench, Error, Plan, PlannedSearch};

/// Carries out all searches of `plan`, load by load; false when `stop` ended them.
pub fn searches(
    plan: &Plan,
    bench: &mut impl Bench,
    writer: &mut RunWriter,
    stop: &Arc<AtomicBool>,
    told: &mut dyn FnMut(&PlannedSearch, Duration),
) -> Result<bool, Error> {
    for load in 0..plan.loads.len() {
        let of_load: Vec<_> = plan.searches.iter().filter(|s| s.load == load).collect();
        if of_load.is_empty() {
            continue;
        }
        bench.load_on(load)?;
        let result = of_load
            .into_iter()
            .try_for_each(|search| -> Result<(), Error> {
                if !stop.load(Ordering::Relaxed) {
                    told(search, bench.now());
                    let found = bench.search(search, stop)?;
                    writer.hold(hold(search, found));
                }
                Ok(())
            });
        // Whatever went wrong, the load is switched off.
        let off = bench.load_off(load);
        result?;
        off?;
        writer.checkpoint()?;
        if stop.load(Ordering::Relaxed) {
            return Ok(false);
        }
    }
    Ok(true)
}

fn hold(search: &PlannedSearch, found: Found) -> Hold {
    Hold {
        factors: search.factors.clone(),
        smallest_ns: found.smallest_ns,
        not_held_ns: found.not_held_ns,
        most_missed: PlannedSearch::search().most_missed,
        attempts: found
            .attempts
            .iter()
            .map(|a| HoldAttempt {
                period_ns: a.period_ns,
                held: a.held,
                periods: a.runs.iter().map(|r| r.periods).collect(),
                missed: a.runs.iter().map(|r| r.missed).collect(),
            })
            .collect(),
        ended_early: found.ended_early,
    }
}
