//! The child process of a load: ready, stopped, alive, ended.

use std::io::{self, BufRead, BufReader, Read};
use std::os::fd::AsFd;
use std::process::{Child, ChildStdin, Command};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{Id, WaitPidFlag, WaitStatus, waitid};
use nix::unistd::Pid;
use tompion_time::os;

use crate::keeper::Keeper;
use crate::{LoadError, tree};

/// How long a load may take until it is ready.
const START_LIMIT: Duration = Duration::from_secs(30);
/// How long stopping or continuing may take; writing to a slow disk delays it.
const SWITCH_LIMIT: Duration = Duration::from_secs(10);
/// How long a supervisor may take to end everything.
const END_LIMIT: Duration = Duration::from_secs(15);
/// How often to look whether a process has stopped.
const LOOK_EVERY: Duration = Duration::from_micros(100);

/// A worker or a supervisor. Dropping it ends it with all that it runs.
pub struct LoadChild {
    /// The load as asked for, to name it in errors.
    load: String,
    child: Child,
    keeper: Keeper,
    /// Only of a supervisor: everything ends when this pipe does.
    lifeline: Option<ChildStdin>,
    /// While it is being switched on: how that went.
    switching_on: Option<Receiver<io::Result<()>>>,
    ended: bool,
}

impl LoadChild {
    /// Starts the process; a piped standard input makes it a supervisor.
    pub fn spawn(load: &str, command: Command) -> io::Result<Self> {
        let (keeper, mut child) = Keeper::spawn(command)?;
        Ok(Self {
            load: load.to_owned(),
            lifeline: child.stdin.take(),
            child,
            keeper,
            switching_on: None,
            ended: false,
        })
    }

    /// Its process id.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// The same for system calls.
    pub fn pid(&self) -> Pid {
        Pid::from_raw(self.child.id() as i32)
    }

    /// An error of the operating system about this load.
    pub fn system_error(&self, action: &'static str, source: io::Error) -> LoadError {
        LoadError::System {
            load: self.load.clone(),
            action,
            source,
        }
    }

    /// Waits for the line that says that the load is ready.
    pub fn await_ready(&mut self) -> Result<String, LoadError> {
        let mut output = self.child.stdout.take().map(BufReader::new);
        let mut line = String::new();
        if let Some(output) = &mut output {
            let limit = PollTimeout::try_from(START_LIMIT).unwrap_or(PollTimeout::MAX);
            let readable = poll(
                &mut [PollFd::new(output.get_ref().as_fd(), PollFlags::POLLIN)],
                limit,
            );
            if readable == Ok(0) {
                return Err(LoadError::Start {
                    load: self.load.clone(),
                    problem: format!("not ready within {} s", START_LIMIT.as_secs()),
                });
            }
            // Lines are short and written whole.
            output
                .read_line(&mut line)
                .map_err(|e| self.system_error("hear from it", e))?;
        }
        match line.strip_suffix('\n') {
            Some(operation) => Ok(operation.to_owned()),
            None => Err(LoadError::Start {
                load: self.load.clone(),
                problem: self.last_words(),
            }),
        }
    }

    /// Begins to switch the load off.
    pub fn begin_off(&mut self) -> Result<(), LoadError> {
        if self.lifeline.is_some() {
            // Its descendants are stopped one by one, below.
            return Ok(());
        }
        kill(self.pid(), Signal::SIGSTOP).map_err(|e| self.system_error("switch it off", e.into()))
    }

    /// Returns when the load has stopped.
    pub fn await_off(&mut self) -> Result<(), LoadError> {
        if self.lifeline.is_some() {
            return tree::stop_descendants(self.pid(), SWITCH_LIMIT)
                .map_err(|e| self.system_error("switch it off", e));
        }
        self.await_stop()
    }

    /// Begins to switch the load on, from another thread.
    pub fn begin_on(&mut self) {
        let pid = self.pid();
        if self.lifeline.is_some() {
            let (done, result) = channel();
            self.keeper.run(move || {
                let _ = done.send(tree::continue_descendants(pid, SWITCH_LIMIT));
            });
            self.switching_on = Some(result);
        } else {
            let (done, result) = channel();
            self.keeper.run(move || {
                let _ = done.send(kill(pid, Signal::SIGCONT).map_err(io::Error::from));
            });
            self.switching_on = Some(result);
        }
    }

    /// Returns when the load is on, having slept meanwhile.
    pub fn await_on(&mut self) -> Result<(), LoadError> {
        if let Some(result) = self.switching_on.take() {
            let result = result.recv().unwrap_or_else(|e| Err(io::Error::other(e)));
            result.map_err(|e| self.system_error("switch it on", e))?;
        }
        match self.lifeline {
            Some(_) => Ok(()),
            None => self.await_change(WaitPidFlag::WCONTINUED, "switch it on"),
        }
    }

    /// Returns when the process has stopped: when each of its threads has.
    pub fn await_stop(&mut self) -> Result<(), LoadError> {
        self.await_change(WaitPidFlag::WSTOPPED, "switch it off")
    }

    /// Waits until the kernel reports a change, leaving an exit for others to see.
    fn await_change(&mut self, change: WaitPidFlag, action: &'static str) -> Result<(), LoadError> {
        let deadline = Instant::now() + SWITCH_LIMIT;
        loop {
            os::sleep(LOOK_EVERY);
            match waitid(Id::Pid(self.pid()), change | WaitPidFlag::WNOHANG) {
                Ok(WaitStatus::Stopped(..) | WaitStatus::Continued(_)) => return Ok(()),
                Ok(_) | Err(Errno::EINTR | Errno::ECHILD) => self.check_alive()?,
                Err(refused) => return Err(self.system_error(action, refused.into())),
            }
            if Instant::now() > deadline {
                return Err(self.system_error(action, io::ErrorKind::TimedOut.into()));
            }
        }
    }

    /// An error if it has ended by itself.
    pub fn check_alive(&mut self) -> Result<(), LoadError> {
        match self.child.try_wait() {
            Ok(None) => Ok(()),
            Ok(Some(_)) => Err(LoadError::Died {
                load: self.load.clone(),
                problem: self.last_words(),
            }),
            Err(e) => Err(self.system_error("look after it", e)),
        }
    }

    /// Why the child ended, which it has done or is doing.
    fn last_words(&mut self) -> String {
        let status = self.child.wait();
        let mut words = String::new();
        if let Some(mut output) = self.child.stderr.take() {
            let _ = output.read_to_string(&mut words);
        }
        let words: Vec<_> = words
            .lines()
            .map(str::trim)
            .filter(|l| !l.is_empty())
            .collect();
        match status {
            _ if !words.is_empty() => words.join("; "),
            Ok(status) => format!("its process ended with {status}"),
            Err(e) => format!("its process is lost: {e}"),
        }
    }

    /// Ends it with all that it runs; returns when nothing is left.
    pub fn end(&mut self) -> io::Result<()> {
        if std::mem::replace(&mut self.ended, true) {
            return Ok(());
        }
        if self.lifeline.take().is_some() {
            let deadline = Instant::now() + END_LIMIT;
            while self.child.try_wait()?.is_none() {
                if Instant::now() > deadline {
                    // It cannot do its duty any more: do it from here.
                    tree::kill_descendants(self.pid(), END_LIMIT)?;
                    break;
                }
                os::sleep(LOOK_EVERY);
            }
        }
        self.child.kill()?;
        // Before its process id can go to another process.
        self.keeper.end();
        self.child.wait()?;
        Ok(())
    }
}

impl Drop for LoadChild {
    fn drop(&mut self) {
        // Nobody is left to tell; `end` is for those who want to know.
        let _ = self.end();
    }
}
