//! What goes wrong in many places alike: a value that cannot be taken, something that this
//! machine does not offer.

use std::io;
use std::sync::Arc;

/// A text that cannot be taken as the value of an option or a key: what is wrong with it and
/// what would be right, in one line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct InvalidValue(String);

impl From<String> for InvalidValue {
    fn from(problem: String) -> Self {
        Self(problem)
    }
}

impl From<&str> for InvalidValue {
    fn from(problem: &str) -> Self {
        Self(problem.to_owned())
    }
}

/// Something that this machine, or the other end of a connection, does not offer.
#[derive(Clone, Debug, thiserror::Error)]
pub enum Unavailable {
    /// The system refused it.
    #[error("{what}: {source}")]
    Refused {
        /// What was tried, for example `could not make its file`.
        what: String,
        /// The system's answer.
        source: Arc<io::Error>,
    },
    /// The system refused it, and what that means is known.
    #[error("{why}")]
    Explained {
        /// What it means, in one line.
        why: String,
        /// The system's answer.
        source: Arc<io::Error>,
    },
    /// It is not there, too small, or switched off; in one line.
    #[error("{0}")]
    Absent(String),
    /// An option asks for what cannot be.
    #[error(transparent)]
    Value(#[from] InvalidValue),
}

impl Unavailable {
    /// The system refused what is described so; for `map_err`.
    pub fn refused<E: Into<io::Error>>(what: impl Into<String>) -> impl FnOnce(E) -> Self {
        let what = what.into();
        move |source| Self::Refused {
            what,
            source: Arc::new(source.into()),
        }
    }

    /// The system refused it, which means this.
    pub fn explained(why: String, source: io::Error) -> Self {
        Self::Explained {
            why,
            source: Arc::new(source),
        }
    }

    /// The system's answer as a number, where it gave one: `EPERM` and the like.
    pub fn errno(&self) -> Option<i32> {
        match self {
            Self::Refused { source, .. } | Self::Explained { source, .. } => source.raw_os_error(),
            Self::Absent(_) | Self::Value(_) => None,
        }
    }
}

/// Equal where they say the same.
impl PartialEq for Unavailable {
    fn eq(&self, other: &Self) -> bool {
        self.to_string() == other.to_string()
    }
}

impl From<String> for Unavailable {
    fn from(reason: String) -> Self {
        Self::Absent(reason)
    }
}

impl From<&str> for Unavailable {
    fn from(reason: &str) -> Self {
        Self::Absent(reason.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_system_refused_is_known_by_its_number() {
        let refused = io::Error::from_raw_os_error(1);
        let why = Unavailable::refused("could not make its file")(refused);
        assert_eq!(why.errno(), Some(1));
        assert!(why.to_string().starts_with("could not make its file: "));
        let absent = Unavailable::from("there is none");
        assert_eq!(
            (absent.errno(), absent.to_string()),
            (None, "there is none".to_owned())
        );
    }
}
