//! Keeps a trial's samples in constant memory.

use tompion_stats::{Bins, falling};

use crate::{Mark, Sample, SideTables, Storage, TrialData};

/// Takes samples in a measuring loop without allocating, and falls back to bins
/// plus the largest samples when a trial outgrows its limit.
///
/// All memory is allocated and touched by [`Recorder::new`]. [`Recorder::push`]
/// is the only call made inside a loop; [`Recorder::make_room`] takes
/// milliseconds and belongs outside a pair of time stamps.
#[derive(Debug)]
pub struct Recorder {
    samples: Vec<Sample>,
    limit: usize,
    period_ps: Option<i64>,
    tail: Option<Tail>,
    missed: u64,
}

#[derive(Debug)]
struct Tail {
    threshold_ps: i64,
    bins: Bins,
    filled: Bins,
}

impl Recorder {
    /// A recorder for at most `limit` rows at a time (at least 64). `period_ps`
    /// is the grid's period where there is one: it tells which values stand for
    /// missed periods.
    pub fn new(limit: usize, period_ps: Option<i64>) -> Self {
        let limit = limit.max(64);
        // Filling touches every page before the loop does.
        let mut samples = vec![
            Sample {
                n: u32::MAX,
                ..Sample::default()
            };
            limit
        ];
        samples.clear();
        Self {
            samples,
            limit,
            period_ps,
            tail: None,
            missed: 0,
        }
    }

    /// The memory that holds the rows, to be locked by the caller.
    pub fn buffer(&self) -> (*const u8, usize) {
        (
            self.samples.as_ptr().cast(),
            self.limit * size_of::<Sample>(),
        )
    }

    /// Keeps one sample. Never allocates: a caller that ignores
    /// [`Recorder::is_full`] gets the sample refused (`false`).
    #[inline]
    pub fn push(&mut self, sample: Sample) -> bool {
        if let Some(tail) = &mut self.tail
            && sample.value_ps <= tail.threshold_ps
            && sample.n == 1
            && sample.mark == Mark::None
        {
            self.missed += u64::from(sample.missed);
            return tail.count(&sample, self.period_ps);
        }
        if self.samples.len() == self.limit {
            return false;
        }
        if !sample.mark.is_left_out() {
            self.missed += u64::from(sample.missed);
        }
        self.samples.push(sample);
        true
    }

    /// Whether the next sample needs [`Recorder::make_room`] first.
    #[inline]
    pub fn is_full(&self) -> bool {
        self.samples.len() == self.limit
    }

    /// Rows kept so far.
    pub fn len(&self) -> usize {
        self.samples.len()
    }

    /// Whether no sample was kept.
    pub fn is_empty(&self) -> bool {
        self.samples.is_empty() && self.tail.is_none()
    }

    /// Moves all but the largest eighth into bins. The sample taken next should
    /// carry [`Mark::Recorder`].
    pub fn make_room(&mut self) {
        let mut values: Vec<i64> = self.samples.iter().map(|s| s.value_ps).collect();
        let keep_from = values.len() - values.len() / 8 - 1;
        let (_, &mut threshold_ps, _) = values.select_nth_unstable(keep_from);
        let period_ps = self.period_ps;
        let tail = self.tail.get_or_insert_with(|| Tail {
            threshold_ps,
            bins: Bins::new(),
            filled: Bins::new(),
        });
        tail.threshold_ps = threshold_ps.max(tail.threshold_ps);
        // Samples that must be told apart stay while there is room for them.
        let mut special_left = self.limit / 4;
        self.samples.retain(|s| {
            let special = (s.n != 1 || s.mark != Mark::None) && special_left > 0;
            if special {
                special_left -= 1;
            }
            special || s.value_ps > tail.threshold_ps || !tail.count(s, period_ps)
        });
    }

    /// Ends the trial.
    pub fn finish(self) -> (TrialData, Storage) {
        match self.tail {
            None => (
                TrialData {
                    samples: self.samples,
                    bins: None,
                    filled_bins: None,
                    tables: SideTables::new(),
                },
                Storage::Complete,
            ),
            Some(tail) => (
                TrialData {
                    samples: self.samples,
                    bins: Some(tail.bins),
                    filled_bins: Some(tail.filled),
                    tables: SideTables::new(),
                },
                Storage::Tail {
                    limit_rows: self.limit as u64,
                    threshold_ps: tail.threshold_ps,
                },
            ),
        }
    }

    /// Missed periods over all unmarked samples, binned ones included.
    pub fn missed(&self) -> u64 {
        self.missed
    }
}

impl Tail {
    /// Bins one sample and the periods missed before it; `false` when it is
    /// beyond every bin (more than 75 minutes).
    fn count(&mut self, sample: &Sample, period_ps: Option<i64>) -> bool {
        if self.bins.record(sample.value_ps).is_err() {
            return false;
        }
        if let Some(period) = period_ps {
            let (first, step) = (
                sample.value_ps.saturating_sub(period),
                period.unsigned_abs(),
            );
            falling(first, step, sample.missed.into(), |value, count| {
                // Shorter than the sample itself, hence within the bins.
                let _ = self.filled.record_many(value, count);
            });
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::View;
    use proptest::prelude::*;

    fn sample(at_ns: u64, value_ps: i64) -> Sample {
        Sample {
            at_ns,
            value_ps,
            n: 1,
            missed: 0,
            mark: Mark::None,
        }
    }

    #[test]
    fn short_trials_keep_every_row() {
        let mut r = Recorder::new(100, None);
        for i in 0..100 {
            assert!(!r.is_full());
            assert!(r.push(sample(i, i as i64)));
        }
        assert!(r.is_full() && !r.push(sample(100, 100)));
        let (data, storage) = r.finish();
        assert_eq!((data.samples.len(), storage), (100, Storage::Complete));
    }

    #[test]
    fn missed_periods_of_binned_rows_are_filled_in() {
        let mut r = Recorder::new(64, Some(100));
        for i in 0..64 {
            r.push(sample(i, 1000 + i as i64));
        }
        r.make_room();
        r.push(Sample {
            missed: 2,
            ..sample(65, 250)
        });
        assert_eq!(r.missed(), 2);
        let (data, _) = r.finish();
        let filled = data.distribution(View::Filled { period_ps: 100 });
        assert_eq!(filled.len(), 64 + 3);
        assert_eq!(filled.min(), Some(50));
    }

    proptest! {
        #[test]
        fn long_trials_lose_no_value_and_keep_the_largest(values in prop::collection::vec(0i64..1_000_000, 200..2000)) {
            let mut r = Recorder::new(100, None);
            for (i, &v) in values.iter().enumerate() {
                if r.is_full() { r.make_room(); }
                prop_assert!(r.push(sample(i as u64, v)));
            }
            let (data, storage) = r.finish();
            let Storage::Tail { threshold_ps, .. } = storage else { panic!("must have binned") };
            let all = data.distribution(View::Measured);
            prop_assert_eq!(all.len(), values.len() as u64);
            let mut above: Vec<i64> = values.iter().copied().filter(|&v| v > threshold_ps).collect();
            let mut kept: Vec<i64> = data.samples.iter().map(|s| s.value_ps).filter(|&v| v > threshold_ps).collect();
            above.sort_unstable();
            kept.sort_unstable();
            prop_assert_eq!(above, kept);
        }
    }
}
