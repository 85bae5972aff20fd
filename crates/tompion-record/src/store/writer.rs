//! Writing a run, trial by trial.

use std::fs;
use std::path::{Path, PathBuf};

use super::reserve::Reserve;
use super::{RUN_FILE, SAMPLES, atomic, bins_file, stall_table, stalls_file, tables};
use crate::{
    ClockReading, Error, Hold, PlatformRecord, Result, Run, RunHeader, RunRecord, SCHEMA_VERSION,
    Status, Throttling, Trial, TrialData, TrialDraft, now_utc,
};

/// Writes a run directory so that a crash loses at most the trial under way.
///
/// Each trial becomes one sample file, which carries the trial's description
/// too; `run.json` is rewritten at checkpoints and at the end.
#[derive(Debug)]
pub struct RunWriter {
    directory: PathBuf,
    record: RunRecord,
    reserve: Reserve,
}

impl RunWriter {
    /// Starts a run in `directory`, which must be absent or empty. Of several
    /// that begin there at the same moment one goes on, the others are refused.
    ///
    /// # Errors
    /// [`Error::NotEmpty`] and [`Error::Taken`] where the directory is in use,
    /// and whatever the system refuses.
    pub fn create(directory: &Path, header: RunHeader) -> Result<Self> {
        if let Ok(mut entries) = fs::read_dir(directory)
            && entries.next().is_some()
        {
            return Err(Error::NotEmpty {
                path: directory.to_path_buf(),
            });
        }
        if fs::metadata(directory).is_ok_and(|there| !there.is_dir()) {
            let why = std::io::Error::other("it exists and is no directory; choose another --out");
            return Err(Error::io(directory, "creating")(why));
        }
        fs::create_dir_all(directory).map_err(Error::io(directory, "creating"))?;
        let samples = directory.join(SAMPLES);
        // Only one can make it: this claims the directory.
        fs::create_dir(&samples).map_err(|e| match e.kind() {
            std::io::ErrorKind::AlreadyExists => Error::Taken {
                path: directory.to_path_buf(),
            },
            _ => Error::io(&samples, "creating")(e),
        })?;
        let writer = Self {
            directory: directory.to_path_buf(),
            record: RunRecord {
                schema_version: SCHEMA_VERSION,
                status: Status::Running,
                finished_at: None,
                notes: Vec::new(),
                throttling: None,
                header,
                trials: Vec::new(),
                clock_readings: Vec::new(),
                holds: Vec::new(),
                platforms: Vec::new(),
            },
            reserve: Reserve::take(directory),
        };
        writer.checkpoint()?;
        Ok(writer)
    }

    /// Goes on with a run that ended early: keeps its first `trials` trials, takes
    /// back later ones, and forgets its notes.
    ///
    /// # Errors
    /// A damaged run, one with fewer trials, and whatever the system refuses.
    pub fn reopen(directory: &Path, trials: usize) -> Result<Self> {
        let run = Run::open(directory)?;
        let mut record = run.record().clone();
        if record.trials.len() < trials {
            let has = record.trials.len();
            let why =
                format!("holds {has} trials where {trials} were saved: sample files are gone");
            return Err(Error::invalid(directory, why));
        }
        record.trials.truncate(trials);
        record.status = Status::Running;
        record.finished_at = None;
        record.notes.clear();
        let writer = Self {
            directory: directory.to_path_buf(),
            record,
            reserve: Reserve::take(directory),
        };
        // The list first: a trial that is listed must have its file.
        writer.checkpoint()?;
        remove_samples_from(&directory.join(SAMPLES), trials)?;
        Ok(writer)
    }

    /// Summarises and saves one trial.
    pub fn save(&mut self, draft: TrialDraft, data: &TrialData) -> Result<&Trial> {
        let id = self.record.trials.len() as u32;
        let sample_file = format!("{SAMPLES}/{id:05}.parquet");
        let trial = Trial {
            id,
            rows: data.samples.len() as u64,
            summary: data.summarise(draft.measurement.period_ns, draft.missed_periods),
            factors: draft.factors,
            block: draft.block,
            started_ns: draft.started_ns,
            duration_ns: draft.duration_ns,
            storage: draft.storage,
            measurement: draft.measurement,
            load: draft.load,
            stalls: draft.stalls,
            observation: draft.observation,
            sample_file,
        };
        // The sample file commits the trial, so what it refers to comes first.
        if let (Some(bins), Some(filled)) = (&data.bins, &data.filled_bins) {
            let path = self.directory.join(bins_file(&trial.sample_file));
            atomic::write(&path, |out| {
                tables::write_bins(out, bins, filled).map_err(|e| cannot_write(&path, &e))
            })?;
        }
        if trial.stalls.is_some() {
            let path = self.directory.join(stalls_file(&trial.sample_file));
            atomic::write(&path, |out| {
                stall_table::write(out, &data.stall_parts).map_err(|e| cannot_write(&path, &e))
            })?;
        }
        let path = self.directory.join(&trial.sample_file);
        atomic::write(&path, |out| {
            tables::write_samples(out, &trial, &data.samples).map_err(|e| cannot_write(&path, &e))
        })?;
        self.record.trials.push(trial);
        Ok(self.record.trials.last().expect("just pushed"))
    }

    /// Takes back all but the first `trials` trials, as if they had never been saved.
    ///
    /// # Errors
    /// Whatever the system refuses.
    pub fn take_back(&mut self, trials: usize) -> Result<()> {
        self.record.trials.truncate(trials);
        remove_samples_from(&self.directory.join(SAMPLES), trials)
    }

    /// Adds to what protects the measurement.
    pub fn guard(&mut self, text: impl Into<String>) {
        self.record.header.guards.push(text.into());
    }

    /// Adds a remark to the run.
    pub fn note(&mut self, text: impl Into<String>) {
        self.record.notes.push(text.into());
    }

    /// States what a CPU quota did during the run.
    pub fn throttling(&mut self, throttling: Option<Throttling>) {
        self.record.throttling = throttling;
    }

    /// Adds a reading of the clocks.
    pub fn clock_reading(&mut self, reading: ClockReading) {
        self.record.clock_readings.push(reading);
    }

    /// Keeps what a search for the smallest period found.
    pub fn hold(&mut self, hold: Hold) {
        self.record.holds.push(hold);
    }

    /// States the platforms of a lab, instead of those stated before.
    pub fn platforms(&mut self, platforms: Vec<PlatformRecord>) {
        self.record.platforms = platforms;
    }

    /// What the run holds so far.
    pub fn record(&self) -> &RunRecord {
        &self.record
    }

    /// The run's directory.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Writes `run.json` with the trials so far.
    pub fn checkpoint(&self) -> Result<()> {
        let path = self.directory.join(RUN_FILE);
        atomic::write(&path, |out| {
            serde_json::to_writer_pretty(out, &self.record)
                .map_err(|e| Error::io(&path, "writing")(e.into()))
        })
    }

    /// Ends the run and writes `run.json` for the last time, into space kept
    /// free for it where the disk is full by now.
    pub fn finish(&mut self, status: Status) -> Result<()> {
        self.reserve.release();
        self.record.status = status;
        self.record.finished_at = Some(now_utc());
        self.checkpoint()
    }
}

/// Removes the files of all trials but the first `trials`, and half-written ones.
fn remove_samples_from(samples: &Path, trials: usize) -> Result<()> {
    let kept = |name: &str| {
        let digits = name.find(|c: char| !c.is_ascii_digit());
        let id = name[..digits.unwrap_or(0)].parse::<usize>();
        id.is_ok_and(|id| id < trials)
    };
    let entries = fs::read_dir(samples).map_err(Error::io(samples, "reading"))?;
    for entry in entries.flatten() {
        if !entry.file_name().to_str().is_some_and(kept) {
            let path = entry.path();
            fs::remove_file(&path).map_err(Error::io(&path, "removing"))?;
        }
    }
    Ok(())
}

fn cannot_write(path: &Path, error: &parquet::errors::ParquetError) -> Error {
    // What comes from the system goes without Parquet's word for it.
    match error {
        parquet::errors::ParquetError::External(cause) => {
            Error::invalid(path, format!("writing failed: {cause}"))
        }
        other => Error::invalid(path, format!("writing failed: {other}")),
    }
}
