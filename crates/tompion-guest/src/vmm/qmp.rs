//! QEMU's monitor: the threads of virtual CPUs are asked for, pinned, and let go.
//! Protocol: QEMU's docs/interop/qmp-spec.

use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::unistd::Pid;
use serde_json::{Value, json};

use crate::GuestError;

/// An answer comes at once, but for a host that has no time at all.
const PATIENCE: Duration = Duration::from_secs(60);

/// The connection to a QEMU that waits with all virtual CPUs stopped.
pub struct Monitor {
    lines: BufReader<UnixStream>,
}

impl Monitor {
    pub fn new(socket: UnixStream) -> Result<Self, GuestError> {
        let limit = socket
            .set_read_timeout(Some(PATIENCE))
            .and_then(|()| socket.set_write_timeout(Some(PATIENCE)));
        limit.map_err(wrong)?;
        Ok(Self {
            lines: BufReader::new(socket),
        })
    }

    /// Binds the thread of every virtual CPU to its set of CPUs, then starts them.
    pub fn pin_and_continue(&mut self, pin: &[Vec<usize>]) -> Result<(), GuestError> {
        self.greet()?;
        let cpus = self.execute("query-cpus-fast").map_err(wrong)?;
        for cpu in cpus.as_array().into_iter().flatten() {
            let number = |key| cpu.get(key).and_then(Value::as_u64);
            let (Some(index), Some(thread)) = (number("cpu-index"), number("thread-id")) else {
                return Err(wrong(io::Error::other(format!("it says {cpu}"))));
            };
            let set = pin.get(index as usize).or(pin.first());
            let set = set.map_or(&[][..], Vec::as_slice);
            bind(thread as i32, set).map_err(|source| GuestError::Host {
                what: format!("pin virtual CPU {index} to {set:?}"),
                source,
            })?;
        }
        self.execute("cont").map(drop).map_err(wrong)
    }

    /// Ends a machine that has not begun.
    pub fn quit(&mut self) -> Result<(), GuestError> {
        self.greet()?;
        self.execute("quit").map(drop).map_err(wrong)
    }

    fn greet(&mut self) -> Result<(), GuestError> {
        let greeting = self.line().map_err(wrong)?;
        if greeting.get("QMP").is_none() {
            return Err(wrong(io::Error::other(format!("it says {greeting}"))));
        }
        self.execute("qmp_capabilities").map(drop).map_err(wrong)
    }

    fn execute(&mut self, command: &str) -> io::Result<Value> {
        let line = format!("{}\n", json!({ "execute": command }));
        self.lines.get_mut().write_all(line.as_bytes())?;
        loop {
            let mut answer = self.line()?;
            if let Some(value) = answer.get_mut("return") {
                return Ok(value.take());
            }
            if let Some(error) = answer.get("error") {
                return Err(io::Error::other(format!("{command}: {error}")));
            }
            // Else it is an event.
        }
    }

    fn line(&mut self) -> io::Result<Value> {
        let mut line = String::new();
        if self.lines.read_line(&mut line)? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        serde_json::from_str(&line).map_err(io::Error::from)
    }
}

fn wrong(source: io::Error) -> GuestError {
    GuestError::Host {
        what: "speak with QEMU's monitor".to_owned(),
        source,
    }
}

fn bind(thread: i32, cpus: &[usize]) -> io::Result<()> {
    let mut set = CpuSet::new();
    for &cpu in cpus {
        set.set(cpu)?;
    }
    let thread = Pid::from_raw(thread);
    sched_setaffinity(thread, &set)?;
    // The kernel takes what is left of a set of which a part is not allowed.
    match sched_getaffinity(thread)? == set {
        true => Ok(()),
        false => Err(io::Error::other(
            "not all of them are this process's to use",
        )),
    }
}
