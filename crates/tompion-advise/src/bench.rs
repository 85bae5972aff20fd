//! What trying needs of a machine.

use std::time::Duration;

use tompion_probe::ThreadSettings;

/// How one trial is set up.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Setup {
    /// Of the measuring thread.
    pub thread: ThreadSettings,
    /// All memory of the process is locked.
    pub locked: bool,
    /// Tompion's hybrid sleep in place of the kernel's.
    pub hybrid: bool,
    /// The program runs under the preload library.
    pub preload: bool,
}

/// What one trial brought, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Figures {
    /// Median.
    pub median_ns: f64,
    /// The quantile of the uses, periods missed on a grid filled in.
    pub tail_ns: f64,
    /// CPU time of one sleep or read, where it is known.
    pub cpu_ns: Option<f64>,
    /// Samples behind them.
    pub samples: u64,
}

/// Why a trial brought nothing.
#[derive(Debug, thiserror::Error)]
pub enum BenchError {
    /// The system does not allow this setup; says what it would take.
    #[error("{0}")]
    Refused(String),
    /// Told to stop.
    #[error("stopped")]
    Stopped,
    /// Anything else, which ends the run.
    #[error("{0}")]
    Failed(String),
}

/// Time and trials. Tests plant their own.
pub trait Bench {
    /// Time since some fixed moment.
    fn now(&mut self) -> Duration;

    /// Waits until what has just been changed has settled.
    fn settle(&mut self, time: Duration);

    /// Measures for about `time`.
    ///
    /// # Errors
    /// If the setup is not allowed, the run is to stop, or nothing could be measured.
    fn trial(
        &mut self,
        quantity: crate::Quantity,
        setup: &Setup,
        time: Duration,
    ) -> Result<Figures, BenchError>;
}
