//! Where a run is written.

use std::path::{Path, PathBuf};

use tompion_model::{RunHeader, now_utc};
use tompion_store::{Error, RunWriter};

/// Where a run is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Destination {
    /// This directory, which is made, or is there and empty.
    Named(PathBuf),
    /// The first free directory here that is named after the present second.
    Free,
    /// As `Named`, for somebody who takes the run apart at once: its trials are never
    /// brought together.
    Apart(PathBuf),
}

impl Destination {
    /// The directory, or the one that it will be in.
    pub fn path(&self) -> &Path {
        match self {
            Self::Named(path) | Self::Apart(path) => path,
            Self::Free => Path::new("."),
        }
    }

    /// A directory that is free at present: the one that is named, or the first one that
    /// would be taken.
    pub fn free(&self) -> PathBuf {
        match self {
            Self::Named(path) | Self::Apart(path) => path.clone(),
            Self::Free => {
                let name = name_of_this_second();
                let mut all = (1..).map(|number| numbered(&name, number));
                all.find(|path| !path.exists()).unwrap_or_default()
            }
        }
    }

    /// Whether the directory is there already.
    pub(super) fn is_there(&self) -> bool {
        match self {
            Self::Named(path) | Self::Apart(path) => path.exists(),
            Self::Free => false,
        }
    }

    /// Begins a run here.
    pub(super) fn begin(&self, header: &RunHeader) -> Result<RunWriter, Error> {
        /// More runs than anybody begins within a second.
        const MOST: u32 = 1000;
        let name = match self {
            Self::Named(path) => return RunWriter::create(path, header.clone()),
            Self::Apart(path) => return RunWriter::create_apart(path, header.clone()),
            Self::Free => name_of_this_second(),
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

impl From<Option<PathBuf>> for Destination {
    fn from(named: Option<PathBuf>) -> Self {
        named.map_or(Self::Free, Self::Named)
    }
}

fn numbered(name: &str, number: u32) -> PathBuf {
    match number {
        1 => PathBuf::from(name),
        n => PathBuf::from(format!("{name}-{n}")),
    }
}

fn name_of_this_second() -> String {
    let stamp: String = now_utc()
        .chars()
        .filter(|c| c.is_ascii_alphanumeric())
        .map(|c| if c == 'T' { '-' } else { c })
        .filter(|c| *c != 'Z')
        .collect();
    format!("tompion-run-{stamp}")
}
