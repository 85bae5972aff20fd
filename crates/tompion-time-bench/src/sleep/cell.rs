//! What sleeps are measured under, and what came of it.

use std::time::Duration;

use serde::Serialize;

use super::figures::Figures;
use super::hogs::Load;
use super::methods::Method;

/// Target lengths of the sleeps.
pub const TARGETS: [Duration; 3] = [
    Duration::from_micros(100),
    Duration::from_millis(1),
    Duration::from_millis(10),
];

/// The target that is held against limits, under as many hogs as CPUs.
pub const JUDGED: Duration = TARGETS[1];

/// One load, target and method.
#[derive(Clone, Debug, Serialize)]
pub struct Cell {
    /// What ran beside.
    pub load: Load,
    /// Length asked for, in nanoseconds.
    pub target_ns: u64,
    /// How it was slept.
    pub method: Method,
    /// All blocks pooled.
    pub all: Figures,
    /// Block by block.
    pub blocks: Vec<Figures>,
}
