//! The order of trials: every block tries every remedy once, in random order, on and
//! off in a random order of their own.

use rand::seq::SliceRandom;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// One pair of trials.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Turn {
    /// Which remedy.
    pub knob: usize,
    /// Whether it is on in the first trial of the pair.
    pub on_first: bool,
}

/// The pairs of one block. The same seed and block give the same order.
pub fn turns(seed: u64, block: u32, knobs: usize) -> Vec<Turn> {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    random.set_stream(u64::from(block));
    let mut order: Vec<usize> = (0..knobs).collect();
    order.shuffle(&mut random);
    order
        .into_iter()
        .map(|knob| Turn {
            knob,
            on_first: random.random(),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_repeats_its_order_and_blocks_differ() {
        assert_eq!(turns(7, 3, 9), turns(7, 3, 9));
        assert_ne!(turns(7, 3, 9), turns(7, 4, 9));
        assert_ne!(turns(7, 3, 9), turns(8, 3, 9));
    }

    #[test]
    fn every_block_tries_each_once_and_both_orders_occur() {
        let mut first = [0; 5];
        for block in 0..400 {
            let block = turns(1, block, 5);
            let mut knobs: Vec<usize> = block.iter().map(|t| t.knob).collect();
            knobs.sort_unstable();
            assert_eq!(knobs, [0, 1, 2, 3, 4]);
            block
                .iter()
                .filter(|t| t.on_first)
                .for_each(|t| first[t.knob] += 1);
        }
        // Binomial(400, 1/2): beyond 140..260 once in 10^9.
        assert!(first.iter().all(|n| (140..260).contains(n)), "{first:?}");
    }
}
