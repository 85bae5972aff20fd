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
        })
    }
}

impl Bench for Machine {
    fn now(&mut self) -> Duration {
        self.began.elapsed()
    }

    fn load_on(&mut self, load: usize) -> Result<(), Error> {
        let load = &mut self.loads[load];
        // Observed from the start, settling included: a trial may be shorter than
        // one operation of its load.
        load.since = Some(match &mut load.process {
            Some(process) => {
                let since = process.observe()?;
                process.resume()?;
                Since::Loaded(since)
            }
            None => Since::Rest(machine_activity().ok()),
        });
        std::thread::sleep(self.settle);
        Ok(())
    }

    fn load_off(&mut self, load: usize) -> Result<Option<LoadEvidence>, Error> {
        let load = &mut self.loads[load];
        match (load.since.take(), &mut load.process) {
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
