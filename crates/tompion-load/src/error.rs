//! What can go wrong with a load, each in one line.

use std::io;

/// Why a load could not be understood, started, switched or believed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LoadError {
    /// The text does not describe a load.
    #[error("load '{text}': {problem}")]
    Spec {
        /// The text as given.
        text: String,
        /// What is wrong with it and what would be right.
        problem: String,
    },
    /// The program that drives the load is not installed.
    #[error(
        "load '{load}' needs the program {program}, which is not installed (install the package \
         {program}, or use a built-in load such as cpu, io, memory or network)"
    )]
    DriverMissing {
        /// The load as asked for.
        load: String,
        /// Name of the program, which is also that of its package.
        program: &'static str,
    },
    /// The load was refused or failed before it was ready.
    #[error("load '{load}' did not start: {problem}")]
    Start {
        /// The load as asked for.
        load: String,
        /// What is wrong and what would be right.
        problem: String,
    },
    /// The load ended by itself.
    #[error("load '{load}' ended while it was needed: {problem}")]
    Died {
        /// The load as asked for.
        load: String,
        /// Its last words, or how it ended.
        problem: String,
    },
    /// The load was on but neither used CPU time nor counted an operation.
    #[error(
        "load '{load}' did nothing in {observed_ms:.1} ms: no CPU time and no operation, so what \
         was measured beside it was not under load"
    )]
    DidNothing {
        /// The load as asked for.
        load: String,
        /// Length of the observation in milliseconds.
        observed_ms: f64,
    },
    /// The operating system refused something.
    #[error("load '{load}': could not {action}: {source}")]
    System {
        /// The load as asked for.
        load: String,
        /// What was tried.
        action: &'static str,
        /// Why it failed.
        source: io::Error,
    },
}
