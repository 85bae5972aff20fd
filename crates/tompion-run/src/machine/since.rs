//! What load and machine did during a trial.

use std::time::{Duration, Instant};

use tompion_load::{Activity, LoadError, LoadProcess, machine_activity};
use tompion_model::{AT_REST, LoadEvidence};
use tompion_time::os;

use crate::Error;

/// The counters when a trial began.
pub(super) enum Since {
    Rest(Option<Activity>),
    Loaded(Instant, tompion_load::Observation),
}

/// How long a load is looked at, at least, for a proof that it ran.
///
/// At first longer than one operation of any load, however short the trial. Where many
/// programs want the CPU a load may have to wait longer than that for its turn.
pub(super) struct Turn(Duration);

impl Turn {
    const LONGEST: Duration = Duration::from_millis(1_280);

    fn longer(&self) -> Self {
        Self((2 * self.0).min(Self::LONGEST))
    }
}

impl Default for Turn {
    fn default() -> Self {
        Self(Duration::from_millis(10))
    }
}

impl Since {
    pub(super) fn now(process: &mut Option<LoadProcess>) -> Result<Self, Error> {
        Ok(match process {
            Some(process) => Self::Loaded(Instant::now(), process.observe()?),
            None => Self::Rest(machine_activity().ok()),
        })
    }

    /// What has happened since, over `turn` at least; an error when a load did
    /// nothing, and then more time for the next try.
    pub(super) fn evidence(
        self,
        process: &mut Option<LoadProcess>,
        turn: &mut Turn,
    ) -> Result<Option<LoadEvidence>, Error> {
        match (self, process) {
            (Self::Loaded(began, since), Some(process)) => {
                os::sleep(turn.0.saturating_sub(began.elapsed()));
                let evidence = process.evidence(&since);
                if let Err(LoadError::DidNothing { .. }) = evidence {
                    *turn = turn.longer();
                }
                Ok(Some(evidence?))
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
        load: AT_REST.to_owned(),
        driver: "none".to_owned(),
        observed_ns: now.at.duration_since(before.at).as_nanos() as u64,
        context_switches_per_second: rates.context_switches_per_second,
        interrupts_per_second: rates.interrupts_per_second,
        ..LoadEvidence::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_load_gets_more_time_to_show_itself_up_to_a_second_and_a_bit() {
        let mut turn = Turn::default();
        let mut all = turn.0;
        for _ in 1..crate::execute::ATTEMPTS {
            turn = turn.longer();
            all += turn.0;
        }
        assert_eq!(turn.0, Turn::LONGEST);
        assert!(all < Duration::from_secs(3), "{all:?}");
    }
}
