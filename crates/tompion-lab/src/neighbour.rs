//! A neighbour of a measurement, where this program runs: in an instance of a platform.
//! It says on standard error, line by line, what its load has done so far.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use tompion_load::{LoadConfig, LoadProcess, LoadSpec, write_budget};
use tompion_platforms::signs::{self, Sign};
use tompion_time::os;

use crate::WorkerError;
use crate::archive::LAYOUT;

/// The first argument by which this program is told to be a neighbour; a
/// [`NeighbourJob`] as JSON is the second.
pub const NEIGHBOUR_ARG: &str = "__neighbour";

/// How often it says what it has done.
const EVERY: Duration = Duration::from_millis(500);
/// How often it looks whether its load works, at first.
const LOOK: Duration = Duration::from_millis(20);
/// How long its load may do nothing at first: it may have a hundredth of a busy CPU.
const FIRST: Duration = Duration::from_secs(120);

/// What a neighbour does.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NeighbourJob {
    layout: u32,
    /// Its load; none is idle.
    load: Option<String>,
    /// How long it is there, in seconds.
    seconds: u64,
    /// A directory of the instance's own, made where it is absent.
    scratch: PathBuf,
}

impl NeighbourJob {
    pub(crate) fn new(load: Option<&LoadSpec>, time: Duration, scratch: PathBuf) -> Self {
        Self {
            layout: LAYOUT,
            load: load.map(LoadSpec::to_string),
            seconds: time.as_secs(),
            scratch,
        }
    }

    /// The arguments by which an instance's program is told.
    pub(crate) fn arguments(&self) -> Vec<String> {
        let job = serde_json::to_string(self).expect("texts and numbers");
        vec![NEIGHBOUR_ARG.to_owned(), job]
    }

    fn run(&self) -> Result<(), WorkerError> {
        let begun = Instant::now();
        let time = Duration::from_secs(self.seconds);
        let Some(load) = &self.load else {
            signs::give(Sign::default());
            os::sleep(time);
            return Ok(());
        };
        let load: LoadSpec = load.parse()?;
        let at = || WorkerError::io(self.scratch.display().to_string());
        std::fs::create_dir_all(&self.scratch).map_err(at())?;
        let place = tempfile::Builder::new()
            .prefix("neighbour-")
            .tempdir_in(&self.scratch)
            .map_err(at())?;
        let config = LoadConfig {
            executable: std::env::current_exe()
                .map_err(WorkerError::io("finding this program's own file"))?,
            directory: place.path().to_path_buf(),
            write_budget_bytes: write_budget(std::slice::from_ref(&load), time),
            planned_load_time: time,
            measured_cpu: None,
        };
        let mut process = LoadProcess::start(&load, &config)?;
        process.resume()?;
        let on = Instant::now();
        let since = process.observe()?;
        let mut works = false;
        while begun.elapsed() < time {
            os::sleep(if works { EVERY } else { LOOK });
            let now = process.observe()?;
            let cpu_ns = now.cpu_time_ns.saturating_sub(since.cpu_time_ns);
            let counted = now
                .operations
                .zip(since.operations)
                .is_some_and(|(n, s)| n > s);
            let moved = now.bytes.zip(since.bytes).is_some_and(|(n, s)| n > s);
            works |= cpu_ns > 0 || counted || moved;
            if !works && on.elapsed() > FIRST {
                return Err(WorkerError::Idle(load.to_string()));
            }
            if works {
                signs::give(Sign {
                    cpu_ns,
                    at_ns: on.elapsed().as_nanos() as u64,
                    work: now
                        .operations
                        .unwrap_or(0)
                        .wrapping_add(now.bytes.unwrap_or(0)),
                });
            }
        }
        Ok(process.stop()?)
    }
}

/// Is a neighbour until its time is over; it is ended before, as a rule.
///
/// # Errors
/// In one line.
pub fn neighbour(job: &str) -> Result<(), WorkerError> {
    let job: NeighbourJob =
        serde_json::from_str(job).map_err(|e| WorkerError::NoJob(e.to_string()))?;
    if job.layout != LAYOUT {
        return Err(WorkerError::Layout {
            found: job.layout.into(),
        });
    }
    job.run()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jobs_of_another_version_are_refused_in_one_line() {
        let job = NeighbourJob::new(None, Duration::ZERO, PathBuf::from("/tmp"));
        neighbour(&serde_json::to_string(&job).unwrap()).unwrap();
        for bad in ["x", "{}"] {
            assert!(
                matches!(neighbour(bad), Err(WorkerError::NoJob(_))),
                "{bad}"
            );
        }
        let newer = NeighbourJob { layout: 9, ..job };
        let error = neighbour(&serde_json::to_string(&newer).unwrap())
            .unwrap_err()
            .to_string();
        assert!(error.contains("layout 9"), "{error}");
    }
}
