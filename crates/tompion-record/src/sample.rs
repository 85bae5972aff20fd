//! One row of a trial's table.

use std::borrow::Cow;

use tompion_cause::{Cause, Source};

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

/// Why a sample is set apart from the others.
///
/// Warm-up and the recorder's own pauses are left out of every summary. Disturbed
/// samples are what programs meet: they count, and summaries are given without them
/// too.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Hash)]
pub enum Mark {
    /// An ordinary sample.
    #[default]
    None,
    /// Taken while caches, page tables and learned margins settled.
    WarmUp,
    /// Taken right after Tompion itself held up the loop to move samples into
    /// bins.
    Recorder,
    /// Something else went on meanwhile, and how that is known.
    Disturbed(Cause, Source),
}

impl Mark {
    /// Whether the sample is left out of every summary.
    pub fn is_left_out(self) -> bool {
        matches!(self, Mark::WarmUp | Mark::Recorder)
    }

    /// Whether something disturbed the sample.
    pub fn is_disturbed(self) -> bool {
        matches!(self, Mark::Disturbed(..))
    }

    /// The name in the `mark` column; none for an ordinary sample. A reason known
    /// from polled counters alone says so: its time is a window's.
    pub fn name(self) -> Option<Cow<'static, str>> {
        Some(match self {
            Mark::None => return None,
            Mark::WarmUp => "warm-up".into(),
            Mark::Recorder => "recorder".into(),
            Mark::Disturbed(cause, Source::Event) => cause.name().into(),
            Mark::Disturbed(cause, Source::Counter) => format!("{cause}{COUNTED}").into(),
            Mark::Disturbed(cause, Source::Polled) => format!("{cause}{POLLED}").into(),
        })
    }

    /// The mark of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        match name {
            "warm-up" => return Some(Mark::WarmUp),
            "recorder" => return Some(Mark::Recorder),
            _ => {}
        }
        let (cause, source) = if let Some(cause) = name.strip_suffix(POLLED) {
            (cause, Source::Polled)
        } else if let Some(cause) = name.strip_suffix(COUNTED) {
            (cause, Source::Counter)
        } else {
            (name, Source::Event)
        };
        Some(Mark::Disturbed(Cause::from_name(cause)?, source))
    }

    /// One byte that stands for the mark in checksums.
    pub(crate) fn code(self) -> u8 {
        match self {
            Mark::None => 0,
            Mark::WarmUp => 1,
            Mark::Recorder => 2,
            Mark::Disturbed(cause, source) => 3 + 3 * cause as u8 + source as u8,
        }
    }
}

const POLLED: &str = " (polled)";
const COUNTED: &str = " (counted)";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_mark_is_read_back_by_its_name_and_has_a_code_of_its_own() {
        let sources = [Source::Event, Source::Counter, Source::Polled];
        let disturbed = Cause::ALL
            .into_iter()
            .flat_map(|c| sources.map(|s| Mark::Disturbed(c, s)));
        let all: Vec<Mark> = [Mark::WarmUp, Mark::Recorder]
            .into_iter()
            .chain(disturbed)
            .collect();
        let mut codes = vec![Mark::None.code()];
        for mark in all {
            assert_eq!(Mark::from_name(&mark.name().unwrap()), Some(mark));
            assert!(!codes.contains(&mark.code()), "{mark:?}");
            codes.push(mark.code());
        }
        assert_eq!(Mark::None.name(), None);
        assert_eq!(Mark::from_name("bored"), None);
    }
}
