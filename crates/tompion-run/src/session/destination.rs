//! Where a run is written.

use std::path::{Path, PathBuf};

use tompion_model::{RunHeader, now_utc};
use tompion_store::{Error, RunWriter, UserRuns};

/// Where a run is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Destination {
    /// This directory, which is made, or is there and empty.
    Named(PathBuf),
    /// The first free directory of the user's that is named after the present second.
    Free(UserRuns),
    /// As `Named`, for somebody who takes the run apart at once: its trials are never
    /// brought together.
    Apart(PathBuf),
}

impl Destination {
    /// The directory that is named; else one of the user's, whose own directory for runs is made
    /// where it is not there.
    ///
    /// # Errors
    /// Where the user's directory cannot be had.
    pub fn of(named: Option<PathBuf>) -> Result<Self, Error> {
        if let Some(path) = named {
            return Ok(Self::Named(path));
        }
        let runs = UserRuns::find()?;
        runs.make()?;
        Ok(Self::Free(runs))
    }

    /// The directory, or the one that it will be in.
    pub fn path(&self) -> &Path {
        match self {
            Self::Named(path) | Self::Apart(path) => path,
            Self::Free(runs) => runs.path(),
        }
    }

    /// A directory that is free at present: the one that is named, or the first one that
    /// would be taken.
    pub fn free(&self) -> PathBuf {
        match self {
            Self::Named(path) | Self::Apart(path) => path.clone(),
            Self::Free(runs) => {
                let name = runs.path().join(name_of_this_second());
                let mut all = (1..).map(|number| numbered(&name, number));
                all.find(|path| !path.exists()).unwrap_or_default()
            }
        }
    }

    /// Refuses a directory in which no run can be begun, before anything takes time.
    pub(super) fn require(&self) -> Result<(), Error> {
        match self {
            Self::Named(path) | Self::Apart(path) => RunWriter::try_create(path),
            Self::Free(_) => Ok(()),
        }
    }

    /// Whether the directory is there already.
    pub(super) fn is_there(&self) -> bool {
        match self {
            Self::Named(path) | Self::Apart(path) => path.exists(),
            Self::Free(_) => false,
        }
    }

    /// Begins a run here.
    pub(super) fn begin(&self, header: &RunHeader) -> Result<RunWriter, Error> {
        /// More runs than anybody begins within a second.
        const MOST: u32 = 1000;
        let name = match self {
            Self::Named(path) => return RunWriter::create(path, header.clone()),
            Self::Apart(path) => return RunWriter::create_apart(path, header.clone()),
            Self::Free(runs) => runs.path().join(name_of_this_second()),
        };
        let mut number = 1;
        loop {
            match RunWriter::create(&numbered(&name, number), header.clone()) {
                Err(Error::NotEmpty { .. } | Error::Taken { .. }) if number < MOST => number += 1,
                result => return result,
            }
        }
    }
}

fn numbered(first: &Path, number: u32) -> PathBuf {
    let mut name = first.as_os_str().to_owned();
    if number > 1 {
        name.push(format!("-{number}"));
    }
    name.into()
}

fn name_of_this_second() -> String {
    now_utc()
        .chars()
        .filter(|c| c.is_ascii_alphanumeric())
        .map(|c| if c == 'T' { '-' } else { c })
        .filter(|c| *c != 'Z')
        .collect()
}
