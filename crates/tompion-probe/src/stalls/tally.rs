//! Every interval, counted.

use tompion_stats::Bins;

use super::Stamps;

/// Short intervals are counted by their exact ticks, up to this many: cheaper
/// than bins, and no coarser.
const EXACT: u64 = 1 << 16;

/// What an interval was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Counted {
    /// So short that counting it took next to no time.
    Short,
    /// Longer, or backward, and no stall.
    Binned,
    /// A stall of so many picoseconds.
    Stall(u64),
}

/// Counts in constant memory.
pub(super) struct Tally {
    /// How often an interval took exactly so many ticks; all of these are below
    /// the threshold.
    exact: Box<[u64]>,
    threshold: u64,
    pub below: Bins,
    pub above: Bins,
    /// Intervals that are not among the exact ones.
    binned: u64,
    pub stalls: u64,
    pub stalled_ps: u128,
    pub longest_ps: u64,
    pub beyond_bins: u64,
    pub backward_steps: u64,
}

impl Tally {
    /// Stalls begin at `threshold` ticks.
    pub fn new(threshold: u64) -> Self {
        let threshold = threshold.max(1);
        let size = usize::try_from(threshold.min(EXACT)).expect("65536 fits");
        // First filled with something else than zero: the pages must be there.
        let mut exact = vec![1; size].into_boxed_slice();
        exact.fill(0);
        Self {
            exact,
            threshold,
            below: Bins::new(),
            above: Bins::new(),
            binned: 0,
            stalls: 0,
            stalled_ps: 0,
            longest_ps: 0,
            beyond_bins: 0,
            backward_steps: 0,
        }
    }

    /// The counts of short intervals, by their ticks.
    #[inline(always)]
    pub fn exact(&mut self) -> &mut [u64] {
        &mut self.exact
    }

    /// The memory that the fast path writes to.
    pub fn buffer(&self) -> (*const u8, usize) {
        (self.exact.as_ptr().cast(), size_of_val(&*self.exact))
    }

    /// Counts any interval.
    pub fn count(&mut self, interval: u64, stamps: &impl Stamps) -> Counted {
        if interval < self.exact.len() as u64 {
            self.exact[interval as usize] += 1;
            return Counted::Short;
        }
        self.binned += 1;
        if interval.cast_signed() < 0 {
            self.backward_steps += 1;
            let back_ps = stamps.ps(interval.wrapping_neg());
            let fits = i64::try_from(back_ps).is_ok_and(|ps| self.below.record(-ps).is_ok());
            self.beyond_bins += u64::from(!fits);
            return Counted::Binned;
        }
        let ps = stamps.ps(interval);
        let stalled = interval >= self.threshold;
        let bins = if stalled {
            self.stalls += 1;
            self.stalled_ps += u128::from(ps);
            self.longest_ps = self.longest_ps.max(ps);
            &mut self.above
        } else {
            &mut self.below
        };
        let fits = i64::try_from(ps).is_ok_and(|ps| bins.record(ps).is_ok());
        self.beyond_bins += u64::from(!fits);
        if stalled {
            Counted::Stall(ps)
        } else {
            Counted::Binned
        }
    }

    /// All intervals.
    pub fn iterations(&self) -> u64 {
        self.binned + self.exact.iter().sum::<u64>()
    }

    /// The median interval in nanoseconds: nearly always among the exact ones.
    pub fn period_ns(&self, stamps: &impl Stamps) -> f64 {
        let iterations = self.iterations();
        let mut seen = 0;
        for (ticks, &count) in self.exact.iter().enumerate() {
            seen += count;
            if count > 0 && 2 * seen >= iterations {
                return stamps.ps(ticks as u64) as f64 / 1000.0;
            }
        }
        self.below.distribution().median().unwrap_or(0.0) / 1000.0
    }

    /// Puts the exact counts into the bins; nothing is to be counted afterwards.
    pub fn settle(&mut self, stamps: &impl Stamps) {
        for (ticks, &count) in self.exact.iter().enumerate().filter(|(_, n)| **n > 0) {
            let ps = stamps.ps(ticks as u64);
            let fits = i64::try_from(ps).is_ok_and(|ps| self.below.record_many(ps, count).is_ok());
            self.beyond_bins += if fits { 0 } else { count };
        }
    }
}
