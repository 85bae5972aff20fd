//! What a process that died has left in a run directory.

use super::directory::Directory;
use super::draft::TEMPORARY;
use super::turn::Turn;
use super::{RUN_FILE, SAMPLES, gather, reader, trial_files};
use crate::{Error, Result};
use tompion_model::RunRecord;

impl Directory {
    /// Removes from a run directory what a process that was killed there has left half done:
    /// files under temporary names, and of bringing trials together the files that `run.json`
    /// does not name, old or new. Does nothing in a directory of another user or of no run, and
    /// while the run is being written.
    ///
    /// # Errors
    /// Whatever the system refuses. Of a run that cannot be opened nothing but temporary files
    /// is removed.
    pub fn remove_leftovers(&self) -> Result<()> {
        // Of most runs nothing is left, and they are not read for it.
        if !self.is_private() || !self.is_suspect() {
            return Ok(());
        }
        let Some(_turn) = Turn::take(self) else {
            return Ok(());
        };
        match reader::Run::open_in(self) {
            Ok(run) => self.remove_unlisted(run.record()),
            // Damaged; or killed before it had written a run.
            Err(_) if self.has(RUN_FILE) || (self.has(SAMPLES) && self.is_free()) => {
                self.remove_from(is_temporary)?;
                let samples = self.samples()?;
                samples.map_or(Ok(()), |samples| samples.remove_from(is_temporary))
            }
            Err(_) => Ok(()),
        }
    }

    fn is_suspect(&self) -> bool {
        let is_left = |name: &str| is_temporary(name) || name.ends_with(".parquet");
        match self.samples() {
            // Nothing of ours.
            Err(_) => false,
            Ok(Some(samples)) => {
                !self.has(RUN_FILE)
                    || samples.has_any(|name| is_half_done(&samples, name))
                    || self.has_any(is_left)
            }
            Ok(None) => self.has_any(is_temporary),
        }
    }

    /// The directory of trials that have files of their own, if there is one.
    fn samples(&self) -> Result<Option<Self>> {
        let found = self.within(SAMPLES).map_err(|_| Error::InTheWay {
            path: self.path().join(SAMPLES),
        })?;
        // Of somebody else's nothing is ours.
        Ok(found.filter(Self::is_private))
    }

    /// Whether nobody else has put anything there: where others may write, a name says nothing of whose a file is.
    fn is_private(&self) -> bool {
        self.require_own().is_ok()
    }

    /// The same in a directory that is the caller's to write to.
    pub(super) fn remove_unlisted(&self, record: &RunRecord) -> Result<()> {
        let samples = self.samples()?;
        self.remove_from(is_temporary)?;
        match samples {
            _ if record.files.is_empty() => {
                let new = gather::file_names(&record.trials);
                self.remove_from(|name| new.contains(name))?;
                // Nothing of a trial that is whole, even where one before it is missing.
                samples.map_or(Ok(()), |samples| {
                    samples.remove_from(|name| is_half_done(&samples, name))
                })
            }
            Some(samples) => {
                samples.remove_from(|name| is_temporary(name) || number(name).is_some())?;
                // It stays with what somebody else has put there.
                match self.remove_directory(SAMPLES) {
                    Err(e) if e.kind() != std::io::ErrorKind::DirectoryNotEmpty => {
                        Err(Error::io(samples.path(), "removing")(e))
                    }
                    _ => Ok(()),
                }
            }
            None => {
                let listed = |name: &str| record.files.iter().any(|f| f.file == name);
                let all = gather::file_names(&record.trials);
                self.remove_from(|name| all.contains(name) && !listed(name))
            }
        }
    }

    /// Removes the files of all trials but the first `trials`, and half-written ones. The samples
    /// of the first of them go first: nobody who is killed leaves one without its other tables.
    pub(super) fn remove_trials_from(&self, trials: usize) -> Result<()> {
        let Some(samples) = self.samples()? else {
            return Ok(());
        };
        let first = trial_files::sample_file(trials);
        samples.remove_from(|name| first.rsplit('/').next() == Some(name))?;
        samples.remove_from(|name| number(name).is_none_or(|id| id >= trials))
    }

    /// Whether it holds nothing, or only what a process left that was killed before it had
    /// written a run.
    pub(super) fn is_free(&self) -> bool {
        let is_else = |name: &str| !is_temporary(name) && name != SAMPLES;
        self.samples().is_ok_and(|samples| {
            !self.has_any(is_else)
                && samples.is_none_or(|samples| !samples.has_any(|name| !is_temporary(name)))
        })
    }

    /// Removes what [`Directory::is_free`] takes for nothing.
    pub(super) fn make_free(&self) -> Result<()> {
        if let Some(samples) = self.samples()? {
            samples.remove_from(is_temporary)?;
            let _ = self.remove_directory(SAMPLES);
        }
        self.remove_from(is_temporary)
    }
}

/// Which trial a file in `samples/` belongs to.
fn number(name: &str) -> Option<usize> {
    let digits = name.find(|c: char| !c.is_ascii_digit());
    name[..digits?].parse().ok()
}

/// Whether a file in `samples/` was never written to its end, or is another table of a trial
/// whose samples, written last, are not there.
fn is_half_done(samples: &Directory, name: &str) -> bool {
    let digits = name.split('.').next().unwrap_or(name);
    let has_samples = || samples.has(format!("{digits}.parquet"));
    is_temporary(name) || (number(name).is_some() && !has_samples())
}

fn is_temporary(name: &str) -> bool {
    name.starts_with(TEMPORARY)
}
