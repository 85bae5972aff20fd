//! From what the user asks to a list of cells.

mod by_turns;
mod cell;
mod options;

use std::time::Duration;

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use tompion_load::LoadSpec;
use tompion_model::{Design, Factors};

use crate::Error;
pub(crate) use by_turns::Half;
pub use cell::{PlannedCell, PlannedSearch};
pub use options::{PlanOptions, TimeSetting};

/// A list of cells, each measured once a block.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The cells.
    pub cells: Vec<PlannedCell>,
    /// Searches that follow the last block; they take time of their own.
    pub searches: Vec<PlannedSearch>,
    /// The loads that cells refer to.
    pub loads: Vec<LoadSpec>,
    /// Passes over all cells.
    pub blocks: u32,
    /// Time for all trials together.
    pub duration: Duration,
    /// What it is called where it is set.
    pub time: TimeSetting,
    /// How long a load runs before its first trial begins.
    pub settle: Duration,
    /// Seed of the random order.
    pub seed: u64,
    /// Levels of what is switched from outside ([`Plan::by_turns`]); empty without. Each has an equal
    /// part of the cells, in the order of the levels.
    levels: Vec<&'static str>,
}

impl Plan {
    /// Crosses all factors. The error says what is missing or too much; see
    /// [`Plan::warning`] for what is merely more than the time allows.
    pub fn new(options: &PlanOptions) -> Result<Self, Error> {
        let refuse = |text: &str| Err(Error::Plan(text.to_owned()));
        if options.blocks == 0 {
            return refuse("0 blocks measure nothing; use at least 1 (6 or more for a verdict)");
        }
        if options.loads.is_empty() {
            return refuse("no load is named; use `idle` for none");
        }
        let mut cells = Vec::new();
        let mut searches = Vec::new();
        for (load, spec) in options.loads.iter().enumerate() {
            if options.loads[..load].contains(spec) {
                return Err(Error::Plan(format!(
                    "load `{}` is named twice",
                    spec.level()
                )));
            }
            for &policy in &options.policies {
                cells.extend(options.cells(load, spec, policy));
                searches.extend(options.searches(load, spec, policy));
            }
        }
        if cells.is_empty() {
            return refuse("nothing to measure: name at least one method");
        }
        let mut keys: Vec<&Factors> = cells.iter().map(|c| &c.factors).collect();
        keys.sort_unstable();
        if let Some(twice) = keys.windows(2).find(|w| w[0] == w[1]) {
            return Err(Error::Plan(match options.named_twice() {
                Some(what) => format!("{what} is named twice"),
                None => format!("cell `{}` is asked for twice", twice[0]),
            }));
        }
        let plan = Self {
            cells,
            searches,
            loads: options.loads.clone(),
            blocks: options.blocks,
            duration: options.duration,
            time: options.time,
            settle: options.settle,
            seed: options.seed,
            levels: Vec::new(),
        };
        plan.require_room()?;
        plan.require_one_pass()?;
        Ok(plan)
    }

    /// One block in its random order, or one half of it where something is switched: loads in random order, and for each its
    /// cells in random order. The same seed and block give the same order.
    ///
    /// Cells of one load stay together (a split-plot design), because a load of
    /// a hundred threads needs a round of the scheduler, some 200 ms on two CPUs,
    /// before it weighs evenly: switched on for every single trial, the run would
    /// measure the switching.
    pub fn order(&self, block: u32) -> Vec<(usize, Vec<usize>)> {
        let mut random = ChaCha8Rng::seed_from_u64(self.seed);
        random.set_stream(u64::from(block));
        let mut loads: Vec<usize> = (0..self.loads.len()).collect();
        loads.shuffle(&mut random);
        loads
            .into_iter()
            .map(|load| {
                let of_load = |&c: &usize| self.cells[c].load == load;
                let mut cells: Vec<usize> = (0..self.of_half().len()).filter(of_load).collect();
                cells.shuffle(&mut random);
                (load, cells)
            })
            .collect()
    }

    /// How the trials are ordered, for the record.
    pub fn design(&self) -> Design {
        Design {
            order: self.order_in_words().to_owned(),
            seed: self.seed,
            blocks: self.blocks,
            cells: self.trials_of_block() as u32,
        }
    }

    /// Trials in all, without those that somebody may ask for.
    pub fn trials(&self) -> usize {
        self.trials_of_block().saturating_mul(self.blocks as usize)
    }

    fn trials_of_block(&self) -> usize {
        let cells = self.cells.iter().filter(|c| !c.is_optional);
        cells.map(PlannedCell::trials).sum()
    }
}

#[cfg(test)]
pub(crate) mod tests;
