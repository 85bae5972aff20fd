//! The supervisor: a worker process that runs a driver program and makes sure
//! that nothing of it survives.
//!
//! It holds the read end of a pipe from its parent as standard input. When that
//! ends, because the parent stopped the load or because the parent is no more,
//! it ends every process below itself. It is a subreaper, so that no descendant
//! escapes it, and it is never stopped itself: the parent stops and continues
//! its descendants.

use std::collections::VecDeque;
use std::fs;
use std::io::{self, PipeReader, PipeWriter, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use tompion_model::Unavailable;
use tompion_time::os;

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{SigSet, Signal, kill};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::{Pid, getpid};

use crate::driver::Driver;
use crate::spec::Part;
use crate::tree;

/// How long a driver may take until it works.
const START_LIMIT: Duration = Duration::from_secs(5);
/// How long a driver must have lived and worked before it counts as started:
/// stress-ng needs some tens of milliseconds to start its workers.
const START_TIME: Duration = Duration::from_millis(300);
/// CPU time that shows that it works.
const START_CPU_TIME_NS: u64 = 20_000_000;
/// How long a driver may take to tidy up after SIGTERM, before SIGKILL.
const GRACE: Duration = Duration::from_millis(500);
/// How long SIGKILL may take to have its effect.
const KILL_LIMIT: Duration = Duration::from_secs(10);
/// How much of a driver's last words is kept.
const WORDS_BYTES: usize = 2048;

/// Runs the driver of a load until the pipe from the parent ends.
pub fn run(spec: &Part) -> Result<(), Unavailable> {
    let system = |action: &str, e: &dyn std::fmt::Display| format!("could not {action}: {e}");
    nix::sys::prctl::set_child_subreaper(true).map_err(|e| system("become a subreaper", &e))?;
    let directory = nix::unistd::mkdtemp("./.tompion-load-XXXXXX")
        .map_err(|e| system("make its temporary directory", &e))?;
    let mut supervisor = Supervisor::new(directory).map_err(|e| system("watch children", &e))?;
    let driver = spec
        .work
        .driver(&supervisor.directory)
        .map_err(|e| system("prepare the program", &e))?
        .ok_or("no program drives this load")?;
    supervisor.start(driver)?;
    println!();
    io::stdout().flush().map_err(|e| system("report", &e))?;
    match supervisor.watch(None, || false)? {
        Event::ParentGone => Ok(()),
        Event::Wanted | Event::Timeout => Err("stopped watching without a reason".into()),
    }
}

struct Supervisor {
    directory: PathBuf,
    children_changed: SignalFd,
    program: &'static str,
    /// The end for programs yet to be started.
    mouth: Option<PipeWriter>,
    /// The end where their output arrives, until all of them have closed it.
    ear: Option<PipeReader>,
    last_words: VecDeque<u8>,
    /// Programs that run: started here and not yet reaped.
    running: Vec<Pid>,
}

enum Event {
    ParentGone,
    Wanted,
    Timeout,
}

impl Supervisor {
    fn new(directory: PathBuf) -> io::Result<Self> {
        let mut mask = SigSet::empty();
        mask.add(Signal::SIGCHLD);
        // Children start with an empty mask: the standard library sees to it.
        mask.thread_block()?;
        let flags = SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK;
        let (ear, mouth) = io::pipe()?;
        Ok(Self {
            directory,
            children_changed: SignalFd::with_flags(&mask, flags)?,
            program: "",
            mouth: Some(mouth),
            ear: Some(ear),
            last_words: VecDeque::new(),
            running: Vec::new(),
        })
    }

    /// Starts the programs and returns once they work.
    fn start(&mut self, driver: Driver) -> Result<(), Unavailable> {
        self.program = driver.program;
        if let Some((server, port)) = driver.server {
            self.spawn(server)?;
            self.wait_for("listen", || listens(port))?;
        }
        self.spawn(driver.main)?;
        let start = Instant::now();
        let here = getpid();
        self.wait_for("work", || {
            start.elapsed() >= START_TIME
                && tree::descendants_cpu_time_ns(here).unwrap_or(0) >= START_CPU_TIME_NS
        })?;
        self.mouth = None;
        Ok(())
    }

    fn spawn(&mut self, mut command: Command) -> Result<(), Unavailable> {
        for stream in [Command::stdout, Command::stderr] {
            let mouth = self.mouth.as_ref().map(PipeWriter::try_clone).transpose();
            let mouth = mouth.map_err(Unavailable::refused("could not share a pipe"))?;
            stream(&mut command, mouth.map_or_else(Stdio::null, Stdio::from));
        }
        command.stdin(Stdio::null()).process_group(0);
        // Should this process be killed, which nothing can tidy up after.
        tompion_child::kill_with_parent(&mut command);
        let child = tompion_child::spawn(&mut command)
            .map_err(|e| format!("could not start {}: {e}", self.program))?;
        // Reaped by number, with the orphans that this subreaper inherits.
        self.running.push(Pid::from_raw(child.id() as i32));
        Ok(())
    }

    fn wait_for(&mut self, what: &str, ready: impl Fn() -> bool) -> Result<(), Unavailable> {
        let deadline = Instant::now() + START_LIMIT;
        match self.watch(Some(deadline), ready)? {
            Event::Wanted => Ok(()),
            Event::ParentGone => Err("its parent is gone".into()),
            Event::Timeout => Err(format!(
                "{} did not {what} within {} s{}",
                self.program,
                START_LIMIT.as_secs(),
                self.words()
            )
            .into()),
        }
    }

    /// Sleeps until the parent goes, a program ends (an error), `ready` says so,
    /// or the time is over; without a deadline nothing wakes it periodically.
    fn watch(
        &mut self,
        deadline: Option<Instant>,
        ready: impl Fn() -> bool,
    ) -> Result<Event, Unavailable> {
        let stdin = io::stdin();
        loop {
            self.reap()?;
            if ready() {
                return Ok(Event::Wanted);
            }
            let timeout = match deadline {
                Some(deadline) if Instant::now() >= deadline => return Ok(Event::Timeout),
                Some(_) => PollTimeout::from(10_u8),
                None => PollTimeout::NONE,
            };
            let mut watched = vec![
                PollFd::new(stdin.as_fd(), PollFlags::POLLIN),
                PollFd::new(self.children_changed.as_fd(), PollFlags::POLLIN),
            ];
            let ear = self
                .ear
                .as_ref()
                .map(|ear| PollFd::new(ear.as_fd(), PollFlags::POLLIN));
            watched.extend(ear);
            match poll(&mut watched, timeout) {
                Ok(_) | Err(nix::errno::Errno::EINTR) => {}
                Err(e) => return Err(format!("could not wait for events: {e}").into()),
            }
            let happened: Vec<bool> = watched.iter().map(|fd| fd.any() == Some(true)).collect();
            if happened[0] {
                // The parent never writes: readable means that the pipe has ended.
                return Ok(Event::ParentGone);
            }
            while let Ok(Some(_)) = self.children_changed.read_signal() {}
            if happened.get(2) == Some(&true) {
                self.listen();
            }
        }
    }

    /// Keeps the last of what the driver says, so that it never blocks on us.
    fn listen(&mut self) {
        let mut piece = [0; 1024];
        match self.ear.as_mut().map(|ear| ear.read(&mut piece)) {
            Some(Ok(length)) if length > 0 => {
                self.last_words.extend(&piece[..length]);
                let surplus = self.last_words.len().saturating_sub(WORDS_BYTES);
                self.last_words.drain(..surplus);
            }
            _ => self.ear = None,
        }
    }

    /// Takes note of ended children; an error if one was a driver.
    fn reap(&mut self) -> Result<(), Unavailable> {
        while let Ok(status) = waitpid(None::<Pid>, Some(WaitPidFlag::WNOHANG)) {
            let (pid, how) = match status {
                WaitStatus::Exited(pid, status) => (pid, format!("exit status {status}")),
                WaitStatus::Signaled(pid, signal, _) => (pid, format!("signal {signal}")),
                WaitStatus::StillAlive => break,
                _ => continue,
            };
            if let Some(position) = self.running.iter().position(|running| *running == pid) {
                self.running.remove(position);
                self.hear_out();
                return Err(format!("{} ended with {how}{}", self.program, self.words()).into());
            }
        }
        Ok(())
    }

    /// Reads what is in the pipe already.
    fn hear_out(&mut self) {
        while let Some(ear) = &self.ear {
            let mut watched = [PollFd::new(ear.as_fd(), PollFlags::POLLIN)];
            match poll(&mut watched, PollTimeout::ZERO) {
                Ok(1..)
                    if watched[0]
                        .revents()
                        .is_some_and(|e| e.contains(PollFlags::POLLIN)) =>
                {
                    self.listen();
                }
                _ => return,
            }
        }
    }

    /// The last line that the driver said, to end a message with.
    fn words(&self) -> String {
        let bytes: Vec<u8> = self.last_words.iter().copied().collect();
        let text = String::from_utf8_lossy(&bytes);
        // stress-ng ends its complaints with an invitation to read the help.
        let mut lines = text.lines().map(str::trim).filter(|l| !l.is_empty());
        match lines.rfind(|line| !line.starts_with("Try ")) {
            Some(line) => format!(": {line}"),
            None => String::new(),
        }
    }

    fn end_all(&mut self) {
        let here = getpid();
        let alive = || tree::descendants(here).is_ok_and(|all| !all.is_empty());
        if alive() {
            // Asked first: some stressors leave shared memory behind otherwise.
            for pid in &self.running {
                let _ = kill(*pid, Signal::SIGTERM);
            }
            let _ = tree::continue_descendants(here, GRACE);
            let deadline = Instant::now() + GRACE;
            while alive() && Instant::now() < deadline {
                os::sleep(Duration::from_millis(2));
                let _ = self.reap();
            }
        }
        if let Err(e) = tree::kill_descendants(here, KILL_LIMIT) {
            // Not eprintln, which panics where nobody reads any more.
            let _ = writeln!(io::stderr(), "could not end {}: {e}", self.program);
        }
        while waitpid(None::<Pid>, Some(WaitPidFlag::WNOHANG)).is_ok_and(|s| s.pid().is_some()) {}
        let _ = fs::remove_dir_all(&self.directory);
    }
}

impl Drop for Supervisor {
    fn drop(&mut self) {
        self.end_all();
    }
}

fn listens(port: u16) -> bool {
    use procfs::net::TcpState;
    procfs::net::tcp().is_ok_and(|sockets| {
        sockets
            .iter()
            .any(|s| s.local_address.port() == port && s.state == TcpState::Listen)
    })
}
