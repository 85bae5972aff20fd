//! Moving interrupts to a CPU, and back whatever happens.
//!
//! A process of its own keeps the masks as they were: it outlives the load, which
//! dies with its parent, and puts them back when the pipe from the parent ends,
//! however the parent has ended.

use std::fs;
use std::io::{self, BufRead, BufReader, ErrorKind, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitCode, Stdio};
use tompion_model::Unavailable;

use nix::sys::signal::SigSet;

use crate::irq::Irq;
use crate::protocol::WORKER_ARG;

/// The worker's first argument that makes it this guard.
pub const ROLE: &str = "interrupts";

const ON: &str = "on";
const OFF: &str = "off";

/// The guard as its parent sees it. Dropping it puts the masks back.
pub struct IrqGuard {
    child: Child,
    orders: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
}

impl IrqGuard {
    /// Starts the guard. `root` is `/proc/irq`.
    ///
    /// # Errors
    /// If its process cannot be started.
    pub fn start(executable: &Path, root: &Path, cpu: u32, irqs: &[Irq]) -> io::Result<Self> {
        let mut command = Command::new(executable);
        command
            .args([WORKER_ARG, ROLE])
            .arg(root)
            .arg(cpu.to_string());
        command.args(irqs.iter().map(|irq| irq.number.to_string()));
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .process_group(0);
        let mut child = tompion_child::spawn(&mut command)?;
        let gone = || io::Error::from(ErrorKind::BrokenPipe);
        Ok(Self {
            orders: child.stdin.take(),
            answers: BufReader::new(child.stdout.take().ok_or_else(gone)?),
            child,
        })
    }

    /// Moves the interrupts; tells for each that could not be moved which and why.
    ///
    /// # Errors
    /// If the guard is gone.
    pub fn on(&mut self) -> io::Result<Vec<Problem>> {
        self.order(ON)
    }

    /// Puts the masks back; the same.
    ///
    /// # Errors
    /// If the guard is gone.
    pub fn off(&mut self) -> io::Result<Vec<Problem>> {
        self.order(OFF)
    }

    fn order(&mut self, order: &str) -> io::Result<Vec<Problem>> {
        let gone = || io::Error::other("the process that moves interrupts is gone");
        let orders = self.orders.as_mut().ok_or_else(gone)?;
        writeln!(orders, "{order}")?;
        let mut answer = String::new();
        self.answers.read_line(&mut answer)?;
        let answer = answer.strip_suffix('\n').ok_or_else(gone)?;
        Ok(answer.split('\t').filter_map(Problem::parsed).collect())
    }

    /// Puts the masks back and ends the guard.
    ///
    /// # Errors
    /// If it was killed, or could not put one back.
    pub fn end(&mut self) -> io::Result<()> {
        // Nothing more to order: the guard does its duty and ends.
        self.orders = None;
        let status = self.child.wait()?;
        match status.success() {
            true => Ok(()),
            false => Err(io::Error::other(format!(
                "the interrupts may not be back on their CPUs ({status}); see \
                 /proc/irq/*/smp_affinity_list"
            ))),
        }
    }
}

impl Drop for IrqGuard {
    fn drop(&mut self) {
        if self.orders.is_some() {
            let _ = self.end();
        }
    }
}

/// Why an interrupt could not be moved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Its number.
    pub irq: u32,
    /// Where it stays, as the kernel writes lists of CPUs; empty where that is not known.
    pub stays: String,
    /// Why, in words.
    pub why: String,
}

impl Problem {
    /// From the guard's answer: `NUMBER CPUS;WHY`.
    fn parsed(text: &str) -> Option<Self> {
        let (irq, rest) = text.split_once(' ')?;
        let (stays, why) = rest.split_once(';')?;
        Some(Self {
            irq: irq.parse().ok()?,
            stays: stays.to_owned(),
            why: why.to_owned(),
        })
    }
}

impl std::fmt::Display for Problem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.stays.as_str() {
            "" => f.write_str(&self.why),
            cpus => write!(f, "{}, it stays on CPU {cpus}", self.why),
        }
    }
}

/// Runs as the guard. Arguments: root, CPU, numbers of interrupts.
pub fn run(args: &[String]) -> ExitCode {
    let [root, cpu, irqs @ ..] = args else {
        return ExitCode::FAILURE;
    };
    // Only SIGKILL ends it before its duty is done.
    let _ = SigSet::all().thread_block();
    let mut masks: Vec<Mask> = irqs
        .iter()
        .map(|irq| Mask::new(Path::new(root), irq))
        .collect();
    for line in io::stdin().lines() {
        let problems: Vec<String> = match line.as_deref() {
            Ok(ON) => masks
                .iter_mut()
                .filter_map(|mask| mask.set(cpu).err())
                .map(|why| why.to_string())
                .collect(),
            Ok(OFF) => masks
                .iter_mut()
                .filter_map(|mask| mask.restore().err())
                .map(|why| why.to_string())
                .collect(),
            _ => break,
        };
        let mut out = io::stdout();
        if writeln!(out, "{}", problems.join("\t"))
            .and_then(|()| out.flush())
            .is_err()
        {
            break;
        }
    }
    let restored = masks.iter_mut().all(|mask| mask.restore().is_ok());
    if restored {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

/// The CPUs of one interrupt.
struct Mask {
    irq: String,
    file: PathBuf,
    /// Where the interrupt arrives now; absent on old kernels.
    effective: PathBuf,
    /// As it was before it was changed; absent while it is unchanged.
    original: Option<String>,
}

impl Mask {
    fn new(root: &Path, irq: &str) -> Self {
        let directory = root.join(irq);
        Self {
            irq: irq.to_owned(),
            file: directory.join("smp_affinity_list"),
            effective: directory.join("effective_affinity_list"),
            original: None,
        }
    }

    fn set(&mut self, cpu: &str) -> Result<(), Unavailable> {
        let problem = |e: io::Error| self.problem(&e);
        let before = fs::read_to_string(&self.file).map_err(problem)?;
        if self.original.is_some() || before.trim() == cpu {
            return Ok(());
        }
        fs::write(&self.file, cpu).map_err(problem)?;
        self.original = Some(before.trim().to_owned());
        Ok(())
    }

    fn restore(&mut self) -> Result<(), Unavailable> {
        if let Some(original) = &self.original {
            fs::write(&self.file, original).map_err(|e| self.problem(&e))?;
            self.original = None;
        }
        Ok(())
    }

    fn problem(&self, error: &io::Error) -> String {
        let now = fs::read_to_string(&self.effective).unwrap_or_default();
        let why = match error.raw_os_error() {
            // EACCES opening the file; EIO (EPERM since Linux 6.5) writing to it.
            Some(nix::libc::EACCES) => "moving interrupts needs root".to_owned(),
            Some(nix::libc::EIO | nix::libc::EPERM) => {
                "the kernel manages its CPU itself".to_owned()
            }
            _ => error.to_string(),
        };
        format!("{} {};{why}", self.irq, now.trim())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masks_are_set_once_and_put_back() {
        let root = tempfile::tempdir().unwrap();
        let file = root.path().join("7/smp_affinity_list");
        fs::create_dir(root.path().join("7")).unwrap();
        fs::write(&file, "0-3\n").unwrap();
        let mut mask = Mask::new(root.path(), "7");
        mask.restore().unwrap();
        assert_eq!(
            fs::read_to_string(&file).unwrap(),
            "0-3\n",
            "nothing to put back"
        );
        mask.set("2").unwrap();
        mask.set("2").unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), "2");
        mask.restore().unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), "0-3");
    }

    #[test]
    fn what_cannot_be_moved_says_why() {
        let root = tempfile::tempdir().unwrap();
        let mut mask = Mask::new(root.path(), "9");
        assert!(
            mask.set("0").unwrap_err().to_string().starts_with("9 "),
            "no such interrupt"
        );
        fs::create_dir(root.path().join("9")).unwrap();
        fs::write(&mask.effective, "1\n").unwrap();
        let managed = mask.problem(&io::Error::from_raw_os_error(nix::libc::EIO));
        assert_eq!(
            Problem::parsed(&managed).unwrap().to_string(),
            "the kernel manages its CPU itself, it stays on CPU 1"
        );
        let refused = mask.problem(&io::Error::from_raw_os_error(nix::libc::EACCES));
        assert!(refused.contains("root"), "{refused}");
    }
}
