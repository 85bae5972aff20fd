//! Stalls as an HdrHistogram interval log.

use std::time::{Duration, SystemTime};

use tompion_record::{Error, Mark, Run};
use tompion_stats::{Bins, HlogError, HlogInterval, HlogValues, write_hlog};

/// Why there is no interval log.
#[derive(Debug)]
pub enum IntervalLogError {
    /// The run cannot be read.
    Run(Error),
    /// A histogram cannot be encoded.
    Log(HlogError),
}

impl std::fmt::Display for IntervalLogError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Run(e) => e.fmt(f),
            Self::Log(e) => e.fmt(f),
        }
    }
}

impl std::error::Error for IntervalLogError {}

/// The iterations of every stalls trial of `run`, an interval of the log each, in
/// nanoseconds.
///
/// # Errors
/// A sample file that cannot be read or is damaged.
pub fn interval_log(run: &Run) -> Result<Vec<u8>, IntervalLogError> {
    let mut trials = Vec::new();
    for trial in run.record().trials.iter().filter(|t| t.stalls.is_some()) {
        let data = run.data(trial).map_err(IntervalLogError::Run)?;
        let mut bins = data.bins.unwrap_or_default();
        for sample in data.samples.iter().filter(|s| s.mark != Mark::Recorder) {
            // What is beyond the bins is in the sample file alone.
            let _ = bins.record(sample.value_ps);
        }
        trials.push((trial, bins));
    }
    let intervals = trials.iter().map(|(trial, bins): &(_, Bins)| HlogInterval {
        start: Duration::from_nanos(trial.started_ns),
        length: Duration::from_nanos(trial.duration_ns),
        values: HlogValues::Picoseconds(bins),
    });
    let began = run.record().header.started();
    let mut log = Vec::new();
    write_hlog(
        &mut log,
        began.unwrap_or(SystemTime::UNIX_EPOCH),
        "Intervals of a busy loop by tompion measure stalls, in nanoseconds",
        intervals,
    )
    .map_err(IntervalLogError::Log)?;
    Ok(log)
}
