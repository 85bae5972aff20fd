//! A load between two rests, while probes go on.

use std::time::Duration;

use tompion_load::{LoadConfig, LoadProcess, LoadSpec, Observation, least_write_bytes};
use tompion_model::LoadEvidence;

/// Bytes that a load may write for each second.
const WRITE_BYTES_PER_SECOND: f64 = 2e6;

/// How many probes each rest has, and the load that works while the others are sent.
pub struct Beside {
    /// Of each rest.
    rest: usize,
    /// The first probe of the second one.
    ends: usize,
    load: Option<LoadProcess>,
    since: Option<Observation>,
    evidence: Option<LoadEvidence>,
    failed: Option<tompion_load::LoadError>,
}

impl Beside {
    /// Of so many probes with the rests; the load is started and waits.
    pub fn new(
        rest: usize,
        count: usize,
        load: Option<&LoadSpec>,
        time: Duration,
    ) -> anyhow::Result<Self> {
        let start = |spec: &LoadSpec| -> anyhow::Result<LoadProcess> {
            let paced = (WRITE_BYTES_PER_SECOND * time.as_secs_f64()) as u64;
            let config = LoadConfig {
                executable: std::env::current_exe()?,
                directory: std::env::temp_dir(),
                write_budget_bytes: paced.max(least_write_bytes(std::slice::from_ref(spec), time)),
                planned_load_time: time,
                measured_cpu: None,
            };
            Ok(LoadProcess::start(spec, &config)?)
        };
        Ok(Self {
            rest,
            ends: count.saturating_sub(rest),
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

    fn at(&mut self, probes: usize) -> Result<(), tompion_load::LoadError> {
        let Some(load) = &mut self.load else {
            return Ok(());
        };
        if self.since.is_none() && probes >= self.rest && probes < self.ends {
            load.resume()?;
            self.since = Some(load.observe()?);
        }
        if let Some(since) = &self.since
            && self.evidence.is_none()
            && probes >= self.ends
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
        self.sent(sent.max(self.ends));
        if let Some(load) = self.load.take() {
            load.stop()?;
        }
        match self.failed {
            Some(error) => Err(error.into()),
            None => Ok(self.evidence),
        }
    }
}
