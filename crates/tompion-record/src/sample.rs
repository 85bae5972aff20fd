//! One row of a trial's table.

/// One measured value, in time order within its trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Sample {
    /// When the sample ended, in nanoseconds since the trial began.
    pub at_ns: u64,
    /// The measured value per operation, in picoseconds.
    pub value_ps: i64,
    /// Operations that the value is the average of (1 unless timed in a batch).
    pub n: u32,
    /// Periods of the grid missed before this sample (always 0 without a grid).
    pub missed: u32,
    /// Why this sample is set apart, if it is.
    pub mark: Mark,
}

/// Why a sample is set apart from the others. Marked samples are kept in the
/// files and left out of summaries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Hash)]
#[repr(u8)]
pub enum Mark {
    /// An ordinary sample.
    #[default]
    None,
    /// Taken while caches, page tables and learned margins settled.
    WarmUp,
    /// Taken right after Tompion itself held up the loop to move samples into
    /// bins.
    Recorder,
}

impl Mark {
    /// All marks, for readers of files.
    pub const ALL: [Mark; 3] = [Mark::None, Mark::WarmUp, Mark::Recorder];

    /// The name in the `mark` column; none for an ordinary sample.
    pub fn name(self) -> Option<&'static str> {
        match self {
            Mark::None => None,
            Mark::WarmUp => Some("warm-up"),
            Mark::Recorder => Some("recorder"),
        }
    }

    /// The mark of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|m| m.name() == Some(name))
    }
}
