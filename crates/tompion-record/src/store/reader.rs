//! Reading a run back, also one whose process died.

use std::path::{Path, PathBuf};

use super::tables::Table;
use super::{RUN_FILE, SAMPLES, bins_file, open_file, stall_table, stalls_file};
use crate::{Error, Result, RunRecord, SCHEMA_VERSION, Status, Storage, Trial, TrialData};

/// A run read from its directory.
#[derive(Debug)]
pub struct Run {
    directory: PathBuf,
    record: RunRecord,
}

impl Run {
    /// Opens a run, checks its version and that every trial's sample file is
    /// whole. Trials saved after the last checkpoint of a run that died are
    /// taken from their sample files; unless they are all that was planned, the
    /// run counts as interrupted.
    pub fn open(directory: &Path) -> Result<Self> {
        let path = directory.join(RUN_FILE);
        let text = open_file(&path)
            .and_then(std::io::read_to_string)
            .map_err(|e| match e.kind() {
                std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory => {
                    let why = match std::fs::metadata(directory) {
                        Err(_) => "it is not there".to_owned(),
                        Ok(found) if found.is_dir() => format!("it has no {RUN_FILE}"),
                        Ok(_) => format!("it is a file; name the directory with {RUN_FILE} in it"),
                    };
                    Error::invalid(directory, format!("not a run directory: {why}"))
                }
                std::io::ErrorKind::InvalidData => {
                    Error::invalid(&path, "not text; the run is damaged")
                }
                _ => Error::io(&path, "reading")(e),
            })?;
        let value: serde_json::Value = serde_json::from_str(&text).map_err(|e| {
            Error::invalid(&path, format!("not valid JSON ({e}); the run is damaged"))
        })?;
        let found = value
            .get("schema_version")
            .and_then(serde_json::Value::as_u64)
            .filter(|version| *version > 0)
            .ok_or_else(|| Error::invalid(&path, "has no schema_version; not a run of tompion"))?;
        if found > SCHEMA_VERSION {
            return Err(Error::NewerVersion {
                path,
                found,
                supported: SCHEMA_VERSION,
            });
        }
        let record: RunRecord = serde_json::from_value(value)
            .map_err(|e| Error::invalid(&path, format!("{e}; the run is damaged")))?;
        let mut run = Self {
            directory: directory.to_path_buf(),
            record,
        };
        run.check_listed()?;
        if run.record.status == Status::Running {
            run.recover()?;
        }
        Ok(run)
    }

    fn check_listed(&self) -> Result<()> {
        for (i, trial) in self.record.trials.iter().enumerate() {
            let path = self.directory.join(&trial.sample_file);
            let inside = Path::new(&trial.sample_file)
                .components()
                .all(|c| matches!(c, std::path::Component::Normal(_)));
            if !inside || trial.id as usize != i {
                return Err(Error::invalid(
                    &self.directory.join(RUN_FILE),
                    format!("trial {i} is listed wrongly; the run is damaged"),
                ));
            }
            let rows = Table::open(&path)?.rows();
            if rows != trial.rows {
                return Err(Error::invalid(
                    &path,
                    format!(
                        "holds {rows} rows, {RUN_FILE} says {}; the run is damaged",
                        trial.rows
                    ),
                ));
            }
        }
        Ok(())
    }

    /// Adds the trials that the last checkpoint does not list.
    fn recover(&mut self) -> Result<()> {
        loop {
            let id = self.record.trials.len();
            let path = self
                .directory
                .join(SAMPLES)
                .join(format!("{id:05}.parquet"));
            if !path.exists() {
                break;
            }
            let table = Table::open(&path)?;
            let trial = table.trial()?;
            if trial.id as usize != id || trial.rows != table.rows() {
                return Err(Error::invalid(
                    &path,
                    "belongs to another trial; the run is damaged",
                ));
            }
            self.record.trials.push(trial);
        }
        let design = &self.record.header.design;
        let planned = u64::from(design.blocks) * u64::from(design.cells);
        // Killed after its last trial, it lost nothing.
        let (status, note) = if planned > 0 && self.record.trials.len() as u64 == planned {
            (
                Status::Complete,
                "The process that wrote this run ended after its last trial, before it could say so.",
            )
        } else {
            (
                Status::Interrupted,
                "This run is not finished: the process that writes it is still at work, or ended early.",
            )
        };
        self.record.status = status;
        self.record.notes.push(note.to_owned());
        Ok(())
    }

    /// What `run.json` holds, recovered trials included.
    pub fn record(&self) -> &RunRecord {
        &self.record
    }

    /// The same run with a record that `edit` changed, for showing it otherwise than
    /// it is written, for example without names. Which files the trials lie in must
    /// stay.
    pub fn edited(mut self, edit: impl FnOnce(&mut RunRecord)) -> Self {
        edit(&mut self.record);
        self
    }

    /// The run's directory.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// The samples of one trial, checked against their checksum.
    pub fn data(&self, trial: &Trial) -> Result<TrialData> {
        let samples = Table::open(&self.directory.join(&trial.sample_file))?.samples()?;
        let (bins, filled_bins) = match trial.storage {
            Storage::Complete => (None, None),
            Storage::Tail { .. } => {
                let path = self.directory.join(bins_file(&trial.sample_file));
                let (measured, filled) = Table::open(&path)?.bins()?;
                (Some(measured), Some(filled))
            }
        };
        Ok(TrialData {
            samples,
            bins,
            filled_bins,
            stall_parts: match &trial.stalls {
                None => Vec::new(),
                Some(_) => {
                    let path = self.directory.join(stalls_file(&trial.sample_file));
                    stall_table::read(&Table::open(&path)?)?
                }
            },
        })
    }
}
