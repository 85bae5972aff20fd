//! A lab while it works: how one cell is measured in an instance.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use super::Platforms;
use super::scene::{Done, Scene};
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
    /// Has a cell measured, by one guest or several; also tells what its neighbours did.
    pub fn output(
        &mut self,
        plan: &LabPlan,
        seed: u64,
        replicate: u32,
        cell: LabCell,
    ) -> Result<Done, TaskError> {
        let platform = self.platforms.0[cell.platform].0.as_ref();
        let placement = &plan.placements[cell.placement];
        let probe = &plan.probes[cell.probe];
        // Any number will do that no other replicate of the cell has.
        let seed = seed.wrapping_add(u64::from(replicate)).wrapping_mul(31) + cell.probe as u64;
        // Each platform would say so in words of its own.
        let at = |e| TaskError::Failed(format!("{}: {e}", self.program.display()));
        std::fs::metadata(self.program).map_err(at)?;
        let scratch = platform.scratch(self.workspace);
        let arguments = CellJob::new(probe, &plan.loads[cell.load], seed, scratch).arguments();
        let patience = plan.platforms[cell.platform]
            .start_within_ns
            .map_or_else(|| platform.patience(), Duration::from_nanos);
        let limit = 2 * probe.time() + patience;
        let number = self.instances + 1;
        let done = if placement.is_plain() {
            self.instances += 1;
            let output = platform.run(&Task {
                program: self.program,
                arguments: &arguments,
                number,
                workspace: self.workspace,
                limit,
                stop: self.stop,
                seat: None,
                telling: None,
            })?;
            Done {
                outputs: vec![output],
                beside: Vec::new(),
            }
        } else {
            self.instances += Scene::numbers(placement);
            let scene = Scene {
                placement,
                platform,
                program: self.program,
                workspace: self.workspace,
                stop: self.stop,
                number,
            };
            scene.run(&arguments, limit)?
        };
        match done.outputs.iter().find(|output| !output.success) {
            None => Ok(done),
            Some(output) => Err(TaskError::Failed(last_words(output))),
        }
    }
}

/// Why a program failed, by the last line that it wrote.
pub(super) fn last_words(output: &Output) -> String {
    let stderr = String::from_utf8_lossy(&output.stderr);
    let last = stderr.lines().rfind(|line| !line.trim().is_empty());
    let why = last.map(|line| line.strip_prefix("tompion: ").unwrap_or(line));
    why.unwrap_or(&output.status).to_owned()
}
