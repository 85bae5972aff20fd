//! Falling arithmetic sequences, such as the latencies that missed periods would have had:
//! counted bin by bin, however long they are.

use crate::histogram::bin_of;

/// Calls `with` for the values `first`, `first - step`, ..., `count` of them: for those that lie
/// in one bin of [`crate::histogram()`] together, with the middle of that bin, or the nearest value to
/// it, and how many they are. Values below -2^63 count as that.
///
/// There are at most `count` calls, and at most as many as there are bins, some 110,000.
pub fn falling(first: i64, step: u64, count: u64, mut with: impl FnMut(i64, u64)) {
    let (mut value, mut left) = (first, count);
    while left > 0 {
        let (low, high) = bin_of(value);
        let together = match value.abs_diff(low).checked_div(step) {
            Some(more) if value > i64::MIN => left.min(more.saturating_add(1)),
            // From here on they are all the same.
            _ => left,
        };
        let least = value.saturating_sub_unsigned(step.saturating_mul(together - 1));
        with((low + (high - low) / 2).clamp(least, value), together);
        value = least.saturating_sub_unsigned(step);
        left -= together;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Bins;
    use proptest::prelude::*;

    fn counted(first: i64, step: u64, count: u64) -> (Bins, usize) {
        let mut bins = Bins::new();
        let mut calls = 0;
        falling(first, step, count, |value, n| {
            bins.record_many(value, n).unwrap();
            calls += 1;
        });
        (bins, calls)
    }

    #[test]
    fn a_sequence_without_end_takes_a_moment_and_keeps_its_mean() {
        let (bins, calls) = counted(1 << 50, 1 << 20, 1 << 30);
        assert_eq!(bins.len(), 1 << 30);
        assert!(calls < 50_000, "{calls}");
        let mean = bins.distribution().mean().unwrap();
        assert!((mean / 2f64.powi(49) - 1.0).abs() < 1e-3, "{mean}");
    }

    #[test]
    fn the_ends_of_the_range_and_no_step_at_all_are_counted() {
        for (first, step, count) in [
            (i64::MIN, u64::MAX, u64::MAX),
            (i64::MAX, u64::MAX, 3),
            (i64::MAX, 1, u64::MAX),
            (5, 0, u64::MAX),
            (7, 7, 0),
        ] {
            let (mut sum, mut last) = (0_u64, i64::MAX);
            falling(first, step, count, |value, n| {
                assert!(value <= last);
                last = value;
                sum += n;
            });
            assert_eq!(sum, count, "{first} {step} {count}");
        }
    }

    proptest! {
        #[test]
        fn bins_are_those_of_the_values_one_by_one(
            first in -1_000_000_000_i64..1_000_000_000, step in 0_u64..40_000_000, count in 0_u64..400,
        ) {
            let mut plain = Bins::new();
            for k in 0..count {
                plain.record(first - (k * step) as i64).unwrap();
            }
            prop_assert_eq!(counted(first, step, count).0.occupied(), plain.occupied());
        }
    }
}
