//! Errors of reading and writing a run, each one clear line.

use std::path::{Path, PathBuf};

use tompion_model::printable;

/// What this crate's functions return.
pub type Result<T> = std::result::Result<T, Error>;

/// Why a run could not be written or read.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The operating system refused.
    #[error("{}: {action} failed: {source}", path.display())]
    Io {
        /// The file or directory.
        path: PathBuf,
        /// What was tried.
        action: &'static str,
        /// What the system said.
        source: std::io::Error,
    },
    /// A file is not what it should be.
    #[error("{}: {reason}", path.display())]
    Invalid {
        /// The file.
        path: PathBuf,
        /// What is wrong and what would be right.
        reason: String,
    },
    /// The run was written by a newer version of the format.
    #[error(
        "{}: written in format version {found}, this tompion reads up to {supported}; use a newer tompion",
        path.display()
    )]
    NewerVersion {
        /// The run's `run.json`.
        path: PathBuf,
        /// Version found there.
        found: u64,
        /// Newest version that can be read.
        supported: u64,
    },
    /// There are no random numbers, by which runs are told apart.
    #[error("random numbers, which a run needs, cannot be had: {0}; /dev/urandom has some")]
    NoRandomNumbers(getrandom::Error),
    /// The directory for a new run holds something.
    #[error("{}: exists and is not empty", path.display())]
    NotEmpty {
        /// The directory.
        path: PathBuf,
    },
    /// A directory that is not the caller's alone.
    #[error("{}: {why}", path.display())]
    NotOwn {
        /// The directory.
        path: PathBuf,
        /// Whose it is, or who may write to it.
        why: String,
    },
    /// Where a file of a run is to be, there is something else: a link, a pipe, a directory.
    #[error("{}: is there, and is no regular file", path.display())]
    InTheWay {
        /// The file.
        path: PathBuf,
    },
    /// The directory for a new run is a file.
    #[error("{}: exists and is no directory", path.display())]
    NotDirectory {
        /// The file.
        path: PathBuf,
    },
    /// The user has no directory for runs.
    #[error(
        "no home directory is known, in which runs could be kept; name a directory for the run"
    )]
    NoPlace,
    /// There are not so many runs.
    #[error(
        "@{number}: there is no such run; {} holds {}",
        path.display(),
        counted(*there)
    )]
    NoSuchRun {
        /// The user's directory for runs.
        path: PathBuf,
        /// Which one was asked for, from the newest on.
        number: usize,
        /// How many there are.
        there: usize,
    },
    /// Another process writes a run there.
    #[error("{}: another process writes a run there", path.display())]
    Taken {
        /// The directory.
        path: PathBuf,
    },
}

fn counted(runs: usize) -> String {
    match runs {
        0 => "none: `tompion check` measures one".to_owned(),
        1 => "1 run".to_owned(),
        n => format!("{n} runs"),
    }
}

impl Error {
    /// Whether a file is gone or not what it should be, so that only the file itself would
    /// mend it.
    pub fn is_damage(&self) -> bool {
        match self {
            Self::Invalid { .. } => true,
            Self::Io { source, .. } => source.kind() == std::io::ErrorKind::NotFound,
            _ => false,
        }
    }

    /// Whether there is no such directory.
    pub fn is_absence(&self) -> bool {
        use std::io::ErrorKind::{NotADirectory, NotFound};
        let Self::Io { source, .. } = self else {
            return false;
        };
        matches!(source.kind(), NotFound | NotADirectory)
    }

    pub(crate) fn io(
        path: &Path,
        action: &'static str,
    ) -> impl FnOnce(std::io::Error) -> Self + use<> {
        let path = path.to_path_buf();
        move |source| Self::Io {
            path,
            action,
            source,
        }
    }

    pub(crate) fn invalid(path: &Path, reason: impl Into<String>) -> Self {
        let reason = reason.into();
        Self::Invalid {
            path: path.to_path_buf(),
            // Names and words of the file are in it, as whoever wrote that chose them.
            reason: printable(&reason).into_owned(),
        }
    }
}

/// What comes of a file that is not as it was written,
pub(crate) const DAMAGED: &str = "the run is damaged";

/// and of one whose checksum says that it is.
pub(crate) const WRITTEN_SO: &str = "its checksum fits, so that whoever wrote it made the mistake";

/// What is wrong with what a file holds, in a few words; whoever opened it adds its name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Fault(String);

impl From<String> for Fault {
    fn from(what: String) -> Self {
        Self(what)
    }
}

impl From<&str> for Fault {
    fn from(what: &str) -> Self {
        Self(what.to_owned())
    }
}
