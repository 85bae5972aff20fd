//! Invariances of the rank statistics.

use proptest::prelude::*;

use super::*;
use crate::{Distribution, SMALLEST_P};

/// Groups of small integers, so that ties are common.
fn groups(most: usize) -> impl Strategy<Value = Vec<Vec<i64>>> {
    prop::collection::vec(prop::collection::vec(-30i64..30, 1..25), 2..=most)
}

fn counted(groups: &[Vec<i64>]) -> Vec<Distribution> {
    let one = |g: &Vec<i64>| Distribution::from_values(g.iter().copied());
    groups.iter().map(one).collect()
}

fn near(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-12 * (1.0 + a.abs())
}

proptest! {
    #[test]
    fn ranks_are_those_of_sorting(groups in groups(5)) {
        let ranks = PooledRanks::of(&counted(&groups)).unwrap();
        let all: Vec<i64> = groups.iter().flatten().copied().collect();
        let rank = |v: i64| {
            let below = all.iter().filter(|&&o| o < v).count();
            let equal = all.iter().filter(|&&o| o == v).count();
            below as f64 + (equal + 1) as f64 / 2.0
        };
        for (i, g) in groups.iter().enumerate() {
            let sum: f64 = g.iter().map(|&v| rank(v)).sum();
            prop_assert_eq!(ranks.mean_rank(i), sum / g.len() as f64);
        }
    }

    /// Any increasing map leaves ranks alone; here value to 7 value + shift.
    #[test]
    fn only_the_order_of_values_matters(groups in groups(5), by in -1000i64..1000) {
        let moved: Vec<Vec<i64>> =
            groups.iter().map(|g| g.iter().map(|v| 7 * v + by).collect()).collect();
        let (a, b) = (counted(&groups), counted(&moved));
        let ranks = PooledRanks::of(&a).unwrap();
        prop_assert_eq!(&ranks, &PooledRanks::of(&b).unwrap());
        let [before, after] =
            [&a, &b].map(|g| shift(&g[0], &g[1], 0.9).unwrap());
        prop_assert_eq!(after.shift, 7.0 * before.shift);
        prop_assert_eq!(after.interval, before.interval.map(|i| i.scaled(7.0)));
    }

    #[test]
    fn groups_may_come_in_any_order(groups in groups(6)) {
        let forward = PooledRanks::of(&counted(&groups)).unwrap();
        let reversed: Vec<Vec<i64>> = groups.iter().rev().cloned().collect();
        let backward = PooledRanks::of(&counted(&reversed)).unwrap();
        let (a, b) = (kruskal_wallis(&forward), kruskal_wallis(&backward));
        prop_assert!(near(a.h, b.h) && near(a.p, b.p));
        let last = groups.len() - 1;
        let other_way = dunn(&backward, Adjustment::Holm);
        for pair in dunn(&forward, Adjustment::Holm) {
            let mirror = other_way
                .iter()
                .find(|c| (c.first, c.second) == (last - pair.second, last - pair.first))
                .unwrap();
            prop_assert!(near(pair.statistic, -mirror.statistic));
            prop_assert!(near(pair.p_adjusted, mirror.p_adjusted));
        }
    }

    #[test]
    fn a_group_merged_from_parts_is_that_group(groups in groups(4), at in 0usize..25) {
        let whole = counted(&groups);
        let (left, right) = groups[0].split_at(at.min(groups[0].len()));
        let [left, right] =
            [left, right].map(|v| Distribution::from_values(v.iter().copied()));
        let mut merged = whole.clone();
        merged[0] = left.merge(&right);
        prop_assert_eq!(PooledRanks::of(&merged).unwrap(), PooledRanks::of(&whole).unwrap());
    }

    #[test]
    fn exchanging_two_groups_mirrors_everything(groups in groups(2)) {
        let g = counted(&groups);
        let (a, b) = (&g[0], &g[1]);
        for method in [NullMethod::Auto, NullMethod::Normal] {
            let there = mann_whitney(a, b, Tail::Greater, method).unwrap();
            let back = mann_whitney(b, a, Tail::Less, method).unwrap();
            prop_assert!(near(there.p, back.p));
            prop_assert_eq!(there.u + back.u, (a.len() * b.len()) as f64);
        }
        let (there, back) =
            (superiority(a, b, 0.9).unwrap(), superiority(b, a, 0.9).unwrap());
        prop_assert!(near(there.a, 1.0 - back.a) && there.interval.contains(there.a));
        prop_assert!(near(there.interval.low, 1.0 - back.interval.high));
        let (there, back) = (shift(a, b, 0.9).unwrap(), shift(b, a, 0.9).unwrap());
        prop_assert_eq!(there.shift, -back.shift);
        prop_assert_eq!(there.interval.map(|i| i.low), back.interval.map(|i| -i.high));
    }
}

proptest! {
    // The studentized range takes its time in a debug build.
    #![proptest_config(ProptestConfig::with_cases(40))]
    #[test]
    fn every_p_is_a_probability(groups in groups(5)) {
        let counted = counted(&groups);
        let ranks = PooledRanks::of(&counted).unwrap();
        let all = kruskal_wallis(&ranks);
        prop_assert!((0.0..=1.0).contains(&all.p) && (0.0..=1.0).contains(&all.epsilon_squared));
        for pair in dunn(&ranks, Adjustment::BenjaminiHochberg) {
            prop_assert!(0.0 <= pair.p && pair.p <= pair.p_adjusted && pair.p_adjusted <= 1.0);
        }
        if let Ok(pairs) = tukey_on_ranks(&ranks) {
            prop_assert!(pairs.iter().all(|c| (0.0..=1.0).contains(&c.p)));
        }
        for tail in [Tail::TwoSided, Tail::Greater, Tail::Less] {
            let found = mann_whitney(&counted[0], &counted[1], tail, NullMethod::Auto).unwrap();
            prop_assert!((0.0..=1.0).contains(&found.p));
        }
    }
}

/// A thousand values each, all of one group below all of the next: p of the order of
/// 10^-326, which no number of 64 bits has.
#[test]
fn no_p_is_zero() {
    let groups = [0, 1000, 2000].map(|from| Distribution::from_values(from..from + 1000));
    let two = PooledRanks::of(&groups[..2]).unwrap();
    let found = kruskal_wallis(&two);
    assert!(found.h > 1499.0 && found.h.is_finite());
    assert_eq!(found.p, SMALLEST_P);
    let three = PooledRanks::of(&groups).unwrap();
    assert_eq!(kruskal_wallis(&three).p, SMALLEST_P);
    for pair in dunn(&three, Adjustment::Holm) {
        assert!(pair.statistic.is_finite());
        assert!(pair.p >= SMALLEST_P && pair.p_adjusted >= pair.p);
    }
    for pair in tukey_on_ranks(&three).unwrap() {
        assert_eq!((pair.p, pair.p_adjusted), (SMALLEST_P, SMALLEST_P));
    }
    for tail in [Tail::TwoSided, Tail::Less] {
        let found = mann_whitney(&groups[0], &groups[1], tail, NullMethod::Normal).unwrap();
        assert_eq!(found.p, SMALLEST_P);
    }
    // One just above it is as it was: P(chi-squared >= h) with two degrees is exp(-h / 2).
    let small = [0, 457, 914].map(|from| Distribution::from_values(from..from + 457));
    let found = kruskal_wallis(&PooledRanks::of(&small).unwrap());
    assert!(found.p < 1e-264 && found.p > SMALLEST_P);
    assert!((found.p.ln() / (-found.h / 2.0) - 1.0).abs() < 1e-13);
}
