//! Figures of a series of periodic timer events, after Adamczyk 2015.

use std::fmt;

use crate::{Interval, Moments, mtie_curve, tdev_curve};

/// Points of a time-error series beyond which none is built (128 MiB).
const MOST_POINTS: u64 = 1 << 24;

/// Level of the interval for the mean, the one that Adamczyk 2015 prints.
const LEVEL: f64 = 0.99;

/// How the events were asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimerForm<'a> {
    /// On a fixed grid: event i answers grid point `index[i]`. A late event
    /// skips the points that passed meanwhile.
    Grid {
        /// The grid point of each event, strictly ascending.
        index: &'a [u64],
        /// When point 0 was due, in ns. Without it the first event is taken
        /// to be on time.
        origin_ns: Option<u64>,
    },
    /// Each event armed the next one, as in the paper: errors add up.
    Rearmed,
}

/// Figures of one series of timer events with nominal period d.
#[derive(Clone, Debug, PartialEq)]
pub struct TimerEventFigures {
    /// Mean of the intervals between successive events, in ns.
    ///
    /// On a grid it is d as long as no point is missed, and else d times the
    /// grid points passed per event: there, lateness and missed periods tell
    /// how good the timer is, not the mean.
    pub mean_ns: f64,
    /// Standard deviation of the intervals with divisor n, as in the paper.
    pub uncorrected_standard_deviation_ns: f64,
    /// The same with divisor n - 1; `None` with a single interval.
    pub standard_deviation_ns: Option<f64>,
    /// 99 % Student interval for the mean; `None` with a single interval.
    pub mean_interval_ns: Option<Interval>,
    /// Grid points without an event of their own, as counted by the caller.
    pub missed: u64,
    /// Each interval less d, in ns and in order: what the paper plots.
    pub difference_ns: Vec<i64>,
    /// Time error of each period against the ideal grid t0 + k d, in ns.
    ///
    /// On a grid a missed point is answered, late, by the event that ended the
    /// gap, so that a gap shows as a saw-tooth of its full length and not as a
    /// shorter series. Points after the last event are not in it. t0 is the
    /// grid's origin, else the first event less its index times d; re-armed
    /// series start at their first event with error 0.
    pub time_error_ns: Vec<f64>,
    /// The largest absolute time error, in ns.
    pub largest_time_error_ns: f64,
    /// MTIE of the time error as `(tau_ns, value_ns)`, see [`mtie_curve`].
    pub mtie_ns: Vec<(f64, f64)>,
    /// TDEV of the time error as `(tau_ns, value_ns)`, see [`tdev_curve`].
    pub tdev_ns: Vec<(f64, f64)>,
}

/// Why a series of events has no figures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimerEventError {
    /// Fewer than two events: no interval.
    TooFew,
    /// The period is 0.
    NoPeriod,
    /// The event at this place (from 0) is earlier than the one before it.
    Backwards(usize),
    /// The grid has not one index an event, or the one at this place (from 0)
    /// is not above the one before it.
    BadIndex(usize),
    /// The grid spans this many points, more than a time-error series may have.
    TooLong(u64),
}

impl fmt::Display for TimerEventError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooFew => write!(f, "timer events: fewer than two, so no interval"),
            Self::NoPeriod => write!(f, "timer events: the period is 0 ns"),
            Self::Backwards(i) => write!(f, "timer event {i} is earlier than the one before it"),
            Self::BadIndex(i) => write!(
                f,
                "timer event {i}: grid points must be one an event and ascending"
            ),
            Self::TooLong(n) => write!(
                f,
                "timer events: a grid of {n} points, more than the {MOST_POINTS} that are kept"
            ),
        }
    }
}

impl std::error::Error for TimerEventError {}

impl TimerEventFigures {
    /// The figures of events at `event_ns` (ns since any fixed moment) with the
    /// nominal period `period_ns`, `missed` periods having been counted.
    pub fn of(
        event_ns: &[u64],
        period_ns: u64,
        form: TimerForm<'_>,
        missed: u64,
    ) -> Result<Self, TimerEventError> {
        check(event_ns, period_ns, form)?;
        let intervals = event_ns.windows(2).map(|w| w[1] - w[0]);
        let moments = Moments::of(intervals.clone().map(|i| i as f64));
        let time_error_ns = match form {
            TimerForm::Grid { index, origin_ns } => {
                grid_errors(event_ns, index, origin_ns, period_ns)?
            }
            TimerForm::Rearmed => event_ns
                .iter()
                .enumerate()
                .map(|(i, &at)| error_ns(at, event_ns[0], i as u64, period_ns))
                .collect(),
        };
        let tau0_ns = period_ns as f64;
        // At least one interval was checked for.
        let some = "a series with an interval has moments";
        Ok(Self {
            mean_ns: moments.mean().expect(some),
            uncorrected_standard_deviation_ns: moments
                .uncorrected_standard_deviation()
                .expect(some),
            standard_deviation_ns: moments.standard_deviation(),
            mean_interval_ns: moments.mean_interval(LEVEL),
            missed,
            difference_ns: intervals.map(|i| i as i64 - period_ns as i64).collect(),
            largest_time_error_ns: time_error_ns.iter().fold(0.0, |m, x| x.abs().max(m)),
            mtie_ns: mtie_curve(&time_error_ns, tau0_ns),
            tdev_ns: tdev_curve(&time_error_ns, tau0_ns),
            time_error_ns,
        })
    }
}

fn check(event_ns: &[u64], period_ns: u64, form: TimerForm<'_>) -> Result<(), TimerEventError> {
    if event_ns.len() < 2 {
        return Err(TimerEventError::TooFew);
    }
    if period_ns == 0 {
        return Err(TimerEventError::NoPeriod);
    }
    if let Some(i) = event_ns.windows(2).position(|w| w[1] < w[0]) {
        return Err(TimerEventError::Backwards(i + 1));
    }
    if let TimerForm::Grid { index, .. } = form {
        if index.len() != event_ns.len() {
            return Err(TimerEventError::BadIndex(index.len().min(event_ns.len())));
        }
        if let Some(i) = index.windows(2).position(|w| w[1] <= w[0]) {
            return Err(TimerEventError::BadIndex(i + 1));
        }
    }
    Ok(())
}

/// `at` less `origin + k period`, exact before the last step.
fn error_ns(at: u64, origin: u64, k: u64, period_ns: u64) -> f64 {
    (i128::from(at) - i128::from(origin) - i128::from(k) * i128::from(period_ns)) as f64
}

fn grid_errors(
    event_ns: &[u64],
    index: &[u64],
    origin_ns: Option<u64>,
    period_ns: u64,
) -> Result<Vec<f64>, TimerEventError> {
    // Points before the first event are known to be late only if the grid's
    // origin is.
    let (origin, base, first) = match origin_ns {
        Some(origin) => (origin, 0, 0),
        None => (event_ns[0], index[0], index[0]),
    };
    let points = index[index.len() - 1] - first;
    if points >= MOST_POINTS {
        return Err(TimerEventError::TooLong(points.saturating_add(1)));
    }
    let mut next = first;
    let mut errors = Vec::with_capacity(points as usize + 1);
    for (&at, &own) in event_ns.iter().zip(index) {
        errors.extend((next..=own).map(|k| error_ns(at, origin, k - base, period_ns)));
        next = own + 1;
    }
    Ok(errors)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn grid(index: &[u64], origin_ns: Option<u64>) -> TimerForm<'_> {
        TimerForm::Grid { index, origin_ns }
    }

    #[test]
    fn rearmed_events_add_up_their_delays() {
        // Each of 100 intervals is 2 us longer than the 50 us asked for.
        let events: Vec<u64> = (0..=100).map(|i| 7_000 + i * 52_000).collect();
        let f = TimerEventFigures::of(&events, 50_000, TimerForm::Rearmed, 0).unwrap();
        assert_eq!(f.mean_ns, 52_000.0);
        assert_eq!(f.uncorrected_standard_deviation_ns, 0.0);
        assert!(f.difference_ns.iter().all(|&d| d == 2_000) && f.difference_ns.len() == 100);
        assert_eq!(f.largest_time_error_ns, 200_000.0);
        // A frequency offset: MTIE = 0.04 tau, no TDEV.
        for &(tau, value) in &f.mtie_ns {
            assert!((value - 0.04 * tau).abs() < 1e-6);
        }
        assert!(f.tdev_ns.iter().all(|p| p.1 < 1e-6));
    }

    #[test]
    fn one_late_event_on_a_grid_answers_what_it_missed() {
        // d = 100; due at 1000, 1100, ..; points 2 and 3 pass before the event
        // that was due at 1400 comes at 1405.
        let events = [1_001, 1_102, 1_405, 1_500];
        let f = TimerEventFigures::of(&events, 100, grid(&[0, 1, 4, 5], Some(1_000)), 2).unwrap();
        assert_eq!(f.time_error_ns, [1.0, 2.0, 205.0, 105.0, 5.0, 0.0]);
        assert_eq!(f.difference_ns, [1, 203, -5]);
        assert_eq!((f.missed, f.largest_time_error_ns), (2, 205.0));
        assert_eq!(f.mtie_ns[0], (100.0, 203.0));
        // 499 ns over 3 events: d times 5 points, less the first's 1 ns.
        assert!((f.mean_ns - 499.0 / 3.0).abs() < 1e-9);
    }

    #[test]
    fn points_missed_before_the_first_event_count_with_a_known_origin() {
        let events = [250, 300];
        let known = TimerEventFigures::of(&events, 100, grid(&[2, 3], Some(0)), 2).unwrap();
        assert_eq!(known.time_error_ns, [250.0, 150.0, 50.0, 0.0]);
        let unknown = TimerEventFigures::of(&events, 100, grid(&[2, 3], None), 0).unwrap();
        assert_eq!(unknown.time_error_ns, [0.0, -50.0]);
    }

    #[test]
    fn deviations_and_interval_by_hand() {
        // Intervals 90, 110, 100: squares 200.
        let f = TimerEventFigures::of(&[0, 90, 200, 300], 100, TimerForm::Rearmed, 0).unwrap();
        assert!((f.uncorrected_standard_deviation_ns - (200.0f64 / 3.0).sqrt()).abs() < 1e-12);
        assert!((f.standard_deviation_ns.unwrap() - 10.0).abs() < 1e-12);
        // t(0.995; 2) = 9.924 843.
        let half = 9.924_843 * 10.0 / 3f64.sqrt();
        let i = f.mean_interval_ns.unwrap();
        assert!((i.high - 100.0 - half).abs() < 1e-4 && i.level == 0.99);
    }

    #[test]
    fn bad_series_are_refused_by_what_is_wrong() {
        let of = TimerEventFigures::of;
        assert_eq!(
            of(&[1], 1, TimerForm::Rearmed, 0),
            Err(TimerEventError::TooFew)
        );
        assert_eq!(
            of(&[1, 2], 0, TimerForm::Rearmed, 0),
            Err(TimerEventError::NoPeriod)
        );
        assert_eq!(
            of(&[1, 3, 2], 1, TimerForm::Rearmed, 0),
            Err(TimerEventError::Backwards(2))
        );
        assert_eq!(
            of(&[1, 2], 1, grid(&[0], None), 0),
            Err(TimerEventError::BadIndex(1))
        );
        assert_eq!(
            of(&[1, 2], 1, grid(&[3, 3], None), 0),
            Err(TimerEventError::BadIndex(1))
        );
        assert_eq!(
            of(&[1, 2], 1, grid(&[0, MOST_POINTS], None), 0),
            Err(TimerEventError::TooLong(MOST_POINTS + 1))
        );
    }

    proptest! {
        #[test]
        fn a_grid_has_one_error_a_point_and_its_mean_follows_the_grid(
            steps in prop::collection::vec((1u64..5, 0u64..90), 2..80))
        {
            let (mut k, mut index, mut events) = (0, vec![], vec![]);
            for &(step, late) in &steps {
                k += step;
                index.push(k);
                events.push(1_000 + k * 100 + late);
            }
            let f = TimerEventFigures::of(&events, 100, grid(&index, Some(1_000)), 0).unwrap();
            prop_assert_eq!(f.time_error_ns.len() as u64, k + 1);
            // Each event's own point shows its own lateness.
            for (&i, &(_, late)) in index.iter().zip(&steps) {
                prop_assert_eq!(f.time_error_ns[i as usize], late as f64);
            }
            let passed = (k - index[0]) as f64 * 100.0 / (steps.len() - 1) as f64;
            prop_assert!((f.mean_ns - passed).abs() <= 90.0 / (steps.len() - 1) as f64 + 1e-9);
        }
    }
}
