//! A run from its directory to its last trial: made, carried out, ended, and taken back where
//! nothing came of it. Whoever measures needs this and a [`Plan`]: commands, the live view,
//! a cell of a lab, a collector.

mod destination;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use tompion_load::{LoadSpec, USUAL_WRITE_BYTES, write_budget};
use tompion_model::{Design, Environment, RunHeader, Status, note_kind, now_utc};
use tompion_probe::{MeasuringThread, ThreadSettings};
use tompion_store::{Directory, RunWriter};

use crate::space::{require_space, require_space_for_loads};
use crate::{Bench, Error, Guides, MachineSettings, Plan, Progress, execute, execute_guided};

pub use destination::Destination;

/// How long a load runs before its first trial: a hundred threads on two CPUs
/// need a round of the scheduler, 200 ms, to weigh evenly.
pub const SETTLE: Duration = Duration::from_millis(300);

/// What a run is begun with.
#[derive(Clone, Debug)]
pub struct SessionSettings<'a> {
    /// Where it is written.
    pub destination: Destination,
    /// What is known of it beforehand.
    pub header: RunHeader,
    /// Loads, each switched on in its turn.
    pub loads: &'a [LoadSpec],
    /// Where loads put their files; the run's own directory where absent.
    pub load_directory: Option<PathBuf>,
    /// How long each load may be on at most.
    pub load_time: Duration,
    /// How long a load runs before its first trial.
    pub settle: Duration,
    /// CPU to which the measurement is pinned, for loads that ask for it.
    pub cpu: Option<u32>,
}

/// A run that is being measured, and the machine on which that happens.
#[derive(Debug)]
pub struct Session<M> {
    machine: M,
    writer: RunWriter,
    /// Whether the directory was there before.
    is_old: bool,
}

impl<M: Bench> Session<M> {
    /// Makes the run's directory and the machine. Call it on a thread that outlives the
    /// session: loads end with that thread.
    ///
    /// # Errors
    /// What the system refuses; nothing is left then.
    pub fn begin(
        settings: &SessionSettings<'_>,
        machine: impl FnOnce(&[LoadSpec], &MachineSettings) -> Result<M, Error>,
    ) -> Result<Self, Error> {
        let is_old = settings.destination.is_there();
        let mut writer = settings.destination.begin(&settings.header)?;
        let made = machine_settings(settings, writer.directory());
        let machine = match made.and_then(|all| machine(settings.loads, &all)) {
            Ok(machine) => machine,
            Err(error) => {
                writer.discard(is_old);
                return Err(error);
            }
        };
        machine.guards().into_iter().for_each(|g| writer.guard(g));
        writer.cpu_use_before(machine.cpu_use_before());
        machine
            .notes()
            .into_iter()
            .for_each(|note| writer.note(note_kind::MACHINE, note));
        Ok(Self {
            machine,
            writer,
            is_old,
        })
    }

    /// Carries out a plan whose loads are those of the session; more than once where
    /// something is left to do.
    ///
    /// # Errors
    /// Those of [`execute`]; what was measured before is saved.
    pub fn execute(
        &mut self,
        plan: &Plan,
        stop: &Arc<AtomicBool>,
        progress: impl FnMut(Progress<'_>),
    ) -> Result<Status, Error> {
        execute(plan, &mut self.machine, &mut self.writer, stop, progress)
    }

    /// The same with guides, for example for a plan of [`Plan::by_turns`].
    ///
    /// # Errors
    /// Those of [`execute_guided`]; what was measured before is saved.
    pub fn execute_guided(
        &mut self,
        plan: &Plan,
        guides: Guides<'_>,
        stop: &Arc<AtomicBool>,
        progress: impl FnMut(Progress<'_>),
    ) -> Result<Status, Error> {
        let (machine, writer) = (&mut self.machine, &mut self.writer);
        execute_guided(plan, machine, writer, guides, stop, progress)
    }

    /// The machine and the run, for who measures slice by slice ([`crate::Live`]).
    pub fn parts(&mut self) -> (&mut M, &mut RunWriter) {
        (&mut self.machine, &mut self.writer)
    }

    /// What was saved so far.
    pub fn writer(&self) -> &RunWriter {
        &self.writer
    }

    /// Ends the loads and leaves the run as it is. Returns its directory.
    pub fn end(self) -> Directory {
        self.writer.directory().clone()
    }

    /// The same, and removes a run in which nothing was measured. The directory is absent
    /// then.
    pub fn end_or_take_back(self) -> Option<Directory> {
        if !self.writer.record().trials.is_empty() {
            return Some(self.end());
        }
        let Self {
            machine,
            writer,
            is_old,
        } = self;
        // Loads have files of theirs there.
        drop(machine);
        writer.discard(is_old);
        None
    }
}

/// Refuses what the system does not grant or the disks do not hold, before anything is
/// written: the destination, CPUs and policies of the plan, `bytes` of samples at the destination, what loads write.
///
/// # Errors
/// The first of these.
pub fn require(
    plan: &Plan,
    loads: &[LoadSpec],
    bytes: u64,
    destination: &Destination,
    load_directory: Option<&Path>,
) -> Result<(), Error> {
    destination.require()?;
    try_threads(plan)?;
    require_space(destination.path(), bytes)?;
    if loads.iter().any(LoadSpec::writes_files) {
        let directory = load_directory.unwrap_or(destination.path());
        require_space_for_loads(directory, USUAL_WRITE_BYTES)?;
    }
    Ok(())
}

/// Tries the measuring thread's settings.
fn try_threads(plan: &Plan) -> Result<(), Error> {
    let mut tried: Vec<ThreadSettings> = Vec::new();
    for cell in &plan.cells {
        let settings = ThreadSettings {
            slack_ns: None,
            ..cell.thread
        };
        let looped = cell.loop_cpus();
        let on = |&cpu: &u32| ThreadSettings {
            cpu: Some(cpu),
            ..settings
        };
        let one = looped.is_empty().then_some(settings);
        for settings in looped.iter().map(on).chain(one) {
            if !tried.contains(&settings) {
                tried.push(settings);
            }
        }
    }
    let mut named: Vec<u32> = tried.iter().filter_map(|s| s.cpu).collect();
    named.sort_unstable();
    named.dedup();
    tompion_host::require_cpus(&named).map_err(|why| Error::Cpus {
        why,
        // A busy loop on each of several, or one CPU for all.
        several: plan.cells.iter().any(|c| c.thread.cpu.is_none()),
    })?;
    let thread = MeasuringThread::start().map_err(Error::Thread)?;
    for settings in tried {
        let usable = tompion_host::usable_cpus();
        let refused = settings.cpu.filter(|cpu| !usable.contains(cpu));
        thread
            .run(settings, || Ok(()))
            .map_err(|source| match refused {
                Some(_) => Error::ForbiddenCpu {
                    usable: tompion_host::cpu_list(&usable),
                    source,
                },
                None => Error::Thread(source),
            })?;
    }
    Ok(())
}

/// What is known of every run beforehand. `tool` is the program with its version, `environment`
/// the machine as it is now.
pub fn header(
    design: Design,
    tool: &str,
    command_line: Vec<String>,
    environment: Environment,
) -> RunHeader {
    RunHeader {
        command_line,
        tool: tool.to_owned(),
        started_at: now_utc(),
        design,
        environment,
        profiles: Vec::new(),
        guards: vec![
            "A fresh thread measures beside each load; every trial sets its policy and slack \
             afresh."
                .to_owned(),
            "Sample buffers are written once before use and locked into memory where the limit \
             on locked memory allows."
                .to_owned(),
            "Nothing but the operation under test stands between two time stamps.".to_owned(),
            "Loads are separate processes, stopped while another load, or none, is measured."
                .to_owned(),
            format!(
                "A load runs for {} ms before its first trial; the first samples of every trial \
                 are marked as warm-up and left out.",
                SETTLE.as_millis()
            ),
        ],
    }
}

fn machine_settings(
    settings: &SessionSettings<'_>,
    directory: &Directory,
) -> Result<MachineSettings, Error> {
    let load_directory = settings.load_directory.clone();
    Ok(MachineSettings {
        executable: std::env::current_exe().map_err(Error::OwnFile)?,
        load_directory: load_directory.unwrap_or_else(|| directory.lasting_path()),
        write_budget_bytes: write_budget(settings.loads, settings.load_time),
        planned_load_time: settings.load_time,
        settle: settings.settle,
        measured_cpu: settings.cpu,
    })
}
