//! One cell, measured where this program runs: in an instance of a platform.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use tompion_load::LoadSpec;
use tompion_model::Factors;
use tompion_platforms::signs;
use tompion_run::{Destination, Machine, Session, SessionSettings, session};

use crate::WorkerError;
use crate::archive::{self, LAYOUT};
use crate::plan::ProbePlan;

/// The first argument by which this program is told to measure a cell; a
/// [`CellJob`] as JSON is the second.
pub const CELL_ARG: &str = "__cell";

/// What is measured in one instance.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CellJob {
    layout: u32,
    probe: ProbePlan,
    load: String,
    seed: u64,
    /// A directory of the instance's own, made where it is absent.
    scratch: PathBuf,
    /// Whether it says on standard error when it begins to measure, and when it is done.
    #[serde(default)]
    tells: bool,
    /// What it may take beyond twice its time, in seconds.
    #[serde(default)]
    spare_s: f64,
}

impl CellJob {
    pub(crate) fn new(probe: &ProbePlan, load: &LoadSpec, seed: u64, scratch: PathBuf) -> Self {
        Self {
            layout: LAYOUT,
            probe: probe.clone(),
            load: load.to_string(),
            seed,
            scratch,
            tells: false,
            spare_s: 0.0,
        }
    }

    /// Lets it take so much longer than twice its time.
    pub(crate) fn sparing(self, spare: Duration) -> Self {
        let spare_s = spare.as_secs_f64();
        Self { spare_s, ..self }
    }

    /// Has it say when it begins to measure, and when it is done.
    pub(crate) fn telling(self, tells: bool) -> Self {
        Self { tells, ..self }
    }

    /// The arguments by which an instance's program is told.
    pub(crate) fn arguments(&self) -> Vec<String> {
        let job = serde_json::to_string(self).expect("texts and numbers");
        vec![CELL_ARG.to_owned(), job]
    }
}

/// Measures the cell that `job` describes and returns its run directory as an archive.
///
/// # Errors
/// In one line.
pub fn measure(job: &str, tool: &str) -> Result<Vec<u8>, WorkerError> {
    let value: serde_json::Value =
        serde_json::from_str(job).map_err(|e| WorkerError::NoJob(e.to_string()))?;
    match value.get("layout").and_then(serde_json::Value::as_u64) {
        Some(layout) if layout == u64::from(LAYOUT) => {}
        Some(found) => return Err(WorkerError::Layout { found }),
        None => return Err(WorkerError::NoJob("it has no layout".to_owned())),
    }
    let job: CellJob =
        serde_json::from_value(value).map_err(|e| WorkerError::NoJob(e.to_string()))?;
    job.measure(tool)
}

impl CellJob {
    fn tell(&self) {
        if self.tells {
            signs::give(signs::Sign::default());
        }
    }

    fn measure(&self, tool: &str) -> Result<Vec<u8>, WorkerError> {
        let load: LoadSpec = self.load.parse()?;
        let plan = self.probe.plan(&load, self.seed)?;
        let at = || WorkerError::io(self.scratch.display().to_string());
        fs::create_dir_all(&self.scratch).map_err(at())?;
        let place = tempfile::Builder::new()
            .prefix("cell-")
            .tempdir_in(&self.scratch)
            .map_err(at())?;
        let directory = place.path().join("run");
        let settings = SessionSettings {
            destination: Destination::Apart(directory),
            header: session::header(
                plan.design(),
                tool,
                vec!["tompion".to_owned(), CELL_ARG.to_owned()],
                tompion_host::detect(),
            ),
            loads: &plan.loads,
            load_directory: Some(place.path().to_path_buf()),
            load_time: plan.duration + Duration::from_secs(5),
            settle: plan.settle,
            cpu: None,
        };
        let mut session = Session::begin(&settings, Machine::new)?;
        let stop = Arc::<AtomicBool>::default();
        // Where all takes long, as in an emulator, time runs out before some trials had
        // their turn: they get another, since a replicate without them pairs with none.
        let mut left = plan.clone();
        let (time, cells) = (self.probe.time(), left.cells.len());
        let mut longer = 1;
        self.tell();
        let begun = Instant::now();
        let limit =
            2 * left.duration + Duration::try_from_secs_f64(self.spare_s).unwrap_or_default();
        while begun.elapsed() + left.duration <= limit {
            let before = left.cells.len();
            session.execute(&left, &stop, |_| ())?;
            let done = &session.writer().record().trials;
            let is_there = |key: &Factors| done.iter().any(|trial| trial.factors == *key);
            left.cells.retain(|cell| !cell.keys().iter().all(is_there));
            if left.cells.is_empty() {
                break;
            }
            // As long for each as if all had had their turn, unless that is too short.
            longer = if left.cells.len() < before {
                1
            } else {
                u32::saturating_mul(2, longer)
            };
            let share = left.cells.len() as f64 / cells as f64;
            let share = (share * f64::from(longer)).min(1.0);
            left.duration = self.probe.overhead() + time.mul_f64(share);
        }
        self.tell();
        // Loads end before their files go.
        archive::pack(session.end().path()).map_err(WorkerError::io("packing the result"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jobs_of_another_version_are_refused_in_one_line() {
        for (job, want) in [
            (
                "{\"layout\":7,\"new\":1}",
                "the job has layout 7, this program takes 3",
            ),
            ("{}", "it has no layout"),
            ("x", "this is no job"),
            ("{\"layout\":3}", "this is no job: missing field"),
        ] {
            let error = measure(job, "tompion").unwrap_err().to_string();
            assert!(error.contains(want) && !error.contains('\n'), "{error}");
        }
    }
}
