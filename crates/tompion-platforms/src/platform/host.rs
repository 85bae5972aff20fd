//! This machine as it is: the program as a process of its own.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use super::{
    Output, Platform, PlatformKind, Presence, Seating, Setup, Task, TaskError, process,
    require_here,
};
use crate::leftovers::Workspace;

pub(super) static ENTRY: PlatformKind = PlatformKind {
    name: "host",
    about: "this machine as it is",
    read: |_| Some((Some("host".to_owned()), Arc::new(Host))),
    usual: &[""],
};

#[derive(Debug)]
/// This machine as it is.
pub struct Host;

impl Setup for Host {
    fn platform(&self, _: &str) -> Box<dyn Platform> {
        Box::new(Self)
    }
}

impl Platform for Host {
    fn presence(&self, program: &Path) -> Presence {
        match require_here(program) {
            Ok(()) => Presence::Present(Vec::new()),
            Err(why) => Presence::Absent(why.to_string()),
        }
    }

    fn at_a_glance(&self) -> Presence {
        Presence::Present(Vec::new())
    }

    fn scratch(&self, workspace: &Workspace) -> PathBuf {
        workspace.scratch().to_path_buf()
    }

    fn seating(&self) -> Seating {
        Seating::Process
    }

    fn run(&self, task: &Task<'_>) -> Result<Output, TaskError> {
        let mut command = match task.seat {
            Some(seat) => seat.command(task.program)?,
            None => Command::new(task.program),
        };
        command.args(task.arguments);
        process::run(command, task.limit, task.stop, task.telling, || ())
    }
}
