//! What the runner needs of a machine, and the real machine.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use tompion_load::{Activity, LoadConfig, LoadProcess, LoadSpec, Observation, machine_activity};
use tompion_probe::{
    Controller, Limits, Outcome, ThreadSettings, on_measuring_thread, read_cost, wake_up,
};
use tompion_record::LoadEvidence;
use tompion_time::{Clock, Rate};

use crate::{Error, PlannedCell, ProbePlan};

/// What the runner needs: time, and trials. Tests plant their own.
pub trait Bench {
    /// Time since some fixed moment.
    fn now(&mut self) -> Duration;

    /// Measures one cell beside its load, which is on for this trial only.
    fn trial(&mut self, cell: &PlannedCell, limits: &Limits<'_>) -> Result<Trial, Error>;
}

/// One trial as it was carried out.
#[derive(Debug)]
pub struct Trial {
    /// When measuring began, on the bench's clock.
    pub started: Duration,
    /// When it ended.
    pub ended: Duration,
    /// What the probe brought.
    pub outcome: Outcome,
    /// Proof that the load ran.
    pub load: Option<LoadEvidence>,
}

/// How the real machine is used.
#[derive(Clone, Debug)]
pub struct MachineSettings {
    /// Program that is re-executed as load worker.
    pub executable: PathBuf,
    /// Where loads may put their files.
    pub load_directory: PathBuf,
    /// Bytes that each file-writing load may write over the run.
    pub write_budget_bytes: u64,
    /// Time that each load will be on, for pacing its writes.
    pub planned_load_time: Duration,
    /// How long a load runs before its trial begins.
    pub settle: Duration,
}

/// This machine.
pub struct Machine {
    began: Instant,
    clock: Clock,
    rate: Option<Rate>,
    settle: Duration,
    loads: Vec<Load>,
    controller: Controller,
}

struct Load {
    process: Option<LoadProcess>,
    since: Option<Since>,
}

/// The counters when a load was switched on.
enum Since {
    Rest(Option<Activity>),
    Loaded(Observation),
}

impl Machine {
    /// Calibrates the clock and starts every load, switched off. Call it on a
    /// thread that outlives the machine: loads end with that thread.
    pub fn new(loads: &[LoadSpec], settings: &MachineSettings) -> Result<Self, Error> {
        let config = LoadConfig {
            executable: settings.executable.clone(),
            directory: settings.load_directory.clone(),
            write_budget_bytes: settings.write_budget_bytes,
            planned_load_time: settings.planned_load_time,
        };
        let loads = loads
            .iter()
            .map(|spec| {
                let process = if spec.is_idle() {
                    None
                } else {
                    Some(LoadProcess::start(spec, &config)?)
                };
                Ok(Load {
                    process,
                    since: None,
                })
            })
            .collect::<Result<_, Error>>()?;
        /// Brings the rate's error below one part per million.
        const CALIBRATION: Duration = Duration::from_millis(200);
        let clock = Clock::calibrate(CALIBRATION);
        // The counter serves as bracket even where the kernel distrusts it as a
        // clock: brackets are short.
        let rate = clock
            .rate()
            .or_else(|| Rate::measure(CALIBRATION).map(|m| m.1));
        Ok(Self {
            began: Instant::now(),
            clock,
            rate,
            settle: settings.settle,
            loads,
            // After the loads have started, so that none inherits it.
            controller: Controller::raise(),
        })
    }
}

impl Machine {
    /// What protects the measurement on this machine, beyond what always does.
    pub fn guards(&self) -> Vec<String> {
        vec![
            if self.controller.is_raised() {
                "The controlling thread is real-time; it sleeps while a trial is measured."
            } else {
                "The controlling thread could not be made real-time: heavy loads are switched \
                 slowly, and fewer samples are taken beside them."
            }
            .to_owned(),
        ]
    }
}

impl Bench for Machine {
    fn now(&mut self) -> Duration {
        self.began.elapsed()
    }

    fn trial(&mut self, cell: &PlannedCell, limits: &Limits<'_>) -> Result<Trial, Error> {
        let settings = ThreadSettings {
            slack_ns: cell.thread.slack_ns.or(self.controller.default_slack_ns()),
            ..cell.thread
        };
        let (clock, rate, began, settle) = (self.clock, self.rate, self.began, self.settle);
        let load = &mut self.loads[cell.load];
        let limits = Limits {
            granularity: load.process.is_none(),
            ..*limits
        };
        let mut started = Duration::ZERO;
        let outcome = on_measuring_thread(
            settings,
            || -> Result<(), Error> {
                load.switch_on()?;
                std::thread::sleep(settle);
                started = began.elapsed();
                Ok(())
            },
            || match cell.probe {
                ProbePlan::ReadCost(method) => read_cost::measure(method, clock, rate, &limits),
                ProbePlan::WakeUp { method, target_ns } => {
                    wake_up::measure(method, target_ns, clock, &limits)
                }
            },
        );
        let ended = self.began.elapsed();
        // Whatever the probe says, the load is switched off.
        let evidence = load.switch_off();
        let mut outcome = outcome.map_err(|error| match error {
            Error::Measuring(source) => Error::Probe {
                cell: cell.factors.to_string(),
                source,
            },
            other => other,
        })?;
        outcome.measurement.pinned_cpu = cell.thread.cpu;
        Ok(Trial {
            started,
            ended,
            outcome,
            load: evidence?,
        })
    }
}

impl Load {
    /// Begins to observe and switches on. Observed from the start, settling
    /// included: a trial may be shorter than one operation of its load.
    fn switch_on(&mut self) -> Result<(), Error> {
        self.since = Some(match &mut self.process {
            Some(process) => {
                let since = process.observe()?;
                process.resume()?;
                Since::Loaded(since)
            }
            None => Since::Rest(machine_activity().ok()),
        });
        Ok(())
    }

    /// Switches off and says what the load did; nothing when it was not on.
    fn switch_off(&mut self) -> Result<Option<LoadEvidence>, Error> {
        match (self.since.take(), &mut self.process) {
            (Some(Since::Loaded(since)), Some(process)) => {
                let evidence = process.evidence(&since);
                process.pause()?;
                Ok(Some(evidence?))
            }
            (Some(Since::Rest(Some(before))), _) => {
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
        operations: None,
        operation: None,
        cpu_time_ns: 0,
        observed_ns: now.at.duration_since(before.at).as_nanos() as u64,
        context_switches_per_second: rates.context_switches_per_second,
        interrupts_per_second: rates.interrupts_per_second,
    }
}
