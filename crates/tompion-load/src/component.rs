//! One child process of a load: started, switched, observed, ended.

use std::fs;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::affinity::measured_cpu;
use crate::child::LoadChild;
use crate::counters::{Counters, memory_file};
use crate::irq_guard::IrqGuard;
use crate::loads::file_name;
use crate::protocol::{NO_CPU, SEPARATOR, WORKER_ARG};
use crate::spec::{Irq, Part};
use crate::{LoadConfig, LoadError, driver, irq, sys, tree};

/// A load that is one process, or one program below a supervisor.
pub struct Component {
    /// The load as asked for.
    pub load: String,
    /// What produces it.
    pub driver: String,
    /// What the reader of its evidence has to know.
    pub notes: Vec<String>,
    child: LoadChild,
    /// Absent where another program produces the load.
    built_in: Option<BuiltIn>,
    /// Where a built-in load leaves a file if it is killed at a bad moment.
    file: Option<PathBuf>,
    /// Moves interrupts while the load is on.
    interrupts: Option<IrqGuard>,
}

struct BuiltIn {
    counters: Counters,
    operation: String,
    moves_bytes: bool,
}

/// The counters of one component at one moment.
#[derive(Clone, Copy, Debug)]
pub struct Counts {
    pub operations: Option<u64>,
    pub bytes: Option<u64>,
    pub cpu_time_ns: u64,
}

impl Component {
    /// Starts it; returns when it is ready and stopped.
    pub fn start(part: &Part, config: &LoadConfig) -> Result<Self, LoadError> {
        let load = part.to_string();
        let system = |action| {
            let load = load.clone();
            move |source| LoadError::System {
                load,
                action,
                source,
            }
        };
        let program = part.work.program();
        let version = program.map(|p| driver::version(p, &load)).transpose()?;
        let executable =
            std::path::absolute(&config.executable).map_err(system("find its executable"))?;
        let (interrupts, mut notes) = interrupts(part, config, &executable)?;
        let mut command = Command::new(executable);
        let measured = config.measured_cpu.map(|cpu| cpu.to_string());
        command
            .arg(WORKER_ARG)
            .arg(std::process::id().to_string())
            .arg(&load)
            .arg(config.write_budget_bytes.to_string())
            .arg(config.planned_load_time.as_nanos().to_string())
            .arg(measured.as_deref().unwrap_or(NO_CPU))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            // Ctrl-C and Ctrl-Z at the terminal are for the parent to deal with;
            // a continue from the shell would switch a paused load on.
            .process_group(0);
        if part.needs_directory() {
            if !config.directory.is_dir() {
                let directory = config.directory.display();
                return Err(refusal(
                    part,
                    format!("{directory} is not an existing directory"),
                ));
            }
            command.current_dir(&config.directory);
        }
        let mut child;
        let built_in = if part.is_driven() {
            command.stdin(Stdio::piped());
            child = LoadChild::spawn(&load, command).map_err(system("start its process"))?;
            child.await_ready()?;
            child.await_off()?;
            None
        } else {
            let memory = memory_file().map_err(system("make shared memory"))?;
            command.stdin(memory.try_clone().map_err(system("share memory"))?);
            child = LoadChild::spawn(&load, command).map_err(system("start its process"))?;
            let ready = child.await_ready()?;
            // It stops itself, before the first operation.
            child.await_stop()?;
            let mut said = ready.split(SEPARATOR).map(str::to_owned);
            let operation = said.next().unwrap_or_default();
            notes.extend(said);
            Some(BuiltIn {
                counters: Counters::open(&memory).map_err(system("map its counters"))?,
                operation,
                moves_bytes: part.work.moves_bytes(),
            })
        };
        Ok(Self {
            load,
            driver: version.unwrap_or_else(|| "built-in".to_owned()),
            notes,
            file: part
                .needs_directory()
                .then(|| config.directory.join(file_name(child.id()))),
            child,
            built_in,
            interrupts,
        })
    }

    /// What one operation is, where operations are counted.
    pub fn operation(&self) -> Option<&str> {
        self.built_in.as_ref().map(|b| b.operation.as_str())
    }

    pub fn check_alive(&mut self) -> Result<(), LoadError> {
        self.child.check_alive()
    }

    pub fn begin_on(&mut self) -> Result<(), LoadError> {
        if let Some(interrupts) = &mut self.interrupts {
            let moved = interrupts.on();
            moved.map_err(|e| self.child.system_error("move the disk's interrupts", e))?;
        }
        self.child.begin_on();
        Ok(())
    }

    pub fn await_on(&mut self) -> Result<(), LoadError> {
        self.child.await_on()
    }

    pub fn begin_off(&mut self) -> Result<(), LoadError> {
        self.child.begin_off()
    }

    pub fn await_off(&mut self) -> Result<(), LoadError> {
        self.child.await_off()?;
        if let Some(interrupts) = &mut self.interrupts {
            let moved = interrupts.off();
            moved.map_err(|e| self.child.system_error("put the disk's interrupts back", e))?;
        }
        Ok(())
    }

    pub fn counts(&mut self) -> Result<Counts, LoadError> {
        self.child.check_alive()?;
        let pid = self.child.pid();
        let cpu_time_ns = match self.built_in {
            Some(_) => sys::cpu_time_ns(pid),
            None => tree::descendants_cpu_time_ns(pid),
        };
        let counted = self.built_in.as_ref();
        let totals = counted.map(|built_in| (built_in.counters.totals(), built_in.moves_bytes));
        Ok(Counts {
            operations: totals.map(|((operations, _), _)| operations),
            bytes: totals.and_then(|((_, bytes), moves)| moves.then_some(bytes)),
            cpu_time_ns: cpu_time_ns
                .map_err(|e| self.child.system_error("read its CPU time", e))?,
        })
    }

    /// An error of the operating system about this load.
    pub fn system_error(&self, action: &'static str, source: io::Error) -> LoadError {
        self.child.system_error(action, source)
    }

    /// Ends it; returns when nothing is left.
    pub fn end(&mut self) -> io::Result<()> {
        let ended = self.child.end();
        let removed = match self.file.as_ref().map(fs::remove_file) {
            Some(Err(e)) if e.kind() != io::ErrorKind::NotFound => Err(e),
            _ => Ok(()),
        };
        let restored = self
            .interrupts
            .take()
            .map_or(Ok(()), |mut guard| guard.end());
        ended.and(removed).and(restored)
    }
}

impl Drop for Component {
    fn drop(&mut self) {
        // Nobody is left to tell; `end` is for those who want to know.
        let _ = self.end();
    }
}

fn refusal(part: &Part, problem: String) -> LoadError {
    LoadError::Start {
        load: part.to_string(),
        problem,
    }
}

/// What moves the disk's interrupts, if that is asked for and possible, and notes
/// on it. What the kernel does not let go is no error: it may be so everywhere.
fn interrupts(
    part: &Part,
    config: &LoadConfig,
    executable: &Path,
) -> Result<(Option<IrqGuard>, Vec<String>), LoadError> {
    let cpu = match part.work.irq() {
        Some(Irq::Cpu(cpu)) => cpu,
        Some(Irq::Measured) => measured_cpu(config.measured_cpu, "irq=measured")
            .map_err(|problem| refusal(part, problem.to_string()))?,
        None => return Ok((None, Vec::new())),
    };
    let (disk, irqs) = match irq::of_directory(&config.directory) {
        Ok(found) => found,
        Err(problem) => {
            let note = format!("the disk's interrupts were not moved: {problem}");
            return Ok((None, vec![note]));
        }
    };
    let failed = |source| LoadError::System {
        load: part.to_string(),
        action: "move the disk's interrupts",
        source,
    };
    // Tried at once, to know before the first trial.
    let mut guard =
        IrqGuard::start(executable, Path::new("/proc/irq"), cpu, &irqs).map_err(failed)?;
    let problems = guard.on().map_err(failed)?;
    guard.off().map_err(failed)?;
    let notes = irqs.iter().map(|irq| {
        let named = format!("interrupt {} ({}) of {disk}", irq.number, irq.name);
        match problems.iter().find(|problem| problem.irq == irq.number) {
            Some(problem) if problem.stays == cpu.to_string() => {
                format!("{named} arrives on CPU {cpu} anyway: {problem}")
            }
            Some(problem) => format!("{named} was not moved to CPU {cpu}: {problem}"),
            None => format!("{named} arrives on CPU {cpu} while the load is on"),
        }
    });
    let notes = notes.collect();
    let any_moved = problems.len() < irqs.len();
    Ok((any_moved.then_some(guard), notes))
}
