//! A lab while it works: how one cell is measured in an instance.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use super::Platforms;
use crate::leftovers::Workspace;
use crate::platform::{Output, Task, TaskError};
use crate::{CellJob, LabCell, LabPlan};

/// A lab at work.
pub(super) struct Sitting<'a> {
    pub platforms: &'a Platforms,
    pub program: &'a Path,
    pub stop: &'a Arc<AtomicBool>,
    pub workspace: &'a Workspace,
    pub began: Instant,
    /// From the beginning of the run to that of this sitting.
    pub earlier: Duration,
    pub instances: usize,
    /// What instances of each platform noted.
    pub notes: BTreeMap<String, Vec<String>>,
}

impl Sitting<'_> {
    /// Has a cell measured.
    pub fn output(
        &mut self,
        plan: &LabPlan,
        seed: u64,
        replicate: u32,
        cell: LabCell,
    ) -> Result<Output, TaskError> {
        let platform = &self.platforms.0[cell.platform].0;
        let probe = &plan.probes[cell.probe];
        // Any number will do that no other replicate of the cell has.
        let seed = seed.wrapping_add(u64::from(replicate)).wrapping_mul(31) + cell.probe as u64;
        let scratch = platform.scratch(self.workspace);
        let arguments = CellJob::new(probe, &plan.loads[cell.load], seed, scratch).arguments();
        self.instances += 1;
        let output = platform.run(&Task {
            program: self.program,
            arguments: &arguments,
            number: self.instances,
            workspace: self.workspace,
            limit: 2 * probe.time() + platform.patience(),
            stop: self.stop,
        })?;
        if output.success {
            return Ok(output);
        }
        let stderr = String::from_utf8_lossy(&output.stderr);
        let last = stderr.lines().rfind(|line| !line.trim().is_empty());
        let why = last.map(|line| line.strip_prefix("tompion: ").unwrap_or(line));
        Err(TaskError::Failed(why.unwrap_or(&output.status).to_owned()))
    }
}
