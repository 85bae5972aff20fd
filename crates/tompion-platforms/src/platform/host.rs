//! This machine as it is: the program as a process of its own.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use serde_json::json;

use super::{
    Output, Platform, PlatformKind, Presence, Seating, Setup, Task, TaskError, process,
    require_here,
};
use crate::leftovers::Workspace;
use crate::network::Network;

pub(super) static ENTRY: PlatformKind = PlatformKind {
    name: "host",
    about: "this machine as it is",
    read: |table| {
        let network = Network::read(table, &[Network::Host]);
        Some((Some("host".to_owned()), Arc::new(Host { network })))
    },
    usual: &[""],
};

/// This machine as it is.
#[derive(Clone, Debug, Default)]
pub struct Host {
    network: Network,
}

impl Host {
    /// Joined to nothing.
    pub const PLAIN: Self = Self {
        network: Network::None,
    };
}

impl Setup for Host {
    fn as_json(&self) -> serde_json::Value {
        match self.network {
            Network::None => serde_json::Value::Null,
            network => json!({ "network": network }),
        }
    }

    fn settings(&self) -> Vec<String> {
        self.network.in_words().into_iter().collect()
    }

    fn network(&self) -> Network {
        self.network
    }

    fn platform(&self, _: &str) -> Box<dyn Platform> {
        Box::new(self.clone())
    }
}

impl Platform for Host {
    fn presence(&self, program: &Path) -> Presence {
        if !self.network.is_none() && !rustix::process::geteuid().is_root() {
            return Presence::Absent("the network of a testbed is made by root alone".to_owned());
        }
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
        process::run(command, task.bounds(), task.stop, task.telling, || ())
    }
}
