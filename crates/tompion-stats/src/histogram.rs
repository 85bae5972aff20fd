//! A distribution in a few hundred bins, any quantile right within 0.05 %.

use crate::Distribution;

/// Bits of a magnitude that are kept: bins are at most 2^-10 of their values wide.
const BITS: u32 = 11;

/// The counts of `values` in log-linear bins: `(lowest, highest, count)` in ascending
/// order, without empty ones.
///
/// Magnitudes below 2048 have bins of their own. Each power of two above is divided into
/// 1024 equal bins, as in an HDR histogram, over the whole range of `i64`. The middle of a
/// bin is within 0.05 % of every value in it.
pub fn histogram(values: &Distribution) -> Vec<(i64, i64, u64)> {
    let mut bins: Vec<(i64, i64, u64)> = Vec::new();
    for &(value, count) in values.pairs() {
        match bins.last_mut() {
            Some(last) if value <= last.1 => last.2 += count,
            _ => {
                let (low, high) = bin_of(value);
                bins.push((low, high, count));
            }
        }
    }
    bins
}

/// The lowest and the highest value of the bin that holds `value`.
pub(crate) fn bin_of(value: i64) -> (i64, i64) {
    bin_by(value, BITS)
}

/// The same where so many bits of a magnitude tell bins apart.
pub(crate) fn bin_by(value: i64, bits: u32) -> (i64, i64) {
    let magnitude = value.unsigned_abs();
    let shift = (u64::BITS - magnitude.leading_zeros()).saturating_sub(bits);
    let low = magnitude >> shift << shift;
    let high = low + ((1 << shift) - 1);
    // 2^63 alone is the magnitude of a value without being one.
    let signed = |magnitude: u64| match value < 0 {
        true => 0i64.saturating_sub_unsigned(magnitude),
        false => i64::try_from(magnitude).unwrap_or(i64::MAX),
    };
    match value < 0 {
        true => (signed(high), signed(low)),
        false => (signed(low), signed(high)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_ends_of_the_range_have_bins() {
        let ends = [i64::MIN, i64::MIN + 1, -1, 0, 1, i64::MAX];
        let bins = histogram(&Distribution::from_values(ends));
        assert_eq!(bins.iter().map(|b| b.2).sum::<u64>(), 6);
        assert_eq!(bins.first().unwrap().0, i64::MIN);
        assert_eq!(bins.last().unwrap().1, i64::MAX);
        assert!(bins.iter().all(|b| b.0 <= b.1));
    }

    #[test]
    fn small_values_are_exact() {
        let all = Distribution::from_values(-2047..=2047);
        let bins = histogram(&all);
        assert_eq!(bins.len(), 4095);
        assert!(bins.iter().all(|b| b.0 == b.1 && b.2 == 1));
    }

    proptest! {
        #[test]
        fn quantiles_stay_within_a_thousandth(
            values in prop::collection::vec(any::<i64>().prop_flat_map(|v| (0u32..62).prop_map(move |s| v >> s)), 1..300),
            q in 0.0f64..=1.0,
        ) {
            let exact = Distribution::from_values(values);
            let bins = histogram(&exact);
            prop_assert!(bins.windows(2).all(|w| w[0].1 < w[1].0));
            let middle = |b: &(i64, i64, u64)| (b.0 + (b.1 - b.0) / 2, b.2);
            let binned = Distribution::from_pairs(bins.iter().map(middle));
            prop_assert_eq!(binned.len(), exact.len());
            // Order statistics: what lies between two of them is theirs in the same shares.
            let rank = (q * (exact.len() - 1) as f64) as u64 as f64 / (exact.len() - 1).max(1) as f64;
            let (want, got) = (exact.quantile(rank).unwrap(), binned.quantile(rank).unwrap());
            let neighbour = exact.quantile((rank + 1.0 / exact.len() as f64).min(1.0)).unwrap();
            prop_assert!((got - want).abs() <= 1e-3 * want.abs().max(neighbour.abs()) + 1.0, "{got} {want}");
        }
    }
}
