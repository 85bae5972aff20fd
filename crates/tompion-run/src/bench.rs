//! What the runner needs of a machine, and the real machine.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use tompion_load::{Activity, LoadConfig, LoadProcess, LoadSpec, Observation, machine_activity};
use tompion_probe::{Limits, Outcome, on_measuring_thread, read_cost, wake_up};
use tompion_record::LoadEvidence;
use tompion_time::{Clock, Rate};

use crate::{Error, PlannedCell, ProbePlan};

/// What the runner needs: time, loads, measurements. Tests plant their own.
pub trait Bench {
    /// Time since some fixed moment.
    fn now(&mut self) -> Duration;

    /// Switches a load on and waits until it has settled.
    fn load_on(&mut self, load: usize) -> Result<(), Error>;

    /// Switches it off and says what it did since [`Bench::load_on`].
    fn load_off(&mut self, load: usize) -> Result<Option<LoadEvidence>, Error>;

    /// Measures one cell.
    fn measure(
        &mut self,
        cell: &PlannedCell,
        limits: &Limits<'_>,
    ) -> Result<Outcome, tompion_probe::Error>;
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
}

struct Load {
    process: Option<LoadProcess>,
    since: Option<(Instant, Activity, Option<Observation>)>,
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
        })
    }
}

impl Bench for Machine {
    fn now(&mut self) -> Duration {
        self.began.elapsed()
    }

    fn load_on(&mut self, load: usize) -> Result<(), Error> {
        let load = &mut self.loads[load];
        if let Some(process) = &mut load.process {
            process.resume()?;
        }
        std::thread::sleep(self.settle);
        let observation = load
            .process
            .as_mut()
            .map(LoadProcess::observe)
            .transpose()?;
        let activity = machine_activity().unwrap_or_default();
        load.since = Some((Instant::now(), activity, observation));
        Ok(())
    }

    fn load_off(&mut self, load: usize) -> Result<Option<LoadEvidence>, Error> {
        let load = &mut self.loads[load];
        let Some((since, activity, observation)) = load.since.take() else {
            return Ok(None);
        };
        match (&mut load.process, observation) {
            (Some(process), Some(observation)) => {
                let evidence = process.evidence(&observation);
                process.pause()?;
                Ok(Some(evidence?))
            }
            _ => {
                let elapsed = since.elapsed();
                let now = machine_activity().unwrap_or_default();
                let rate = |a: u64, b: u64| a.saturating_sub(b) as f64 / elapsed.as_secs_f64();
                Ok(Some(LoadEvidence {
                    load: "idle".to_owned(),
                    driver: "none".to_owned(),
                    operations: None,
                    operation: None,
                    cpu_time_ns: 0,
                    observed_ns: elapsed.as_nanos() as u64,
                    context_switches_per_second: rate(
                        now.context_switches,
                        activity.context_switches,
                    ),
                    interrupts_per_second: rate(now.interrupts, activity.interrupts),
                }))
            }
        }
    }

    fn measure(
        &mut self,
        cell: &PlannedCell,
        limits: &Limits<'_>,
    ) -> Result<Outcome, tompion_probe::Error> {
        let (clock, rate) = (self.clock, self.rate);
        let mut outcome = on_measuring_thread(cell.thread, move || match cell.probe {
            ProbePlan::ReadCost(method) => read_cost::measure(method, clock, rate, limits),
            ProbePlan::WakeUp { method, target_ns } => {
                wake_up::measure(method, target_ns, clock, limits)
            }
        })?;
        outcome.measurement.pinned_cpu = cell.thread.cpu;
        Ok(outcome)
    }
}
