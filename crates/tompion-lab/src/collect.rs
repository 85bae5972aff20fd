//! From the archive of a cell to trials of the lab's own run.

use std::path::Path;

use tompion_record::{Environment, Run, RunWriter, Trial, TrialDraft, factor};

use crate::archive;

/// Where a cell's trials belong in the lab's run.
pub(crate) struct Place<'a> {
    /// Level of the factor `platform`.
    pub platform: &'a str,
    /// Their block.
    pub replicate: u32,
    /// From the beginning of the lab's run to that of the cell, in nanoseconds.
    pub began_ns: u64,
}

/// What a cell brought beside its trials.
pub(crate) struct Collected {
    pub trials: u32,
    pub environment: Environment,
    pub notes: Vec<String>,
}

/// Saves the trials in `bytes`, all of them or, where the archive is no good, none.
/// `scratch` takes it unpacked for a moment.
pub(crate) fn collect(
    bytes: &[u8],
    scratch: &Path,
    place: &Place<'_>,
    writer: &mut RunWriter,
) -> Result<Collected, Failure> {
    let wrong = |e: &dyn std::fmt::Display| Failure::Result(e.to_string());
    let unpacked = tempfile::tempdir_in(scratch).map_err(|e| wrong(&e))?;
    archive::unpack(bytes, unpacked.path()).map_err(|e| wrong(&e))?;
    let run = Run::open(unpacked.path()).map_err(|e| wrong(&e))?;
    let record = run.record();
    if record.trials.is_empty() {
        return Err(Failure::Result("its result holds no trial".to_owned()));
    }
    // Read as a whole first: a damaged one must not leave half of itself.
    let all: Result<Vec<_>, _> = record.trials.iter().map(|trial| run.data(trial)).collect();
    for (trial, data) in record.trials.iter().zip(all.map_err(|e| wrong(&e))?) {
        let saved = writer.save(draft(trial, place), &data);
        saved.map_err(Failure::Saving)?;
    }
    Ok(Collected {
        trials: record.trials.len() as u32,
        environment: record.header.environment.clone(),
        notes: record.notes.clone(),
    })
}

/// Why a cell's trials are not in the run.
pub(crate) enum Failure {
    /// The result is no good; in one line.
    Result(String),
    /// The lab's own run cannot be written.
    Saving(tompion_record::Error),
}

fn draft(trial: &Trial, place: &Place<'_>) -> TrialDraft {
    let trial = trial.clone();
    TrialDraft {
        factors: trial.factors.with(factor::PLATFORM, place.platform),
        block: place.replicate,
        started_ns: place.began_ns.saturating_add(trial.started_ns),
        duration_ns: trial.duration_ns,
        measurement: trial.measurement,
        load: trial.load,
        stalls: trial.stalls,
        observation: trial.observation,
        storage: trial.storage,
        missed_periods: trial.summary.missed_periods,
    }
}
