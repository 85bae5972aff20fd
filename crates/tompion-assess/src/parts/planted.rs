//! A machine of which it is known what is wrong with it, for tests.

use tompion_cause::Cause;
use tompion_model::{
    CauseTotal, Cgroup, ClockReading, CpuUse, Environment, Factors, Observation, ProgramUse,
    Stalls, Synchronisation, Throttling, TimeKeeper, TimeKeeping, Trial, factor,
};

use super::Seen;

pub const MS: u64 = 1_000_000;
pub const SECOND: u64 = 1_000 * MS;

/// What a run recorded, in one piece.
pub struct Machine {
    pub environment: Environment,
    pub trials: Vec<Trial>,
    pub throttling: Option<Throttling>,
    pub clock_readings: Vec<ClockReading>,
    pub cpu_use_before: Option<CpuUse>,
}

impl Machine {
    /// A guest with nothing wrong, on which a busy loop ran at rest for 20 s.
    pub fn fine() -> Self {
        let keeper = TimeKeeper {
            name: "chrony".to_owned(),
            running: true,
            keeps: true,
            tells_kernel: true,
            in_step: Some(true),
            error_at_most_ns: Some(1_200_000),
            ..TimeKeeper::default()
        };
        let mut environment = Environment {
            time_keeping: Some(TimeKeeping {
                keepers: vec![keeper],
                ..TimeKeeping::default()
            }),
            synchronisation: Some(Synchronisation {
                synchronised: true,
                maximum_error_ns: 1_300_000,
                ..Synchronisation::default()
            }),
            cgroup: Cgroup {
                version: Some("v2".to_owned()),
                ..Cgroup::default()
            },
            ..Environment::default()
        };
        environment.virtualization.hypervisor = Some("KVM".to_owned());
        environment.clock.clocksource = Some("tsc".to_owned());
        environment.clock.timer_slack_ns = Some(1);
        environment.kernel.tick_rate_hz = Some(250);
        environment.kernel.preemption = Some("none".to_owned());
        environment.machine.cpus_online = Some(2);
        environment.scheduling.allowed_cpus = Some("0-1".to_owned());
        let reading = |at_ns: u64| ClockReading {
            at_ns,
            realtime_ns: at_ns.cast_signed(),
            monotonic_ns: at_ns.cast_signed(),
            within_ns: 100,
            ..ClockReading::default()
        };
        Self {
            environment,
            trials: vec![trial("idle", &[(Cause::Tick, 20 * MS, MS / 100)])],
            throttling: None,
            clock_readings: vec![reading(0), reading(70 * SECOND)],
            cpu_use_before: Some(cpu_use(SECOND, &[("sshd", 10 * MS)])),
        }
    }

    pub fn seen(&self) -> Seen<'_> {
        Seen {
            environment: &self.environment,
            trials: self.trials.iter().collect(),
            throttling: self.throttling,
            clock_readings: &self.clock_readings,
            cpu_use_before: self.cpu_use_before.as_ref(),
        }
    }
}

/// Two CPUs of which other programs had this.
pub fn cpu_use(watched_ns: u64, most: &[(&str, u64)]) -> CpuUse {
    CpuUse {
        watched_ns,
        cpus: 2,
        programs_ns: most.iter().map(|m| m.1).sum(),
        kernel_threads_ns: Some(0),
        stolen_ns: Some(0),
        most: ProgramUse::each(most),
    }
}

/// A busy loop of 20 s beside `load`, with what causes took of it and the longest of that.
pub fn trial(load: &str, causes: &[(Cause, u64, u64)]) -> Trial {
    let total = |&(cause, ns, longest_ns): &(Cause, u64, u64)| CauseTotal {
        cause,
        by: None,
        ns,
        parts: 1,
        longest_ns,
    };
    let stalls = Stalls {
        observed_ns: 20 * SECOND,
        causes: causes.iter().map(total).collect(),
        ..Stalls::default()
    };
    Trial {
        id: 0,
        factors: Factors::new()
            .with(factor::PROBE, "stalls")
            .with(factor::LOAD, load),
        block: 0,
        started_ns: 0,
        duration_ns: 20 * SECOND,
        started_at: None,
        storage: Default::default(),
        tables: Default::default(),
        measurement: Default::default(),
        load: None,
        findings: stalls.into(),
        observation: Some(Observation {
            steal_is_accounted: true,
            ..Observation::default()
        }),
        cpu_use: Some(cpu_use(20 * SECOND, &[("sshd", 160 * MS)])),
        summary: Default::default(),
    }
}
