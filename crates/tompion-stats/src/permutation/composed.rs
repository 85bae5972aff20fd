//! The null distribution where scores have hardly more than a few values, as many ties leave: how
//! many of each value are in the sum says all of it, and these numbers can be gone through
//! (multivariate hypergeometric), where no approximation that takes sums for steps of equal size
//! would be right.

/// Numbers of each value that are gone through at most; some 10 ms.
const MOST: u64 = 1 << 20;

/// Two-sided p, twice the smaller tail, of the sum `observed` of so many of the scores, which
/// ascend. `None` where they have too many values.
pub(super) fn two_sided(scores: &[u64], choose: usize, observed: u64) -> Option<f64> {
    let groups = groups(scores);
    ways(&groups, choose)?;
    let mut logarithms = vec![0.0; scores.len() + 1];
    for i in 1..logarithms.len() {
        logarithms[i] = logarithms[i - 1] + (i as f64).ln();
    }
    let mut all = All {
        logarithms,
        observed,
        below: 0.0,
        above: 0.0,
    };
    let whole = all.choose(scores.len(), choose);
    all.add(&groups, choose, 0, -whole);
    Some((2.0 * all.below.min(all.above)).min(1.0))
}

/// Each value of the scores with how many have it, the largest group last: it takes what the others leave.
fn groups(scores: &[u64]) -> Vec<(u64, usize)> {
    let values = scores.chunk_by(|a, b| a == b);
    let mut groups: Vec<(u64, usize)> = values.map(|same| (same[0], same.len())).collect();
    groups.sort_unstable_by_key(|group| group.1);
    groups
}

/// In how many ways the sum can be composed, where they can be gone through.
pub(super) fn ways_of(scores: &[u64], choose: usize) -> Option<u64> {
    ways(&groups(scores), choose)
}

fn ways(groups: &[(u64, usize)], choose: usize) -> Option<u64> {
    let (_, others) = groups.split_last()?;
    let ways = |all: u64, group: &(u64, usize)| all.saturating_mul(group.1.min(choose) as u64 + 1);
    Some(others.iter().fold(1, ways)).filter(|all| *all <= MOST)
}

struct All {
    /// Of factorials.
    logarithms: Vec<f64>,
    observed: u64,
    below: f64,
    above: f64,
}

impl All {
    fn choose(&self, of: usize, many: usize) -> f64 {
        self.logarithms[of] - self.logarithms[many] - self.logarithms[of - many]
    }

    /// All ways of taking so many more from these groups.
    fn add(&mut self, groups: &[(u64, usize)], left: usize, sum: u64, weight: f64) {
        let Some((&(score, count), others)) = groups.split_first() else {
            let share = weight.exp();
            self.below += if sum <= self.observed { share } else { 0.0 };
            self.above += if sum >= self.observed { share } else { 0.0 };
            return;
        };
        let room: usize = others.iter().map(|group| group.1).sum();
        for many in left.saturating_sub(room)..=count.min(left) {
            let weight = weight + self.choose(count, many);
            self.add(others, left - many, sum + many as u64 * score, weight);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::null::{counted_sums, counted_two_sided};
    use super::*;

    #[test]
    fn it_is_what_counting_gives() {
        for groups in [
            &[(3, 40)][..],
            &[(1, 30), (64, 50)],
            &[(5, 9), (22, 30), (60, 41)],
        ] {
            let each = |&(score, count): &(u64, usize)| vec![score; count];
            let scores: Vec<u64> = groups.iter().flat_map(each).collect();
            for choose in [1, 7, scores.len() / 2, scores.len()] {
                let largest: u64 = scores.iter().rev().take(choose).sum();
                let counted = counted_sums(&scores, choose, largest as usize);
                for sum in (0..counted.len()).filter(|&sum| counted[sum] > 0.0) {
                    let want = counted_two_sided(&counted, sum as u64);
                    let found = two_sided(&scores, choose, sum as u64).unwrap();
                    assert!((found / want - 1.0).abs() < 1e-9, "{found} {want}");
                }
            }
        }
        let all: Vec<u64> = (0..100).collect();
        assert_eq!(two_sided(&all, 50, 2475), None);
    }
}
