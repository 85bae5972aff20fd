//! This machine as it is: the program as a process of its own.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::{Output, Platform, Presence, Task, TaskError, process};
use crate::leftovers::Workspace;

pub(super) struct Host;

impl Platform for Host {
    fn presence(&self, _program: &Path) -> Presence {
        Presence::Present(Vec::new())
    }

    fn scratch(&self, workspace: &Workspace) -> PathBuf {
        workspace.scratch().to_path_buf()
    }

    fn run(&self, task: &Task<'_>) -> Result<Output, TaskError> {
        let mut command = Command::new(task.program);
        command.args(task.arguments);
        process::run(command, task.limit, task.stop, || ())
    }
}
