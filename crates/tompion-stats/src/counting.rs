//! Counting raw values: into a table where they lie close together, else by sorting.

/// Fewer values are simply sorted.
const FEW: usize = 1 << 10;
/// Most places of the table; 16 MiB.
const MOST_PLACES: usize = 1 << 22;
/// Values looked at to find where most of them lie.
const SAMPLE: usize = 1 << 10;

/// The sorted distinct values with their counts.
pub(crate) fn count(values: &[i64]) -> Vec<(i64, u64)> {
    by_table(values).unwrap_or_else(|| by_sorting(values.to_vec()))
}

/// The same of values that may be put in another order.
pub(crate) fn count_owned(values: Vec<i64>) -> Vec<(i64, u64)> {
    by_table(&values).unwrap_or_else(|| by_sorting(values))
}

fn by_sorting(mut values: Vec<i64>) -> Vec<(i64, u64)> {
    values.sort_unstable();
    let distinct = values.chunk_by(|a, b| a == b).count();
    let mut pairs = Vec::with_capacity(distinct);
    pairs.extend(runs(&values));
    pairs
}

fn runs(sorted: &[i64]) -> impl Iterator<Item = (i64, u64)> {
    let equal = sorted.chunk_by(|a, b| a == b);
    equal.map(|run| (run[0], run.len() as u64))
}

/// Counts the values of the densest range by indexing and sorts the few others;
/// `None` where no such range holds most of them.
fn by_table(values: &[i64]) -> Option<Vec<(i64, u64)>> {
    // Counts are kept in 32 bits: half the memory to go through.
    if values.len() < FEW || u32::try_from(values.len()).is_err() {
        return None;
    }
    let places = values.len().next_power_of_two().min(MOST_PLACES);
    let first = densest(values, places as u64)?;
    let mut table = vec![0u32; places];
    let mut others = Vec::new();
    for &value in values {
        // Wraps to a large place for values below the first.
        let place = usize::try_from(value.wrapping_sub(first) as u64).ok();
        match place.and_then(|place| table.get_mut(place)) {
            Some(count) => *count += 1,
            None => others.push(value),
        }
    }
    others.sort_unstable();
    let (below, above) = others.split_at(others.partition_point(|&v| v < first));
    let inside = || {
        let counted = table.iter().enumerate().filter(|(_, count)| **count > 0);
        counted.map(|(place, &count)| (first.wrapping_add(place as i64), u64::from(count)))
    };
    let mut pairs =
        Vec::with_capacity(runs(below).count() + inside().count() + runs(above).count());
    pairs.extend(runs(below).chain(inside()).chain(runs(above)));
    Some(pairs)
}

/// Where a range of `width` values begins that holds most of an even sample, if
/// any holds three quarters of it.
fn densest(values: &[i64], width: u64) -> Option<i64> {
    let mut sample: Vec<i64> = values
        .iter()
        .step_by(values.len() / SAMPLE)
        .copied()
        .collect();
    sample.sort_unstable();
    let mut best = (0, sample[0]);
    let mut end = 0;
    for (begin, &low) in sample.iter().enumerate() {
        while sample.get(end).is_some_and(|v| v.abs_diff(low) < width) {
            end += 1;
        }
        if end - begin > best.0 {
            // What room is left goes to both sides.
            let room = width - 1 - sample[end - 1].abs_diff(low);
            best = (end - begin, low.saturating_sub_unsigned(room / 2));
        }
    }
    // The range must not pass the largest integer.
    let first = best.1.min(i64::MAX - (width as i64 - 1));
    (best.0 * 4 >= sample.len() * 3).then_some(first)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_noise::Noise;
    use proptest::prelude::*;

    fn plain(values: &[i64]) -> Vec<(i64, u64)> {
        by_sorting(values.to_vec())
    }

    #[test]
    fn a_table_counts_as_sorting_does() {
        let mut noise = Noise::new(2);
        // Latencies: a narrow body, some 3 % far out on both sides.
        let values: Vec<i64> = (0..60_000)
            .map(|i| match i % 64 {
                0 => (noise.exponential().powi(6) * 1e9) as i64,
                1 => -(noise.exponential() * 1e15) as i64,
                _ => 55_000 + (noise.normal() * 3000.0) as i64,
            })
            .collect();
        let counted = by_table(&values).expect("most values lie close together");
        assert_eq!(counted, plain(&values));
        assert_eq!(count_owned(values.clone()), counted);
    }

    #[test]
    fn spread_out_values_are_sorted() {
        let mut noise = Noise::new(3);
        let values: Vec<i64> = (0..5000).map(|_| (noise.normal() * 1e17) as i64).collect();
        assert!(by_table(&values).is_none());
        assert_eq!(count(&values), plain(&values));
    }

    #[test]
    fn the_ends_of_the_range_are_counted() {
        for end in [i64::MIN, i64::MAX] {
            let mut values = vec![end; 5000];
            values.extend((0..5000).map(|i| end.saturating_add(i).saturating_sub(i / 2)));
            values.extend([i64::MIN, i64::MAX, 0]);
            assert_eq!(by_table(&values).unwrap(), plain(&values));
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(60))]
        #[test]
        fn any_mixture_is_counted_exactly(
            seed in any::<u64>(), len in 0usize..6000, bits in 1u32..63, far in 1usize..40,
        ) {
            let mut noise = Noise::new(seed);
            let values: Vec<i64> = (0..len)
                .map(|i| {
                    let scale = if i % far == 0 { 9e18 } else { 2f64.powi(bits as i32) };
                    ((noise.uniform() - 0.3) * scale) as i64
                })
                .collect();
            prop_assert_eq!(count(&values), plain(&values));
        }
    }
}
