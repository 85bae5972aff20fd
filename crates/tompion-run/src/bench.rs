//! What the runner needs of a machine.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use tompion_model::{
    CpuUse, Factors, Findings, LoadEvidence, Observation, Throttling, TrialData, TrialDraft,
    utc_of_unix_ns,
};
use tompion_probe::timer_events::Found;
use tompion_probe::{Limits, Outcome};

use crate::{Clocks, Error, PlannedCell, PlannedSearch};

/// What the runner needs: time, loads, trials. Tests plant their own.
pub trait Bench {
    /// What the reader of a report should know of how it is measured.
    fn guards(&self) -> Vec<String> {
        Vec::new()
    }

    /// What the reader of a run must know of this machine.
    fn notes(&self) -> Vec<String> {
        Vec::new()
    }

    /// Who else used the CPUs right before; absent where nobody looked.
    fn cpu_use_before(&self) -> Option<CpuUse> {
        None
    }

    /// Something outside was changed, and has yet to settle.
    fn disturbed(&mut self) {}

    /// Time since some fixed moment.
    fn now(&mut self) -> Duration;

    /// Switches a load on and waits until it has settled.
    fn load_on(&mut self, load: usize) -> Result<(), Error>;

    /// Switches it off.
    fn load_off(&mut self, load: usize) -> Result<(), Error>;

    /// What a CPU quota has done to this process so far; absent without one.
    fn throttling(&mut self) -> Option<Throttling>;

    /// The machine's clocks side by side.
    fn clocks(&mut self) -> Clocks;

    /// Measures one cell beside its load, which is on; one trial, or one for each
    /// CPU of a cell that has several.
    fn trial(&mut self, cell: &PlannedCell, limits: &Limits) -> Result<Vec<Trial>, Error>;

    /// Searches beside its load, which is on, until done or told to stop.
    fn search(&mut self, search: &PlannedSearch, stop: &Arc<AtomicBool>) -> Result<Found, Error>;
}

/// One trial as it was carried out.
#[derive(Debug)]
pub struct Trial {
    /// What was measured.
    pub factors: Factors,
    /// When measuring began, on the bench's clock.
    pub started: Duration,
    /// The same by the system clock of that moment, in nanoseconds since 1970; set by
    /// whoever asked for the trial.
    pub started_unix_ns: Option<u64>,
    /// When it ended.
    pub ended: Duration,
    /// What the probe brought.
    pub outcome: Outcome,
    /// Proof that the load ran.
    pub load: Option<LoadEvidence>,
    /// What the probe found beside values.
    pub findings: Findings,
    /// What was watched beside it.
    pub observation: Option<Observation>,
    /// Who else used the CPUs meanwhile.
    pub cpu_use: Option<CpuUse>,
}

impl Trial {
    /// Whether it tells as much as one that was meant to be that short: a loop may have run for
    /// hours, and probes go at times of their own. Half a trial of another kind would weigh as
    /// much as the whole ones.
    pub(crate) fn is_good_at_any_length(&self) -> bool {
        let ran = self.findings.stalls.as_ref().map(|s| s.iterations > 0);
        let asked = self.findings.round_trips.as_ref();
        let asked = asked.map(|r| r.answered >= crate::probes::FEW);
        ran.or(asked).unwrap_or(false)
    }

    /// For the record of a run that began at `began` on the bench's clock.
    pub(crate) fn into_draft(self, block: u32, began: Duration) -> (TrialDraft, TrialData) {
        let draft = TrialDraft {
            factors: self.factors,
            block,
            started_ns: (self.started - began).as_nanos() as u64,
            started_at: self.started_unix_ns.and_then(utc_of_unix_ns),
            duration_ns: (self.ended - self.started).as_nanos() as u64,
            measurement: self.outcome.measurement,
            load: self.load,
            findings: self.findings,
            observation: self.observation,
            cpu_use: self.cpu_use,
            storage: self.outcome.storage,
            missed_periods: self.outcome.missed_periods,
        };
        (draft, self.outcome.data)
    }
}
