//! Order statistics of all differences of two groups, which are never formed.
//!
//! One pass over the distinct values of both groups counts the differences up to a limit,
//! and so any order statistic can be searched for. What makes it fast is how few passes
//! it takes: between bounds that coarser groups give at a fraction of a pass each, the
//! counts rise so evenly that false position finds it within a few steps. Sources: for
//! the counting Johnson and Mizoguchi, "Selecting the Kth Element in X + Y and X1 + X2 +
//! ... + Xm", SIAM J. Comput. 7 (1978); for the steps the Illinois variant of false
//! position (Dowell and Jarratt, BIT 11, 1971).

use crate::Distribution;

/// How many neighbouring values a coarser level takes together.
const TOGETHER: usize = 16;

/// Distinct values of a group below which nothing is gained by a coarser level.
const FEW: usize = 1024;

/// Passes after which a search goes on by halving, whatever the counts look like.
const PATIENCE: u32 = 24;

type Pairs = [(i64, u64)];

/// The differences of values of one group and values of the other.
pub(super) struct Differences<'a> {
    exact: Between<'a>,
    /// Finest first.
    levels: Vec<Level>,
}

impl<'a> Differences<'a> {
    /// Of a value of `first` less one of `second`; neither is empty.
    pub(super) fn of(first: &'a Distribution, second: &'a Distribution) -> Self {
        Self::with(first, second, TOGETHER, FEW)
    }

    fn with(
        first: &'a Distribution,
        second: &'a Distribution,
        together: usize,
        few: usize,
    ) -> Self {
        let exact = Between {
            first: first.pairs(),
            second: second.pairs(),
            others: second.len(),
        };
        let mut levels: Vec<Level> = Vec::new();
        while levels.last().map_or(exact.size(), Level::size) > few {
            let next = match levels.last() {
                None => Level::over(&exact, &exact, together),
                Some(finer) => Level::over(&finer.lowest(), &finer.highest(), together),
            };
            levels.push(next);
        }
        Self { exact, levels }
    }

    /// The `rank`-th smallest difference, counted from 1.
    pub(super) fn smallest(&self, rank: u128) -> i128 {
        self.found(rank).0
    }

    /// The same, with the passes over all values that it took.
    fn found(&self, rank: u128) -> (i128, u32) {
        let all = u128::from(self.exact.others) * u128::from(total(self.exact.first));
        let (least, most) = self.exact.ends();
        let mut within = Bracket {
            low: least,
            high: most,
            below: rank as f64,
            beyond: (all - rank) as f64,
        };
        for level in self.levels.iter().rev() {
            let (lowest, highest) = (level.lowest(), level.highest());
            let low = lowest.search(rank, within).0;
            let high = highest.search(rank, within).0;
            let counted = |limit: i128| {
                let of = |b: &Between<'_>| b.up_to(limit).count as f64;
                (of(&lowest) + of(&highest)) / 2.0 - rank as f64
            };
            within = Bracket {
                low,
                high,
                below: -counted(low - 1),
                beyond: counted(high),
            };
        }
        self.exact.search(rank, within)
    }

    /// The difference of `rank` + 1, where that of `rank` is `value`.
    pub(super) fn after(&self, value: i128, rank: u128) -> i128 {
        let up_to = self.exact.up_to(value);
        if up_to.count > rank {
            value
        } else {
            up_to.next.unwrap_or(value)
        }
    }
}

/// Neighbouring values taken together: their lowest and their highest ones.
struct Level {
    first: [Vec<(i64, u64)>; 2],
    second: [Vec<(i64, u64)>; 2],
}

impl Level {
    /// Over the level whose differences lie between those of `lowest` and `highest`.
    fn over(lowest: &Between<'_>, highest: &Between<'_>, together: usize) -> Self {
        let least = |pairs: &Pairs| -> Vec<(i64, u64)> {
            let chunks = pairs.chunks(together);
            chunks.map(|c| (c[0].0, total(c))).collect()
        };
        let greatest = |pairs: &Pairs| -> Vec<(i64, u64)> {
            let chunks = pairs.chunks(together);
            chunks.map(|c| (c[c.len() - 1].0, total(c))).collect()
        };
        Self {
            first: [least(lowest.first), greatest(highest.first)],
            second: [least(highest.second), greatest(lowest.second)],
        }
    }

    fn size(&self) -> usize {
        self.lowest().size()
    }

    /// Differences none of which is above its like among all.
    fn lowest(&self) -> Between<'_> {
        Between::new(&self.first[0], &self.second[1])
    }

    /// Differences none of which is below its like among all.
    fn highest(&self) -> Between<'_> {
        Between::new(&self.first[1], &self.second[0])
    }
}

fn total(pairs: &Pairs) -> u64 {
    pairs.iter().map(|p| p.1).sum()
}

/// Where an order statistic lies, and by how many differences its rank lies, about, above
/// those below `low` and below those up to `high`.
#[derive(Clone, Copy)]
struct Bracket {
    low: i128,
    high: i128,
    below: f64,
    beyond: f64,
}

/// What one pass finds.
struct UpTo {
    /// Differences that are at most the limit.
    count: u128,
    /// The largest of them.
    last: Option<i128>,
    /// The smallest of the others.
    next: Option<i128>,
}

/// All differences of two lists of ascending values with their counts.
struct Between<'a> {
    first: &'a Pairs,
    second: &'a Pairs,
    /// Values of `second`.
    others: u64,
}

impl<'a> Between<'a> {
    fn new(first: &'a Pairs, second: &'a Pairs) -> Self {
        let others = total(second);
        Self {
            first,
            second,
            others,
        }
    }

    fn size(&self) -> usize {
        self.first.len().max(self.second.len())
    }

    /// The smallest and the largest difference.
    fn ends(&self) -> (i128, i128) {
        let ends = |p: &Pairs| (i128::from(p[0].0), i128::from(p[p.len() - 1].0));
        let (first, second) = (ends(self.first), ends(self.second));
        (first.0 - second.1, first.1 - second.0)
    }

    /// The `rank`-th smallest difference, which lies `within`, and the passes it took.
    fn search(&self, rank: u128, within: Bracket) -> (i128, u32) {
        let Bracket {
            mut low, mut high, ..
        } = within;
        // How far the rank is from either end, about; each is halved when the other end
        // moves twice.
        let or_one = |v: f64| if v >= 1.0 { v } else { 1.0 };
        let (mut below, mut beyond) = (or_one(within.below), or_one(within.beyond));
        let mut moved = 0;
        let mut passes = 0;
        let mut width = high - low;
        while low < high {
            // What does not shrink eightfold in three steps is halved, and all that takes long.
            let slow = passes % 4 == 3 && high - low > width / 8;
            if passes % 4 == 3 {
                width = high - low;
            }
            let share = if slow || passes >= PATIENCE {
                0.5
            } else {
                below / (below + beyond)
            };
            let step = ((high - low) as f64 * share) as i128;
            let limit = (low + step).clamp(low, high - 1);
            let up_to = self.up_to(limit);
            passes += 1;
            if up_to.count >= rank {
                // There is one, since the rank is at least 1.
                high = up_to.last.unwrap_or(limit);
                beyond = or_one((up_to.count - rank) as f64);
                if moved > 0 {
                    below = or_one(below / 2.0);
                }
                moved = 1;
            } else {
                low = up_to.next.unwrap_or(limit + 1);
                below = or_one((rank - up_to.count) as f64);
                if moved < 0 {
                    beyond = or_one(beyond / 2.0);
                }
                moved = -1;
            }
        }
        (low, passes)
    }

    /// Counts the differences that are at most `limit`.
    fn up_to(&self, limit: i128) -> UpTo {
        let mut found = UpTo {
            count: 0,
            last: None,
            next: None,
        };
        let (mut last, mut next) = (i128::MIN, i128::MAX);
        let mut left = self.others;
        let mut at = 0;
        for &(value, times) in self.first {
            // value - other <= limit: leave out the others that are too small.
            let least = i128::from(value) - limit;
            while at < self.second.len() && i128::from(self.second[at].0) < least {
                left -= self.second[at].1;
                at += 1;
            }
            if at > 0 {
                next = next.min(i128::from(value) - i128::from(self.second[at - 1].0));
            }
            if at == self.second.len() {
                break;
            }
            last = last.max(i128::from(value) - i128::from(self.second[at].0));
            found.count += u128::from(times) * u128::from(left);
        }
        found.last = (last > i128::MIN).then_some(last);
        found.next = (next < i128::MAX).then_some(next);
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_noise::Noise;
    use proptest::prelude::*;

    fn every(a: &[i64], b: &[i64]) -> Vec<i128> {
        let less = |x: &i64| {
            let x = i128::from(*x);
            b.iter().map(move |y| x - i128::from(*y))
        };
        let mut all: Vec<i128> = a.iter().flat_map(less).collect();
        all.sort_unstable();
        all
    }

    fn distribution(v: &[i64]) -> Distribution {
        Distribution::from_values(v.iter().copied())
    }

    /// Values that lie close, far apart, on a grid, or at the ends of the range.
    fn values() -> impl Strategy<Value = Vec<i64>> {
        prop_oneof![
            prop::collection::vec(-40i64..40, 1..60),
            prop::collection::vec((-40i64..40).prop_map(|v| v * 1_000), 1..60),
            prop::collection::vec(any::<i64>(), 1..60),
            prop::collection::vec(
                prop_oneof![
                    Just(i64::MIN),
                    Just(i64::MAX),
                    -3i64..3,
                    1_000_000i64..2_000_000
                ],
                1..60
            ),
        ]
    }

    proptest! {
        #[test]
        fn order_statistics_are_those_of_all_differences(
            a in values(), b in values(), together in 2usize..6, few in 1usize..20,
        ) {
            let all = every(&a, &b);
            let (first, second) = (distribution(&a), distribution(&b));
            let differences = Differences::with(&first, &second, together, few);
            for (i, want) in all.iter().enumerate() {
                let rank = i as u128 + 1;
                prop_assert_eq!(differences.smallest(rank), *want);
                let after = all.get(i + 1).unwrap_or(want);
                prop_assert_eq!(differences.after(*want, rank), *after);
            }
        }
    }

    /// Latencies in picoseconds, nearly all of them distinct: a halving search takes some
    /// forty passes over all values for each rank.
    #[test]
    fn many_distinct_values_take_few_passes() {
        let mut noise = Noise::new(5);
        let mut latencies = |n: usize, at: f64| {
            Distribution::from_values((0..n).map(|_| {
                let tail = if noise.normal() > 2.5 { 1e10 } else { 1e6 };
                (at + tail * (0.4 * noise.normal()).exp()) as i64
            }))
        };
        let (a, b) = (latencies(200_000, 5e7), latencies(150_000, 5.1e7));
        let differences = Differences::of(&a, &b);
        let pairs = 200_000u128 * 150_000;
        for (rank, most) in [
            (1, 4),
            (pairs / 1000, 24),
            (pairs / 2 - 40_000_000, 4),
            (pairs / 2, 4),
            (pairs - pairs / 300, 16),
            (pairs, 4),
        ] {
            let (value, passes) = differences.found(rank);
            assert!(passes <= most, "{rank}: {passes}");
            let up_to = differences.exact.up_to(value);
            assert!(up_to.count >= rank && differences.exact.up_to(value - 1).count < rank);
            assert_eq!(up_to.last, Some(value));
        }
    }
}
