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

    /// Whether another program than Tompion had the CPU, which has a mark of its own for itself. Beside a load, that may
    /// have been the load.
    pub fn is_held_up_by_others(self) -> bool {
        matches!(self, Mark::Disturbed(Cause::Preempted, _))
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

    /// One byte that stands for the mark in the checksums of version 1 of the format.
    /// These numbers are fixed for ever; marks that version 1 never wrote have none.
    pub fn code_v1(self) -> Option<u8> {
        let (cause, source) = match self {
            Mark::None => return Some(0),
            Mark::WarmUp => return Some(1),
            Mark::Recorder => return Some(2),
            Mark::Disturbed(cause, source) => (cause, source),
        };
        let cause = match cause {
            Cause::Preempted => 0,
            Cause::Throttled => 1,
            Cause::Stopped => 2,
            Cause::Waited => 3,
            Cause::PageFault => 4,
            Cause::Tick => 5,
            Cause::HardInterrupt => 6,
            Cause::Softirq => 7,
            Cause::Migration => 8,
            Cause::Stolen => 9,
            Cause::Smi => 10,
            Cause::Unseen => 11,
            Cause::ClockStep => 12,
            Cause::Own => 13,
            Cause::Unknown => 14,
            // Causes that version 1 did not know.
            _ => return None,
        };
        let source = match source {
            Source::Event => 0,
            Source::Counter => 1,
            Source::Polled => 2,
        };
        Some(3 + 3 * cause + source)
    }
}

const POLLED: &str = " (polled)";
const COUNTED: &str = " (counted)";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_mark_is_read_back_by_its_name() {
        let sources = [Source::Event, Source::Counter, Source::Polled];
        let disturbed = Cause::ALL
            .into_iter()
            .flat_map(|c| sources.map(|s| Mark::Disturbed(c, s)));
        let all: Vec<Mark> = [Mark::WarmUp, Mark::Recorder]
            .into_iter()
            .chain(disturbed)
            .collect();
        for mark in all {
            assert_eq!(Mark::from_name(&mark.name().unwrap()), Some(mark));
        }
        assert_eq!(Mark::None.name(), None);
        assert_eq!(Mark::from_name("bored"), None);
    }

    #[test]
    fn codes_of_version_1_never_change() {
        // As written by version 1: `3 + 3 * cause + source`, in the order of that time.
        let names = "preempted throttled stopped waited page-fault tick hard-interrupt softirq \
                     migration stolen smi unseen clock-step own unknown";
        let mut want = 3;
        for name in names.split_whitespace() {
            for suffix in ["", COUNTED, POLLED] {
                let mark = Mark::from_name(&format!("{name}{suffix}")).unwrap();
                assert_eq!(mark.code_v1(), Some(want), "{name}{suffix}");
                want += 1;
            }
        }
        let others = [Mark::None, Mark::WarmUp, Mark::Recorder];
        assert_eq!(others.map(Mark::code_v1), [Some(0), Some(1), Some(2)]);
    }
}
