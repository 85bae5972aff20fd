//! Timer events of one cell: the figures of Adamczyk 2015 and the stability of
//! the series, brought together over trials.

mod columns;

use std::collections::BTreeMap;

use tompion_model::{Mark, Storage, Trial, TrialData, factor, parse_duration_ns};
use tompion_stats::{Distribution, Moments, TimerEventFigures, TimerForm};

use crate::series::{Point, TrialSeries};

/// The form of events that arm one another.
pub(crate) const REARMED: &str = "rearmed";
pub(crate) use columns::{columns, interrupts_per_second, missed_share};

/// Grid points of all trials of a run together whose stability is reckoned: some twenty seconds' work.
/// Each cell has its share, so that none takes the figures of others.
const MOST_POINTS: u64 = 1 << 26;
/// Distinct intervals that all cells keep together, and each of them at least.
const MOST_INTERVALS: usize = 1 << 22;
const LEAST_INTERVALS: usize = 1 << 10;
/// And at most: they are merged with those of each further trial.
const MOST_OF_CELL: usize = 1 << 16;

/// What each cell of timer events of a run may take.
#[derive(Debug)]
pub(crate) struct TimerRoom {
    /// Grid points of its trials together.
    points: u64,
    /// Distinct intervals of a cell.
    intervals: usize,
}

impl TimerRoom {
    /// That of a run of so many such cells.
    pub(crate) fn new(cells: usize) -> Self {
        Self {
            points: MOST_POINTS / cells.max(1) as u64,
            intervals: (MOST_INTERVALS / cells.max(1)).clamp(LEAST_INTERVALS, MOST_OF_CELL),
        }
    }
}

/// Level of the interval for the mean, as in the paper.
pub(crate) const LEVEL: f64 = 0.99;

/// The figures of one cell. Each trial has its own; moments are merged, of time
/// errors and MTIE the largest stands, TDEV is the root of the mean square. In
/// MTIE a trial too short for a window counts with the longest that it holds.
#[derive(Clone, Debug, Default)]
pub(crate) struct TimerEvents {
    /// The nominal period d, in nanoseconds.
    pub period_ns: u64,
    /// Whether each event armed the next; otherwise there is a grid.
    pub rearmed: bool,
    /// Trials with figures.
    pub trials: u32,
    /// Events of those trials.
    pub events: u64,
    /// Intervals less d, in nanoseconds, over all those trials.
    pub differences: Moments,
    /// The same, value by value, in whole nanoseconds.
    pub distribution: Distribution,
    /// The largest absolute time error of any trial, in nanoseconds.
    pub largest_tie_ns: f64,
    /// What is drawn of the differences, in picoseconds.
    pub series: Vec<TrialSeries>,
    /// Trials without figures, and why.
    pub without: Vec<String>,
    /// Grid points of the trials with figures.
    points: u64,
    mtie: BTreeMap<u64, f64>,
    tdev_squares: BTreeMap<u64, (f64, u32)>,
}

/// The events of one trial, as the figures need them.
struct Series {
    event_ns: Vec<u64>,
    /// The grid point that each answers, counted from the first one's own.
    index: Vec<u64>,
    origin_ns: u64,
}

impl TimerEvents {
    /// Takes in one trial; `blocks` is how many trials share a plot.
    pub(crate) fn add(&mut self, trial: &Trial, data: &TrialData, blocks: usize, room: &TimerRoom) {
        let target = trial.factors.level(factor::TARGET);
        let period = trial.measurement.period_ns;
        let Some(period_ns) = period.or_else(|| parse_duration_ns(target).ok()) else {
            self.without.push("the period is not known".to_owned());
            return;
        };
        self.period_ns = period_ns;
        self.rearmed = trial.factors.level(factor::FORM) == REARMED;
        if trial.storage != Storage::Complete {
            let why = "they outgrew their storage, so that not every event has its time";
            self.without.push(why.to_owned());
            return;
        }
        let series = Series::of(data, period_ns, self.rearmed);
        let points = self.points.saturating_add(series.points());
        if points > room.points {
            let why = "the cell has more grid points than a report goes through";
            self.without.push(why.to_owned());
            return;
        }
        let form = if self.rearmed {
            TimerForm::Rearmed
        } else {
            TimerForm::Grid {
                index: &series.index,
                origin_ns: Some(series.origin_ns),
            }
        };
        let missed = trial.summary.missed_periods.unwrap_or(0);
        match TimerEventFigures::of(&series.event_ns, period_ns, form, missed) {
            Ok(figures) => {
                // A trial that is refused has cost next to nothing.
                self.points = points;
                self.take(trial.block, &series, &figures, blocks, room.intervals);
            }
            Err(why) => self.without.push(why.to_string()),
        }
    }

    fn take(
        &mut self,
        block: u32,
        series: &Series,
        figures: &TimerEventFigures,
        blocks: usize,
        intervals: usize,
    ) {
        self.trials += 1;
        // Re-armed series begin with the event that armed the first that counts.
        self.events += series.event_ns.len() as u64 - u64::from(self.rearmed);
        let differences = || figures.difference_ns.iter().copied();
        self.differences = self
            .differences
            .merge(&Moments::of(differences().map(|d| d as f64)));
        let merged = self
            .distribution
            .merge(&Distribution::from_values(differences()));
        self.distribution = merged.clustered(intervals);
        self.largest_tie_ns = self.largest_tie_ns.max(figures.largest_time_error_ns);
        for &(tau, value) in &figures.mtie_ns {
            let largest = self.mtie.entry(tau as u64).or_default();
            *largest = largest.max(value);
        }
        for &(tau, value) in &figures.tdev_ns {
            let (sum, n) = self.tdev_squares.entry(tau as u64).or_default();
            *sum += value * value;
            *n += 1;
        }
        let points: Vec<Point> = series.event_ns[1..]
            .iter()
            .zip(differences())
            // A plot's points are picoseconds: those of more than a hundred days lie at its edge.
            .map(|(&at, d)| (at, d.saturating_mul(1000)))
            .collect();
        self.series
            .push(TrialSeries::of_points(block, points, blocks));
    }

    /// The mean interval in nanoseconds.
    pub(crate) fn mean_ns(&self) -> Option<f64> {
        Some(self.period_ns as f64 + self.differences.mean()?)
    }

    /// Student's interval for it.
    pub(crate) fn mean_interval_ns(&self) -> Option<(f64, f64)> {
        let i = self.differences.mean_interval(LEVEL)?;
        let d = self.period_ns as f64;
        Some((d + i.low, d + i.high))
    }

    /// MTIE as `(tau_ns, value_ns)`: the largest change within any stretch of tau
    /// or less in any trial. A trial that ends before tau has shown what it has, so
    /// that a longer window never shows less, as the definition demands.
    pub(crate) fn mtie(&self) -> Vec<(u64, f64)> {
        let running = self.mtie.iter().scan(0.0f64, |largest, (&tau, &v)| {
            *largest = largest.max(v);
            Some((tau, *largest))
        });
        running.collect()
    }

    /// TDEV as `(tau_ns, value_ns)`.
    pub(crate) fn tdev(&self) -> Vec<(u64, f64)> {
        self.tdev_squares
            .iter()
            .map(|(&tau, &(sum, n))| (tau, (sum / f64::from(n)).sqrt()))
            .collect()
    }
}

impl Series {
    /// Points of the grid up to its last event; of events that arm one another, these.
    fn points(&self) -> u64 {
        let events = self.event_ns.len() as u64;
        self.index
            .last()
            .map_or(0, |last| last.saturating_add(1))
            .max(events)
    }

    /// Events that count, with the grid points they answer. A late event stands
    /// for the points that passed before it came: of these it answers the last.
    fn of(data: &TrialData, period_ns: u64, rearmed: bool) -> Self {
        let warm = data.samples.iter().rposition(|s| s.mark == Mark::WarmUp);
        let counting = &data.samples[warm.map_or(0, |i| i + 1)..];
        let due = |at_ns: u64, value_ps: i64| {
            at_ns.saturating_add_signed(-value_ps.div_euclid(1000)) // whole ns before it came
        };
        let first = counting.first();
        let origin_ns = first.map_or(0, |s| due(s.at_ns, s.value_ps));
        let mut event_ns: Vec<u64> = Vec::with_capacity(counting.len() + 1);
        if rearmed && first.is_some() {
            event_ns.push(origin_ns.saturating_sub(period_ns));
        }
        event_ns.extend(counting.iter().map(|s| s.at_ns));
        // Counted, not divided: every grid point is answered or missed.
        let mut next = 0u64;
        let index = counting.iter().map(|s| {
            let own = u64::from(s.missed).saturating_add(next);
            next = own.saturating_add(1);
            own
        });
        Self {
            index: index.collect(),
            event_ns,
            origin_ns,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tompion_model::Sample;

    fn sample(at_ns: u64, value_ps: i64, missed: u32, mark: Mark) -> Sample {
        Sample {
            at_ns,
            value_ps,
            n: 1,
            missed,
            mark,
        }
    }

    #[test]
    fn a_late_event_answers_the_last_point_that_passed() {
        // d = 100; due at 1000 (warm-up), 1100, 1200, [1300, 1400 missed], 1500.
        let data = TrialData {
            samples: vec![
                sample(1_090, 90_000, 0, Mark::WarmUp),
                sample(1_101, 1_000, 0, Mark::None),
                sample(1_405, 205_000, 2, Mark::None),
                sample(1_500, 0, 0, Mark::None),
            ],
            ..TrialData::default()
        };
        let series = Series::of(&data, 100, false);
        assert_eq!(series.event_ns, [1_101, 1_405, 1_500]);
        assert_eq!((series.index, series.origin_ns), (vec![0, 3, 4], 1_100));
    }

    #[test]
    fn a_rearmed_series_begins_where_its_first_interval_does() {
        let data = TrialData {
            samples: vec![
                sample(152, 52_000, 0, Mark::None),
                sample(304, 52_000, 0, Mark::None),
            ],
            ..TrialData::default()
        };
        assert_eq!(Series::of(&data, 100, true).event_ns, [0, 152, 304]);
    }

    fn trial() -> Trial {
        Trial {
            id: 0,
            factors: Default::default(),
            block: 0,
            started_ns: 0,
            duration_ns: 0,
            started_at: None,
            storage: Storage::Complete,
            tables: Default::default(),
            measurement: tompion_model::Measurement {
                period_ns: Some(1_000),
                ..Default::default()
            },
            load: None,
            findings: Default::default(),
            observation: None,
            cpu_use: None,
            summary: Default::default(),
        }
    }

    /// Two events, with a hundred thousand points of the grid between them.
    fn sparse() -> TrialData {
        TrialData {
            samples: vec![
                sample(1_000, 0, 0, Mark::None),
                sample(100_001_000, 0, 99_999, Mark::None),
            ],
            ..TrialData::default()
        }
    }

    #[test]
    fn no_cell_takes_the_grid_points_of_others_nor_do_trials_without_figures() {
        // One event is no series, however many points it answers for.
        let late = TrialData {
            samples: vec![sample(1_000, 0, 99_999, Mark::None)],
            ..TrialData::default()
        };
        let room = TimerRoom {
            points: 450_000,
            ..TimerRoom::new(2)
        };
        let mut hostile = TimerEvents::default();
        let mut honest = TimerEvents::default();
        for _ in 0..10 {
            hostile.add(&trial(), &late, 1, &room);
            hostile.add(&trial(), &sparse(), 1, &room);
        }
        for _ in 0..4 {
            honest.add(&trial(), &sparse(), 1, &room);
        }
        assert_eq!((hostile.trials, hostile.without.len()), (4, 16));
        assert_eq!((honest.trials, honest.without.len()), (4, 0));
        assert_eq!(TimerRoom::new(2).points, MOST_POINTS / 2);
    }

    #[test]
    fn grid_points_without_end_are_not_gone_through() {
        let (trial, data) = (trial(), sparse());
        let room = TimerRoom {
            points: 450_000,
            ..TimerRoom::new(1)
        };
        let mut all = TimerEvents::default();
        for _ in 0..10 {
            all.add(&trial, &data, 1, &room);
        }
        assert_eq!((all.trials, all.without.len()), (4, 6));
        assert!(
            all.without[0].contains("more grid points"),
            "{:?}",
            all.without
        );
        assert_eq!(TimerRoom::new(1 << 20).intervals, LEAST_INTERVALS);
    }
}
