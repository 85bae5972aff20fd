//! What a remedy is.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Serialize;

use crate::{Change, Setup, Surroundings};

/// Whom a remedy touches while it is tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Reach {
    /// This process alone.
    OwnProcess,
    /// Other programs, too; tried only with the user's consent.
    System,
}

impl Reach {
    /// In words.
    pub fn words(self) -> &'static str {
        match self {
            Self::OwnProcess => "this process",
            Self::System => "the system",
        }
    }
}

/// What is measured with a remedy on and off.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Quantity {
    /// Wake-up latency of sleeps to an absolute time.
    WakeUp,
    /// Cost of `clock_gettime(CLOCK_MONOTONIC)`.
    ReadCost,
    /// Wake-up latency of sleeps in a program of its own, as it sees them.
    ProgramWakeUp,
    /// How far the wall clock is off; never measured here.
    WallClock,
}

impl Quantity {
    /// In words.
    pub fn words(self) -> &'static str {
        match self {
            Self::WakeUp => "wake-up latency",
            Self::ReadCost => "read cost",
            Self::ProgramWakeUp => "wake-up latency in a program",
            Self::WallClock => "error of the wall clock",
        }
    }
}

/// A remedy that can be tried here.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Ready {
    /// What it changes, for example `50 µs` to `1 ns`.
    pub from: String,
    /// See `from`.
    pub to: String,
    /// How trials are set up without it.
    pub off: Setup,
    /// How trials are set up with it.
    pub on: Setup,
    /// Files of the kernel that it changes, in this order. One that refuses is left
    /// out as long as another takes its value.
    pub files: Vec<Change>,
    /// Device that is held open with these bytes written to it.
    pub held: Option<(PathBuf, Vec<u8>)>,
    /// Lists of processes that this process joins with the remedy and without.
    pub joined: Option<(PathBuf, PathBuf)>,
    /// The command, configuration or code that applies it, a line each.
    pub apply: Vec<String>,
}

impl Ready {
    /// Whether something outside of this process changes.
    pub fn touches_files(&self) -> bool {
        !self.files.is_empty() || self.held.is_some() || self.joined.is_some()
    }
}

/// How a remedy stands on this machine.
#[derive(Clone, Debug, PartialEq)]
pub enum State {
    /// This machine lacks it, and why.
    Absent(String),
    /// It is so already, and how.
    Already(String),
    /// It can be tried.
    Ready(Box<Ready>),
    /// It is missing, and there is no trying it for a moment: how it is applied.
    Advised(Box<Ready>),
}

impl State {
    /// A remedy that can be tried.
    pub fn ready(ready: Ready) -> Self {
        Self::Ready(Box::new(ready))
    }

    /// A remedy that is advised and not tried.
    pub fn advised(ready: Ready) -> Self {
        Self::Advised(Box::new(ready))
    }
}

/// A remedy.
pub trait Knob {
    /// Its name, for `--only` and for tables.
    fn name(&self) -> String;

    /// What it is, in a few words.
    fn title(&self) -> String;

    /// Whom it touches.
    fn reach(&self) -> Reach;

    /// What it acts on.
    fn quantity(&self) -> Quantity {
        Quantity::WakeUp
    }

    /// Looks at the machine, without changing anything.
    fn state(&self, here: &Surroundings) -> State;

    /// What it costs in CPU time and power, and what other tenants pay.
    fn price(&self) -> &'static str;

    /// Who recommends it: a paper, a manual, or practice.
    fn source(&self) -> &'static str;
}
