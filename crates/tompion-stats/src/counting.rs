//! Counting raw values: into a table where they lie close together, else by sorting.

/// Fewer values are simply sorted.
const FEW: usize = 1 << 10;
/// Most places of the table; 16 MiB.
const MOST_PLACES: usize = 1 << 22;
/// Values looked at to find where most of them lie.
const SAMPLE: usize = 1 << 10;
/// Picoseconds are nearly always whole nanoseconds: a table needs a place for each of those.
const NANOSECOND: u64 = 1000;

/// The sorted distinct values with their counts.
pub(crate) fn count(values: &[i64]) -> Vec<(i64, u64)> {
    tabled(values).unwrap_or_else(|| by_sorting(values.to_vec()))
}

/// The same of values that may be put in another order.
pub(crate) fn count_owned(values: Vec<i64>) -> Vec<(i64, u64)> {
    tabled(&values).unwrap_or_else(|| by_sorting(values))
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

/// Counts in a table, if most values lie close enough together.
fn tabled(values: &[i64]) -> Option<Vec<(i64, u64)>> {
    // Counts are kept in 32 bits: half the memory to go through.
    if values.len() < FEW || u32::try_from(values.len()).is_err() {
        return None;
    }
    let sample = values.iter().step_by(values.len() / SAMPLE);
    let mut sample: Vec<i64> = sample.copied().collect();
    sample.sort_unstable();
    let least = sample[0];
    match sample
        .iter()
        .all(|v| v.abs_diff(least).is_multiple_of(NANOSECOND))
    {
        true => by_table::<NANOSECOND>(values, &sample),
        false => by_table::<1>(values, &sample),
    }
}

/// Counts the values of the densest range by indexing and sorts the few others; `None` where
/// no such range holds most of them, or where some in it lie between the places, which are `STEP`
/// apart. `sample` is sorted.
fn by_table<const STEP: u64>(values: &[i64], sample: &[i64]) -> Option<Vec<(i64, u64)>> {
    let places = values.len().next_power_of_two().min(MOST_PLACES);
    let width = places as u64 * STEP;
    let first = densest(sample, width)?;
    // A place for the values of the sample, hence for all that are so many apart.
    let beside = (i128::from(first) - i128::from(sample[0])).rem_euclid(STEP.into());
    let first = first.checked_sub(beside as i64)?;
    let mut table = vec![0u32; places];
    let mut others = Vec::new();
    // No sum here can be too large: there are fewer values than 32 bits tell. Checked all the
    // same, this took a third longer.
    for &value in values {
        // Wraps to a large place for values below the first.
        let apart = value.wrapping_sub(first) as u64;
        let place = usize::try_from(apart / STEP).ok();
        match place.and_then(|place| table.get_mut(place)) {
            Some(count) if apart.is_multiple_of(STEP) => *count = count.wrapping_add(1),
            Some(_) => return None,
            None => others.push(value),
        }
    }
    others.sort_unstable();
    let (below, above) = others.split_at(others.partition_point(|&v| v < first));
    let inside = table.iter().fold(0_usize, |inside, &count| {
        inside.wrapping_add((count > 0).into())
    });
    // One more, since a place is written before it is known whether it counts: a processor that
    // guesses which do is wrong half of the time.
    let mut pairs = vec![(0, 0); runs(below).count() + inside + runs(above).count() + 1];
    let mut kept = 0_usize;
    for run in runs(below) {
        pairs[kept] = run;
        kept += 1;
    }
    let mut value = first;
    for count in table {
        pairs[kept] = (value, count.into());
        kept = kept.wrapping_add((count > 0).into());
        value = value.wrapping_add(STEP as i64);
    }
    for run in runs(above) {
        pairs[kept] = run;
        kept += 1;
    }
    pairs.truncate(kept);
    Some(pairs)
}

/// Where a range of `width` values begins that holds most of a sorted sample, if
/// any holds three quarters of it.
fn densest(sample: &[i64], width: u64) -> Option<i64> {
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
        let counted = tabled(&values).expect("most values lie close together");
        assert_eq!(counted, plain(&values));
        assert_eq!(count_owned(values.clone()), counted);
    }

    #[test]
    fn whole_nanoseconds_take_a_place_each_and_what_lies_between_is_counted_too() {
        let mut noise = Noise::new(4);
        // 40 us of them, in picoseconds that are no multiples of 1000.
        let mut values: Vec<i64> = (0..40_000)
            .map(|_| 7 + 1000 * (55_000 + (noise.normal() * 5000.0) as i64))
            .collect();
        values.extend([i64::MIN, i64::MIN + 1, i64::MAX, 7]);
        assert_eq!(tabled(&values).unwrap(), plain(&values));
        // Not in the sample.
        values[1] += 1;
        assert!(tabled(&values).is_none());
        assert_eq!(count(&values), plain(&values));
    }

    #[test]
    fn spread_out_values_are_sorted() {
        let mut noise = Noise::new(3);
        let values: Vec<i64> = (0..5000).map(|_| (noise.normal() * 1e17) as i64).collect();
        assert!(tabled(&values).is_none());
        assert_eq!(count(&values), plain(&values));
    }

    #[test]
    fn the_ends_of_the_range_are_counted() {
        for end in [i64::MIN, i64::MAX] {
            let mut values = vec![end; 5000];
            values.extend((0..5000).map(|i| end.saturating_add(i).saturating_sub(i / 2)));
            values.extend([i64::MIN, i64::MAX, 0]);
            assert_eq!(tabled(&values).unwrap(), plain(&values));
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(60))]
        #[test]
        fn any_mixture_is_counted_exactly(
            seed in any::<u64>(), len in 0usize..6000, bits in 1u32..63, far in 1usize..40,
            step in prop::sample::select(vec![1, 1000, 3000]),
        ) {
            let mut noise = Noise::new(seed);
            let values: Vec<i64> = (0..len)
                .map(|i| {
                    let scale = if i % far == 0 { 9e18 } else { 2f64.powi(bits as i32) };
                    ((noise.uniform() - 0.3) * scale) as i64 / step * step
                })
                .collect();
            prop_assert_eq!(count(&values), plain(&values));
        }
    }
}
