//! A load between two rests, while probes go on.

use std::ops::Range;
use std::time::Duration;

use tompion_load::{LoadConfig, LoadError, LoadProcess, LoadSpec, Observation, write_budget};
use tompion_model::LoadEvidence;

/// A load that works while some of the probes are sent.
pub struct Beside {
    /// Those.
    loaded: Range<usize>,
    load: Option<LoadProcess>,
    since: Option<Observation>,
    evidence: Option<LoadEvidence>,
    failed: Option<LoadError>,
}

impl Beside {
    /// While these are sent, of all that take so long; the load is started and waits.
    pub fn new(
        loaded: Range<usize>,
        load: Option<&LoadSpec>,
        time: Duration,
    ) -> anyhow::Result<Self> {
        let start = |spec: &LoadSpec| -> anyhow::Result<LoadProcess> {
            let config = LoadConfig {
                executable: std::env::current_exe()?,
                directory: std::env::temp_dir(),
                write_budget_bytes: write_budget(std::slice::from_ref(spec), time),
                planned_load_time: time,
                measured_cpu: None,
            };
            Ok(LoadProcess::start(spec, &config)?)
        };
        Ok(Self {
            loaded,
            load: load.map(start).transpose()?,
            since: None,
            evidence: None,
            failed: None,
        })
    }

    /// Nothing is under way, and so many probes were sent.
    pub fn sent(&mut self, probes: usize) {
        if let Err(error) = self.at(probes) {
            self.failed.get_or_insert(error);
        }
    }

    fn at(&mut self, probes: usize) -> Result<(), LoadError> {
        let Some(load) = &mut self.load else {
            return Ok(());
        };
        if self.since.is_none() && self.loaded.contains(&probes) {
            load.resume()?;
            self.since = Some(load.observe()?);
        }
        if let Some(since) = &self.since
            && self.evidence.is_none()
            && probes >= self.loaded.end
        {
            self.evidence = Some(load.evidence(since)?);
            load.pause()?;
        }
        Ok(())
    }

    /// Ends the load: what it did.
    ///
    /// # Errors
    /// Where it did not work.
    pub fn finish(mut self, sent: usize) -> anyhow::Result<Option<LoadEvidence>> {
        // It was interrupted before the second rest.
        self.sent(sent.max(self.loaded.end));
        if let Some(load) = self.load.take() {
            load.stop()?;
        }
        match self.failed {
            Some(error) => Err(error.into()),
            None => Ok(self.evidence),
        }
    }
}
