//! How the run's time is shared among its trials.

use std::time::Duration;

use crate::{Plan, PlannedCell};

/// A read-cost trial ends after this long: under heavy load a busy thread may
/// wait for the CPU many times longer than it runs.
const LONGEST_READ: Duration = Duration::from_millis(150);

/// A read-cost trial gets at least this long, however many there are.
const SHORTEST_READ: Duration = Duration::from_millis(10);

/// First guesses of what a trial costs beside measuring, in seconds; what is
/// seen in the run soon outweighs them.
const READ_GUESS: f64 = 0.03;
const SWITCH_GUESS: f64 = 0.02;

/// Of what there is to share as a block begins, trials that are to last for some time have this part at most.
const MOST_LASTING: f64 = 0.7;

/// Shares the run's time among the trials left. Read-cost trials take what they
/// need; every timed trial gets the least that makes it worth while, those that are to last for some time that,
/// and the others a share by their weight of what is left.
pub struct Budget {
    began: Duration,
    duration: Duration,
    longest_read: Duration,
    /// Turns that each load has in a block.
    turns: u32,
    /// Weights of the timed trials left.
    weight_left: f64,
    /// What trials left that are to last for some time take beyond the least, in seconds, as planned.
    lasting_left: f64,
    /// What all that were planned are still to have of it: later blocks make up for what the first did not hold.
    lasting_owed: Option<f64>,
    /// How many times as much as planned each has.
    lasting_share: f64,
    /// What is left to each cell of its own weight, 0 to 1; where nobody says, all of it, and nothing to what is
    /// optional.
    shares: Vec<f64>,
    /// By load.
    sides: Vec<Side>,
}

/// The trials beside one load: how many are left and what they cost.
struct Side {
    /// Trials of one turn: a pass, or the half of one where something is switched from outside.
    reads: u32,
    timed: u32,
    /// Least measuring time of one turn's timed trials, in seconds.
    least: f64,
    /// Trials left in the run.
    switches_left: u32,
    reads_left: u32,
    timed_left: u32,
    least_left: f64,
    /// Switching the load on; a read-cost trial; a timed trial beyond the time
    /// that it was given. All with saving included.
    switch_length: Mean,
    read_length: Mean,
    timed_overhead: Mean,
    /// Whether any of this was seen in the run.
    seen: bool,
}

impl Side {
    fn new(plan: &Plan, load: usize) -> Self {
        let cells = || {
            let here = plan.of_half().iter().filter(|c| c.load == load);
            here.filter(|c| !c.is_optional)
        };
        let timed = cells().filter(|c| c.timed_weight().is_some()).count() as u32;
        let timed_cells = cells().filter(|c| c.timed_weight().is_some());
        let overhead: f64 = timed_cells.map(|c| c.probe.overhead().as_secs_f64()).sum();
        // Nothing has to settle where nothing is ever switched.
        let settle = if plan.is_at_rest_throughout() {
            0.0
        } else {
            plan.settle.as_secs_f64()
        };
        Self {
            reads: 0,
            timed: 0,
            least: 0.0,
            switches_left: plan.blocks.saturating_mul(plan.halves_of_a_block() as u32),
            reads_left: 0,
            timed_left: 0,
            least_left: 0.0,
            switch_length: Mean::starting_at(settle + SWITCH_GUESS),
            read_length: Mean::starting_at(READ_GUESS),
            timed_overhead: Mean::starting_at(overhead / f64::from(timed.max(1))),
            seen: false,
        }
    }

    /// These cells have a trial in each of the turns left.
    fn take<'a>(&mut self, cells: impl Iterator<Item = &'a PlannedCell>, turns: u32) {
        (self.reads, self.timed, self.least) = (0, 0, 0.0);
        for cell in cells {
            match cell.timed_weight() {
                Some(_) => self.timed += 1,
                None => self.reads += 1,
            }
            self.least += cell.least_time().as_secs_f64();
        }
        self.reads_left = self.reads.saturating_mul(turns);
        self.timed_left = self.timed.saturating_mul(turns);
        self.least_left = self.least * f64::from(turns);
    }

    /// What one turn takes at least, in seconds.
    fn turn(&self) -> f64 {
        self.switch_length.get()
            + f64::from(self.reads) * self.read_length.get()
            + f64::from(self.timed) * self.timed_overhead.get()
            + self.least
    }

    /// What the trials left take at least, in seconds.
    fn left(&self) -> f64 {
        f64::from(self.switches_left) * self.switch_length.get()
            + f64::from(self.reads_left) * self.read_length.get()
            + f64::from(self.timed_left) * self.timed_overhead.get()
            + self.least_left
    }
}

impl Budget {
    /// The budget of a run that begins `now`.
    pub fn new(plan: &Plan, now: Duration) -> Self {
        let trials = u32::try_from(plan.trials()).unwrap_or(u32::MAX);
        let asked = |cell: &PlannedCell| if cell.is_optional { 0.0 } else { 1.0 };
        let mut budget = Self {
            began: now,
            duration: plan.duration,
            // Twice its share, since others need less than theirs.
            turns: plan.halves_of_a_block() as u32,
            longest_read: (plan.duration / trials.max(1) * 2).clamp(SHORTEST_READ, LONGEST_READ),
            weight_left: 0.0,
            lasting_left: 0.0,
            lasting_owed: None,
            lasting_share: 1.0,
            shares: plan.cells.iter().map(asked).collect(),
            sides: (0..plan.loads.len()).map(|l| Side::new(plan, l)).collect(),
        };
        budget.count(plan, plan.blocks, now);
        budget
    }

    /// Counts what is left to do in so many blocks.
    fn count(&mut self, plan: &Plan, blocks: u32, now: Duration) {
        let each = plan.cells.iter().zip(&self.shares);
        let weights = each.filter_map(|(cell, share)| Some(cell.timed_weight()? * share));
        self.weight_left = weights.sum::<f64>() * f64::from(blocks);
        let is_made = |(index, cell): &(usize, &PlannedCell)| self.is_made(*index, cell);
        let made = plan.cells.iter().enumerate().filter(is_made);
        let lasting = made.filter_map(|(_, cell)| Some(cell.lasting_beyond()?.as_secs_f64()));
        self.lasting_left = lasting.sum::<f64>() * f64::from(blocks);
        let mut sides = std::mem::take(&mut self.sides);
        for (load, side) in sides.iter_mut().enumerate() {
            let half = plan.of_half().iter().enumerate();
            let here = half.filter(|(i, c)| c.load == load && self.is_made(*i, c));
            side.take(
                here.map(|(_, cell)| cell),
                self.turns.saturating_mul(blocks),
            );
        }
        self.sides = sides;
        let owed = *self.lasting_owed.get_or_insert(self.lasting_left);
        let most = self.to_share(now) * MOST_LASTING;
        self.lasting_share = most.min(owed) / self.lasting_left.max(f64::MIN_POSITIVE);
    }

    /// What is left beyond the least that all trials left take, in seconds.
    fn to_share(&self, now: Duration) -> f64 {
        let left = (self.began + self.duration).saturating_sub(now);
        let needed: f64 = self.sides.iter().map(Side::left).sum();
        (left.as_secs_f64() - needed).max(0.0)
    }

    /// Whether the `cell` at this place in the plan has a trial in this block.
    pub fn is_made(&self, index: usize, cell: &PlannedCell) -> bool {
        !cell.is_optional || self.shares[index] > 0.0
    }

    /// When the run has to be over, even within a block.
    pub fn end(&self) -> Duration {
        self.began + self.duration + self.overtime()
    }

    /// How much a run may exceed its time before it is cut short.
    fn overtime(&self) -> Duration {
        const LEAST: Duration = Duration::from_secs(1);
        LEAST.max(self.duration / 10)
    }

    /// Whether one more block would end too late, by what blocks take here. The
    /// overtime is for blocks that then take longer.
    pub fn is_too_late_for_a_block(&self, now: Duration) -> bool {
        now + self.pass() > self.began + self.duration
    }

    /// What one pass over all cells takes at least.
    pub fn pass(&self) -> Duration {
        seconds(self.sides.iter().map(Side::turn).sum::<f64>() * f64::from(self.turns))
    }

    /// Until when trials beside the load whose turn it is may begin, so that the
    /// loads in `after` have their turns in this block too (one that has two is named twice): what those take, or
    /// a fair share where that is not yet known.
    pub fn turn_ends(&self, now: Duration, after: &[usize]) -> Duration {
        let left = self.end().saturating_sub(now);
        let fair = now + left / (after.len() as u32 + 1);
        if after.iter().any(|&l| !self.sides[l].seen) {
            return fair;
        }
        let others: f64 = after.iter().map(|&l| self.sides[l].turn()).sum();
        fair.max(self.end().saturating_sub(seconds(others)))
    }

    /// Gives each cell this share of its weight in the blocks that are left.
    pub fn share_anew(&mut self, plan: &Plan, shares: &[f64], blocks_left: u32, now: Duration) {
        for (kept, share) in self.shares.iter_mut().zip(shares) {
            *kept = share.clamp(0.0, 1.0);
        }
        self.count(plan, blocks_left, now);
    }

    /// The time that a trial of the `cell` at this place in the plan gets.
    pub fn time_for(&self, index: usize, cell: &PlannedCell, now: Duration) -> Duration {
        let Some(weight) = cell.timed_weight() else {
            return self.longest_read;
        };
        let weight = weight * self.shares[index];
        let beyond = cell.lasting_beyond().map(|beyond| beyond.as_secs_f64());
        if weight <= 0.0 && beyond.is_none() {
            return cell.least_time();
        }
        let to_share = self.to_share(now);
        let lasting = (self.lasting_left * self.lasting_share).min(to_share);
        cell.least_time()
            + seconds(match beyond {
                Some(beyond) => (beyond * self.lasting_share).min(lasting),
                None => (to_share - lasting) * weight / self.weight_left.max(weight),
            })
    }

    /// A load was switched on, after what is outside where its half began with it.
    pub fn switched(&mut self, load: usize, took: Duration) {
        let side = &mut self.sides[load];
        side.seen = true;
        side.switches_left = side.switches_left.saturating_sub(1);
        side.switch_length.add(took.as_secs_f64());
    }

    /// A trial of the `cell` at this place in the plan took `whole`, saving included, having been `given` some
    /// time to measure.
    pub fn spent(&mut self, index: usize, cell: &PlannedCell, whole: Duration, given: Duration) {
        let side = &mut self.sides[cell.load];
        if cell.timed_weight().is_none() {
            side.reads_left = side.reads_left.saturating_sub(1);
            side.read_length.add(whole.as_secs_f64());
        } else {
            side.timed_left = side.timed_left.saturating_sub(1);
            side.least_left = (side.least_left - cell.least_time().as_secs_f64()).max(0.0);
            side.timed_overhead
                .add(whole.saturating_sub(given).as_secs_f64());
            self.weight_left -= cell.weight * self.shares[index];
            let beyond = cell.lasting_beyond().unwrap_or_default();
            self.lasting_left = (self.lasting_left - beyond.as_secs_f64()).max(0.0);
            if let (Some(_), Some(owed)) = (cell.lasting, &mut self.lasting_owed) {
                let given = given.saturating_sub(cell.least_time());
                *owed = (*owed - given.as_secs_f64()).max(0.0);
            }
        }
    }
}

/// As a duration, whatever a user asks for: targets of years do not overflow.
fn seconds(s: f64) -> Duration {
    Duration::try_from_secs_f64(s.max(0.0)).unwrap_or(Duration::MAX / 4)
}

/// A running mean whose first guess weighs as much as four observations.
struct Mean {
    sum: f64,
    n: f64,
}

impl Mean {
    fn starting_at(guess: f64) -> Self {
        Self {
            sum: 4.0 * guess,
            n: 4.0,
        }
    }

    fn add(&mut self, x: f64) {
        self.sum += x;
        self.n += 1.0;
    }

    fn get(&self) -> f64 {
        self.sum / self.n
    }
}
