//! What a lab tells while it works, and at its end.

use std::time::Duration;

/// Where a lab stands, told before and after every cell.
#[derive(Clone, Debug)]
pub struct Progress {
    /// Cells that were measured or failed, those of earlier sittings included.
    pub done: usize,
    /// Cells in all.
    pub total: usize,
    /// The cell under way or just ended, in words.
    pub what: String,
    /// Time left, by what cells of each platform took so far.
    pub left: Duration,
    /// Why the cell failed that just ended.
    pub failed: Option<String>,
}

/// How a lab ended.
#[derive(Clone, Debug, Default)]
pub struct Ending {
    /// Whether a signal ended it before its plan did.
    pub interrupted: bool,
    /// Cells measured, in all sittings.
    pub measured: usize,
    /// Cells that failed, in words with the reason, those alike told once.
    pub failed: Vec<String>,
    /// Platforms that were not there, and placements that they could not have, with the
    /// reason.
    pub absent: Vec<String>,
    /// What could not be removed from other machines, with the reason.
    pub left: Vec<String>,
}
