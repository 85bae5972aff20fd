//! A lab while it works: how one cell is measured in an instance.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use super::Platforms;
use super::bed::Bed;
use super::placement_run::{Done, PlacementRun};
use crate::{CellJob, LabCell, LabPlan, limits};
use tompion_model::printable;
use tompion_platforms::Network;
use tompion_platforms::leftovers::Workspace;
use tompion_platforms::platform::{Output, Task, TaskError};

/// A lab at work.
pub(super) struct Session<'a> {
    pub platforms: &'a Platforms,
    pub program: &'a Path,
    pub stop: &'a Arc<AtomicBool>,
    pub workspace: &'a Workspace,
    pub began: Instant,
    /// From the beginning of the run to that of this sitting.
    pub earlier: Duration,
    pub instances: AtomicUsize,
}

/// A cell that has been measured, or has failed.
pub(super) struct Measured {
    pub cell: LabCell,
    /// From the beginning of the run.
    pub began_ns: u64,
    /// How long it took.
    pub seconds: f64,
    pub result: Result<Done, TaskError>,
}

impl Session<'_> {
    /// Has the cells of a turn measured at the same time, and hands each over as it ends.
    ///
    /// # Errors
    /// The first of those that taking them over gives; later ones are measured in vain.
    pub fn turn<E>(
        &self,
        plan: &LabPlan,
        seed: u64,
        replicate: u32,
        cells: &[LabCell],
        mut take: impl FnMut(Measured) -> Result<(), E>,
    ) -> Result<(), E> {
        let measure = |cell| {
            let began_ns = (self.earlier + self.began.elapsed()).as_nanos() as u64;
            let since = Instant::now();
            let result = self.output(plan, (seed, cells.len()), replicate, cell);
            Measured {
                cell,
                began_ns,
                seconds: since.elapsed().as_secs_f64(),
                result,
            }
        };
        if let [cell] = cells {
            return take(measure(*cell));
        }
        thread::scope(|scope| {
            let (to, measured) = mpsc::channel();
            for &cell in cells {
                let (to, measure) = (to.clone(), &measure);
                let alone = to.clone();
                // Nobody hears it once taking them over has failed.
                let begun = thread::Builder::new()
                    .spawn_scoped(scope, move || drop(to.send(measure(cell))));
                if let Err(why) = begun {
                    drop(alone.send(Measured {
                        cell,
                        began_ns: 0,
                        seconds: 0.0,
                        result: Err(TaskError::Failed(format!(
                            "no thread to wait for it: {why}"
                        ))),
                    }));
                }
            }
            drop(to);
            measured.into_iter().try_for_each(take)
        })
    }

    /// Has a cell measured, in a network of its own where its platform is joined to one.
    fn output(
        &self,
        plan: &LabPlan,
        (seed, at_once): (u64, usize),
        replicate: u32,
        cell: LabCell,
    ) -> Result<Done, TaskError> {
        let testbed = plan.testbed.as_ref().filter(|_| plan.is_joined(cell));
        let Some(testbed) = testbed else {
            return self.measured(plan, None, (seed, at_once), replicate, cell);
        };
        let network = plan.platforms[cell.platform].network();
        let (done, networked) = Bed::with(testbed, |bed| {
            let plan = plan.at(bed.far_end());
            self.measured(
                &plan,
                Some((bed, network)),
                (seed, at_once),
                replicate,
                cell,
            )
        })?;
        Ok(Done {
            network: Some(networked),
            ..done
        })
    }

    /// Has a cell measured, by one guest or several; also tells what its neighbours did.
    fn measured(
        &self,
        plan: &LabPlan,
        bed: Option<(&Bed<'_>, Network)>,
        (seed, at_once): (u64, usize),
        replicate: u32,
        cell: LabCell,
    ) -> Result<Done, TaskError> {
        let platform = self.platforms.0[cell.platform].0.as_ref();
        let placement = &plan.placements[cell.placement];
        let probe = &plan.probes[cell.probe];
        // Any number will do that no other replicate of the cell has.
        let seed = seed.wrapping_add(u64::from(replicate)).wrapping_mul(31);
        let seed = seed.wrapping_add(cell.probe as u64);
        // Each platform would say so in words of its own.
        let at = |e| TaskError::Failed(format!("{}: {e}", self.program.display()));
        std::fs::metadata(self.program).map_err(at)?;
        let scratch = platform.scratch(self.workspace);
        let patience = plan.platforms[cell.platform]
            .start_within_ns
            .map_or_else(|| platform.patience(), Duration::from_nanos);
        let arguments = CellJob::new(probe, &plan.loads[cell.load], seed, scratch)
            .telling(placement.measuring() > 1)
            // The rest is for its start and its end.
            .sparing(patience / 3)
            .arguments();
        let limit = 2 * probe.time() + patience;
        let instances = match placement.is_plain() {
            true => 1,
            false => PlacementRun::numbers(placement),
        };
        let number = 1 + self.instances.fetch_add(instances, Ordering::Relaxed);
        let done = if placement.is_plain() {
            let joined = bed.map(|(bed, network)| bed.join(network));
            let joined = joined.transpose()?.flatten();
            let task = Task {
                program: self.program,
                arguments: &arguments,
                number,
                workspace: self.workspace,
                limit,
                most_output: limits::output(at_once),
                stop: self.stop,
                seat: None,
                joined: joined.as_ref(),
                telling: None,
            };
            let output = platform.run(&task).map_err(|e| with_limit(e, patience))?;
            Done {
                outputs: vec![(1, output)],
                beside: Vec::new(),
                network: None,
            }
        } else {
            let scene = PlacementRun {
                placement,
                platform,
                program: self.program,
                workspace: self.workspace,
                stop: self.stop,
                number,
                bed,
                at_once,
            };
            let done = scene.run(&arguments, limit);
            done.map_err(|e| with_limit(e, patience))?
        };
        match done.outputs.iter().find(|(_, output)| !output.success) {
            None => Ok(done),
            Some((_, output)) => Err(TaskError::Failed(last_words(output))),
        }
    }
}

/// What was too slow, with what a plan can do about it.
fn with_limit(error: TaskError, patience: Duration) -> TaskError {
    match error {
        TaskError::Late(why) => {
            let s = patience.as_secs_f64();
            TaskError::Late(format!("{why} (twice its time and start_within, {s} s)"))
        }
        other => other,
    }
}

/// Why a program failed, by the last line that it wrote.
pub(super) fn last_words(output: &Output) -> String {
    let stderr = String::from_utf8_lossy(&output.stderr);
    // What cannot be shown is no reason.
    let last = stderr
        .lines()
        .rfind(|line| !printable(line).trim().is_empty());
    let why = last.map(|line| line.strip_prefix("tompion: ").unwrap_or(line));
    why.unwrap_or(&output.status).to_owned()
}
