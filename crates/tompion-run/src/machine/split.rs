//! One measurement that is told as several trials. What watches its threads is its own.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tompion_probe::Limits;

use super::since::Since;
use super::{LOOK_EVERY, Machine};
use crate::probes::{Part, Split};
use crate::{Error, PlannedCell, Trial};

impl Machine {
    /// All trials of one moment.
    pub(super) fn split_trials(
        &mut self,
        cell: &PlannedCell,
        split: Split,
        limits: &Limits,
    ) -> Result<Vec<Trial>, Error> {
        let named = |source| Error::Probe {
            cell: cell.factors.to_string(),
            source,
        };
        self.turns.keep();
        let settings = self.settings(cell.thread);
        let load = &mut self.loads[cell.load];
        let thread = load.thread.ready().map_err(named)?;
        let Split {
            parts,
            measure,
            interrupt,
        } = split;
        let since = Since::now(&mut load.process)?;
        let (stop, limits) = (Arc::clone(&limits.stop), limits.clone());
        let look = || {
            if stop.load(Ordering::Relaxed) {
                interrupt();
            }
        };
        let measured = thread.run_beside(settings, LOOK_EVERY, look, move || measure(&limits));
        let measured = measured.map_err(named)?;
        let ended = self.began.elapsed();
        let evidence = since.evidence(&mut load.process, &mut load.turn)?;
        let began_ns = self.began_ns;
        let trial = |(factors, part): (_, Part)| {
            let mut outcome = part.outcome;
            outcome.measurement.pinned_cpu = cell.thread.cpu;
            Trial {
                factors: cell.factors.clone().joined(factors),
                started: Duration::from_nanos(outcome.began_ns.saturating_sub(began_ns)),
                started_unix_ns: None,
                ended,
                outcome,
                load: evidence.clone(),
                findings: part.findings,
                observation: part.observation,
                cpu_use: None,
            }
        };
        Ok(parts.iter().zip(measured).map(trial).collect())
    }
}
