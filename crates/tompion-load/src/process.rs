//! A running load as the measurement sees it.

use std::fs;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use tompion_record::LoadEvidence;

use crate::child::LoadChild;
use crate::counters::{Counters, memory_file};
use crate::worker::{WORKER_ARG, file_name};
use crate::{Activity, LoadError, LoadSpec, driver, machine_activity, sys, tree};

/// What a load may use.
#[derive(Clone, Debug)]
pub struct LoadConfig {
    /// This program, which is started again with [`WORKER_ARG`]; its `main` must
    /// call [`worker_main`](crate::worker_main) then.
    pub executable: PathBuf,
    /// Existing directory for the files of `io` and `hd`, and for temporary ones
    /// of driver programs.
    pub directory: PathBuf,
    /// What this load may write to files over its whole life, in bytes. Driver
    /// programs are not held to it; their options that write are refused.
    pub write_budget_bytes: u64,
    /// How long the load will be on in all; writes are paced to last that long.
    pub planned_load_time: Duration,
}

/// The counters of a load at one moment.
#[derive(Clone, Copy, Debug)]
pub struct Observation {
    /// Operations done so far, where the driver counts them.
    pub operations: Option<u64>,
    /// CPU time used so far, in nanoseconds.
    pub cpu_time_ns: u64,
    /// Totals of the whole machine.
    pub activity: Activity,
}

/// A load beside the measurement: ready, and on or off.
///
/// Dropping it ends it, and nothing stays behind. It also ends with its parent,
/// however that ends.
pub struct LoadProcess {
    /// The load as asked for.
    load: String,
    /// What produces it.
    driver: String,
    child: LoadChild,
    /// Absent where another program produces the load.
    built_in: Option<BuiltIn>,
    /// Where a built-in load leaves a file if it is killed at a bad moment.
    file: Option<PathBuf>,
    paused: bool,
}

struct BuiltIn {
    counters: Counters,
    operation: String,
}

impl LoadProcess {
    /// Starts a load and returns when it is ready and paused: it does nothing
    /// until [`resume`](Self::resume). (A driver program works for some tenths
    /// of a second before, which shows that it can.)
    ///
    /// # Errors
    /// If the load cannot run here: its program is not installed, memory or disk
    /// would run short, the write budget is too small, the peer does not answer.
    pub fn start(spec: &LoadSpec, config: &LoadConfig) -> Result<Self, LoadError> {
        let load = spec.to_string();
        let refuse = |problem: String| LoadError::Start {
            load: load.clone(),
            problem,
        };
        let system = |action| {
            let load = load.clone();
            move |source| LoadError::System {
                load,
                action,
                source,
            }
        };
        if spec.is_idle() {
            return Err(refuse(
                "idle is the absence of load and is never started".to_owned(),
            ));
        }
        let version = driver::version(spec)?;
        let executable =
            std::path::absolute(&config.executable).map_err(system("find its executable"))?;
        let mut command = Command::new(executable);
        command
            .arg(WORKER_ARG)
            .arg(std::process::id().to_string())
            .arg(&load)
            .arg(config.write_budget_bytes.to_string())
            .arg(config.planned_load_time.as_nanos().to_string())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            // Ctrl-C and Ctrl-Z at the terminal are for the parent to deal with;
            // a continue from the shell would switch a paused load on.
            .process_group(0);
        if spec.needs_directory() {
            if !config.directory.is_dir() {
                let directory = config.directory.display();
                return Err(refuse(format!("{directory} is not an existing directory")));
            }
            command.current_dir(&config.directory);
        }
        let mut child;
        let built_in = if spec.is_driven() {
            command.stdin(Stdio::piped());
            child = LoadChild::spawn(&load, command).map_err(system("start its process"))?;
            child.await_ready()?;
            child.switch_off()?;
            None
        } else {
            let memory = memory_file().map_err(system("make shared memory"))?;
            command.stdin(memory.try_clone().map_err(system("share memory"))?);
            child = LoadChild::spawn(&load, command).map_err(system("start its process"))?;
            let operation = child.await_ready()?;
            // It stops itself, before the first operation.
            child.await_stop()?;
            let counters = Counters::open(&memory).map_err(system("map its counters"))?;
            Some(BuiltIn {
                counters,
                operation,
            })
        };
        Ok(Self {
            load,
            driver: version.unwrap_or_else(|| "built-in".to_owned()),
            file: spec
                .needs_directory()
                .then(|| config.directory.join(file_name(child.id()))),
            child,
            built_in,
            paused: true,
        })
    }

    /// Switches the load on; the calling thread sleeps until it is.
    ///
    /// It gets the CPU back when the load lets it: within a few milliseconds with
    /// few threads, but with a hundred busy threads on two CPUs only after each of
    /// them has run once, a tenth to half a second.
    ///
    /// # Errors
    /// If the load has ended by itself, or cannot be continued.
    pub fn resume(&mut self) -> Result<(), LoadError> {
        self.child.check_alive()?;
        if self.paused {
            self.child.switch_on()?;
            self.paused = false;
        }
        Ok(())
    }

    /// Switches the load off; returns when it has stopped. What a network load
    /// has in flight still drains, up to the size of its socket buffers.
    ///
    /// # Errors
    /// If the load has ended by itself, or cannot be stopped.
    pub fn pause(&mut self) -> Result<(), LoadError> {
        self.child.check_alive()?;
        if !self.paused {
            self.child.switch_off()?;
            self.paused = true;
        }
        Ok(())
    }

    /// The counters now.
    ///
    /// # Errors
    /// If the load has ended by itself, or `/proc` cannot be read.
    pub fn observe(&mut self) -> Result<Observation, LoadError> {
        self.child.check_alive()?;
        let child = &self.child;
        let pid = child.pid();
        let (operations, cpu_time) = match &self.built_in {
            Some(built_in) => (Some(built_in.counters.total()), sys::cpu_time_ns(pid)),
            None => (None, tree::descendants_cpu_time_ns(pid)),
        };
        let error = |action| move |e| child.system_error(action, e);
        Ok(Observation {
            operations,
            cpu_time_ns: cpu_time.map_err(error("read its CPU time"))?,
            activity: machine_activity().map_err(error("read the machine's activity"))?,
        })
    }

    /// What the load did since an earlier observation.
    ///
    /// # Errors
    /// [`LoadError::DidNothing`] if it neither used CPU time nor counted an
    /// operation, [`LoadError::Died`] if it has ended by itself.
    pub fn evidence(&mut self, since: &Observation) -> Result<LoadEvidence, LoadError> {
        let now = self.observe()?;
        let operations = now
            .operations
            .zip(since.operations)
            .map(|(now, before)| now.saturating_sub(before));
        let cpu_time_ns = now.cpu_time_ns.saturating_sub(since.cpu_time_ns);
        let observed = now.activity.at.saturating_duration_since(since.activity.at);
        if cpu_time_ns == 0 && operations.unwrap_or(0) == 0 {
            return Err(LoadError::DidNothing {
                load: self.load.clone(),
                observed_ms: observed.as_secs_f64() * 1e3,
            });
        }
        let rates = now.activity.rates_since(&since.activity);
        Ok(LoadEvidence {
            load: self.load.clone(),
            driver: self.driver.clone(),
            operations,
            operation: self.built_in.as_ref().map(|b| b.operation.clone()),
            cpu_time_ns,
            observed_ns: u64::try_from(observed.as_nanos()).unwrap_or(u64::MAX),
            context_switches_per_second: rates.context_switches_per_second,
            interrupts_per_second: rates.interrupts_per_second,
        })
    }

    /// Ends the load; returns when nothing of it is left.
    ///
    /// # Errors
    /// If something of it could not be ended.
    pub fn stop(mut self) -> Result<(), LoadError> {
        let result = self.child.end().and_then(|()| self.remove_file());
        result.map_err(|e| self.child.system_error("end it", e))
    }

    fn remove_file(&self) -> io::Result<()> {
        match self.file.as_ref().map(fs::remove_file) {
            Some(Err(e)) if e.kind() != io::ErrorKind::NotFound => Err(e),
            _ => Ok(()),
        }
    }
}

impl Drop for LoadProcess {
    fn drop(&mut self) {
        // Nobody is left to tell; `stop` is for those who want to know.
        let _ = self.child.end();
        let _ = self.remove_file();
    }
}
