//! Stalls as an HdrHistogram interval log.

use std::path::Path;
use std::time::{Duration, SystemTime};

use anyhow::Context;
use tompion_record::{Mark, Run, write_whole};
use tompion_stats::{Bins, HlogInterval, HlogValues, write_hlog};

/// Refuses a file that could not be written later.
pub fn try_place(file: &Path) -> anyhow::Result<()> {
    let directory = match file.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    anyhow::ensure!(
        directory.is_dir(),
        "{}: no such directory; --hlog takes a file in an existing one",
        directory.display()
    );
    anyhow::ensure!(
        !file.is_dir(),
        "{}: a directory; --hlog takes a file",
        file.display()
    );
    Ok(())
}

/// Writes the intervals of every stalls trial, an interval of the log each.
pub fn write(run: &Run, file: &Path) -> anyhow::Result<()> {
    let mut trials = Vec::new();
    for trial in run.record().trials.iter().filter(|t| t.stalls.is_some()) {
        let data = run.data(trial)?;
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
    let mut text = Vec::new();
    let comment = "Intervals of a busy loop by tompion measure stalls, in nanoseconds";
    let began = run
        .record()
        .header
        .started()
        .unwrap_or(SystemTime::UNIX_EPOCH);
    write_hlog(&mut text, began, comment, intervals)
        .with_context(|| format!("{}", file.display()))?;
    Ok(write_whole(file, &text)?)
}
