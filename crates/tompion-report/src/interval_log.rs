//! Stalls as an HdrHistogram interval log.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use tompion_model::{Factors, Mark, Trial, factor};

use tompion_stats::{HlogError, HlogInterval, HlogValues, write_hlog};
use tompion_store::{Error, Run};

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
/// nanoseconds. The log begins with the first loop; an interval begins with its own, and
/// is as long as that ran.
/// Where there are several cells each has a tag: its load, what else sets it apart,
/// and its CPU, as in `idle/cpu1`.
///
/// # Errors
/// A sample file that cannot be read or is damaged.
pub fn interval_log(run: &Run) -> Result<Vec<u8>, IntervalLogError> {
    let of_loops = || {
        run.record()
            .trials
            .iter()
            .filter(|t| t.findings.stalls.is_some())
    };
    let apart = varying(of_loops());
    // Older runs tell the second in which they began and what came after it.
    let (began, first_ns) = of_loops()
        .min_by_key(|t| t.started_ns)
        .and_then(|t| Some((t.findings.stalls.as_ref()?.began_unix_ns?, t.started_ns)))
        .map_or_else(
            || (run.record().header.started(), 0),
            |(unix_ns, first_ns)| {
                let began = SystemTime::UNIX_EPOCH + Duration::from_nanos(unix_ns);
                (Some(began), first_ns)
            },
        );
    // One trial's bins at a time: a run may have tens of thousands.
    let interval = |trial: &Trial| -> Result<_, Error> {
        let data = run.data(trial)?;
        let mut bins = data.bins.unwrap_or_default();
        for sample in data.samples.iter().filter(|s| s.mark != Mark::Recorder) {
            // What is beyond the bins is in the sample file alone.
            let _ = bins.record(sample.value_ps);
        }
        let loop_ns = trial.findings.stalls.as_ref().map_or(0, |s| s.wall_ns);
        Ok(HlogInterval {
            start: Duration::from_nanos(trial.started_ns.saturating_sub(first_ns)),
            length: Duration::from_nanos(loop_ns),
            values: HlogValues::Picoseconds(Cow::Owned(bins)),
            tag: tag(&trial.factors, &apart).map(Cow::Owned),
        })
    };
    let mut unread = None;
    let intervals = of_loops().map_while(|trial| match interval(trial) {
        Ok(interval) => Some(interval),
        Err(error) => {
            unread = Some(error);
            None
        }
    });
    let mut log = Vec::new();
    write_hlog(
        &mut log,
        began.unwrap_or(SystemTime::UNIX_EPOCH),
        "Intervals of a busy loop by tompion measure stalls, in nanoseconds",
        intervals,
    )
    .map_err(IntervalLogError::Log)?;
    match unread {
        Some(error) => Err(IntervalLogError::Run(error)),
        None => Ok(log),
    }
}

/// Names of the factors whose levels differ: the load first, the CPU last.
fn varying<'a>(trials: impl Iterator<Item = &'a Trial>) -> Vec<String> {
    let (mut levels, mut of) = (BTreeMap::<&str, Vec<&str>>::new(), 0);
    for trial in trials {
        of += 1;
        for (name, level) in trial.factors.iter() {
            levels.entry(name).or_default().push(level);
        }
    }
    let mut names: Vec<&str> = levels
        .into_iter()
        .filter(|(_, l)| l.len() < of || l.iter().any(|level| *level != l[0]))
        .map(|(name, _)| name)
        .collect();
    names.sort_by_key(|name| match *name {
        factor::LOAD => 0,
        factor::CPU => 2,
        _ => 1,
    });
    names.into_iter().map(str::to_owned).collect()
}

/// The tag of a cell among those that differ in the factors `apart`, if any do.
fn tag(factors: &Factors, apart: &[String]) -> Option<String> {
    let levels: Vec<String> = apart
        .iter()
        .filter_map(|name| Some((name, factors.get(name)?)))
        .map(|(name, level)| match name.as_str() {
            factor::CPU => format!("cpu{level}"),
            _ => level.to_owned(),
        })
        .collect();
    // What ends a tag for its readers.
    let unfit = |c: char| c == ',' || c.is_whitespace() || c.is_control();
    (!apart.is_empty()).then(|| levels.join("/").replace(unfit, "_"))
}
