//! The blocks of a cell under one view.

use std::ops::Deref;
use std::sync::Arc;

use tompion_stats::{
    BlockQuantile, BlockRange, Distribution, MeanDistribution, WithinBlock, block_quantile,
    block_quantiles,
};

use crate::{Summary, format_ns};

/// The values of one block.
#[derive(Clone, Debug)]
pub struct Block {
    /// How many there are of each.
    pub distribution: Distribution,
    /// How they follow one another; `None` where their order is not known.
    pub within: Option<WithinBlock>,
    /// They themselves in time order; `None` where that is not known or they are too many to be kept.
    pub in_order: Option<Arc<[i64]>>,
}

impl Block {
    /// Values that are not kept themselves.
    pub fn counted(distribution: Distribution, within: Option<WithinBlock>) -> Self {
        Self {
            distribution,
            within,
            in_order: None,
        }
    }
}

/// Values of a cell in picoseconds, one distribution a block, and how the values of each block
/// follow one another.
#[derive(Clone, Debug, Default)]
pub struct Blocks {
    distributions: Vec<Distribution>,
    within: Vec<Option<WithinBlock>>,
    in_order: Vec<Option<Arc<[i64]>>>,
}

impl Blocks {
    /// Adds a block.
    pub fn push(&mut self, block: Block) {
        self.distributions.push(block.distribution);
        self.within.push(block.within);
        self.in_order.push(block.in_order);
    }

    /// The same without the first blocks.
    #[must_use]
    pub fn after(&self, first: usize) -> Self {
        let first = first.min(self.len());
        Self {
            distributions: self.distributions[first..].to_vec(),
            within: self.within[first..].to_vec(),
            in_order: self.in_order[first..].to_vec(),
        }
    }

    /// The values of each block in time order; `None` where these of one are not kept.
    pub fn in_order(&self) -> Option<Vec<&[i64]>> {
        self.in_order.iter().map(Option::as_deref).collect()
    }

    /// Replaces the distributions by such of the same values, and gives the old ones.
    pub(crate) fn replace(&mut self, by: Vec<Distribution>) -> Vec<Distribution> {
        std::mem::replace(&mut self.distributions, by)
    }

    pub(crate) fn distributions_mut(&mut self) -> &mut [Distribution] {
        &mut self.distributions
    }

    /// How the values of each block follow one another; `None` where that is not known.
    pub fn within(&self) -> &[Option<WithinBlock>] {
        &self.within
    }

    /// Whether no block has a value.
    pub fn have_no_values(&self) -> bool {
        self.distributions.iter().all(Distribution::is_empty)
    }

    /// Whether these are the same distributions in the same memory.
    pub fn share_memory(&self, other: &Self) -> bool {
        let pairs = || self.iter().zip(other.iter());
        self.len() == other.len() && pairs().all(|(a, b)| a.shares_memory(b))
    }

    /// The mean of the blocks' distributions, of which each weighs the same.
    pub fn mean(&self) -> MeanDistribution {
        MeanDistribution::of(&self.distributions)
    }

    /// Figures of [`Blocks::mean`]; `None` without values.
    pub fn summary(&self) -> Option<Summary> {
        Summary::of_blocks_ps(&self.distributions)
    }

    /// A quantile of [`Blocks::mean`] with its interval at `level`, in picoseconds; `None` without
    /// values.
    pub fn quantile(&self, q: f64, level: f64) -> Option<BlockQuantile> {
        block_quantile(&self.distributions, &self.within, q, level)
    }

    /// The same of several quantiles, for less than one after the other takes.
    pub fn quantiles(&self, quantiles: &[f64], level: f64) -> Vec<Option<BlockQuantile>> {
        block_quantiles(&self.distributions, &self.within, quantiles, level)
    }
}

/// What stands for a figure of blocks that disagree, for example `67.0 µs to 3.90 ms (blocks)`.
/// The range is in nanoseconds.
pub fn range_in_words(range_ns: BlockRange) -> String {
    let BlockRange { low, high } = range_ns;
    format!("{} to {} (blocks)", format_ns(low), format_ns(high))
}

impl Deref for Blocks {
    type Target = [Distribution];

    fn deref(&self) -> &[Distribution] {
        &self.distributions
    }
}

impl<'a> IntoIterator for &'a Blocks {
    type Item = &'a Distribution;
    type IntoIter = std::slice::Iter<'a, Distribution>;

    fn into_iter(self) -> Self::IntoIter {
        self.distributions.iter()
    }
}

impl FromIterator<Vec<i64>> for Blocks {
    /// Of values in time order.
    fn from_iter<I: IntoIterator<Item = Vec<i64>>>(blocks: I) -> Self {
        let mut all = Self::default();
        for values in blocks {
            let distribution = Distribution::from_slice(&values);
            let within = WithinBlock::of(&values, &distribution);
            all.push(Block {
                distribution,
                within,
                in_order: Some(values.into()),
            });
        }
        all
    }
}
