//! What the runner needs of a machine, and the real machine.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tompion_load::{Activity, LoadConfig, LoadProcess, LoadSpec, Observation, machine_activity};
use tompion_probe::{
    Controller, LONG_SLEEP, Limits, MeasuringThread, Outcome, ThreadSettings, read_cost, wake_up,
};
use tompion_record::{LoadEvidence, Throttling};
use tompion_time::{Clock, Policy, Rate, Source};

use crate::{Error, PlannedCell, ProbePlan};

/// What the runner needs: time, loads, trials. Tests plant their own.
pub trait Bench {
    /// Time since some fixed moment.
    fn now(&mut self) -> Duration;

    /// Switches a load on and waits until it has settled.
    fn load_on(&mut self, load: usize) -> Result<(), Error>;

    /// Switches it off.
    fn load_off(&mut self, load: usize) -> Result<(), Error>;

    /// What a CPU quota has done to this process so far; absent without one.
    fn throttling(&mut self) -> Option<Throttling>;

    /// Measures one cell beside its load, which is on.
    fn trial(&mut self, cell: &PlannedCell, limits: &Limits) -> Result<Trial, Error>;
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
    /// How long a load runs before its first trial begins.
    pub settle: Duration,
    /// CPU to which the measurement is pinned, for loads that ask for it.
    pub measured_cpu: Option<u32>,
}

/// This machine.
pub struct Machine {
    began: Instant,
    rate: Option<Rate>,
    settle: Duration,
    loads: Vec<Load>,
    /// Whether the machine has been at rest since it settled.
    rested: bool,
    controller: Controller,
}

struct Load {
    process: Option<LoadProcess>,
    /// Measures while the load is on.
    thread: Option<MeasuringThread>,
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
            measured_cpu: settings.measured_cpu,
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
                    thread: None,
                })
            })
            .collect::<Result<_, Error>>()?;
        /// Brings the rate's error below one part per million.
        const CALIBRATION: Duration = Duration::from_millis(200);
        Clock::init(Policy::Auto);
        // The counter serves as bracket even where the kernel distrusts it as a
        // clock: brackets are short.
        let rate = Rate::measure(CALIBRATION).map(|m| m.1);
        Ok(Self {
            began: Instant::now(),
            rate,
            settle: settings.settle,
            loads,
            rested: false,
            // After the loads have started, so that none inherits it.
            controller: Controller::raise(),
        })
    }
}

impl Machine {
    /// What protects the measurement on this machine, beyond what always does.
    pub fn guards(&self) -> Vec<String> {
        let mut guards = vec![match Clock::source() {
            Source::Counter => "Tompion's own clock and sleep read the CPU counter.".to_owned(),
            Source::Kernel(why) => {
                format!("Tompion's own clock and sleep read the kernel's clock, because {why}.")
            }
        }];
        if self.controller.is_raised() {
            guards.push(
                "The controlling thread is real-time; it sleeps while a trial is measured."
                    .to_owned(),
            );
        }
        guards
    }

    /// What the reader of a run must know of this machine.
    pub fn notes(&self) -> Vec<String> {
        let slow = "The controlling thread could not be made real-time (that takes root or \
                    CAP_SYS_NICE, and real-time run time in the CPU cgroup): heavy loads are switched slowly, and fewer samples are taken \
                    beside them.";
        if self.controller.is_raised() {
            Vec::new()
        } else {
            vec![slow.to_owned()]
        }
    }
}

impl Bench for Machine {
    fn now(&mut self) -> Duration {
        self.began.elapsed()
    }

    fn throttling(&mut self) -> Option<Throttling> {
        tompion_platform::throttling()
    }

    fn load_on(&mut self, load: usize) -> Result<(), Error> {
        let load = &mut self.loads[load];
        if let Some(process) = &mut load.process {
            process.resume()?;
        } else if self.rested {
            // Nothing has happened that would have to die down.
            return Ok(());
        }
        self.rested = load.process.is_none();
        std::thread::sleep(self.settle);
        Ok(())
    }

    fn load_off(&mut self, load: usize) -> Result<(), Error> {
        let load = &mut self.loads[load];
        // The next time begins with a thread that knows nothing of this one.
        load.thread = None;
        match &mut load.process {
            Some(process) => Ok(process.pause()?),
            None => Ok(()),
        }
    }

    fn trial(&mut self, cell: &PlannedCell, limits: &Limits) -> Result<Trial, Error> {
        let named = |source| Error::Probe {
            cell: cell.factors.to_string(),
            source,
        };
        let settings = ThreadSettings {
            slack_ns: cell.thread.slack_ns.or(self.controller.default_slack_ns()),
            ..cell.thread
        };
        let (rate, probe) = (self.rate, cell.probe);
        let load = &mut self.loads[cell.load];
        let limits = Limits {
            granularity: load.process.is_none(),
            ..limits.clone()
        };
        let thread = match &load.thread {
            Some(thread) => thread,
            None => load.thread.insert(MeasuringThread::start().map_err(named)?),
        };
        let since = Since::now(&mut load.process)?;
        let started = self.began.elapsed();
        let stop = Arc::clone(&limits.stop);
        let measure = move || match probe {
            ProbePlan::ReadCost(method) => read_cost::measure(method, rate, &limits),
            ProbePlan::WakeUp { method, target_ns } => wake_up::measure(method, target_ns, &limits),
        };
        let mut outcome = match probe {
            ProbePlan::WakeUp { target_ns, .. } if Duration::from_nanos(target_ns) > LONG_SLEEP => {
                thread.run_stoppable(settings, &stop, measure)
            }
            // Between samples the probe looks for `stop` itself.
            _ => thread.run(settings, measure),
        }
        .map_err(named)?;
        let ended = self.began.elapsed();
        outcome.measurement.pinned_cpu = cell.thread.cpu;
        Ok(Trial {
            started,
            ended,
            outcome,
            load: since.evidence(&mut load.process)?,
        })
    }
}

/// The counters when a trial began.
enum Since {
    Rest(Option<Activity>),
    Loaded(Instant, Observation),
}

impl Since {
    fn now(process: &mut Option<LoadProcess>) -> Result<Self, Error> {
        Ok(match process {
            Some(process) => Self::Loaded(Instant::now(), process.observe()?),
            None => Self::Rest(machine_activity().ok()),
        })
    }

    /// What has happened since; an error when a load did nothing.
    fn evidence(self, process: &mut Option<LoadProcess>) -> Result<Option<LoadEvidence>, Error> {
        match (self, process) {
            (Self::Loaded(began, since), Some(process)) => {
                // Longer than one operation of any load, however short the trial.
                const SHORTEST: Duration = Duration::from_millis(10);
                std::thread::sleep(SHORTEST.saturating_sub(began.elapsed()));
                Ok(Some(process.evidence(&since)?))
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
        load: "idle".to_owned(),
        driver: "none".to_owned(),
        observed_ns: now.at.duration_since(before.at).as_nanos() as u64,
        context_switches_per_second: rates.context_switches_per_second,
        interrupts_per_second: rates.interrupts_per_second,
        ..LoadEvidence::default()
    }
}
