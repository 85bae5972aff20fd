//! Pure mathematics for timing samples: no I/O, no clock, no unsafe code.
//!
//! Values are signed 64-bit integers in whatever unit the caller chose (Tompion
//! records picoseconds); results that need not be integers are `f64` in the
//! same unit. Distributions are computed from [`Distribution`]s, which are
//! sorted `(value, count)` pairs, so that cost grows with distinct values.
//! Tests by rank suppose independent values, which the samples of one trial are not:
//! give them one figure for each replicate, or read them as descriptions.
//! Series in time (timer events, stalls) are in nanoseconds, as their names say.
//!
//! ```
//! use tompion_stats::Distribution;
//!
//! let d = Distribution::from_values([3, 1, 2, 2]);
//! assert_eq!(d.len(), 4);
//! assert_eq!(d.quantile(0.5), Some(2.0));
//! ```
#![forbid(unsafe_code)]

mod bins;
mod block_interval;
mod block_range;
mod block_shares;
mod change_points;
mod coarse;
mod coarse_counts;
mod counting;
mod dependence;
mod distribution;
mod equivalence;
mod factorial;
mod falling;
mod histogram;
mod hlog;
mod interval;
mod limit_test;
mod maxima;
mod mean_distribution;
mod moments;
mod permutation;
mod persistence;
mod ranks;
mod ratio;
mod replicates;
mod series;
mod spread;
mod stability;
mod stretches;
mod structure;
mod student;
mod tail_fit;
mod tails;
#[cfg(test)]
mod test_noise;
#[cfg(test)]
mod test_wander;
mod timer_events;
mod trend;
mod within_block;

pub use bins::{Bins, RangeError};
pub use block_interval::{
    BlockQuantile, NoInterval, block_quantile, block_quantiles, interval_samples_needed,
};
pub use block_range::BlockRange;
pub use block_shares::LEAST_BLOCKS;
pub use change_points::{ChangePoint, ChangePointError, Figures, LEAST_FIGURES, change_points};
pub use coarse::MANY_DISTINCT;
pub use coarse_counts::CoarseCounts;
pub use dependence::{Dependence, autocorrelation};
pub use distribution::Distribution;
pub use equivalence::{
    Answer, Equivalence, EquivalenceError, Margin, POWER, detectable, equivalence,
};
pub use factorial::{
    Assumptions, Effect, FactorTable, Factorial, FactorialError, aligned_rank_transform,
    scheirer_ray_hare,
};
pub use falling::falling;
pub use histogram::histogram;
pub use hlog::{HLOG_NEGATIVE_TAG, HlogError, HlogInterval, HlogValues, write_hlog};
pub use interval::{Interval, median_interval, order_statistic_interval, samples_needed};
pub use limit_test::{Limit, LimitTest, LimitWatch, Looks, Outlook, share_by_chance};
pub use maxima::{GROWTH_LIMIT, Growth, GrowthVerdict, LEAST_MAXIMA, Maxima};
pub use mean_distribution::MeanDistribution;
pub use moments::Moments;
pub use permutation::{
    Design, PermutationTest, Relabelings, ReplicateError, ReplicateShift, comparison_cost, least_p,
    permutation_test, replicates_needed, shift_interval,
};
pub use ranks::{
    Adjustment, KruskalWallis, MannWhitney, NullMethod, PairComparison, PooledRanks, RankError,
    Shift, StudentizedRange, Superiority, SuperiorityMethod, Tail, dunn, epsilon_squared_interval,
    kruskal_wallis, mann_whitney, shift, superiority, tukey_on_ranks,
};
pub use ratio::{mean_interval, ratio_interval};
pub use replicates::{Comparison, Outcome, compare_replicates, compare_widened};
pub use series::{LEAST_SPAN_S, Series, SeriesComparison, compare_series};
pub use spread::{EqualSpread, equal_spread};
pub use stability::{mtie, mtie_curve, tdev, tdev_curve};
pub use stretches::{STRETCH_FACTOR, Stretches};
pub use structure::{
    LengthGroup, Mode, Occurrence, Periodic, length_groups, modes, periodic, run_lengths,
};
pub use tail_fit::{
    Extrapolation, FIT_LEVEL, LEAST_EXCESSES, LEAST_EXTREMAL_INDEX, NoTail, TailFit, TailSeries,
    extrapolate,
};
pub use tails::SMALLEST_P;
pub use timer_events::{TimerEventError, TimerEventFigures, TimerForm};
pub use trend::BesideTrend;
pub use within_block::{WithinBlock, drifts_within};
