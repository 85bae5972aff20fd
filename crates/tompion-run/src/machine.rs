//! The real machine.

mod observed;
mod since;
mod split;
mod stalls;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use tompion_load::{LoadConfig, LoadProcess, LoadSpec};
use tompion_model::{CpuUse, Findings, Throttling, factor};
use tompion_observe::Programs;
use tompion_observe::events::Keeper;
use tompion_probe::timer_events::{self, Found};
use tompion_probe::wake_up::{Company, Meanwhile, Sleeper, together};
use tompion_probe::{Controller, LONG_SLEEP, Limits, MeasuringThread, Outcome, ThreadSettings};
use tompion_time::os::{self, ClockId};
use tompion_time::{Clock, Policy, Rate, Source};

use self::observed::{Observed, Turns};
use self::since::{Since, Turn};
use crate::probes::{AtOnce, Member, OnThread, Stalls, Way};
use crate::{Bench, Clocks, Error, Observe, PlannedCell, PlannedSearch, Trial};

/// How often counters are read while a trial goes on.
const LOOK_EVERY: Duration = Duration::from_millis(100);

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
    /// The same in nanoseconds of `CLOCK_MONOTONIC`.
    began_ns: u64,
    rate: Option<Rate>,
    settle: Duration,
    loads: Vec<Load>,
    /// Whether the machine has been at rest since it settled.
    rested: bool,
    turns: Turns,
    /// Between trials that record all events of the CPUs.
    keeper: Option<Keeper>,
    controller: Controller,
    programs: Programs,
    cpu_use_before: Option<CpuUse>,
}

struct Load {
    process: Option<LoadProcess>,
    /// What it takes to see it run.
    turn: Turn,
    /// Measures while the load is on.
    thread: Measuring,
    /// Watches that thread or those that sleep at once, as the cells so far asked for it.
    observed: Option<Observed>,
    /// Sleep at once while the load is on.
    company: Company,
}

/// A measuring thread, from when it is first needed.
#[derive(Default)]
struct Measuring(Option<MeasuringThread>);

impl Measuring {
    fn ready(&mut self) -> Result<&MeasuringThread, tompion_probe::Error> {
        match &mut self.0 {
            Some(thread) => Ok(thread),
            none => Ok(none.insert(MeasuringThread::start()?)),
        }
    }
}

impl Machine {
    /// As a thread is set up that measures: with the slack that it has without this machine's raised one.
    fn settings(&self, thread: ThreadSettings) -> ThreadSettings {
        let default_ns = self.controller.default_slack_ns();
        ThreadSettings {
            slack_ns: thread.slack_ns.or(default_ns),
            ..thread
        }
    }

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
        let mut programs = Programs::new();
        programs.begin();
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
                    thread: Measuring::default(),
                    observed: None,
                    company: Company::default(),
                    turn: Turn::default(),
                })
            })
            .collect::<Result<_, Error>>()?;
        /// Brings the rate's error below one part per million.
        const CALIBRATION: Duration = Duration::from_millis(200);
        Clock::init(Policy::Auto);
        // The counter serves as bracket even where the kernel distrusts it as a
        // clock: brackets are short.
        let rate = Rate::measure(CALIBRATION).map(|m| m.1);
        let cpu_use_before = programs.end();
        Ok(Self {
            began: Instant::now(),
            began_ns: os::now_ns(ClockId::Monotonic),
            rate,
            settle: settings.settle,
            loads,
            rested: false,
            turns: Turns::default(),
            keeper: None,
            // After the loads have started, so that none inherits it.
            controller: Controller::raise(),
            programs,
            cpu_use_before,
        })
    }
}

/// What is watched beside a cell. Descriptors of events are closed slowly beside a heavy load by who is not real-time:
/// then `light` is what an automatic choice comes to.
fn beside(cell: &PlannedCell, may_be_slow: bool, light: Observe) -> Observe {
    match cell.observe {
        Observe::Auto if !may_be_slow => light,
        what => what,
    }
}

/// The CPUs on which a cell's threads may run.
fn cpus_of(cell: &PlannedCell) -> Vec<u32> {
    match cell.thread.cpu {
        Some(cpu) => vec![cpu],
        None => tompion_host::usable_cpus(),
    }
}

impl Bench for Machine {
    fn guards(&self) -> Vec<String> {
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

    fn notes(&self) -> Vec<String> {
        let slow = "The controlling thread could not be made real-time (that takes root or \
                    CAP_SYS_NICE, and real-time run time in the CPU cgroup): heavy loads are switched slowly, and fewer samples are taken \
                    beside them.";
        if self.controller.is_raised() {
            Vec::new()
        } else {
            vec![slow.to_owned()]
        }
    }

    fn cpu_use_before(&self) -> Option<CpuUse> {
        self.cpu_use_before.clone()
    }

    fn disturbed(&mut self) {
        self.rested = false;
    }

    fn now(&mut self) -> Duration {
        self.began.elapsed()
    }

    fn throttling(&mut self) -> Option<Throttling> {
        tompion_host::throttling()
    }

    fn clocks(&mut self) -> Clocks {
        Clocks::read()
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
        os::sleep(self.settle);
        Ok(())
    }

    fn load_off(&mut self, load: usize) -> Result<(), Error> {
        let load = &mut self.loads[load];
        // The next time begins with a thread that knows nothing of this one.
        load.thread = Measuring::default();
        load.observed = None;
        load.company = Company::default();
        match &mut load.process {
            Some(process) => Ok(process.pause()?),
            None => Ok(()),
        }
    }

    fn search(&mut self, search: &PlannedSearch, stop: &Arc<AtomicBool>) -> Result<Found, Error> {
        let named = |source| Error::Probe {
            cell: search.factors.to_string(),
            source,
        };
        let settings = self.settings(search.thread);
        let thread = self.loads[search.load].thread.ready().map_err(named)?;
        let (method, form, stop) = (search.method, search.form, Arc::clone(stop));
        let what = PlannedSearch::search();
        thread
            .run(settings, move || {
                timer_events::smallest_held(method, form, &what, &stop)
            })
            .map_err(named)
    }

    fn trial(&mut self, cell: &PlannedCell, limits: &Limits) -> Result<Vec<Trial>, Error> {
        self.programs.begin();
        let mut trials = match cell.probe.way() {
            Way::OnThread(probe) => self.thread_trial(cell, probe, limits),
            Way::Loops(stalls) => self.stall_trials(cell, stalls, limits),
            Way::Sleepers(sleepers) => self.sleeper_trials(cell, sleepers, limits),
            Way::Split(split) => self.split_trials(cell, split, limits),
        }?;
        let cpu_use = self.programs.end();
        for trial in &mut trials {
            trial.cpu_use.clone_from(&cpu_use);
        }
        Ok(trials)
    }
}

impl Machine {
    /// One cell on the measuring thread.
    fn thread_trial(
        &mut self,
        cell: &PlannedCell,
        probe: OnThread,
        limits: &Limits,
    ) -> Result<Vec<Trial>, Error> {
        let named = |source| Error::Probe {
            cell: cell.factors.to_string(),
            source,
        };
        let settings = self.settings(cell.thread);
        let rate = self.rate;
        let load = &mut self.loads[cell.load];
        let limits = Limits {
            granularity: load.process.is_none(),
            ..limits.clone()
        };
        let thread = load.thread.ready().map_err(named)?;
        let may_be_slow = self.controller.is_raised() || load.process.is_none();
        let mut observed = Observed::again(
            &mut load.observed,
            beside(cell, may_be_slow, Observe::Counters),
            &*cell.probe,
            (&[thread.tid()], &cpus_of(cell)),
            &mut self.turns,
        );
        let since = Since::now(&mut load.process)?;
        let started = self.began.elapsed();
        let stop = Arc::clone(&limits.stop);
        let measure = move || probe(rate, &limits);
        if let Some(observed) = &mut observed {
            observed.begin_window();
        }
        let outcome = if Duration::from_nanos(cell.wait_ns()) > LONG_SLEEP {
            thread.run_stoppable(settings, &stop, measure)
        } else if let Some(observed) = &mut observed {
            thread.run_beside(settings, LOOK_EVERY, || observed.look(), measure)
        } else {
            // Between samples the probe looks for `stop` itself.
            thread.run(settings, measure)
        }
        .map_err(named)?;
        let ended = self.began.elapsed();
        let mut group = [vec![outcome]];
        let observation = observed.and_then(|o| o.end_window(&mut group).pop());
        let [mut outcome] = group.map(|mut one| one.remove(0));
        outcome.measurement.pinned_cpu = cell.thread.cpu;
        Ok(vec![Trial {
            factors: cell.factors.clone(),
            started,
            started_unix_ns: None,
            ended,
            outcome,
            load: since.evidence(&mut load.process, &mut load.turn)?,
            findings: Findings::default(),
            observation,
            cpu_use: None,
        }])
    }

    /// Several sleepers at once, each of them a trial.
    fn sleeper_trials(
        &mut self,
        cell: &PlannedCell,
        at_once: &AtOnce,
        limits: &Limits,
    ) -> Result<Vec<Trial>, Error> {
        let sleeper = |member: &Member| Sleeper {
            thread: self.settings(member.sleeper.thread),
            ..member.sleeper
        };
        let sleepers: Vec<Sleeper> = at_once.members.iter().map(sleeper).collect();
        let load = &mut self.loads[cell.load];
        let named = |source| Error::Probe {
            cell: cell.factors.to_string(),
            source,
        };
        let tids = load.company.ready(&sleepers).map_err(named)?;
        let may_be_slow = self.controller.is_raised() || load.process.is_none();
        let mut observed = Observed::again(
            &mut load.observed,
            match beside(cell, may_be_slow, Observe::Off) {
                // They tell of all threads together, which wait for one another.
                Observe::Counters => Observe::Off,
                other => other,
            },
            &*cell.probe,
            (&tids, &cpus_of(cell)),
            &mut self.turns,
        );
        let since = Since::now(&mut load.process)?;
        let mut measured = match &mut observed {
            None => load.company.measure(&sleepers, limits, None),
            Some(observed) => {
                observed.begin_window();
                let mut look = || observed.look();
                let meanwhile: Meanwhile<'_> = (LOOK_EVERY, &mut look);
                load.company.measure(&sleepers, limits, Some(meanwhile))
            }
        }
        .map_err(named)?;
        let ended = self.began.elapsed();
        let observations = observed.map_or_else(Vec::new, |o| o.end_window(&mut measured));
        let mut observations = observations.into_iter();
        let evidence = since.evidence(&mut load.process, &mut load.turn)?;
        let began_ns = self.began_ns;
        let trial = |(member, threads): (&Member, Vec<Outcome>)| {
            let outcome = together(threads, limits.samples);
            let mut outcome = outcome.expect("one thread at least");
            outcome.measurement.pinned_cpu = member.sleeper.thread.cpu;
            Trial {
                // The group's, such as what is observed, and its own.
                factors: cell.factors.clone().joined(&member.factors),
                started: Duration::from_nanos(outcome.began_ns.saturating_sub(began_ns)),
                started_unix_ns: None,
                ended,
                outcome,
                load: evidence.clone(),
                findings: Findings::default(),
                observation: observations.next(),
                cpu_use: None,
            }
        };
        Ok(at_once.members.iter().zip(measured).map(trial).collect())
    }

    /// One busy loop, or one on each of several CPUs.
    fn stall_trials(
        &mut self,
        cell: &PlannedCell,
        stalls: &Stalls,
        limits: &Limits,
    ) -> Result<Vec<Trial>, Error> {
        let cpus = &stalls.cpus;
        let load = &mut self.loads[cell.load];
        let mut placements = vec![cell.thread];
        if !cpus.is_empty() {
            let on = |&cpu: &u32| ThreadSettings {
                cpu: Some(cpu),
                ..cell.thread
            };
            placements = cpus.iter().map(on).collect();
        }
        let since = Since::now(&mut load.process)?;
        let cpu_events = self.controller.is_raised() || load.process.is_none();
        let measured = stalls::measure(
            &placements,
            stalls.threshold_ns,
            self.rate,
            cpu_events.then_some(&mut self.keeper),
            limits,
        );
        let measured = measured.map_err(|source| Error::Probe {
            cell: cell.factors.to_string(),
            source,
        })?;
        let ended = self.began.elapsed();
        let evidence = since.evidence(&mut load.process, &mut load.turn)?;
        let began_ns = self.began_ns;
        let trial = |m: stalls::Measured| Trial {
            factors: match m.stalls.cpu {
                Some(cpu) if !cpus.is_empty() => {
                    cell.factors.clone().with(factor::CPU, cpu.to_string())
                }
                _ => cell.factors.clone(),
            },
            // Without the time that it took to set the loop up.
            started: Duration::from_nanos(m.outcome.began_ns.saturating_sub(began_ns)),
            started_unix_ns: None,
            ended,
            outcome: m.outcome,
            load: evidence.clone(),
            findings: m.stalls.into(),
            observation: Some(m.observation),
            cpu_use: None,
        };
        Ok(measured.into_iter().map(trial).collect())
    }
}
