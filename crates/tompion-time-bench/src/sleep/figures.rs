//! What a trial's misses come to. Pure.

use serde::Serialize;
use tompion_stats::Distribution;

use super::bed::Trial;

/// A miss above this is counted apart: no sleeper that gets its CPU needs as long.
const LONG_MISS_NS: i64 = 100_000;

/// Figures of one trial, or of all blocks together.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Figures {
    /// Sleeps.
    pub sleeps: u64,
    /// Median miss, in microseconds; so the quantiles and the maximum.
    pub median_us: f64,
    /// 95th percentile.
    pub p95_us: f64,
    /// 99th percentile.
    pub p99_us: f64,
    /// 99.9th percentile.
    pub p99_9_us: f64,
    /// The latest.
    pub max_us: f64,
    /// Share of sleeps that missed by more than 100 us.
    pub over_100_us_share: f64,
    /// Share of sleeps that ended early.
    pub early_share: f64,
    /// CPU time of the thread as a share of wall time.
    pub cpu_share: f64,
    /// Share of sleeps that a budget cut.
    pub limited_share: f64,
}

impl Figures {
    /// Of one trial.
    pub fn of(trial: &Trial) -> Option<Self> {
        Self::over([trial])
    }

    /// Of several trials, their sleeps pooled; `None` without any sleep.
    pub fn over<'a>(trials: impl IntoIterator<Item = &'a Trial> + Clone) -> Option<Self> {
        let of_all = |f: fn(&Trial) -> u64| trials.clone().into_iter().map(f).sum::<u64>() as f64;
        let misses = Distribution::from_values(
            trials
                .clone()
                .into_iter()
                .flat_map(|trial| trial.misses_ns.iter().copied()),
        );
        let sleeps = misses.len();
        let us = |q| Some(misses.quantile(q)? / 1e3);
        let share = |count: u64| count as f64 / sleeps as f64;
        Some(Self {
            sleeps,
            median_us: us(0.5)?,
            p95_us: us(0.95)?,
            p99_us: us(0.99)?,
            p99_9_us: us(0.999)?,
            max_us: misses.max()? as f64 / 1e3,
            over_100_us_share: share(misses.count_above(LONG_MISS_NS)),
            early_share: share(sleeps - misses.count_above(-1)),
            cpu_share: of_all(|t| t.cpu_ns) / of_all(|t| t.wall_ns),
            limited_share: of_all(|t| t.limited) / sleeps as f64,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trial(misses_ns: Vec<i64>) -> Trial {
        Trial {
            misses_ns,
            wall_ns: 1_000_000,
            cpu_ns: 100_000,
            limited: 1,
        }
    }

    #[test]
    fn planted_misses_come_out() {
        // 0 to 999 us in steps of 1 us.
        let figures = Figures::of(&trial((0..1000).map(|us| us * 1000).collect())).unwrap();
        assert_eq!(figures.sleeps, 1000);
        assert!((figures.median_us - 499.5).abs() < 1e-9);
        assert!((figures.p95_us - 949.05).abs() < 1e-9);
        assert!((figures.p99_us - 989.01).abs() < 1e-9);
        assert!((figures.p99_9_us - 998.001).abs() < 1e-9);
        assert_eq!(figures.max_us, 999.0);
        // 101 us to 999 us: 100 us itself is not over 100 us.
        assert_eq!(figures.over_100_us_share, 0.899);
        assert_eq!(figures.early_share, 0.0);
        assert_eq!(figures.cpu_share, 0.1);
        assert_eq!(figures.limited_share, 0.001);
    }

    #[test]
    fn early_means_before_the_target_not_at_it() {
        let figures = Figures::of(&trial(vec![-1, 0, 1, 2])).unwrap();
        assert_eq!(figures.early_share, 0.25);
    }

    #[test]
    fn blocks_are_pooled_by_their_sleeps() {
        let few = trial(vec![1_000]);
        let many = Trial {
            wall_ns: 3_000_000,
            cpu_ns: 2_000_000,
            ..trial(vec![3_000; 9])
        };
        let figures = Figures::over([&few, &many]).unwrap();
        assert_eq!((figures.sleeps, figures.median_us), (10, 3.0));
        assert_eq!(figures.cpu_share, 2.1 / 4.0);
    }

    #[test]
    fn nothing_comes_of_nothing() {
        assert_eq!(Figures::of(&trial(Vec::new())), None);
    }
}
