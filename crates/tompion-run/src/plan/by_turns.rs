//! Plans whose every block has two halves, between which something outside is switched.

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use tompion_model::factor;

use super::{Plan, PlannedCell};
use crate::Error;

/// A part of a block during which nothing outside changes: half of it, or all of it where nothing
/// is switched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Half {
    /// Place of the level that is set before it; `None` where nothing is switched.
    pub(crate) level: Option<usize>,
    /// Loads in their order, each with its cells.
    pub(crate) turns: Vec<(usize, Vec<usize>)>,
}

impl Plan {
    /// Every cell once for each of two levels of the factor `switch`, which something outside is set
    /// to by turns, one before each half of a block. Which comes first is drawn for each block alone: so
    /// a drift falls on both alike, and nothing on the machine that goes by turns itself can keep in
    /// step with them, as it can with A B B A. Searches belong to no half and are left out.
    ///
    /// # Errors
    /// The time does not hold one pass over the cells of both halves, or a run not all of their trials.
    pub fn by_turns(mut self, levels: [&'static str; 2]) -> Result<Self, Error> {
        let each = std::mem::take(&mut self.cells);
        let of = |level: &str| {
            let with = |cell: &PlannedCell| PlannedCell {
                factors: cell.factors.clone().with(factor::SWITCH, level),
                ..cell.clone()
            };
            each.iter().map(with).collect::<Vec<_>>()
        };
        self.cells = levels.iter().flat_map(|level| of(level)).collect();
        self.levels = levels.to_vec();
        self.searches.clear();
        self.require_room()?;
        self.require_one_pass()?;
        Ok(self)
    }

    /// Levels of what is switched from outside; empty where nothing is.
    pub fn levels(&self) -> &[&'static str] {
        &self.levels
    }

    /// Into how many parts each block falls.
    pub(crate) fn halves_of_a_block(&self) -> usize {
        self.levels.len().max(1)
    }

    /// The cells of one half, at the first level: those of the others follow in the same order.
    pub(crate) fn of_half(&self) -> &[PlannedCell] {
        &self.cells[..self.cells.len() / self.halves_of_a_block()]
    }

    /// The halves of a block in their order. Both have the same order of cells, so that the two
    /// trials of each cell are always equally far apart.
    pub(crate) fn halves(&self, block: u32) -> Vec<Half> {
        let turns = self.order(block);
        if self.levels.is_empty() {
            return vec![Half { level: None, turns }];
        }
        let each = self.of_half().len();
        let mut halves: Vec<Half> = (0..self.levels.len())
            .map(|level| Half {
                level: Some(level),
                turns: turns
                    .iter()
                    .map(|(load, cells)| (*load, cells.iter().map(|c| c + level * each).collect()))
                    .collect(),
            })
            .collect();
        if self.second_level_first(block) {
            halves.reverse();
        }
        halves
    }

    /// A stream of its own: the order of cells within halves is what it is without levels.
    fn second_level_first(&self, block: u32) -> bool {
        let mut random = ChaCha8Rng::seed_from_u64(self.seed);
        random.set_stream(u64::MAX - u64::from(block));
        random.random()
    }

    /// How the trials are ordered, for the record.
    pub(super) fn order_in_words(&self) -> &'static str {
        if self.levels.is_empty() {
            "every block measures every cell once: loads in random order, and beside each load its \
             cells in random order"
        } else {
            "every block measures every cell once, in two halves of one order, which is random; which \
             half is that of switch=a, the first or the second, is drawn for each block"
        }
    }
}
