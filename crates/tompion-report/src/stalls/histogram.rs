//! Two-level binary bins, as in Perneel 2015, figure 5: the highest bit of a
//! length is the first level, the next bits are the second.

use std::collections::BTreeMap;

use tompion_stats::{Distribution, MeanDistribution};

/// Bins of the second level in each one of the first: two further bits.
const SECOND: u32 = 4;

/// One occupied bin.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Bin {
    /// Lower edge in nanoseconds, in the bin.
    pub low_ns: f64,
    /// Upper edge in nanoseconds, in the next bin.
    pub high_ns: f64,
    /// Values in it.
    pub count: u64,
    /// The same where each block weighs as much as another; all bins together have the number of
    /// values.
    pub weight: f64,
}

/// Occupied bins of `blocks` in rising order; values are in picoseconds, and those below a
/// nanosecond are in the first bin of the first nanosecond.
pub(crate) fn binary_bins(blocks: &[Distribution]) -> Vec<Bin> {
    let mean = MeanDistribution::of(blocks);
    let mut bins: BTreeMap<i32, (u64, f64)> = BTreeMap::new();
    let here = |value_ps: i64| place(value_ps as f64 / 1000.0);
    for &(value_ps, weight) in mean.steps() {
        bins.entry(here(value_ps)).or_default().1 += weight;
    }
    for &(value_ps, count) in blocks.iter().flat_map(|b| b.pairs()) {
        bins.entry(here(value_ps)).or_default().0 += count;
    }
    bins.into_iter()
        .map(|(place, (count, weight))| Bin {
            low_ns: edge(place),
            high_ns: edge(place + 1),
            count,
            weight,
        })
        .collect()
}

fn place(ns: f64) -> i32 {
    if ns < 1.0 {
        return 0;
    }
    // Exact at powers of two, unlike a logarithm.
    let highest = (ns as u64).ilog2();
    let rest = ns / (1u64 << highest) as f64 - 1.0;
    (highest * SECOND) as i32 + (rest * f64::from(SECOND)) as i32
}

fn edge(place: i32) -> f64 {
    let second = SECOND as i32;
    let (highest, rest) = (place.div_euclid(second), place.rem_euclid(second));
    f64::from(highest).exp2() * (1.0 + f64::from(rest) / f64::from(second))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_highest_bits_choose_the_bin() {
        // 16, 19 | 20 | 31 | 32 ns
        let d = Distribution::from_values([16_000, 19_999, 20_000, 31_000, 32_000]);
        let bins: Vec<(f64, f64, u64)> = binary_bins(&[d])
            .into_iter()
            .map(|b| (b.low_ns, b.high_ns, b.count))
            .collect();
        assert_eq!(
            bins,
            [
                (16.0, 20.0, 2),
                (20.0, 24.0, 1),
                (28.0, 32.0, 1),
                (32.0, 40.0, 1)
            ]
        );
    }

    #[test]
    fn each_block_weighs_as_much_as_another() {
        let few = Distribution::from_values(vec![16_000; 10]);
        let many = Distribution::from_values(vec![32_000; 90]);
        let bins = binary_bins(&[few, many]);
        let found: Vec<(u64, f64)> = bins.iter().map(|b| (b.count, b.weight)).collect();
        assert_eq!(found, [(10, 50.0), (90, 50.0)]);
    }

    proptest! {
        #[test]
        fn every_value_is_counted_once_within_its_edges(v in prop::collection::vec(0i64..1 << 50, 1..200)) {
            let bins = binary_bins(&[Distribution::from_values(v.iter().copied())]);
            prop_assert_eq!(bins.iter().map(|b| b.count).sum::<u64>(), v.len() as u64);
            for value in v {
                let ns = value as f64 / 1000.0;
                let own: Vec<&Bin> = bins.iter().filter(|b| b.low_ns <= ns.max(1.0) && ns.max(1.0) < b.high_ns).collect();
                prop_assert_eq!(own.len(), 1);
            }
            for pair in bins.windows(2) {
                prop_assert!(pair[0].high_ns <= pair[1].low_ns);
            }
        }
    }
}
