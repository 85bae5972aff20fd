//! The numbers that causes and their sources have in packets; docs/wire.md lists them.

use tompion_cause::{Cause, Source};

/// Fixed for ever: later ones may only be added.
const CAUSES: [(u8, Cause); 16] = [
    (1, Cause::Preempted),
    (2, Cause::Throttled),
    (3, Cause::Stopped),
    (4, Cause::Waited),
    (5, Cause::PageFault),
    (6, Cause::Tick),
    (7, Cause::HardInterrupt),
    (8, Cause::Softirq),
    (9, Cause::Migration),
    (10, Cause::Stolen),
    (11, Cause::Smi),
    (12, Cause::Unseen),
    (13, Cause::ClockStep),
    (14, Cause::Own),
    (15, Cause::Unknown),
    (16, Cause::Queued),
];

const SOURCES: [(u8, Source); 3] = [
    (0, Source::Event),
    (1, Source::Counter),
    (2, Source::Polled),
];

/// As numbers.
pub(crate) fn numbers((cause, source): (Cause, Source)) -> (u8, u8) {
    let number = CAUSES.iter().find(|known| known.1 == cause);
    let of_source = SOURCES.iter().find(|known| known.1 == source);
    // A cause that has none is not known there.
    (number.map_or(15, |n| n.0), of_source.map_or(2, |n| n.0))
}

/// What a far end says by them, which may be of a later version.
pub(crate) fn mark(cause: u8, source: u8) -> (Cause, Source) {
    let known = CAUSES.iter().find(|known| known.0 == cause);
    let of_source = SOURCES.iter().find(|known| known.0 == source);
    (
        known.map_or(Cause::Unknown, |k| k.1),
        of_source.map_or(Source::Polled, |k| k.1),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_told_comes_back_and_what_is_unknown_is_said_to_be_that() {
        for cause in Cause::ALL {
            for source in Source::ALL {
                let (number, of_source) = numbers((cause, source));
                assert_eq!(mark(number, of_source), (cause, source));
            }
        }
        assert_eq!(mark(0, 0), (Cause::Unknown, Source::Event));
        assert_eq!(mark(200, 9), (Cause::Unknown, Source::Polled));
    }

    #[test]
    fn numbers_are_those_of_the_page() {
        let page = include_str!("../../../docs/wire.md");
        for (number, cause) in CAUSES {
            let row = format!("| {number} | `{}` |", cause.name());
            assert!(page.contains(&row), "{row}");
        }
    }
}
