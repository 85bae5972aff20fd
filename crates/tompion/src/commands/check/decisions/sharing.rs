//! How the time that is left is shared among cells, by what they claim.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use tompion_assess::verdict::PartOfUse;
use tompion_model::Factors;
use tompion_run::PlannedCell;

/// Share of its time that a cell keeps which no open verdict needs, where the time does not hold all that is needed: enough
/// for a p99 of sleeps of a millisecond, by which the answer says how late sleeps are.
const LITTLE: f64 = 0.03;

/// By how much what open verdicts need may exceed the time, for each block that follows: some of them are decided by then.
/// Chosen, not derived: what comes of it is held by the simulated checks of `tests/acceptance/test_decided.py`, of which a
/// default one decides nine in ten of what can be decided, and a quick one three in five of all.
const MEANWHILE: f64 = 0.1;

/// What sleeps as they are need is to fit this many times before a remedy is begun: samples turn out to come in clusters.
/// Chosen, not derived, and held by the same result: the stalls of that machine come in clusters.
const CLUSTERS: f64 = 1.3;

/// A verdict that takes more seconds than this comes after those that take less, whatever they are of: in its time several
/// others are reached. Chosen, not derived: VoIP in the company of 24 takes 3 to 4 s, in that of 8 some 10.
pub const DEAR_S: f64 = 6.0;

/// What a cell asks for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Claim {
    /// This share of its time.
    Share(f64),
    /// The same, and less where time is short: no verdict needs it.
    Little(f64),
    /// These seconds, of which a part decides nothing.
    Seconds(Needed),
    /// These seconds for a remedy that is not measured yet, once there is time for all else.
    Begin(f64),
}

/// What it takes to decide.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Needed {
    pub seconds: f64,
    pub part: PartOfUse,
    /// How many verdicts come of it, as far as one can expect.
    pub verdicts: f64,
}

impl Needed {
    /// All that was planned for a sleep as it is.
    pub fn whole(cell: &PlannedCell) -> Self {
        Self {
            seconds: cell.weight,
            part: PartOfUse::AsItIs,
            verdicts: 1.0,
        }
    }

    /// Seconds for a verdict.
    fn cost(&self) -> f64 {
        self.seconds / self.verdicts.max(f64::MIN_POSITIVE)
    }
}

/// The time that there is to share.
#[derive(Clone, Copy, Debug)]
pub struct Time {
    pub seconds: f64,
    /// Blocks that are left, and those of the run.
    pub left: f64,
    pub planned: f64,
    /// How many times as long the run takes as what was planned for: what no verdict needs has its share of that, too.
    pub stretch: f64,
}

/// The shares of cells that claim these, and which have what they need to decide. Where the time does not hold all that
/// is claimed, sleeps as they are come first, then remedies of what is open, then those of what fails; of these what was
/// `chosen` before, and what costs least for a verdict; last what costs as much as several others. Others have little: so
/// some verdicts are reached, in place of none.
pub fn shared(
    cells: &[PlannedCell],
    claims: &[Claim],
    time: Time,
    chosen: &BTreeSet<Factors>,
) -> (Vec<f64>, Vec<bool>) {
    let mut sharing = Sharing {
        cells,
        claims,
        time,
        chosen,
        seconds: Vec::new(),
        has_it: vec![false; cells.len()],
    };
    sharing.give_least();
    let left = sharing.decide();
    sharing.begin();
    sharing.give_little(left);
    (sharing.shares(), sharing.has_it)
}

/// Seconds that are given away.
struct Sharing<'a> {
    cells: &'a [PlannedCell],
    claims: &'a [Claim],
    time: Time,
    chosen: &'a BTreeSet<Factors>,
    /// Of each cell, in the blocks that are left.
    seconds: Vec<f64>,
    /// Whether it has what it needs to decide.
    has_it: Vec<bool>,
}

impl Sharing<'_> {
    /// What each cell has whatever becomes of the others.
    fn give_least(&mut self) {
        let least = |(i, claim): (usize, &Claim)| match claim {
            Claim::Share(share) => self.part(i, *share),
            Claim::Little(share) => self.part(i, share.min(LITTLE)),
            // What does not have to be measured is given up where it never had the time.
            Claim::Seconds(_)
                if self.cells[i].is_optional && !self.is_first() && self.is_new(i) =>
            {
                0.0
            }
            Claim::Seconds(_) => self.part(i, LITTLE),
            Claim::Begin(_) => 0.0,
        };
        self.seconds = self.claims.iter().enumerate().map(least).collect();
    }

    /// Gives what can decide the seconds that this takes, the most urgent first, and says what is left: more than the time
    /// has while blocks follow.
    fn decide(&mut self) -> f64 {
        let of = |(i, claim): (usize, &Claim)| match claim {
            Claim::Seconds(needed) => Some((i, *needed)),
            _ => None,
        };
        let mut wanted: Vec<(usize, Needed)> =
            self.claims.iter().enumerate().filter_map(of).collect();
        wanted.sort_by(|(i, a), (j, b)| {
            let urgent = self.is_dear(a).cmp(&self.is_dear(b));
            let urgent = urgent.then(a.part.cmp(&b.part));
            let urgent = urgent.then(self.is_new(*i).cmp(&self.is_new(*j)));
            urgent.then(a.cost().total_cmp(&b.cost()))
        });
        let beyond = self.time.seconds * MEANWHILE * (self.time.left - 1.0);
        let mut left = self.time.seconds + beyond - self.given();
        for (i, needed) in wanted {
            let more = (needed.seconds - self.seconds[i]).max(0.0);
            let room = match self.is_dear(&needed) {
                true => left - beyond,
                false => left,
            };
            if more <= room {
                self.has_it[i] = true;
                left -= more;
                self.seconds[i] += more;
            }
        }
        left
    }

    /// Whether others come first, and have the time for themselves that they may turn out to take.
    fn is_dear(&self, needed: &Needed) -> bool {
        needed.cost() > DEAR_S * self.time.stretch
    }

    /// Begins remedies for which there is time once all else has its own; those of the longest sleeps first: a remedy of a
    /// short one may be begun later, too.
    fn begin(&mut self) {
        // Whether what is begun can be ended is not to hang on luck.
        let of_sleeps = self.of_those_that_have_it(|i| self.seconds[i]);
        let mut spare = self.spare() - (CLUSTERS - 1.0) * of_sleeps;
        let of = |(i, claim): (usize, &Claim)| match claim {
            Claim::Begin(needed) => Some((i, *needed)),
            _ => None,
        };
        let mut begun: Vec<(usize, f64)> = self.claims.iter().enumerate().filter_map(of).collect();
        begun.sort_by_key(|(i, _)| Reverse(self.cells[*i].wait_ns()));
        for (i, needed) in begun {
            if needed <= spare {
                self.has_it[i] = true;
                spare -= needed;
                self.seconds[i] = needed;
            }
        }
    }

    /// Gives what no verdict needs the share that it claims, where there is time for all of these: they say how late sleeps
    /// are, by which somebody gains.
    fn give_little(&mut self, left: f64) {
        let little = |i: usize| match self.claims[i] {
            Claim::Little(share) => self.part(i, share).max(self.seconds[i]),
            _ => self.seconds[i],
        };
        let given: Vec<f64> = (0..self.cells.len()).map(little).collect();
        let more: f64 = given.iter().zip(&self.seconds).map(|(g, s)| g - s).sum();
        // Of the first block what follows may exceed the time.
        let room = if self.is_first() { left } else { self.spare() };
        if more <= room {
            self.seconds = given;
        }
    }

    /// The seconds as shares of what was planned, the largest 1: they say how the time is shared, not how much of it there
    /// is. What is left goes to what is open.
    fn shares(&self) -> Vec<f64> {
        // By what was planned: whoever is nearly done may see later that it takes more.
        let open = self.of_those_that_have_it(|i| weight(&self.cells[i]));
        let times = self.spare().max(0.0) / open.max(f64::MIN_POSITIVE);
        let least_share = LITTLE * self.time.left / self.time.planned;
        let share = |(i, cell): (usize, &PlannedCell)| match weight(cell) {
            weight if weight > 0.0 && self.seconds[i] > 0.0 => {
                let extra = if self.has_it[i] { times } else { 0.0 };
                ((self.seconds[i] - self.least_s(i)) / weight + extra).max(least_share)
            }
            weight if weight > 0.0 => 0.0,
            _ => least_share,
        };
        let shares: Vec<f64> = self.cells.iter().enumerate().map(share).collect();
        let most = shares.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
        shares.iter().map(|share| share / most).collect()
    }

    /// Seconds of a share of its time in the blocks that are left, and of the least of each trial.
    fn part(&self, i: usize, share: f64) -> f64 {
        let cell = &self.cells[i];
        match weight(cell) {
            weight if weight > 0.0 && (share > 0.0 || !cell.is_optional) => {
                self.least_s(i)
                    + share * weight * self.time.stretch * self.time.left / self.time.planned
            }
            _ => 0.0,
        }
    }

    /// Seconds that its trials take at least in the blocks that are left.
    fn least_s(&self, i: usize) -> f64 {
        self.cells[i].least_time().as_secs_f64() * self.time.left
    }

    /// Whether no block has begun.
    fn is_first(&self) -> bool {
        self.time.left >= self.time.planned
    }

    fn is_new(&self, i: usize) -> bool {
        !self.chosen.contains(&self.cells[i].factors)
    }

    fn given(&self) -> f64 {
        self.seconds.iter().sum()
    }

    fn spare(&self) -> f64 {
        self.time.seconds - self.given()
    }

    /// The sum of something over cells that have what they need.
    fn of_those_that_have_it(&self, of: impl Fn(usize) -> f64) -> f64 {
        let all = 0..self.cells.len();
        all.filter(|i| self.has_it[*i]).map(of).sum()
    }
}

/// The seconds that were planned for what gets its time by them.
pub fn weight(cell: &PlannedCell) -> f64 {
    let weight = cell.timed_weight().filter(|_| cell.lasting.is_none());
    weight.unwrap_or(0.0)
}
