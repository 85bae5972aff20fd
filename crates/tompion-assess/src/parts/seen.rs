//! What a run recorded of one machine.

use std::collections::HashMap;

use tompion_model::{
    ClockReading, CpuUse, Environment, PlatformRecord, RunRecord, Stalls, Throttling, Trial, factor,
};

/// What a run recorded of one machine.
#[derive(Clone, Debug)]
pub struct Seen<'r> {
    /// The machine and its settings.
    pub environment: &'r Environment,
    /// What was measured on it.
    pub trials: Vec<&'r Trial>,
    /// What a CPU quota did meanwhile.
    pub throttling: Option<Throttling>,
    /// Its clocks side by side.
    pub clock_readings: &'r [ClockReading],
    /// Who else used the CPUs before the first trial.
    pub cpu_use_before: Option<&'r CpuUse>,
}

impl<'r> Seen<'r> {
    /// Of the one machine of a run; nothing where a run has the platforms of a lab.
    pub fn of_run(record: &'r RunRecord) -> Option<Self> {
        record.platforms.is_empty().then(|| Self {
            environment: &record.header.environment,
            trials: record.trials.iter().collect(),
            throttling: record.throttling,
            clock_readings: &record.clock_readings,
            cpu_use_before: record.cpu_use_before.as_ref(),
        })
    }

    /// Of each platform of a lab on which something was measured, with its name.
    pub fn of_platforms(record: &'r RunRecord) -> Vec<(&'r str, Self)> {
        let mut by_platform: HashMap<&str, Vec<&Trial>> = HashMap::new();
        for trial in &record.trials {
            if let Some(level) = trial.factors.get(factor::PLATFORM) {
                by_platform.entry(level).or_default().push(trial);
            }
        }
        let of = |platform: &'r PlatformRecord| {
            let level = platform.level.as_str();
            let seen = Self {
                environment: platform.environment.as_ref()?,
                // One that is listed again has none left.
                trials: by_platform.remove(level).unwrap_or_default(),
                throttling: None,
                clock_readings: &[],
                cpu_use_before: None,
            };
            (!seen.trials.is_empty()).then_some((level, seen))
        };
        record.platforms.iter().filter_map(of).collect()
    }

    /// Who else used the CPUs during all trials; absent where nobody looked.
    pub(super) fn cpu_use(&self) -> Option<CpuUse> {
        let mut all: Option<CpuUse> = None;
        let mut last = None;
        for found in self.trials.iter().filter_map(|t| t.cpu_use.as_ref()) {
            // Trials that were measured at once have one look each side.
            if last != Some(found) {
                all.get_or_insert_default().add(found);
            }
            last = Some(found);
        }
        all
    }

    /// Busy loops at rest, or, where there are none, beside loads.
    pub(super) fn stalls(&self) -> (bool, Vec<&'r Stalls>) {
        let of = |at_rest: bool| -> Vec<&'r Stalls> {
            let all = self.trials.iter();
            let all = all.filter(|t| t.factors.is_at_rest() == at_rest);
            all.filter_map(|t| t.findings.stalls.as_ref()).collect()
        };
        match of(true) {
            rest if rest.is_empty() => (false, of(false)),
            rest => (true, rest),
        }
    }

    /// Whether there is a host.
    pub(crate) fn is_guest(&self) -> bool {
        self.environment.virtualization.hypervisor.is_some()
    }

    /// Whether the hypervisor accounts for the time it takes; absent where nobody asked.
    pub(super) fn steal_is_accounted(&self) -> Option<bool> {
        let observed = self.trials.iter().filter_map(|t| t.observation.as_ref());
        let told = observed.map(|o| o.steal_is_accounted);
        told.reduce(|all, one| all && one)
    }
}
