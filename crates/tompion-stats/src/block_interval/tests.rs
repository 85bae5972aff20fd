use super::*;
use crate::test_noise::Noise;

/// Blocks of values in time order with what their order says.
pub(crate) fn quantile(blocks: &[Vec<i64>], q: f64) -> BlockQuantile {
    let distributions: Vec<Distribution> =
        blocks.iter().map(|b| Distribution::from_slice(b)).collect();
    let within: Vec<Option<WithinBlock>> = blocks
        .iter()
        .zip(&distributions)
        .map(|(b, d)| WithinBlock::of(b, d))
        .collect();
    block_quantile(&distributions, &within, q, 0.95).unwrap()
}

fn noisy(blocks: usize, samples: usize, seed: u64) -> Vec<Vec<i64>> {
    let mut noise = Noise::new(seed);
    let mut value = |_| (1e6 * (0.5 * noise.normal()).exp()) as i64;
    (0..blocks)
        .map(|_| (0..samples).map(&mut value).collect())
        .collect()
}

#[test]
fn blocks_that_never_differ_give_a_point() {
    let found = quantile(&vec![vec![7_000; 4000]; 8], 0.99);
    let interval = found.interval.unwrap();
    assert_eq!(
        (found.value, interval.low, interval.high),
        (7_000.0, 7_000.0, 7_000.0)
    );
}

#[test]
fn a_value_that_many_samples_share_is_inside() {
    // The median is 10, though only 40 % lie above it.
    let block: Vec<i64> = (0..1000).map(|i| 10 + i64::from(i % 5 > 2)).collect();
    let found = quantile(&vec![block; 8], 0.5);
    let interval = found.interval.unwrap();
    assert_eq!(
        (found.value, interval.low, interval.high),
        (10.0, 10.0, 10.0)
    );
}

#[test]
fn what_is_missing_is_named() {
    let refused = |blocks: &[Vec<i64>], q| quantile(blocks, q).interval.unwrap_err();
    assert_eq!(
        refused(&noisy(5, 1000, 1), 0.5),
        NoInterval::Blocks { have: 5, need: 6 }
    );
    assert_eq!(
        refused(&noisy(8, 3000, 1), 0.99),
        NoInterval::Samples {
            have: 24_000,
            need: 30_000
        }
    );
    assert_eq!(
        refused(&noisy(20, 60, 1), 0.5),
        NoInterval::ShortBlocks { have: 60, need: 64 }
    );
    let order_unknown = {
        let blocks: Vec<Distribution> = noisy(8, 1000, 1)
            .iter()
            .map(|b| Distribution::from_slice(b))
            .collect();
        block_quantile(&blocks, &vec![None; 8], 0.5, 0.95).unwrap()
    };
    assert_eq!(order_unknown.interval, Err(NoInterval::NoOrder));
    let mut drifting = noisy(8, 1000, 1);
    for block in &mut drifting {
        for (at, value) in block.iter_mut().enumerate() {
            *value += 2_000 * at as i64;
        }
    }
    assert_eq!(refused(&drifting, 0.5), NoInterval::Slow);
    let mut apart = noisy(8, 4000, 1);
    apart[2].iter_mut().for_each(|value| *value *= 2);
    assert_eq!(refused(&apart, 0.99), NoInterval::Apart);
    let mut burst = noisy(8, 4000, 1);
    burst[2][500..560].iter_mut().for_each(|value| *value *= 9);
    assert_eq!(refused(&burst, 0.99), NoInterval::Bursts);
    // What is refused at the tail may hold in the middle.
    assert!(quantile(&burst, 0.5).interval.is_ok());
}

#[test]
fn a_lower_end_is_there_before_the_interval_is() {
    let found = quantile(&noisy(8, 100, 2), 0.99);
    assert!(matches!(found.interval, Err(NoInterval::Samples { .. })));
    // The true p99 is 3.2 million.
    let low = found.low.unwrap();
    assert!(low < found.value && low > 1.5e6, "{low}");
}

#[test]
fn samples_needed_grow_with_the_quantile() {
    let need = [0.5, 0.9, 0.99, 0.999, 0.9999].map(interval_samples_needed);
    assert_eq!(need, [600, 3_000, 30_000, 60_000, 600_000]);
}

#[test]
fn one_slow_block_widens_the_interval_of_the_median() {
    let mut blocks = noisy(8, 1000, 3);
    let narrow = quantile(&blocks, 0.5).interval.unwrap();
    blocks[4].iter_mut().for_each(|value| *value *= 3);
    let wide = quantile(&blocks, 0.5).interval.unwrap();
    assert!(wide.high - wide.low > 3.0 * (narrow.high - narrow.low));
}

#[test]
fn a_few_bursts_are_seen_by_either_sign() {
    let with = |size: usize, places: &[(usize, usize)]| {
        let mut blocks = noisy(8, 4000, 1);
        for (block, at) in places {
            let burst = &mut blocks[*block][*at..at + size];
            burst.iter_mut().for_each(|value| *value *= 9);
        }
        quantile(&blocks, 0.99).interval
    };
    // One that makes the number beyond skewed, while that is known to a seventh.
    assert_eq!(with(40, &[(2, 500)]), Err(NoInterval::Bursts));
    // Thirteen, whose number is hardly skewed, and decides how many samples are beyond.
    let places: Vec<_> = (0..13)
        .map(|i| (i % 8, (i * 1_237 + 300) % 3_900))
        .collect();
    assert_eq!(with(24, &places), Err(NoInterval::Bursts));
    assert!(with(2, &places).is_ok());
}

#[test]
fn blocks_that_differ_among_themselves_have_the_freedom_of_blocks() {
    // Medians of blocks scatter four times as much as samples within them explain.
    let mut noise = Noise::new(8);
    let mut covers = || {
        let blocks: Vec<Vec<i64>> = (0..8)
            .map(|_| {
                let middle = 0.5 * noise.normal();
                let mut value = |_| (1e6 * (middle + noise.normal())) as i64;
                (0..100).map(&mut value).collect()
            })
            .collect();
        Some(quantile(&blocks, 0.5).interval.ok()?.contains(0.0))
    };
    // Some blocks happen to look as if they drifted.
    let printed: Vec<bool> = (0..2000).filter_map(|_| covers()).collect();
    let holds = printed.iter().filter(|holds| **holds).count();
    let share = holds as f64 / printed.len() as f64;
    assert!(printed.len() > 1500, "{}", printed.len());
    assert!((0.932..0.97).contains(&share), "{share}");
}
