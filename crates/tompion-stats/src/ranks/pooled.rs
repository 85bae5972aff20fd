//! Mid-ranks of several groups pooled, without ranking single values.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;

use super::RankError;
use crate::Distribution;

/// What rank tests need to know of pooled groups: per group the sum of its
/// mid-ranks and of their squares, and how many values are tied.
///
/// Equal values share the mean of the ranks they take up (mid-ranks; Kruskal and
/// Wallis, "Use of Ranks in One-Criterion Variance Analysis", JASA 47 (1952),
/// §1). Everything is summed in integers (twice the rank is one), so it is
/// exact; cost grows with the distinct values, not with their counts.
#[derive(Clone, Debug, PartialEq)]
pub struct PooledRanks {
    pub(super) groups: Vec<GroupRanks>,
    pub(super) len: u64,
    /// Sum of t^3 - t over the sets of t equal values.
    pub(super) tie_sum: u128,
    tied: u64,
}

/// One group's share of the pooled ranks.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct GroupRanks {
    pub(super) len: u64,
    /// Sum of twice the ranks.
    pub(super) doubled_sum: u128,
    /// Sum of the squares of twice the ranks.
    pub(super) doubled_squares: u128,
}

impl PooledRanks {
    /// Ranks at least two groups, none of them empty.
    pub fn of<'a>(groups: impl IntoIterator<Item = &'a Distribution>) -> Result<Self, RankError> {
        let groups: Vec<&Distribution> = groups.into_iter().collect();
        if groups.len() < 2 {
            return Err(RankError::TooFewGroups(groups.len()));
        }
        if let Some(empty) = groups.iter().position(|g| g.is_empty()) {
            return Err(RankError::EmptyGroup(empty));
        }
        let mut ranks: Vec<GroupRanks> = groups
            .iter()
            .map(|g| GroupRanks {
                len: g.len(),
                ..GroupRanks::default()
            })
            .collect();
        let (mut before, mut tie_sum, mut tied) = (0u64, 0u128, 0u64);
        walk(&groups, |shares| {
            let equal: u64 = shares.iter().map(|s| s.1).sum();
            let doubled_rank = u128::from(2 * before + equal + 1);
            for &(group, count) in shares {
                let count = u128::from(count);
                ranks[group].doubled_sum += count * doubled_rank;
                ranks[group].doubled_squares += count * doubled_rank * doubled_rank;
            }
            if equal > 1 {
                tied += equal;
                tie_sum += cube_less_one(equal);
            }
            before += equal;
        });
        Ok(Self {
            groups: ranks,
            len: before,
            tie_sum,
            tied,
        })
    }

    /// How many values were ranked.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Never true: empty groups are refused.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// How many groups there are.
    pub fn groups(&self) -> usize {
        self.groups.len()
    }

    /// The mean rank of the group at place `group` (from 0), from 1 to the
    /// number of values.
    ///
    /// # Panics
    ///
    /// When there is no such group.
    pub fn mean_rank(&self, group: usize) -> f64 {
        let g = &self.groups[group];
        g.doubled_sum as f64 / 2.0 / g.len as f64
    }

    /// The share of values that equal another value, 0 to 1.
    pub fn ties_share(&self) -> f64 {
        self.tied as f64 / self.len as f64
    }

    /// What ties leave of the variance of ranks: 1 without ties, 0 when all
    /// values are equal (Kruskal and Wallis 1952, §1).
    pub fn tie_correction(&self) -> f64 {
        let untied = cube_less_one(self.len) - self.tie_sum;
        untied as f64 / cube_less_one(self.len) as f64
    }
}

/// t^3 - t.
pub(super) fn cube_less_one(t: u64) -> u128 {
    let t = u128::from(t);
    t * (t * t - 1)
}

/// Calls `visit` for each distinct value in ascending order with the groups that
/// have it and how often.
pub(super) fn walk(groups: &[&Distribution], mut visit: impl FnMut(&[(usize, u64)])) {
    let mut places = vec![0usize; groups.len()];
    let mut heads: BinaryHeap<Reverse<(i64, usize)>> = groups
        .iter()
        .enumerate()
        .filter_map(|(g, d)| Some(Reverse((d.min()?, g))))
        .collect();
    let mut shares = Vec::with_capacity(groups.len());
    let mut value = None;
    while let Some(mut head) = heads.peek_mut() {
        let Reverse((next, group)) = *head;
        if value.is_some_and(|v| v != next) {
            visit(&shares);
            shares.clear();
        }
        value = Some(next);
        let pairs = groups[group].pairs();
        shares.push((group, pairs[places[group]].1));
        places[group] += 1;
        match pairs.get(places[group]) {
            Some(&(following, _)) => *head = Reverse((following, group)),
            None => {
                PeekMut::pop(head);
            }
        }
    }
    if !shares.is_empty() {
        visit(&shares);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_of_the_textbook() {
        // Kruskal and Wallis 1952: bottle caps of three machines.
        let groups = [
            Distribution::from_values([340, 345, 330, 342, 338]),
            Distribution::from_values([339, 333, 344]),
            Distribution::from_values([347, 343, 349, 355]),
        ];
        let ranks = PooledRanks::of(&groups).unwrap();
        let sums: Vec<u128> = ranks.groups.iter().map(|g| g.doubled_sum).collect();
        assert_eq!(sums, [48, 28, 80]);
        assert_eq!(ranks.mean_rank(2), 10.0);
        assert_eq!((ranks.ties_share(), ranks.tie_correction()), (0.0, 1.0));
    }

    #[test]
    fn equal_values_share_their_mean_rank() {
        let groups = [
            Distribution::from_values([1, 2, 2]),
            Distribution::from_values([2, 5]),
        ];
        let ranks = PooledRanks::of(&groups).unwrap();
        assert_eq!(ranks.groups[0].doubled_sum, 2 + 6 + 6);
        assert_eq!(ranks.groups[1].doubled_squares, 36 + 100);
        assert_eq!(ranks.tie_sum, 24);
        assert_eq!(ranks.ties_share(), 0.6);
    }

    #[test]
    fn refuses_what_cannot_be_ranked() {
        let full = Distribution::from_values([1]);
        let none = Distribution::default();
        assert_eq!(PooledRanks::of([&full]), Err(RankError::TooFewGroups(1)));
        let found = PooledRanks::of([&full, &none]);
        assert_eq!(found, Err(RankError::EmptyGroup(1)));
    }
}
