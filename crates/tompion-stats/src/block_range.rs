//! Blocks that disagree: their range, where one number would stand for none of them.
//!
//! The mean of seven blocks of 3.8 ms and one of 70 us has a median of 3.8 ms, which is a figure of
//! no machine if blocks are of two kinds. So where blocks differ by more than chance, *and* by so
//! much that a reader should hear of it, what is told is from which block's quantile to which.
//! It is a description: whether the next block lies within it nobody can say.

use crate::block_shares::{LEAST_BLOCKS, Shares};
use crate::within_block::Level;
use crate::{Distribution, WithinBlock};

/// Blocks disagree where their shares of samples above the quantile scatter more than so many
/// times what the samples' dependence explains: of eight independent blocks one in 260,
const SCATTER: f64 = 3.0;

/// so many times in a tail, where bursts make shares skewed and what they explain uncertain,
const SCATTER_IN_TAIL: f64 = 6.0;

/// A quantile is in a tail from this share beyond it on.
const TAIL: f64 = 0.05;

/// or so many times where blocks are few, and chance alone scatters them more: of two blocks one
/// in 640.
const SCATTER_OF_FEW: f64 = 10.0;

/// And where their quantiles lie apart by more than this part of the larger end.
const SPREAD: f64 = 0.1;

/// Or, however samples depend on one another, where nearly all samples of one block, this share,
/// lie below nearly all of another,
const NEARLY_ALL: f64 = 0.95;

/// each of at least so many samples.
const ENOUGH: u64 = 20;

/// From the smallest to the largest quantile of single blocks that disagree.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BlockRange {
    /// The smallest.
    pub low: f64,
    /// The largest.
    pub high: f64,
}

impl BlockRange {
    /// In another unit.
    pub fn scaled(self, factor: f64) -> Self {
        Self {
            low: self.low * factor,
            high: self.high * factor,
        }
    }
}

/// The range of the blocks' `q`-quantiles; `None` where blocks agree, and where one of them has no
/// sample beyond its own quantile. How samples follow one another in blocks where that is not
/// known is taken from the others; where it is known of none, they count as independent.
pub(crate) fn block_range(
    shares: &Shares,
    blocks: &[Distribution],
    within: &[Option<WithinBlock>],
    q: f64,
) -> Option<BlockRange> {
    let blocks = || blocks.iter().filter(|b| !b.is_empty());
    let rarer = q.min(1.0 - q);
    let supported = |b: &Distribution| b.len() as f64 * rarer >= 1.0 - 1e-6;
    if shares.lengths.len() < 2 || !blocks().all(supported) {
        return None;
    }
    let quantiles = || blocks().filter_map(|b| b.quantile(q));
    let (low, high) = (
        quantiles().fold(f64::INFINITY, f64::min),
        quantiles().fold(f64::NEG_INFINITY, f64::max),
    );
    if high - low <= SPREAD * low.abs().max(high.abs()) {
        return None;
    }
    if are_parted(blocks()) {
        return Some(BlockRange { low, high });
    }
    let known = within.iter().flatten().map(|w| w.at(q.max(1.0 - q)));
    let explained = Level::sum(known).inflation();
    let most = match shares.lengths.len() {
        few if few < LEAST_BLOCKS => SCATTER_OF_FEW,
        _ if rarer < TAIL - 1e-9 => SCATTER_IN_TAIL,
        _ => SCATTER,
    };
    let between = shares.at(shares.place(q)).inflation();
    (between > most * explained).then_some(BlockRange { low, high })
}

/// Whether two blocks hardly overlap.
fn are_parted<'a>(blocks: impl Iterator<Item = &'a Distribution> + Clone) -> bool {
    let enough = blocks.filter(|b| b.len() >= ENOUGH);
    let tops = enough.clone().filter_map(|b| b.quantile(NEARLY_ALL));
    let feet = enough.filter_map(|b| b.quantile(1.0 - NEARLY_ALL));
    tops.fold(f64::INFINITY, f64::min) < feet.fold(f64::NEG_INFINITY, f64::max)
}

#[cfg(test)]
mod tests {
    use crate::block_interval::tests::quantile;
    use crate::test_noise::{Noise, autoregressive};

    /// Lognormal latencies about 60 us, an autoregression of `phi`; one in 200 a stall.
    fn noisy(noise: &mut Noise, samples: usize, phi: f64) -> Vec<i64> {
        let values = autoregressive(noise, samples, phi);
        values
            .into_iter()
            .map(|v| (6e7 * (0.5 * v).exp()) as i64)
            .collect()
    }

    /// The share of 200 runs of `blocks` that show a range of their `q`-quantile.
    fn shown(blocks: usize, samples: usize, phi: f64, q: f64) -> f64 {
        let mut noise = Noise::new(11);
        let mut disagree = || {
            let run: Vec<Vec<i64>> = (0..blocks)
                .map(|_| noisy(&mut noise, samples, phi))
                .collect();
            quantile(&run, q).range.is_some()
        };
        (0..200).filter(|_| disagree()).count() as f64 / 200.0
    }

    #[test]
    fn trials_of_two_kinds_show_from_where_to_where() {
        // Seven trials in which usleep waited for the CPU load, one in which it did not.
        let mut noise = Noise::new(2);
        let mut of = |samples: usize, ns: f64| -> Vec<i64> {
            (0..samples)
                .map(|_| (ns * 1e3 * (1.0 + 0.01 * noise.normal())) as i64)
                .collect()
        };
        let mut run: Vec<Vec<i64>> = (0..7).map(|i| of(60, 3.7e6 + 3e4 * f64::from(i))).collect();
        run.insert(3, of(1500, 67_000.0));
        let found = quantile(&run, 0.5);
        let range = found.range.unwrap();
        assert!((range.low / 67e6 - 1.0).abs() < 0.01, "{range:?}");
        assert!((range.high / 3.88e9 - 1.0).abs() < 0.01, "{range:?}");
        assert!(found.value > 3.7e9);
        // Their p99 has no sample beyond it in a block of 60.
        assert_eq!(quantile(&run, 0.99).range, None);
        // Two blocks are enough to disagree.
        assert!(quantile(&run[2..4], 0.5).range.is_some());
    }

    #[test]
    fn blocks_of_one_kind_have_one_figure() {
        for (blocks, samples, phi, q) in [
            (8, 100, 0.0, 0.5),
            (8, 1000, 0.0, 0.99),
            (8, 1000, 0.9, 0.5),
            (8, 1000, 0.9, 0.99),
            (20, 1000, 0.9, 0.5),
            (2, 200, 0.0, 0.5),
            (4, 200, 0.0, 0.9),
        ] {
            let share = shown(blocks, samples, phi, q);
            assert!(share <= 0.02, "{blocks} x {samples}, {phi}, {q}: {share}");
        }
    }

    #[test]
    fn what_differs_surely_and_by_little_keeps_its_number() {
        let mut noise = Noise::new(5);
        let mut run: Vec<Vec<i64>> = (0..8).map(|_| noisy(&mut noise, 20_000, 0.0)).collect();
        run[3].iter_mut().for_each(|v| *v += *v / 20);
        assert_eq!(quantile(&run, 0.5).range, None);
        run[3].iter_mut().for_each(|v| *v += *v / 8);
        let range = quantile(&run, 0.5).range.unwrap();
        assert!((range.high / range.low - 1.18).abs() < 0.03, "{range:?}");
    }

    #[test]
    fn blocks_that_hardly_overlap_disagree_though_they_drift() {
        let drifting = |from: i64, samples: i64| (0..samples).map(|i| from + 1000 * i).collect();
        let run: Vec<Vec<i64>> = [drifting(66_000_000, 1500), drifting(3_700_000_000, 60)].into();
        assert!(quantile(&run, 0.5).range.is_some());
        let near: Vec<Vec<i64>> = [drifting(66_000_000, 1500), drifting(66_500_000, 1500)].into();
        assert_eq!(quantile(&near, 0.5).range, None);
    }

    #[test]
    fn signs_and_the_ends_of_the_range_do_no_harm() {
        let far = 9_000_000_000_000_000_000;
        let run: Vec<Vec<i64>> = [vec![-far; 100], vec![far; 100]].into();
        let range = quantile(&run, 0.5).range.unwrap();
        assert_eq!((range.low, range.high), (-9e18, 9e18));
        let same: Vec<Vec<i64>> = vec![vec![-5; 100]; 8];
        assert_eq!(quantile(&same, 0.5).range, None);
    }
}
