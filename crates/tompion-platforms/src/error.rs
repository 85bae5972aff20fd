//! Why a platform, or what is kept of it on the machine, cannot be used.

/// Why a platform, or what is kept of it on the machine, cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// What is asked cannot be done.
    #[error("{0}")]
    Request(String),
    /// The system refused something.
    #[error("{what}: {source}")]
    Io {
        /// What was tried, with the file if there is one.
        what: String,
        /// The system's answer.
        source: std::io::Error,
    },
}

impl Error {
    pub(crate) fn io(what: impl Into<String>) -> impl FnOnce(std::io::Error) -> Self {
        let what = what.into();
        move |source| Self::Io { what, source }
    }
}
