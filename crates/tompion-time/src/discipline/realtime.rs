//! The step between the kernel's two clocks.

/// A bracket wider than this tells too little of the offset.
const USABLE_NS: i64 = 20_000;

/// So much narrower a bracket replaces what a wide one told.
const NARROWER: i64 = 4;

/// `CLOCK_REALTIME - CLOCK_MONOTONIC`, or not known.
///
/// The kernel slews both clocks alike and changes their difference only when
/// somebody sets the system's time (or a leap second is inserted). So it is measured
/// once, between two reads of the monotonic clock, and held until a later bracket
/// contradicts it: held exactly, because otherwise each new measurement would move
/// the time by its error.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Offset {
    /// 0 where it is not known: no system's time is that of its boot.
    ns: i64,
    /// How wide the bracket was that told it.
    width_ns: i64,
}

impl Offset {
    pub const UNKNOWN: Self = Self { ns: 0, width_ns: 0 };

    /// The difference in nanoseconds; 0 where it is not known.
    pub fn ns(&self) -> i64 {
        self.ns
    }

    /// Takes account of new bounds, both possible.
    pub fn after(self, (low, high): (i64, i64)) -> Self {
        let width_ns = high - low;
        let fits = |slack: i64| low - slack <= self.ns && self.ns <= high + slack;
        let known = self != Self::UNKNOWN;
        if known && (fits(0) || (fits(self.width_ns) && width_ns * NARROWER > self.width_ns)) {
            return self;
        }
        if !(0..=USABLE_NS).contains(&width_ns) {
            return Self::UNKNOWN;
        }
        // The upper bound: no reading is below what the kernel told before.
        Self { ns: high, width_ns }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const TRUTH: i64 = 1_700_000_000_000_000_000;

    /// Bounds as reads `early` and `late` nanoseconds apart from the truth give.
    fn bracket(truth: i64, early: i64, late: i64) -> (i64, i64) {
        (truth - late, truth + early)
    }

    #[test]
    fn it_is_held_exactly_while_nothing_contradicts_it() {
        let first = Offset::UNKNOWN.after(bracket(TRUTH, 30, 40));
        assert_eq!(first.ns(), TRUTH + 30);
        for (early, late) in [(10, 50), (60, 20), (30, 30), (1_000_000, 0)] {
            assert_eq!(first.after(bracket(TRUTH, early, late)), first);
        }
    }

    #[test]
    fn a_step_is_followed_at_once() {
        let first = Offset::UNKNOWN.after(bracket(TRUTH, 30, 40));
        for step in [-1_000_000_000, 1_000_000_000, -1_000, 1_000] {
            let after = first.after(bracket(TRUTH + step, 25, 35));
            assert_eq!(after.ns(), TRUTH + step + 25);
        }
    }

    #[test]
    fn a_disturbed_bracket_is_not_taken_up() {
        assert_eq!(
            Offset::UNKNOWN.after(bracket(TRUTH, 0, 30_000)),
            Offset::UNKNOWN
        );
        // It contradicts all the same: better to ask the kernel than to be wrong.
        let first = Offset::UNKNOWN.after(bracket(TRUTH, 30, 40));
        let stepped = bracket(TRUTH + 1_000_000_000, 0, 30_000);
        assert_eq!(first.after(stepped), Offset::UNKNOWN);
    }

    #[test]
    fn what_a_wide_bracket_told_is_mended_by_a_narrow_one() {
        let rough = Offset::UNKNOWN.after(bracket(TRUTH, 8_000, 1_000));
        // Nearly as wide: its error is no reason to move the time.
        assert_eq!(rough.after(bracket(TRUTH, 4_000, 1_000)), rough);
        let fine = rough.after(bracket(TRUTH, 30, 40));
        assert_eq!(fine.ns(), TRUTH + 30);
    }

    proptest! {
        #[test]
        fn it_is_never_wrong_by_more_than_its_bracket(
            brackets in prop::collection::vec((0_i64..30_000, 0_i64..30_000), 1..50),
            step in -2_000_000_000_i64..2_000_000_000,
            at in 0_usize..50,
        ) {
            let mut offset = Offset::UNKNOWN;
            for (n, (early, late)) in brackets.into_iter().enumerate() {
                let truth = if n < at { TRUTH } else { TRUTH + step };
                offset = offset.after(bracket(truth, early, late));
                if offset != Offset::UNKNOWN {
                    prop_assert!((offset.ns() - truth).abs() <= 2 * USABLE_NS);
                }
            }
        }
    }
}
