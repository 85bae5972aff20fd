//! Patterns in stalls, found trial by trial.

use tompion_cause::Cause;
use tompion_model::Stalls;
use tompion_stats::{Distribution, Occurrence, modes, periodic, run_lengths};

use super::trace::TracedStall;

/// Periods this close, as a share, are one pattern, in one trial and over trials.
const SAME_PERIOD: f64 = 1e-3;

/// Ticks, or the others, among the stalls of one period are told by themselves
/// from this many on, where they are a tenth of all.
const FEWEST_APART: usize = 6;

/// Lengths of two trials this close, as a share, are one mode.
const SAME_LENGTH: f64 = 0.05;

/// Stalls of a trial that are searched, from its beginning: a bound on the time
/// that a report takes.
pub(super) const MOST_STALLS: usize = 200_000;

/// Runs are counted between stalls longer than this: a scheduler's, not an
/// interrupt's.
pub(super) const RUN_BREAK_NS: u64 = 100_000;

/// Patterns of one cell.
#[derive(Clone, Debug, Default)]
pub(crate) struct Structure {
    /// Trials that were searched.
    pub trials: u32,
    /// Periodic ones, those that cost most time first.
    pub periodic: Vec<Periodic>,
    /// Lengths at which stalls gather, the most frequent first.
    pub lengths: Vec<Mode>,
    /// Lengths of running between long stalls.
    pub runs: Vec<Mode>,
    /// Trials of which only the first stalls were searched.
    pub cut: u32,
    /// Stalls that were searched, over all trials.
    searched: usize,
}

/// Stalls that begin at points of equal distance: ticks, or anything else.
#[derive(Clone, Debug)]
pub(crate) struct Periodic {
    /// Trials in which it was found.
    pub trials: u32,
    /// Whether the tick took most of each of them.
    pub ticks: bool,
    /// Their distance, with its 95 % interval, in nanoseconds.
    pub period_ns: f64,
    /// Lower end of the interval.
    pub low_ns: f64,
    /// Upper end of the interval.
    pub high_ns: f64,
    /// Grids of this period in one trial, apart in phase: the most of any.
    pub phases: u32,
    /// Points of the grids at which a stall began.
    pub events: u64,
    /// Points of the grids.
    pub expected: u64,
    /// Median length in nanoseconds; over grids and trials the mean of theirs,
    /// by events.
    pub cost_ns: f64,
    /// The least and the greatest of these medians.
    pub costs_ns: (f64, f64),
    /// Share of the time that they take, over the trials in which it was found.
    pub time_share: f64,
    /// The last trial in which it was found, counted from 1, and its grids.
    last_trial: (u32, u32),
}

/// A length at which values gather.
#[derive(Clone, Debug)]
pub(crate) struct Mode {
    /// Trials in which it was found.
    pub trials: u32,
    /// The length, with its interval, in nanoseconds.
    pub at_ns: f64,
    /// Lower end of the interval.
    pub low_ns: f64,
    /// Upper end of the interval.
    pub high_ns: f64,
    /// Values there.
    pub count: u64,
    last_trial: u32,
}

impl Structure {
    /// Searches the stalls of one trial.
    /// Of all trials together `most` are searched.
    pub(super) fn add(&mut self, stalls: &[TracedStall], about: &Stalls, most: usize) {
        self.trials += 1;
        let left = most.saturating_sub(self.searched);
        let searched = &stalls[..stalls.len().min(MOST_STALLS).min(left)];
        self.searched += searched.len();
        let until_ns = match searched.last() {
            _ if searched.len() == stalls.len() => about.wall_ns,
            last => {
                self.cut += 1;
                last.map_or(0, |last| last.at_ns)
            }
        };
        if searched.is_empty() {
            return;
        }
        let occurrences: Vec<Occurrence> = searched
            .iter()
            .map(|s| Occurrence {
                at_ns: s.at_ns,
                length_ns: (s.length_ps / 1000).unsigned_abs(),
            })
            .collect();
        for p in periodic(&occurrences, 0, until_ns) {
            self.add_component(&p, searched, until_ns);
        }
        // A stamp tells a length to one iteration.
        let step_ns = about.loop_period_ns.ceil() as u64;
        let lengths: Vec<u64> = occurrences.iter().map(|o| o.length_ns).collect();
        for m in modes(&lengths, about.threshold_ns, step_ns) {
            add_mode(&mut self.lengths, Mode::of(&m, self.trials));
        }
        for m in modes(&run_lengths(&occurrences, RUN_BREAK_NS), 0, step_ns) {
            add_mode(&mut self.runs, Mode::of(&m, self.trials));
        }
        self.order();
    }

    /// Takes in a component of the last trial, its ticks apart from the rest: what
    /// a scheduler begins at a tick shares the tick's grid, and is none.
    fn add_component(&mut self, p: &tompion_stats::Periodic, stalls: &[TracedStall], span_ns: u64) {
        let is_tick = |i: &usize| stalls[*i].cause == Cause::Tick;
        let (ticks, others): (Vec<usize>, Vec<usize>) = p.members.iter().partition(|i| is_tick(i));
        let enough = |part: &[usize]| part.len() >= FEWEST_APART.max(p.members.len() / 10);
        let parts = if enough(&ticks) && enough(&others) {
            vec![(true, ticks), (false, others)]
        } else {
            vec![(ticks.len() > others.len(), p.members.clone())]
        };
        for (ticks, members) in parts {
            let lengths = Distribution::from_values(
                members.iter().map(|&i| stalls[i].length_ps.max(0) / 1000),
            );
            let Some(cost_ns) = lengths.median() else {
                continue;
            };
            let mut points: Vec<i64> = members
                .iter()
                .map(|&i| ((stalls[i].at_ns as f64 - p.phase_ns) / p.period_ns).round() as i64)
                .collect();
            points.sort_unstable();
            points.dedup();
            let total_ns: f64 = members
                .iter()
                .map(|&i| stalls[i].length_ps.max(0) as f64 / 1e3)
                .sum();
            self.add_periodic(Periodic {
                trials: 1,
                ticks,
                period_ns: p.period_ns,
                low_ns: p.period_interval.low,
                high_ns: p.period_interval.high,
                phases: 1,
                events: points.len() as u64,
                expected: p.expected,
                cost_ns,
                costs_ns: (cost_ns, cost_ns),
                time_share: total_ns / span_ns.max(1) as f64,
                last_trial: (self.trials, 1),
            });
        }
    }

    fn add_periodic(&mut self, new: Periodic) {
        let same = |p: &&mut Periodic| {
            p.ticks == new.ticks && (p.period_ns / new.period_ns - 1.0).abs() < SAME_PERIOD
        };
        let Some(p) = self.periodic.iter_mut().find(same) else {
            self.periodic.push(new);
            return;
        };
        // The narrowest interval of all names the period.
        if new.high_ns - new.low_ns < p.high_ns - p.low_ns {
            (p.period_ns, p.low_ns, p.high_ns) = (new.period_ns, new.low_ns, new.high_ns);
        }
        let (a, b) = (p.events as f64, new.events as f64);
        p.cost_ns = (p.cost_ns * a + new.cost_ns * b) / (a + b).max(1.0);
        let ((low, high), other) = (p.costs_ns, new.costs_ns);
        p.costs_ns = (low.min(other.0), high.max(other.1));
        p.events += new.events;
        p.expected += new.expected;
        let lost = p.time_share * f64::from(p.trials) + new.time_share;
        if p.last_trial.0 == new.last_trial.0 {
            // Another phase.
            p.last_trial.1 += 1;
        } else {
            p.trials += 1;
            p.last_trial = new.last_trial;
        }
        p.phases = p.phases.max(p.last_trial.1);
        p.time_share = lost / f64::from(p.trials);
    }

    fn order(&mut self) {
        self.periodic
            .sort_by(|a, b| b.time_share.total_cmp(&a.time_share));
        for modes in [&mut self.lengths, &mut self.runs] {
            modes.sort_by_key(|m| std::cmp::Reverse(m.count));
        }
    }
}

impl Mode {
    fn of(m: &tompion_stats::Mode, trial: u32) -> Self {
        Self {
            trials: 1,
            at_ns: m.at_ns,
            low_ns: m.interval.low,
            high_ns: m.interval.high,
            count: m.count,
            last_trial: trial,
        }
    }
}

fn add_mode(modes: &mut Vec<Mode>, new: Mode) {
    let same = |m: &&mut Mode| {
        m.last_trial < new.last_trial && (m.at_ns / new.at_ns - 1.0).abs() < SAME_LENGTH
    };
    let Some(m) = modes.iter_mut().find(same) else {
        modes.push(new);
        return;
    };
    let (a, b) = (m.count as f64, new.count as f64);
    m.at_ns = (m.at_ns * a + new.at_ns * b) / (a + b).max(1.0);
    m.low_ns = m.low_ns.min(new.low_ns);
    m.high_ns = m.high_ns.max(new.high_ns);
    m.count += new.count;
    m.trials += new.trials;
    m.last_trial = new.last_trial;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_cell_takes_the_stalls_that_are_searched_of_others() {
        let stall = |n: u64| TracedStall {
            at_ns: n * 1_000_000,
            length_ps: 5_000_000,
            cause: Cause::Tick,
        };
        let stalls: Vec<TracedStall> = (0..100).map(stall).collect();
        let about = Stalls {
            wall_ns: 100_000_000,
            ..Stalls::default()
        };
        let mut hostile = Structure::default();
        let mut honest = Structure::default();
        for _ in 0..10 {
            hostile.add(&stalls, &about, 250);
        }
        honest.add(&stalls, &about, 250);
        assert_eq!((hostile.searched, hostile.cut), (250, 8));
        assert_eq!((honest.searched, honest.cut), (100, 0));
        let share = crate::stalls::searched_of_cell;
        assert_eq!(2 * share(2), share(1));
    }
}
