//! The latencies that missed periods would have had.

use tompion_stats::{CoarseCounts, Distribution};

use crate::Sample;

/// So many missed periods of a trial stand for a value each. Where there are more, those values
/// are counted in bins, which keep them within 2^-12: a process that was stopped for a night
/// missed more than memory is to be spent on.
pub(super) const EXACT: u64 = 1 << 22;

/// Bins that one sample may have its missed periods counted in, about.
const BINS: u64 = 1 << 17;

/// The values of `samples` in their order, and for each period missed before one of latency L the
/// latency it would have had: L - d, L - 2d, ... `None` where these are more than `most`, too many to
/// be kept one by one: see [`filled_in_bins`].
pub(super) fn filled<'a>(
    samples: impl Iterator<Item = &'a Sample> + Clone,
    period_ps: i64,
    most: u64,
) -> Option<Vec<i64>> {
    let (kept, missed) = samples.clone().fold((0, 0), |(kept, missed), s| {
        (kept + 1, missed + u64::from(s.missed))
    });
    if missed > most {
        return None;
    }
    let mut values = Vec::with_capacity(kept + missed as usize);
    for s in samples {
        values.push(s.value_ps);
        // Step by step: a multiple of a period may be beyond what a value can be where the value less that is not.
        let mut late = s.value_ps;
        values.extend((0..s.missed).map(|_| {
            late = late.saturating_sub(period_ps);
            late
        }));
    }
    Some(values)
}

/// The same in bins, whose order is lost.
pub(super) fn filled_in_bins<'a>(
    samples: impl Iterator<Item = &'a Sample> + Clone,
    period_ps: i64,
) -> Distribution {
    let mut counts = CoarseCounts::default();
    for s in samples.clone().filter(|s| s.missed > 0) {
        let first = s.value_ps.saturating_sub(period_ps);
        counts.add_falling(first, period_ps.unsigned_abs(), s.missed.into());
    }
    let kept = Distribution::from_values(samples.map(|s| s.value_ps));
    kept.merge(&counts.distribution())
}

/// How much work `filled` has with these samples, in values or bins.
pub fn filling_work<'a>(samples: impl Iterator<Item = &'a Sample>) -> u64 {
    let work = samples.map(|s| u64::from(s.missed).min(BINS));
    work.fold(0, u64::saturating_add)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled<'a>(
        samples: impl Iterator<Item = &'a Sample> + Clone,
        period_ps: i64,
    ) -> Distribution {
        super::filled(samples.clone(), period_ps, EXACT).map_or_else(
            || filled_in_bins(samples, period_ps),
            Distribution::from_values,
        )
    }

    fn sample(value_ps: i64, missed: u32) -> Sample {
        Sample {
            value_ps,
            missed,
            n: 1,
            ..Sample::default()
        }
    }

    #[test]
    fn a_multiple_of_a_period_may_be_larger_than_any_value() {
        let (late, period) = (9_000_000_000_000_000_000_i64, 4_000_000_000_000_000_000);
        let all = super::filled([sample(late, 4)].iter(), period, EXACT).unwrap();
        assert_eq!(
            all,
            [
                late,
                late - period,
                late - 2 * period,
                -3_000_000_000_000_000_000,
                -7_000_000_000_000_000_000
            ]
        );
    }

    #[test]
    fn a_night_of_missed_periods_takes_a_moment_and_stays_within_a_thousandth() {
        // Ten hours of 100 us, and 4 hours of 1 us.
        for (value_ps, missed, period_ps) in [
            (36_000_000_000_000_000, 360_000_000, 100_000_000),
            (4_294_967_295_000_000, u32::MAX, 1_000_000),
        ] {
            let samples = [
                sample(50_000, 0),
                sample(value_ps, missed),
                sample(70_000, 1),
            ];
            let all = filled(samples.iter(), period_ps);
            assert_eq!(all.len(), u64::from(missed) + 4);
            assert!(all.pairs().len() < 100_000);
            assert_eq!(all.max(), Some(value_ps));
            for q in [0.1, 0.5, 0.9] {
                let (got, want) = (all.quantile(q).unwrap(), q * value_ps as f64);
                assert!((got / want - 1.0).abs() < 1e-3, "{q}: {got} {want}");
            }
        }
    }

    #[test]
    fn counted_in_bins_or_one_by_one_they_are_the_same_within_a_thousandth() {
        // Just below what is kept exactly, and just above.
        let missed = |n: u64| (0..n).map(|i| sample(1_000_000 * (200 + i as i64 % 800), 200));
        let few: Vec<Sample> = missed(EXACT / 200).collect();
        let many: Vec<Sample> = missed(EXACT / 200 + 1).collect();
        let (few, many) = (
            filled(few.iter(), 1_000_000),
            filled(many.iter(), 1_000_000),
        );
        assert!(few.pairs().len() < many.pairs().len() * 2);
        for q in [0.001, 0.01, 0.5, 0.99, 0.999] {
            let (few, many) = (few.quantile(q).unwrap(), many.quantile(q).unwrap());
            assert!(
                (few - many).abs() <= 2e-3 * few.abs() + 1.0,
                "{q}: {few} {many}"
            );
        }
    }
}
