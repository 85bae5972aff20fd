//! What load and machine did during a trial.

use std::time::{Duration, Instant};

use tompion_load::{Activity, LoadProcess, machine_activity};
use tompion_record::LoadEvidence;

use crate::Error;

/// The counters when a trial began.
pub(super) enum Since {
    Rest(Option<Activity>),
    Loaded(Instant, tompion_load::Observation),
}

impl Since {
    pub(super) fn now(process: &mut Option<LoadProcess>) -> Result<Self, Error> {
        Ok(match process {
            Some(process) => Self::Loaded(Instant::now(), process.observe()?),
            None => Self::Rest(machine_activity().ok()),
        })
    }

    /// What has happened since; an error when a load did nothing.
    pub(super) fn evidence(
        self,
        process: &mut Option<LoadProcess>,
    ) -> Result<Option<LoadEvidence>, Error> {
        match (self, process) {
            (Self::Loaded(began, since), Some(process)) => {
                // Longer than one operation of any load, however short the trial.
                const SHORTEST: Duration = Duration::from_millis(10);
                std::thread::sleep(SHORTEST.saturating_sub(began.elapsed()));
                Ok(Some(process.evidence(&since)?))
            }
            (Self::Rest(Some(before)), _) => {
                Ok(machine_activity().ok().map(|now| at_rest(&before, &now)))
            }
            _ => Ok(None),
        }
    }
}

/// What the machine did by itself, for comparison with what loads cause.
fn at_rest(before: &Activity, now: &Activity) -> LoadEvidence {
    let rates = now.rates_since(before);
    LoadEvidence {
        load: "idle".to_owned(),
        driver: "none".to_owned(),
        observed_ns: now.at.duration_since(before.at).as_nanos() as u64,
        context_switches_per_second: rates.context_switches_per_second,
        interrupts_per_second: rates.interrupts_per_second,
        ..LoadEvidence::default()
    }
}
