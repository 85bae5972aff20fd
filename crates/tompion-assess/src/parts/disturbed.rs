//! Whether a use failed only where other programs disturbed.

use tompion_cause::Cause;
use tompion_model::{Mark, Sample};

/// Whether a mark says that another program had the CPU. At rest nothing of Tompion's runs, and
/// its own watching has a mark of its own.
pub fn by_other_programs(mark: Mark) -> bool {
    matches!(mark, Mark::Disturbed(Cause::Preempted, _))
}

/// How many of a cell's values lie beyond a limit, and which of those other programs disturbed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Beyond {
    /// Values that count, those that stand for missed periods included.
    pub values: u64,
    /// Of them, those that other programs disturbed.
    pub disturbed: u64,
    /// Values beyond the limit.
    pub beyond: u64,
    /// Of these, those that other programs disturbed.
    pub beyond_disturbed: u64,
}

impl Beyond {
    /// Takes in the samples of a trial. With a period, in picoseconds, the values that stand for
    /// missed periods count as those of the sample that came late.
    pub fn add(&mut self, samples: &[Sample], limit_ps: i64, period_ps: Option<i64>) {
        for sample in samples.iter().filter(|s| !s.mark.is_left_out() && s.n == 1) {
            let missed = match period_ps {
                Some(period_ps) if period_ps > 0 => (u64::from(sample.missed), period_ps),
                _ => (0, 1),
            };
            let (values, beyond) = counted(sample.value_ps, limit_ps, missed);
            self.values += values;
            self.beyond += beyond;
            if by_other_programs(sample.mark) {
                self.disturbed += values;
                self.beyond_disturbed += beyond;
            }
        }
    }

    /// Whether the limit on the `quantile` is exceeded by all values and kept by those that no
    /// other program disturbed: nobody knows then whether the use would fail without them.
    pub fn is_others_doing(&self, quantile: f64) -> bool {
        // A hair of tolerance, so that one of 1000 may lie beyond a p99.9.
        let exceeds = |beyond: u64, of: u64| beyond as f64 > of as f64 * (1.0 - quantile) + 1e-6;
        let rest = self.values - self.disturbed;
        exceeds(self.beyond, self.values) && !exceeds(self.beyond - self.beyond_disturbed, rest)
    }
}

/// How many values a late sample stands for, and how many of them lie beyond the limit: each missed
/// period is one that is a period less late.
fn counted(value_ps: i64, limit_ps: i64, (missed, period_ps): (u64, i64)) -> (u64, u64) {
    let over = i128::from(value_ps) - i128::from(limit_ps);
    let beyond = match over > 0 {
        true => (over - 1) / i128::from(period_ps) + 1,
        false => 0,
    };
    let values = missed + 1;
    (
        values,
        u64::try_from(beyond).unwrap_or(u64::MAX).min(values),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use tompion_cause::Source;

    const PREEMPTED: Mark = Mark::Disturbed(Cause::Preempted, Source::Event);

    fn samples(of: &[(usize, i64, Mark)]) -> Vec<Sample> {
        let sample = |&(times, value_ps, mark): &(usize, i64, Mark)| {
            let one = Sample {
                value_ps,
                n: 1,
                mark,
                ..Sample::default()
            };
            std::iter::repeat_n(one, times)
        };
        of.iter().flat_map(sample).collect()
    }

    fn at_p99(of: &[(usize, i64, Mark)]) -> bool {
        let mut beyond = Beyond::default();
        beyond.add(&samples(of), 100, None);
        beyond.is_others_doing(0.99)
    }

    #[test]
    fn a_failure_that_goes_with_other_programs_is_theirs() {
        let quiet = (1_000, 50, Mark::None);
        assert!(at_p99(&[quiet, (100, 500, PREEMPTED)]));
        let polled = Mark::Disturbed(Cause::Preempted, Source::Polled);
        assert!(at_p99(&[quiet, (100, 500, polled), (5, 500, Mark::None)]));
    }

    #[test]
    fn a_failure_that_remains_without_them_is_not() {
        let quiet = (1_000, 50, Mark::None);
        let mixed = [quiet, (100, 500, PREEMPTED), (11, 500, Mark::None)];
        assert!(!at_p99(&mixed));
        // Who steals is no other program here.
        let stolen = Mark::Disturbed(Cause::Stolen, Source::Event);
        assert!(!at_p99(&[quiet, (100, 500, stolen)]));
    }

    #[test]
    fn what_does_not_fail_is_nobodys_doing() {
        assert!(!at_p99(&[(1_000, 50, Mark::None), (5, 500, PREEMPTED)]));
        assert!(!at_p99(&[(1_000, 50, PREEMPTED), (5, 500, PREEMPTED)]));
        assert!(!at_p99(&[(100, 500, Mark::WarmUp)]));
        assert!(!Beyond::default().is_others_doing(0.99));
    }

    #[test]
    fn all_of_it_disturbed_leaves_nothing_to_judge() {
        assert!(at_p99(&[(100, 500, PREEMPTED)]));
    }

    proptest! {
        #[test]
        fn missed_periods_count_as_if_each_had_come(
            value in -500i64..5_000, limit in -100i64..1_000, missed in 0u32..20, period in 1i64..300,
        ) {
            let sample = Sample { value_ps: value, n: 1, missed, mark: PREEMPTED, at_ns: 0 };
            let mut found = Beyond::default();
            found.add(&[sample], limit, Some(period));
            let all: Vec<i64> = (0..=i64::from(missed)).map(|k| value - k * period).collect();
            let beyond = all.iter().filter(|v| **v > limit).count() as u64;
            let want = Beyond { values: all.len() as u64, disturbed: all.len() as u64, beyond, beyond_disturbed: beyond };
            prop_assert_eq!(found, want);
        }
    }
}
